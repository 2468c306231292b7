#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/lib/histogram.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/ticks.hpp"

namespace stopbit::bench {

/// How fast the processor runs at the moment. The processors of a virtual machine are hyperthreads: when the host gives
/// the other half of a core to another guest, for a millisecond or for minutes, everything takes 1.3 to 1.7 times as
/// long.
///
/// A probe is a fixed piece of work of some microseconds that knows nothing of what is measured. Repetitions are kept
/// or left out by the probes around and within them, never by their own values. One thread.
class Pace {
 public:
  /// Takes a second to look at the machine, unless the best pace is known from an earlier program of the same run.
  explicit Pace(const TickClock& clock, double best_known_ns = 0);

  /// What the work takes now, in ns.
  double probe() noexcept;

  /// What the quickest probes took, those that one in fifty reaches: a core is allowed a higher clock now and then.
  [[nodiscard]] double best_ns() const noexcept { return best_ns_; }
  /// Whether a core of this speed runs no other process.
  [[nodiscard]] bool is_undisturbed(double probe_ns) const noexcept { return probe_ns <= kTolerance * best_ns_; }

  /// Sleeps until a probe is undisturbed. Of the program's time, waiting may be a third and some seconds; after that it
  /// returns at once.
  void wait() noexcept;

  /// All probes, in ticks.
  [[nodiscard]] const Histogram& probes() const noexcept { return probes_; }

 private:
  /// The clock rate of a core moves by a tenth within minutes; a core that is shared takes 1.3 times as long and more.
  static constexpr double kTolerance = 1.15;

  [[nodiscard]] std::uint64_t work_ticks() noexcept;
  void find_best() noexcept;

  const TickClock& clock_;
  double best_ns_;
  Histogram probes_;
  std::array<std::uint64_t, 512> memory_{};  ///< Little of the first cache, so that what is measured keeps the rest.
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::duration waited_{};
};

/// The probes of one repetition.
class PaceOf {
 public:
  void add(double probe_ns) { probes_.push_back(probe_ns); }
  void clear() noexcept { probes_.clear(); }
  /// The slowest of them, leaving out one in sixteen: a moment's disturbance in a long repetition.
  [[nodiscard]] double slowest_ns() const;

 private:
  std::vector<double> probes_;
};

/// The values of a figure's repetitions, each with the pace it had.
class Repetitions {
 public:
  /// `planned`: number of undisturbed ones wanted.
  explicit Repetitions(std::size_t planned = 0) : planned_(planned) {}

  void add(double value, double pace_ns) { all_.push_back({value, pace_ns}); }

  [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t undisturbed(const Pace& pace) const;
  /// Enough undisturbed ones, or five times as many in all as were planned.
  [[nodiscard]] bool is_done(const Pace& pace) const;

  struct Chosen {
    std::vector<double> values;
    double pace_ns = 0;         ///< The median of what was chosen.
    std::size_t left_out = 0;   ///< Repetitions.
    bool is_disturbed = false;  ///< Fewer than half of the planned ones were undisturbed: all are kept.
  };
  [[nodiscard]] Chosen choose(const Pace& pace) const;

 private:
  struct One {
    double value = 0;
    double pace_ns = 0;
  };
  std::size_t planned_;
  std::vector<One> all_;
};

/// Short values of one burst, in stretches with a probe at both ends.
class PacedBurst {
 public:
  /// `most_values`: of one stretch; those beyond are not recorded.
  explicit PacedBurst(std::size_t most_values) : most_values_(most_values) {}

  /// The probe before the first stretch. Allocates; record does not.
  void begin(double probe_ns) {
    stretch_.reserve(most_values_);
    probe_ns_ = probe_ns;
  }
  void record(std::uint64_t value) noexcept {
    if (stretch_.size() < most_values_) stretch_.push_back(value);
  }
  /// A stretch ends, and the next begins.
  void end_stretch(double probe_ns, const Pace& pace);

  [[nodiscard]] const Histogram& all() const noexcept { return all_; }
  /// Those between two undisturbed probes.
  [[nodiscard]] const Histogram& undisturbed() const noexcept { return undisturbed_; }
  /// Whether these are a tenth at least: as few as Repetitions would do with.
  [[nodiscard]] bool is_undisturbed() const noexcept { return undisturbed_.count() * 10 >= all_.count(); }
  /// The median of the stretches: of all, or of the undisturbed ones.
  [[nodiscard]] double pace_ns(bool of_all) const { return median(of_all ? paces_ns_ : undisturbed_paces_ns_); }

 private:
  std::size_t most_values_;
  std::vector<std::uint64_t> stretch_;
  double probe_ns_ = 0;
  Histogram all_;
  Histogram undisturbed_;
  std::vector<double> paces_ns_;
  std::vector<double> undisturbed_paces_ns_;
};

}  // namespace stopbit::bench
