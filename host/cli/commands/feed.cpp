#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "host/appliance/settings.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/feed_package.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/messages.hpp"
#include "host/os/config/toml.hpp"
#include "microcode/base/nearest.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

struct FeedCommandArguments {
  std::string action;
  std::string package;
  std::string folder;
  std::vector<std::string> values;
  bool force = false;
};

/// Those that every package has, for its appliance.toml.
std::vector<PackageVariable> common_variables(const FeedPackage& package) {
  using Kind = PackageVariable::Kind;
  return {{.name = "name", .kind = Kind::Text, .meaning = "Name of the appliance", .example = package.name},
          {.name = "state",
           .kind = Kind::Text,
           .meaning = "Folder for gaps and recordings",
           .example = "/var/lib/stopbit/" + package.name},
          {.name = "interface_a", .kind = Kind::Text, .meaning = "Network interface of line A", .example = "eth1"},
          {.name = "interface_b", .kind = Kind::Text, .meaning = "Network interface of line B", .example = "eth2"},
          {.name = "session_from", .kind = Kind::Text, .meaning = "When the feed begins to speak", .example = "07:00"},
          {.name = "session_to", .kind = Kind::Text, .meaning = "When it ends", .example = "22:30"}};
}

std::vector<PackageVariable> all_variables(const FeedPackage& package) {
  std::vector<PackageVariable> all = common_variables(package);
  all.insert(all.end(), package.variables.begin(), package.variables.end());
  return all;
}

int list() {
  Grid grid({"PACKAGE", "WHAT"});
  for (const std::string& name : installed_packages()) {
    grid.add({printable(name), printable(load_package(name).summary)});
  }
  Output out = Output::open("-");
  out.write(grid.text(2));
  out.close();
  return kExitDone;
}

int info(const FeedCommandArguments& arguments) {
  const FeedPackage package = load_package(arguments.package);
  Grid grid({"VARIABLE", "EXAMPLE", "MEANING"});
  for (const PackageVariable& variable : all_variables(package)) {
    grid.add({printable(variable.name), printable(variable.example), printable(variable.meaning)});
  }
  Output out = Output::open("-");
  out.write(read_file(package.folder + "/README.md", config::kMaxFileBytes) + "\n" + grid.text(3));
  out.close();
  return kExitDone;
}

/// Values by variable. `examples` takes the names of those that were not set.
std::map<std::string, std::string> values_of(const FeedCommandArguments& arguments, const FeedPackage& package,
                                             std::vector<std::string>& examples) {
  const std::vector<PackageVariable> variables = all_variables(package);
  std::map<std::string, std::string> given;
  for (const std::string& text : arguments.values) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw ToolError(kExitUsage, "--set: write VARIABLE=VALUE, not '" + text + "'");
    given[text.substr(0, equals)] = text.substr(equals + 1);
  }
  std::map<std::string, std::string> values;
  std::vector<std::string> names;
  for (const PackageVariable& variable : variables) {
    names.push_back(variable.name);
    const auto found = given.find(variable.name);
    if (found == given.end()) examples.push_back(variable.name);
    const Result<std::string> value = value_text(variable, found != given.end() ? found->second : variable.example);
    if (!value) throw ToolError(kExitUsage, "--set " + variable.name + ": " + value.message());
    values[variable.name] = value.value();
    given.erase(variable.name);
  }
  if (!given.empty()) {
    const std::string& name = given.begin()->first;
    throw ToolError(kExitUsage, "--set: the package has no variable '" + name + "'" + did_you_mean(name, names));
  }
  return values;
}

/// Values may be out of range, and contradict each other, such as a channel without line A: reading the files as an
/// appliance does shows it. Settings that cannot run are taken away again, but for those that took another's place.
void check_settings(const FeedCommandArguments& arguments, const std::vector<std::string>& written) {
  Diagnostics diagnostics;
  const auto settings = appliance::load(arguments.folder + "/appliance.toml", diagnostics);
  write_stderr(diagnostics.format());
  if (settings) return;
  if (arguments.force) throw ToolError(kExitRejected, "the files were written, and cannot run: see above");
  std::error_code ignored;
  for (const std::string& file : written) std::filesystem::remove(file, ignored);
  throw ToolError(kExitRejected, "nothing was made: with these values the settings cannot run");
}

int make(const FeedCommandArguments& arguments) {
  namespace fs = std::filesystem;
  if (arguments.folder.empty()) throw ToolError(kExitUsage, "feed new: name a folder");
  const FeedPackage package = load_package(arguments.package);
  std::vector<std::string> examples;
  const std::map<std::string, std::string> values = values_of(arguments, package, examples);
  const std::string common = fs::path(package.folder).parent_path().string();
  const std::pair<std::string, std::string> files[] = {{package.folder + "/feed.toml", "feed.toml"},
                                                       {common + "/appliance.toml", "appliance.toml"},
                                                       {common + "/calendar.toml", "calendar.toml"},
                                                       {common + "/holidays.txt", "holidays.txt"},
                                                       {package.folder + "/README.md", "README.md"}};
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  if (error) throw ToolError(kExitEnvironment, printable(arguments.folder) + ": " + error.message());
  for (const auto& [from, name] : files) {
    const std::string to = arguments.folder + "/" + name;
    if (!arguments.force && fs::exists(to, error)) {
      throw ToolError(kExitEnvironment, "'" + printable(to) + "' exists already; --force replaces it");
    }
  }
  std::vector<std::string> written;
  for (const auto& [from, name] : files) {
    const std::string text = read_file(from, config::kMaxFileBytes);
    const Result<std::string> filled =
        name.ends_with(".toml") ? fill_in(text, values) : Result<std::string>(std::string(text));
    if (!filled) throw ToolError(kExitRejected, from + ": " + filled.message());
    written.push_back(arguments.folder + "/" + name);
    write_file(written.back(), filled.value());
  }
  check_settings(arguments, written);
  if (!examples.empty()) {
    std::string list;
    for (const std::string& name : examples) list += (list.empty() ? "" : ", ") + name;
    print_stderr("still examples, to be set for your connection: {}\n", list);
  }
  print_stderr("made {0}/feed.toml, appliance.toml and README.md; next: `stopbit run {0}/appliance.toml --check`\n",
               printable(arguments.folder));
  return kExitDone;
}

int run_feed(const FeedCommandArguments& arguments) {
  if (arguments.action == "ls") {
    if (arguments.package.empty()) return list();
    throw ToolError(kExitUsage, "feed ls lists all packages; write `feed info " + arguments.package + "` for one");
  }
  if (arguments.package.empty()) throw ToolError(kExitUsage, "feed " + arguments.action + ": name a package");
  return arguments.action == "info" ? info(arguments) : make(arguments);
}

}  // namespace

Command feed_command() {
  const auto arguments = std::make_shared<FeedCommandArguments>();
  return {
      .name = "feed",
      .summary = "Files of settings to begin with, for the feeds of exchanges",
      .description =
          "Feed packages have the settings for the feeds of an exchange: framing, map, channels with their roles and "
          "windows, and an appliance that merges lines A and B, records and shows them. Each connection has other "
          "groups, sources and interfaces: these are variables. Templates are the exchange's; the "
          "README of a package says where it publishes them.\n"
          "\n"
          "`feed ls` lists the packages, `feed info` prints the notes and variables of one, and `feed new` writes "
          "feed.toml, appliance.toml, calendar.toml, holidays.txt and README.md to a folder. A line is ADDRESS:PORT, "
          "or ADDRESS:PORT@SOURCE with the sender's address; without a line B write none.",
      .options = {{.names = "",
                   .value = "ACTION",
                   .help = "ls, info or new.",
                   .target = &arguments->action,
                   .hint = choice_hint({"ls", "info", "new"}),
                   .required = true},
                  {.names = "",
                   .value = "PACKAGE",
                   .help = "The package, as `feed ls` lists it.",
                   .target = &arguments->package,
                   .hint = open_choice_hint(installed_packages())},
                  {.names = "",
                   .value = "DIR",
                   .help = "new: the folder.",
                   .target = &arguments->folder,
                   .hint = folder_hint()},
                  {.names = "--set",
                   .value = "VARIABLE=VALUE",
                   .help = "new: the value of a variable; the others get examples, which are listed. May be repeated.",
                   .target = &arguments->values},
                  {.names = "--force",
                   .value = "",
                   .help = "new: replaces files that are in the folder.",
                   .target = &arguments->force}},
      .examples = {{"stopbit feed ls", "which exchanges?"},
                   {"stopbit feed info moex-fx", "notes on the feed, where its templates are, variables"},
                   {"stopbit feed new moex-fx fx --set interface_a=eth1 --set orders_a=239.1.1.1:16041@10.1.2.3",
                    "a folder for `stopbit run fx/appliance.toml`"}},
      .run = [arguments] { return run_feed(*arguments); }};
}

}  // namespace stopbit::tools
