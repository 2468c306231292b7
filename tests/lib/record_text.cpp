#include "tests/lib/record_text.hpp"

#include <algorithm>

namespace stopbit::cases {
namespace {

constexpr int kMaxDepth = 64;

/// Reads JSON strictly and writes it again with spaces, keys without quotes.
class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  bool string(std::string& out) {
    const std::size_t begin = at_;
    if (!take("\"")) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (!take("\"")) return false;
    out += text_.substr(begin, at_ - begin);
    return true;
  }

  bool value(std::string& out, int depth = 0) {
    if (depth > kMaxDepth || at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{': return list(out, '{', '}', depth);
      case '[': return list(out, '[', ']', depth);
      case '"': return string(out);
      default: return scalar(out);
    }
  }

  /// A message: the line itself, or the value of a dynamic template reference.
  bool message(std::string& out, int depth) {
    const std::size_t begin = at_;
    std::string name;
    std::string id;
    std::string fields;
    if (take("{\"template\":") && string(name) && take(",\"id\":") && scalar(id) && take(",\"fields\":") &&
        value(fields, depth + 1) && take("}") && fields.front() == '{') {
      out += name.substr(1, name.size() - 2) + " " + fields;
      return true;
    }
    at_ = begin;
    return false;
  }

 private:
  bool scalar(std::string& out) {
    const std::size_t end = std::min(text_.find_first_of(",]} \"", at_), text_.size());
    if (end == at_) return false;
    out += text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  bool list(std::string& out, char open, char close, int depth) {
    if (message(out, depth)) return true;
    ++at_;
    const bool is_object = open == '{';
    out += open;
    bool first = true;
    while (at_ < text_.size() && text_[at_] != close) {
      if (!first && !take(",")) return false;
      if (first ? is_object : true) out += first ? " " : ", ";
      first = false;
      if (is_object) {
        std::string key;
        if (!string(key) || !take(":")) return false;
        out += key.substr(1, key.size() - 2) + ": ";
      }
      if (!value(out, depth + 1)) return false;
    }
    if (!take(std::string_view(&close, 1))) return false;
    if (is_object) out += ' ';
    out += close;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> record_text(std::string_view json_line) {
  if (json_line.ends_with('\n')) json_line.remove_suffix(1);
  Rewriter json(json_line);
  std::string text;
  if (!json.message(text, 0) || !json.at_end()) return std::nullopt;
  return text;
}

}  // namespace stopbit::cases
