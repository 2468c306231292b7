#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/fix/step_session.hpp"
#include "host/os/message_queue.hpp"

namespace stopbit::ingest {

/// A session of STEP as the thread that decodes sees it: its packets, each after its number (u64, highest byte first).
struct StepLink {
  struct Info {
    std::uint64_t t_ns = 0;        ///< When it was read, monotonic clock.
    std::uint64_t arrival_ns = 0;  ///< The same, wall clock.
  };
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  static constexpr std::size_t kNumberBytes = 8;

  os::MessageQueue<Info> packets{kBytes};
  std::atomic<std::uint64_t> ends = 0;                        ///< Connections that have ended, or could not be made.
  std::atomic<fix::StepEnd> last_end = fix::StepEnd::Failed;  ///< How the last of these ended.
};

}  // namespace stopbit::ingest
