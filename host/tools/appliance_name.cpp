#include "host/tools/appliance_name.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace stopbit::tools {

Option appliance_name_option(std::string& target) {
  return {.names = "",
          .value = "NAME",
          .help = "Name of the appliance, as its settings say; may be left out if there is one only.",
          .target = &target};
}

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

counters::Reader open_counters(const std::string& name) {
  const std::vector<std::string> all = appliance::find_appliances();
  if (name.empty() && all.empty()) {
    throw ToolError(kExitEnvironment, "no appliance has counters on this machine; `stopbit run` starts one");
  }
  if (name.empty() && all.size() > 1) {
    throw ToolError(kExitUsage, "there are several appliances, say which: " + joined(all));
  }
  const std::string& wanted = name.empty() ? all.front() : name;
  Result<counters::Reader> reader = counters::Reader::open(wanted);
  if (!reader) {
    throw ToolError(kExitEnvironment, "appliance '" + wanted + "': " + reader.message() +
                                          (all.empty() ? "" : "; there are counters of: " + joined(all)));
  }
  return std::move(reader).value();
}

std::string clock_text(std::uint64_t ns) {
  const std::uint64_t seconds = ns / 1'000'000'000;
  const std::uint64_t days = seconds / 86'400;
  if (days != 0) return fmt::format("{}d {:02}:{:02}", days, seconds / 3'600 % 24, seconds / 60 % 60);
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60, seconds % 60);
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
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}{}", number, kUnits[unit]);
}

}  // namespace stopbit::tools
