#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/lib/histogram.hpp"

namespace stopbit::bench {

/// What a program has measured, to be written as JSON; bench/tools/bench.py makes the table, the comparison and the
/// plots of it.
///
///     {"figures": [{"name": "decode/sample/interp", "unit": "ns/msg", "samples": [190.1, ...],
///                   "percentiles": {"p90": [..], ...}, "count": 5, "max": 7001, "points": [[0.5, 190.0], ...]}],
///      "facts": {"sample": {"bytes per message": 31.2, ...}}, "notes": ["..."], "problems": ["..."]}
class Report {
 public:
  /// One value per repetition. Less is better unless the unit is "x" (how many times faster).
  void add(const std::string& name, const std::string& unit, std::vector<double> samples);

  /// Latencies: `bursts` are repetitions, each with its own percentiles; values are multiplied by `scale`.
  void add(const std::string& name, const std::string& unit, const std::vector<Histogram>& bursts, double scale);

  /// What is known of a subject without measuring.
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
  };

  void print() const;
  [[nodiscard]] std::string json() const;

  std::vector<Figure> figures_;
  std::map<std::string, std::map<std::string, double>> facts_;
  std::vector<std::string> notes_;
  std::vector<std::string> problems_;
};

}  // namespace stopbit::bench
