#include <memory>
#include <string>
#include <vector>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/setting_pages.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {
namespace {

struct ConfigArguments {
  std::string action;
  std::string file = "appliance";
  std::string output = "-";
  bool defaults = false;
};

std::vector<std::string> file_names() {
  std::vector<std::string> names;
  for (const SettingsFile& file : settings_files()) names.emplace_back(file.name);
  return names;
}

const SettingsFile& file_named(const std::string& name) {
  for (const SettingsFile& file : settings_files()) {
    if (file.name == name) return file;
  }
  throw ToolError(kExitUsage, "KIND: must be appliance, feed, map, calendar or network, not '" + name + "'" +
                                  did_you_mean(name, file_names()));
}

int run_config(const ConfigArguments& arguments) {
  const SettingsFile& file = file_named(arguments.file);
  std::string text;
  if (arguments.action == "print") {
    if (!arguments.defaults) throw ToolError(kExitUsage, "config print needs --defaults: what should it print?");
    text = settings_defaults(file);
  } else {
    if (arguments.defaults) throw ToolError(kExitUsage, "--defaults is for config print");
    text = arguments.action == "schema" ? settings_schema(file) : settings_man_page(file);
  }
  write_file(arguments.output, text);
  return kExitDone;
}

}  // namespace

Command config_command() {
  const auto arguments = std::make_shared<ConfigArguments>();
  return {
      .name = "config",
      .summary = "Prints what files of settings may say: defaults, JSON schema, manual page",
      .description =
          "Files of settings are TOML: appliance.toml, which `stopbit run` reads; feed.toml, the description of a "
          "feed; "
          "feed maps; calendars; and networks, which `stopbit network` simulates. Everything printed here comes from "
          "the table of keys by which the reader reads "
          "them.\n"
          "\n"
          "`config print --defaults` writes a file with every key, its meaning, type, range and default. Required keys "
          "have "
          "an example; keys without a default of their own are comments.\n"
          "\n"
          "`config schema` writes a JSON schema, by which editors complete and check TOML files; `config man` the "
          "manual page in roff.",
      .options =
          {{.names = "",
            .value = "ACTION",
            .help = "print, schema or man.",
            .target = &arguments->action,
            .hint = choice_hint({"print", "schema", "man"}),
            .required = true},
           {.names = "",
            .value = "KIND",
            .help = "appliance, the default, feed, map, calendar or network.",
            .target = &arguments->file,
            .hint = open_choice_hint(file_names())},
           {.names = "--defaults", .value = "", .help = "With print: the defaults.", .target = &arguments->defaults},
           {.names = "-o,--output",
            .value = "FILE",
            .help = "Output file; - is stdout, the default.",
            .target = &arguments->output,
            .hint = file_hint()}},
      .examples = {{"stopbit config print --defaults > appliance.toml", "a file to begin with"},
                   {"stopbit config print --defaults feed", "every key of feed.toml, explained"},
                   {"stopbit config schema feed -o feed.schema.json", "for an editor"},
                   {"stopbit config man map | man -l -", "the manual page of feed maps"}},
      .run = [arguments] { return run_config(*arguments); },
  };
}

}  // namespace stopbit::tools
