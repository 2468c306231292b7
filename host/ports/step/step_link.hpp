#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/fix/step_session.hpp"
#include "host/os/message_queue.hpp"
#include "host/os/shm/segment.hpp"

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

  /// An event for the thread that decodes, which may block (StepPort::wakes_by).
  os::Descriptor bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> is_bell_wanted = false;
  /// After packets were pushed. A system call only if the other thread has found none for a while.
  void ring() noexcept {
    if (!is_bell_wanted.exchange(false)) return;
    constexpr std::uint64_t kOne = 1;
    // One that fails costs the time until the other thread looks by itself.
    [[maybe_unused]] const ssize_t written = ::write(bell.get(), &kOne, sizeof(kOne));
  }

  std::atomic<std::uint64_t> ends = 0;                        ///< Connections that have ended, or could not be made.
  std::atomic<fix::StepEnd> last_end = fix::StepEnd::Failed;  ///< How the last of these ended.
};

}  // namespace stopbit::ingest
