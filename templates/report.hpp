#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "microcode/base/diagnostic.hpp"

namespace stopbit::templates {

/// Text from a file for a message: in quotes, and cut if it is very long.
[[nodiscard]] std::string quoted(std::string_view text);

/// Findings of one compilation, with what a reader of them needs: each thing is said once, errors inside a template
/// name it, and a hostile file cannot print without end.
class Report {
 public:
  static constexpr std::size_t kMaxFindings = 1000;  ///< Errors; and as many warnings.

  explicit Report(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void error(ErrorCode code, const SourceRange& range, const std::string& message);
  void warning(const SourceRange& range, const std::string& message);
  /// About the error or warning before it.
  void note(const SourceRange& range, const std::string& message);

  /// Since this report was made.
  [[nodiscard]] bool has_errors() const { return errors_ != 0; }

  /// While it lives, errors are followed by a note "in template 'name' (id 1)" at `range`.
  class Scope {
   public:
    Scope(Report& report, SourceRange range, std::string text);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Report& report_;
    SourceRange outer_range_;
    std::string outer_text_;
  };

 private:
  /// False if the same was said before or enough has been said: `shown` counts findings of this severity.
  bool is_new(const SourceRange& range, const std::string& message, std::size_t& shown);

  Diagnostics& diagnostics_;
  std::set<std::tuple<const SourceBuffer*, std::size_t, std::string>> said_;
  SourceRange scope_range_;
  std::string scope_text_;
  std::size_t errors_ = 0;
  std::size_t shown_errors_ = 0;
  std::size_t shown_warnings_ = 0;
  bool last_was_new_ = false;
};

}  // namespace stopbit::templates
