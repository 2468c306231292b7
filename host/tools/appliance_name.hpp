#pragma once

#include <string>

#include "host/appliance/status.hpp"
#include "host/tools/command.hpp"

/// What the commands that look at a running appliance have in common.
namespace stopbit::tools {

/// NAME, which may be left out if one appliance has counters on this machine.
[[nodiscard]] Option appliance_name_option(std::string& target);

/// The counters of the appliance. A ToolError if there are none, or if `name` is empty and there are several.
[[nodiscard]] counters::Reader open_counters(const std::string& name);

/// "3d 04:05", "04:05:06".
[[nodiscard]] std::string clock_text(std::uint64_t ns);
/// "12,345,678"
[[nodiscard]] std::string thousands(std::uint64_t number);
/// "1.24M", "980": at most five characters.
[[nodiscard]] std::string short_number(double number);

}  // namespace stopbit::tools
