#include "host/cli/common/appliance_name.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host/os/shm/folder.hpp"

namespace stopbit::tools {

Option appliance_name_option(std::string& target) {
  return {.names = "",
          .value = "NAME",
          .help = "Name of the appliance, as in its settings. Optional if this machine has only one.",
          .target = &target,
          .hint = appliance_hint()};
}

Option user_option(std::string& target) {
  return {.names = "--user",
          .value = "USER",
          .help =
              "Also accepts the rings and counters of this user (name or number), and prefers them. Those of root, of "
              "the user stopbit and your own are always accepted. Default: $STOPBIT_USER.",
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
    throw ToolError(kExitUsage, "several appliances exist; name one of: " + joined(all));
  }
  const std::string& wanted = name.empty() ? all.front() : name;
  Result<counters::Reader> reader = counters::Reader::open(wanted);
  if (!reader) {
    throw ToolError(kExitEnvironment, "appliance '" + wanted + "': " + reader.message() +
                                          (all.empty() ? "" : "; counters exist for: " + joined(all)));
  }
  return std::move(reader).value();
}

}  // namespace stopbit::tools
