#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stopbit::config {

struct Unit {
  std::string_view name;
  std::uint64_t size;
};
inline constexpr std::array kTimeUnits = {Unit{"ns", 1},
                                          Unit{"us", 1'000},
                                          Unit{"ms", 1'000'000},
                                          Unit{"s", 1'000'000'000},
                                          Unit{"min", 60'000'000'000},
                                          Unit{"h", 3'600'000'000'000}};
inline constexpr std::array kByteUnits = {Unit{"B", 1}, Unit{"KiB", 1U << 10}, Unit{"MiB", 1U << 20},
                                          Unit{"GiB", 1U << 30}};

/// In the largest unit that says it without a fraction.
[[nodiscard]] std::string in_units(std::uint64_t value, std::span<const Unit> units);

}  // namespace stopbit::config
