#pragma once

#include <optional>
#include <regex>
#include <string>

namespace stopbit::bench {

/// What every program here takes.
struct Arguments {
  std::string json;                     ///< Where the report goes: a file, "-", or empty for text.
  std::optional<std::regex> workloads;  ///< Names of workloads to measure.
  double pace_ns = 0;                   ///< The best pace of earlier programs of this run; 0: none is known.
  bool quick = false;                   ///< A few repetitions: to see that it runs.

  [[nodiscard]] bool wants(const std::string& workload) const {
    return !workloads || std::regex_search(workload, *workloads);
  }
};

/// Reads the command line, or ends the program: help (0), or a wrong argument (2).
[[nodiscard]] Arguments read_arguments(int argc, char** argv, const std::string& about);

}  // namespace stopbit::bench
