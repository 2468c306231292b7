#include "microcode/base/diagnostic.hpp"

#include <algorithm>
#include <utility>

#include "microcode/base/printable.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit {
namespace {

/// A source line longer than this is cut around the caret, so that a hostile one-line file prints a readable message.
constexpr std::size_t kMaxShownColumns = 160;

std::string_view severity_text(Severity severity) {
  switch (severity) {
    case Severity::Note: return "note";
    case Severity::Warning: return "warning";
    case Severity::Error: return "error";
  }
  return "error";
}

/// A line of the source, as long as it was: a blank for each byte of what would disturb the terminal or the caret.
std::string shown_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (bytes == 0 || disturbs_terminal(utf8_value(character))) {
      out.append(character.size(), ' ');
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

void append_excerpt(std::string& out, const SourceRange& range, SourceBuffer::Position position) {
  const std::string_view line = range.source->line(position.line);
  const std::size_t caret = position.column - 1;
  if (caret > line.size()) return;
  const std::size_t from = caret > kMaxShownColumns / 2 ? caret - kMaxShownColumns / 2 : 0;
  const std::string_view shown = line.substr(from, kMaxShownColumns);
  const std::size_t room = shown.size() > caret - from ? shown.size() - (caret - from) : 1;
  const std::size_t marks = std::clamp<std::size_t>(range.length, 1, room);

  std::string number = std::to_string(position.line);
  if (number.size() < 5) number.insert(0, 5 - number.size(), ' ');
  out += number + " | " + shown_line(shown) + '\n';
  out += std::string(number.size(), ' ') + " | " + std::string(caret - from, ' ') + '^' + std::string(marks - 1, '~') +
         '\n';
}

}  // namespace

SourceBuffer::SourceBuffer(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::string_view SourceBuffer::line(std::uint32_t number) const noexcept {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[number - 1];
  std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

SourceBuffer::Position SourceBuffer::position(std::size_t offset) const noexcept {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<std::size_t>(next - line_starts_.begin());
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(offset - line_starts_[line - 1] + 1)};
}

void Diagnostics::error(ErrorCode code, SourceRange range, std::string message) {
  ++errors_;
  all_.push_back({Severity::Error, code, std::move(message), std::move(range)});
}

void Diagnostics::warning(SourceRange range, std::string message, ErrorCode code) {
  ++warnings_;
  all_.push_back({Severity::Warning, code, std::move(message), std::move(range)});
}

void Diagnostics::note(SourceRange range, std::string message) {
  all_.push_back({Severity::Note, ErrorCode::None, std::move(message), std::move(range)});
}

std::string Diagnostics::format(std::size_t most) const {
  std::string out;
  std::size_t count = 0;
  for (const Diagnostic& item : all_) {
    if (item.severity != Severity::Note && count++ == most) {
      return out + "... and " + std::to_string(errors_ + warnings_ - most) + " more\n";
    }
    SourceBuffer::Position position;
    if (item.range.source) {
      position = item.range.source->position(item.range.offset);
      out += printable(item.range.source->name()) + ':' + std::to_string(position.line) + ':' +
             std::to_string(position.column) + ": ";
    }
    out += std::string(severity_text(item.severity)) + ": " + printable(item.message);
    if (item.code != ErrorCode::None) out += " [" + std::string(code_text(item.code)) + ']';
    out += '\n';
    if (item.range.source) append_excerpt(out, item.range, position);
  }
  return out;
}

}  // namespace stopbit
