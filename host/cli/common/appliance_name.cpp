#include "host/cli/common/appliance_name.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host/os/shm/folder.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {

Option appliance_name_option(std::string& target) {
  return {.names = "",
          .value = "NAME",
          .help = "Name of the appliance, as in its settings. Optional if only one runs, or only one has run.",
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

/// The first names.
std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) list += (i == 0 ? "" : ", ") + names[i];
  return list + (names.size() > kMost ? ", and " + std::to_string(names.size() - kMost) + " more" : "");
}

/// What else the name could have been.
std::string instead_of(const std::string& wanted, const std::vector<std::string>& names) {
  const std::string near = did_you_mean(wanted, names);
  return !near.empty() || names.empty() ? near : "; counters exist for: " + joined(names);
}

/// Of several, those that run.
std::vector<std::string> running(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const Result<counters::Reader> reader = counters::Reader::open(name);
    if (reader && reader.value().writer() == counters::Reader::Writer::Running) found.push_back(name);
  }
  return found;
}

/// The appliance that is meant if none is named.
std::string only_one(const std::vector<std::string>& all) {
  if (all.empty()) {
    throw ToolError(kExitEnvironment, "no appliance has counters on this machine; `stopbit run` starts one");
  }
  if (all.size() == 1) return all.front();
  const std::vector<std::string> those = running(all);
  if (those.size() == 1) return those.front();
  if (those.empty()) throw ToolError(kExitUsage, "several appliances have run; name one of: " + joined(all));
  throw ToolError(kExitUsage, "several appliances run; name one of: " + joined(those));
}

}  // namespace

counters::Reader open_counters(const std::string& name) {
  const std::vector<std::string> all = appliance::find_appliances();
  const std::string wanted = name.empty() ? only_one(all) : name;
  Result<counters::Reader> reader = counters::Reader::open(wanted);
  if (!reader) {
    throw ToolError(kExitEnvironment, "appliance '" + wanted + "': " + reader.message() + instead_of(wanted, all));
  }
  return std::move(reader).value();
}

}  // namespace stopbit::tools
