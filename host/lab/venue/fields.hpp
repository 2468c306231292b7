#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stopbit::venue {

/// Fields of a message or an entry as JSON. Names and texts have nothing to escape.
class Fields {
 public:
  Fields& number(std::string_view name, std::uint64_t value) { return raw(name, std::to_string(value)); }
  Fields& text(std::string_view name, std::string_view value) { return raw(name, '"' + std::string(value) + '"'); }
  /// In hundredths.
  Fields& price(std::string_view name, std::int64_t value) {
    const std::string cents = std::to_string(100 + value % 100).substr(1);
    return raw(name, std::to_string(value / 100) + '.' + cents);
  }
  Fields& entries(std::string_view name, const std::vector<Fields>& list) {
    std::string all;
    for (const Fields& fields : list) all += (all.empty() ? "" : ",") + fields.object();
    return raw(name, '[' + all + ']');
  }
  [[nodiscard]] std::string object() const { return '{' + text_ + '}'; }
  /// As a message of this template.
  [[nodiscard]] std::string message(std::string_view of) const {
    return R"({"template":")" + std::string(of) + R"(","fields":)" + object() + '}';
  }

 private:
  Fields& raw(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text_ += '"';
    text_ += name;
    text_ += "\":";
    text_ += value;
    return *this;
  }
  std::string text_;
};

}  // namespace stopbit::venue
