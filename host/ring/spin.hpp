#pragma once

#include <algorithm>

namespace stopbit::ring {

/// What a reader that spins does between two polls. Each look at a slot that is not yet written takes its cache line
/// away from the writer, who has to fetch it back: nothing that either would notice, unless the writer goes on at once
/// with the next record. So a reader that waits looks again soon; one that finds more whenever it has waited, because
/// the writer never rests, waits twice as long each time, up to some microseconds, and then takes more at once.
///
///     for (ring::Spin spin;;) {
///       if (reader.poll() == ring::Poll::Nothing) { spin.wait(); continue; }
///       spin.found();
///       ...
///     }
class Spin {
 public:
  /// The last poll has found something.
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
