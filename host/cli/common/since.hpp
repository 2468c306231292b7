#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Times on a command line that say since when, or for how long.
namespace stopbit::tools {

/// ns of "30s", "90min", "2h", "3d"; nothing for any other text.
[[nodiscard]] std::optional<std::uint64_t> parse_span(std::string_view text);

/// ns since 1970 of a span ago, "today", "2019-04-04" or "2019-04-04T08:36:00"; UTC.
[[nodiscard]] std::optional<std::uint64_t> parse_since(const std::string& text, std::uint64_t now);

/// The same of --since; throws a usage error.
[[nodiscard]] std::uint64_t since_from(const std::string& text);

}  // namespace stopbit::tools
