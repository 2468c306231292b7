#include "bench/lib/pace.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace stopbit::bench {
namespace {

constexpr int kPasses = 24;     ///< Over the memory; some three microseconds.
constexpr int kWarmPasses = 4;  ///< Bring it into the first cache.
constexpr int kTries = 2;       ///< An interrupt spoils one of them.
constexpr double kBestShare = 0.02;
constexpr std::uint64_t kBetweenBest = 256;  ///< Probes. To go through the histogram empties the caches.
constexpr auto kFirstLook = std::chrono::seconds(1);
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
constexpr auto kFreeWait = std::chrono::seconds(5);
constexpr int kWaitShare = 2;  ///< Waiting may take half of the time that is spent otherwise.

}  // namespace

Pace::Pace(const TickClock& clock, double best_known_ns)
    : clock_(clock),
      best_ns_(best_known_ns > 0 ? best_known_ns : std::numeric_limits<double>::infinity()),
      begin_(std::chrono::steady_clock::now()) {
  if (best_known_ns > 0) return;
  while (std::chrono::steady_clock::now() - begin_ < kFirstLook) {
    (void)probe();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  find_best();
}

void Pace::find_best() noexcept {
  best_ns_ = std::min(best_ns_, clock_.ns(static_cast<double>(probes_.percentile(kBestShare))));
}

/// Wants as much as a core can issue, and as much of its first cache as it has ports for: what two threads of a core
/// share. A chain of multiplications hardly notices the other thread, and branches or far memory notice themselves.
std::uint64_t Pace::work_ticks() noexcept {
  const auto passes = [this](int count) {
    std::uint64_t a = 1;
    std::uint64_t b = 2;
    std::uint64_t c = 3;
    std::uint64_t d = 4;
    for (; count > 0; --count) {
      for (std::size_t at = 0; at < memory_.size(); at += 8) {
        a += memory_[at];
        b ^= memory_[at + 2];
        c += memory_[at + 4];
        d ^= memory_[at + 6];
        memory_[at + 1] = a;
        memory_[at + 5] = c;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : : "memory");  // in this order, and not in vectors
      }
    }
  };
  passes(kWarmPasses);
  const std::uint64_t begin = ticks_begin();
  passes(kPasses);
  return clock_.between(begin, ticks_end());
}

double Pace::probe() noexcept {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kTries; ++i) least = std::min(least, work_ticks());
  probes_.record(least);
  if (probes_.count() % kBetweenBest == 0) find_best();
  return clock_.ns(static_cast<double>(least));
}

void Pace::wait() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  const auto most = kFreeWait + (begin - begin_ - waited_) / kWaitShare - waited_;
  while (!is_undisturbed(probe()) && std::chrono::steady_clock::now() - begin < most) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
  waited_ += std::chrono::steady_clock::now() - begin;
}

double PaceOf::slowest_ns() const {
  if (probes_.empty()) return 0;
  std::vector<double> sorted = probes_;
  const auto at = sorted.end() - 1 - static_cast<std::ptrdiff_t>(sorted.size() / 16);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

std::size_t Repetitions::undisturbed(const Pace& pace) const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [&](const One& one) { return pace.is_undisturbed(one.pace_ns); }));
}

bool Repetitions::is_done(const Pace& pace) const {
  constexpr std::size_t kMostTimes = 5;
  return undisturbed(pace) >= planned_ || count() >= kMostTimes * planned_;
}

Repetitions::Chosen Repetitions::choose(const Pace& pace) const {
  Chosen chosen;
  chosen.is_disturbed = 2 * undisturbed(pace) < planned_;
  std::vector<double> paces_ns;
  for (const One& one : all_) {
    if (!chosen.is_disturbed && !pace.is_undisturbed(one.pace_ns)) {
      ++chosen.left_out;
      continue;
    }
    chosen.values.push_back(one.value);
    paces_ns.push_back(one.pace_ns);
  }
  chosen.pace_ns = median(std::move(paces_ns));
  return chosen;
}

void PacedBurst::end_stretch(double probe_ns, const Pace& pace) {
  const double slower_ns = std::max(probe_ns_, probe_ns);
  const bool is_kept = pace.is_undisturbed(slower_ns);
  paces_ns_.push_back(slower_ns);
  if (is_kept) undisturbed_paces_ns_.push_back(slower_ns);
  for (const std::uint64_t value : stretch_) {
    all_.record(value);
    if (is_kept) undisturbed_.record(value);
  }
  stretch_.clear();
  probe_ns_ = probe_ns;
}

}  // namespace stopbit::bench
