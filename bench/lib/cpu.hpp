#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace stopbit::bench {

/// Two processors that this process may use, for a writer and a reader; nothing if it has only one.
[[nodiscard]] std::optional<std::pair<int, int>> two_processors();

/// Keeps the calling thread on one processor. False if the system refuses.
bool pin(int processor);

/// While it lives, the calling thread is run before all ordinary ones (SCHED_FIFO), if the system allows it. For short
/// bursts: whatever else runs on that processor waits. At its end the thread sleeps a tenth of that time, because the
/// system stops a thread that never rests, in the middle of a measurement.
class Undisturbed {
 public:
  Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed();

  /// Whether the system allows it at all.
  [[nodiscard]] static bool is_possible();

 private:
  bool active_ = false;
  std::chrono::steady_clock::time_point begin_;
};

/// The longest burst that a thread should take undisturbed.
inline constexpr double kBurstSeconds = 0.25;

}  // namespace stopbit::bench
