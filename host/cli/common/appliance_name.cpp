#include "host/cli/common/appliance_name.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host/os/shm/folder.hpp"

namespace stopbit::tools {

Option appliance_name_option(std::string& target) {
  return {.names = "",
          .value = "NAME",
          .help = "Name of the appliance, as its settings say; may be left out if there is one only.",
          .target = &target};
}

Option user_option(std::string& target) {
  return {.names = "--user",
          .value = "USER",
          .help =
              "Accepts and prefers the rings and counters of this user, a name or a number; those of root, of the "
              "user stopbit and your own are accepted without it. Default: $STOPBIT_USER.",
          .target = &target};
}

void accept_user(const std::string& user) {
  if (user.empty()) return;
  const auto number = os::user_number(user);
  if (!number) throw ToolError(kExitUsage, "--user: this machine has no user '" + user + "'");
  os::accept_user(*number);
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

}  // namespace stopbit::tools
