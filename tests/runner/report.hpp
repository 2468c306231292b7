#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lib/case_file.hpp"

namespace stopbit::cases {

/// Outcome of a case: where it differs from its expectations, and what else went wrong.
class Report {
 public:
  explicit Report(const CaseFile& file) : file_(file) {}

  /// Something that no expectation can mend.
  void fail(std::string text) { failures_.push_back(std::move(text)); }
  /// Compares the lines of an expectation section with what came out. `who` says who it came from ("interp").
  void compare(std::string_view section, const std::vector<std::string>& actual, std::string_view who);

  [[nodiscard]] bool ok() const noexcept { return failures_.empty() && differences_.empty(); }
  [[nodiscard]] const std::vector<std::string>& failures() const noexcept { return failures_; }
  [[nodiscard]] const std::vector<std::string>& differences() const noexcept { return differences_; }

  /// The case's text with its expectations replaced by what came out.
  [[nodiscard]] std::string updated_text() const;

 private:
  const CaseFile& file_;
  std::vector<std::string> failures_;
  std::vector<std::string> differences_;
  std::map<std::string, std::vector<std::string>, std::less<>> actual_;
};

/// Lines that only one side has, marked - (expected) and + (came out), a few equal ones around.
[[nodiscard]] std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& actual);

}  // namespace stopbit::cases
