#pragma once

#include <string>

#include "host/appliance/status.hpp"
#include "host/cli/common/command.hpp"

/// Shared by the commands that look at a running appliance.
namespace stopbit::tools {

/// NAME, which may be left out if one appliance has counters on this machine.
[[nodiscard]] Option appliance_name_option(std::string& target);

/// --user: whose rings and counters are read besides those of root, of this user and of the user stopbit.
[[nodiscard]] Option user_option(std::string& target);
/// Accepts that user from here on; nothing if it is empty. A ToolError if this machine has no such user.
void accept_user(const std::string& user);

/// The counters of the appliance. A ToolError if there are none, or if `name` is empty and there are several.
[[nodiscard]] counters::Reader open_counters(const std::string& name);

}  // namespace stopbit::tools
