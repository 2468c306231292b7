#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/monitor/counters/writer.hpp"

namespace stopbit::counters {

/// A name as Prometheus writes it: packets{channel="7",line="A"}.
struct Name {
  std::string family;
  std::vector<std::pair<std::string, std::string>> labels;

  /// Empty if there is no such label.
  [[nodiscard]] std::string_view label(std::string_view key) const noexcept;
};

[[nodiscard]] std::string write_name(std::string_view family, std::initializer_list<Label> labels);

/// Nothing if the text is not such a name, character by character.
[[nodiscard]] std::optional<Name> parse_name(std::string_view text);

}  // namespace stopbit::counters
