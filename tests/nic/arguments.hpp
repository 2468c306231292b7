#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/nic/names.hpp"

namespace stopbit::nic {

/// The words of a step of a script.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  [[nodiscard]] const std::string& at(std::size_t index) {
    static const std::string kNone;
    if (index < words_.size()) return words_[index];
    missing_ = true;
    return kNone;
  }
  [[nodiscard]] std::uint64_t number(std::size_t index) { return to_number(at(index)); }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != words_.size(); }
  /// The word after `name`, e.g. 3 of "pages 3".
  [[nodiscard]] const std::string& after(std::string_view name) { return at(find(name) + 1); }
  [[nodiscard]] std::uint64_t number_after(std::string_view name) { return to_number(after(name)); }
  [[nodiscard]] std::uint64_t to_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) missing_ = true;
    return value;
  }
  /// The number of a word that may be negative, as the 64 bits it is.
  [[nodiscard]] std::uint64_t signed_number(std::size_t index) {
    const std::string& text = at(index);
    const bool is_negative = text.starts_with('-');
    const std::uint64_t value = to_number(std::string_view(text).substr(is_negative ? 1 : 0));
    return is_negative ? ~value + 1 : value;
  }
  /// A word was missing, or was no number.
  [[nodiscard]] bool is_wrong() const noexcept { return missing_; }

 private:
  [[nodiscard]] std::size_t find(std::string_view name) const {
    std::size_t index = 0;
    while (index < words_.size() && words_[index] != name) ++index;
    return index;
  }
  std::vector<std::string> words_;
  bool missing_ = false;
};

inline Access access_of(const Arguments& arguments) {
  if (arguments.has("readwrite")) return Access::ReadWrite;
  return arguments.has("write") ? Access::Write : Access::Read;
}

}  // namespace stopbit::nic
