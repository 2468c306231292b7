#include "host/monitor/counters/name.hpp"

#include <algorithm>

#include "microcode/base/ascii.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::counters {
namespace {

bool begins_word(char c) {
  return is_letter(c) || c == '_';
}

/// Takes a word off the beginning; empty if there is none.
std::string take_word(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && (begins_word(text[size]) || (size != 0 && is_digit(text[size])))) ++size;
  std::string word(text.substr(0, size));
  text.remove_prefix(size);
  return word;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// Takes a quoted text, with its escapes undone.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!take(text, '"')) return std::nullopt;
  std::string value;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return is_utf8(value) ? std::optional(std::move(value)) : std::nullopt;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (text.empty() || (text.front() != '\\' && text.front() != '"')) return std::nullopt;
    value += text.front();
    text.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name::label(std::string_view key) const noexcept {
  const auto found = std::find_if(labels.begin(), labels.end(), [&](const auto& item) { return item.first == key; });
  return found != labels.end() ? std::string_view(found->second) : std::string_view();
}

std::string write_name(std::string_view family, std::initializer_list<Label> labels) {
  std::string text(family);
  char before = '{';
  for (const Label& label : labels) {
    text += before + std::string(label.key) + "=\"";
    for (const char c : label.value) {
      if (c == '\\' || c == '"') text += '\\';
      text += c;
    }
    text += '"';
    before = ',';
  }
  if (before == ',') text += '}';
  return text;
}

std::optional<Name> parse_name(std::string_view text) {
  Name name;
  name.family = take_word(text);
  if (name.family.empty()) return std::nullopt;
  if (text.empty()) return name;
  if (!take(text, '{')) return std::nullopt;
  do {
    std::string key = take_word(text);
    if (key.empty() || !take(text, '=')) return std::nullopt;
    auto value = take_quoted(text);
    if (!value) return std::nullopt;
    name.labels.emplace_back(std::move(key), std::move(*value));
  } while (take(text, ','));
  if (text != "}") return std::nullopt;
  return name;
}

}  // namespace stopbit::counters
