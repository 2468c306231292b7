#include "templates/report.hpp"

#include <utility>

namespace stopbit::templates {
namespace {

constexpr std::size_t kMaxQuotedBytes = 100;

}  // namespace

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuotedBytes) return '\'' + std::string(text) + '\'';
  std::size_t cut = kMaxQuotedBytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // Not inside a UTF-8 character.
  return '\'' + std::string(text.substr(0, cut)) + "...'";
}

bool Report::is_new(const SourceRange& range, const std::string& message, std::size_t& shown) {
  last_was_new_ = shown < kMaxFindings && said_.emplace(range.source.get(), range.offset, message).second;
  if (last_was_new_) ++shown;
  return last_was_new_;
}

void Report::error(ErrorCode code, const SourceRange& range, const std::string& message) {
  ++errors_;
  if (!is_new(range, message, shown_errors_)) return;
  diagnostics_.error(code, range, message);
  if (scope_range_.source) diagnostics_.note(scope_range_, scope_text_);
  if (shown_errors_ == kMaxFindings) diagnostics_.note({}, "further errors are not shown");
}

void Report::warning(const SourceRange& range, const std::string& message) {
  if (!is_new(range, message, shown_warnings_)) return;
  diagnostics_.warning(range, message);
  if (shown_warnings_ == kMaxFindings) diagnostics_.note({}, "further warnings are not shown");
}

void Report::note(const SourceRange& range, const std::string& message) {
  if (last_was_new_) diagnostics_.note(range, message);
}

Report::Scope::Scope(Report& report, SourceRange range, std::string text)
    : report_(report),
      outer_range_(std::exchange(report.scope_range_, std::move(range))),
      outer_text_(std::exchange(report.scope_text_, std::move(text))) {}

Report::Scope::~Scope() {
  report_.scope_range_ = std::move(outer_range_);
  report_.scope_text_ = std::move(outer_text_);
}

}  // namespace stopbit::templates
