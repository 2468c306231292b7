#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/histogram.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/ticks.hpp"

namespace stopbit::bench {

/// What a program has measured, to be written as JSON; bench/tools/bench.py makes the table, the comparison and the
/// plots of it.
///
///     {"figures": [{"name": "decode/sample/quick", "unit": "ns/msg", "samples": [190.1, ...],
///                   "pace": 851.0, "left out": 2, "disturbed": false,
///                   "percentiles": {"p90": [..], ...}, "count": 5, "max": 7001, "points": [[0.5, 190.0], ...]}],
///      "facts": {"sample": {"bytes per message": 31.2, ...}}, "notes": ["..."], "problems": ["..."]}
class Report {
 public:
  /// One value per repetition. Less is better unless the unit is "x" (how many times faster).
  void add(const std::string& name, const std::string& unit, std::vector<double> samples);

  /// Of these, the undisturbed ones; all, marked as disturbed, if they are too few.
  void add(const std::string& name, const std::string& unit, const Repetitions& repetitions, const Pace& pace);

  /// Latencies: `bursts` are repetitions, each with its own percentiles; values are multiplied by `scale`.
  void add(const std::string& name, const std::string& unit, const std::vector<Histogram>& bursts, double scale);

  /// The same of undisturbed stretches, as Repetitions are chosen.
  void add(const std::string& name, const std::string& unit, const std::vector<PacedBurst>& bursts, double scale);

  /// The machine, as the probes of a program saw it: machine/<program>/pace, the best pace, and what share of the
  /// repetitions was left out for it. Add it last.
  void add(const std::string& program, const TickClock& clock, const Pace& pace);

  /// Facts about a subject that need no measuring.
  void fact(const std::string& subject, const std::string& name, double value);

  /// Something the reader of the figures should know. Told once, also on stderr.
  void note(const std::string& text);

  /// Something that could not be measured, and why. Also told on stderr.
  void problem(const std::string& text);
  [[nodiscard]] bool has_problems() const noexcept { return !problems_.empty(); }

  /// Writes it to a file, or to stdout: a line per figure if `path` is empty, JSON if it is "-". The program's exit
  /// status: 0, 1 if there were problems, 3 if it cannot be written.
  [[nodiscard]] int finish(const std::string& path) const;

 private:
  struct Figure {
    std::string name;
    std::string unit;
    std::vector<double> samples;
    std::map<std::string, std::vector<double>> percentiles;
    std::uint64_t count = 0;
    double max = 0;
    std::vector<std::pair<double, double>> points;
    /// Of figures whose repetitions were chosen by probes.
    struct Choice {
      double pace_ns = 0;  ///< The median of what was kept.
      std::size_t left_out = 0;
      bool is_disturbed = false;
    };
    std::optional<Choice> choice;
  };
  Figure& add_figure(const std::string& name, const std::string& unit);

  void print() const;
  [[nodiscard]] std::string json() const;

  std::vector<Figure> figures_;
  std::map<std::string, std::map<std::string, double>> facts_;
  std::vector<std::string> notes_;
  std::vector<std::string> problems_;
  std::size_t repetitions_ = 0;  ///< That probes could have left out,
  std::size_t left_out_ = 0;     ///< and did.
};

}  // namespace stopbit::bench
