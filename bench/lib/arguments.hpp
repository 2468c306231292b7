#pragma once

#include <optional>
#include <regex>
#include <string>

namespace stopbit::bench {

/// What every program here takes.
struct Arguments {
  std::string json;                ///< Where the report goes: a file, "-", or empty for text.
  std::optional<std::regex> only;  ///< Names of figures to measure.
  bool quick = false;              ///< A few repetitions: to see that it runs.

  /// Whether anything whose name begins so is to be measured. Names grow from left to right: give the longest known.
  [[nodiscard]] bool wants(const std::string& name) const { return !only || std::regex_search(name, *only); }
};

/// Reads the command line, or ends the program: help (0), or a wrong argument (2).
[[nodiscard]] Arguments read_arguments(int argc, char** argv, const std::string& about);

}  // namespace stopbit::bench
