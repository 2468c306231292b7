#pragma once

#include <cstdint>
#include <string>

/// Times and numbers as text for people.
namespace stopbit::os {

/// As printf: numbers and short texts, at most 127 bytes of them.
[[nodiscard]] __attribute__((format(printf, 1, 2))) std::string print(const char* format, ...);

/// "2019-04-04T08:36:36.274670Z"; "never" for 0.
[[nodiscard]] std::string time_text(std::uint64_t time_ns);
/// "3.2 s", "250 us", "120 min".
[[nodiscard]] std::string duration_text(std::uint64_t ns);
/// "1234 ns", "250.0 us", "12.3 ms": for delays of packets, below a minute.
[[nodiscard]] std::string delay_text(std::uint64_t ns);
/// "3d 04:05", "04:05:06".
[[nodiscard]] std::string clock_text(std::uint64_t ns);
/// "12,345,678"
[[nodiscard]] std::string thousands(std::uint64_t number);
/// "1.24M", "980": at most five characters.
[[nodiscard]] std::string short_number(double number);

}  // namespace stopbit::os
