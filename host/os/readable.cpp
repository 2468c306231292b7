#include "host/os/readable.hpp"

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "microcode/base/time.hpp"

namespace stopbit::os {
namespace {

constexpr std::uint64_t kMinute = 60 * kNsPerSecond;
constexpr std::uint64_t kHour = 60 * kMinute;
constexpr std::uint64_t kDay = 24 * kHour;

}  // namespace

std::string print(const char* format, ...) {  // NOLINT(cert-dcl50-cpp): the compiler checks the arguments
  std::array<char, 128> text{};
  std::va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string time_text(std::uint64_t time_ns) {
  if (time_ns == 0) return "never";
  const auto seconds = static_cast<std::time_t>(time_ns / kNsPerSecond);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return print("%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
               parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<unsigned>(time_ns % kNsPerSecond / 1'000));
}

std::string duration_text(std::uint64_t ns) {
  const auto number = static_cast<double>(ns);
  if (ns < 1'000) return std::to_string(ns) + " ns";
  if (ns < 1'000'000) return print("%.3g us", number / 1e3);
  if (ns < kNsPerSecond) return print("%.3g ms", number / 1e6);
  if (ns < 10 * kMinute) return print("%.3g s", number / 1e9);
  if (ns < 2 * kDay) return std::to_string(ns / kMinute) + " min";
  return std::to_string(ns / kDay) + " days";
}

std::string delay_text(std::uint64_t ns) {
  if (ns < 10'000) return std::to_string(ns) + " ns";
  if (ns < 10'000'000) return print("%.1f us", static_cast<double>(ns) / 1e3);
  return print("%.1f ms", static_cast<double>(ns) / 1e6);
}

std::string clock_text(std::uint64_t ns) {
  const auto hours = static_cast<unsigned>(ns % kDay / kHour);
  const auto minutes = static_cast<unsigned>(ns % kHour / kMinute);
  const auto seconds = static_cast<unsigned>(ns % kMinute / kNsPerSecond);
  if (ns >= kDay) return std::to_string(ns / kDay) + print("d %02u:%02u", hours, minutes);
  return print("%02u:%02u:%02u", hours, minutes, seconds);
}

std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string short_number(double number) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < kUnits.size()) {
    number /= 1'000;
    ++unit;
  }
  return unit == 0 ? print("%.0f", number) : print("%.3g%s", number, kUnits[unit]);
}

}  // namespace stopbit::os
