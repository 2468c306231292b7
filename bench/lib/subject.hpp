#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/report.hpp"
#include "decoder/engine/engine.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// Sums over decoded datagrams.
struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t fields = 0;
  std::uint64_t errors = 0;

  void add(const Outcome& outcome) noexcept {
    messages += outcome.messages;
    fields += outcome.fields;
    errors += outcome.error != ErrorCode::None || outcome.dropped ? 1 : 0;
  }
};

/// Calls for each workload that the arguments want, and that is in `names` if there are any. One that cannot be made
/// goes to the report.
void for_workloads(const Arguments& arguments, Report& report, std::span<const char* const> names,
                   const std::function<void(const Workload& work)>& take);

/// An engine for a workload whose answers were checked: nothing else may be timed.
struct Subject {
  std::string engine_name;  ///< quick, native.
  std::unique_ptr<Engine> engine;
};

/// The engines that run here, each with the right answers to the workload: its JSON lines are the expected ones, if
/// there are any, and its records have the checksum of the interpreter's, slot for slot. A subject that is wrong, or
/// cannot run, goes to the report. Messages, fields, bytes and slots go there as facts.
[[nodiscard]] std::vector<Subject> make_subjects(const Workload& work, Report& report);

/// As much memory as a small ring has; records are written round and round.
[[nodiscard]] inline std::size_t ring_slots(const Workload& work) {
  return std::size_t{4} * work.program.max_record_slots;
}

/// Decodes all datagrams once.
[[nodiscard]] Totals decode_all(const Workload& work, Engine& engine, record::RecordSink& sink);

}  // namespace stopbit::bench
