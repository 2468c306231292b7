#pragma once

#include <algorithm>

namespace stopbit::ring {

/// Wait of a polling reader between two polls. Each poll of an unwritten slot takes its cache line away from the
/// writer, which must fetch it back; this costs time only if the writer continues at once with the next record. A
/// reader therefore polls again soon. If it finds a record after every wait, because the writer never pauses, it waits
/// twice as long each time, up to a few microseconds, and then takes more records at once.
///
///     for (ring::Spin spin;;) {
///       if (reader.poll() == ring::Poll::Nothing) { spin.wait(); continue; }
///       spin.found();
///       ...
///     }
class Spin {
 public:
  /// Call after a poll that found a record.
  void found() noexcept { has_found_ = true; }

  void wait() noexcept {
    pauses_ = has_found_ ? std::min(2 * pauses_, kMaxPauses) : 1;
    has_found_ = false;
    for (unsigned i = 0; i < pauses_; ++i) pause();
  }

  /// Tells the processor that this loop waits for another core.
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

 private:
  static constexpr unsigned kMaxPauses = 512;

  unsigned pauses_ = 1;
  bool has_found_ = false;
};

}  // namespace stopbit::ring
