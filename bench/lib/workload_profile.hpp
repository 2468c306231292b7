#pragma once

#include <cstdint>
#include <span>

#include "bench/lib/subject.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "host/analyse/profile/counter.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// How often each presence map occurs in a workload.
[[nodiscard]] inline profile::Profile profile_of(const Workload& work) {
  profile::Counter counter(work.program, work.options, 0, UINT64_MAX);
  record::BufferSink sink(work.program.max_record_slots, [](std::span<const record::Slot>) {});
  (void)decode_all(work, counter, sink);
  return counter.take();
}

}  // namespace stopbit::bench
