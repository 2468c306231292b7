#include "host/analyse/diff/diff.hpp"

#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"

namespace stopbit::tools {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
  TemplateArguments templates;
  bool json = false;
};

Program load(const std::string& path, const DiffArguments& arguments) {
  ProgramSource source;
  if (path.ends_with(".xml")) {
    source.templates = {path};
    source.compile = arguments.templates;
  } else {
    source.firmware = path;
  }
  return load_program(source);
}

int run_diff(const DiffArguments& arguments) {
  const Program before = load(arguments.before, arguments);
  const Program after = load(arguments.after, arguments);
  const diff::Report report = diff::compare(before, after);
  Output out = Output::open("-");
  out.write(arguments.json ? diff::to_json(report) : diff::to_text(report));
  out.close();
  return report.breaks_views() ? kExitRejected : kExitDone;
}

}  // namespace

Command diff_command() {
  const auto arguments = std::make_shared<DiffArguments>();
  Command command{
      .name = "diff",
      .summary = "Shows what changed between two versions of a feed's templates",
      .description =
          "Compares two firmware images or template files. Lists templates and fields that were added, removed, "
          "renamed or moved, and changes of type, operator, identifier or position in the record, with the lines of "
          "both files.\n"
          "\n"
          "A view made by `stopbit gen cpp` breaks if its template is removed, or if anything changes that a reader "
          "of records relies on: names, tags, types, elements, presence, constants, positions. Operators, initial "
          "values and dictionary entries concern the decoder only and break no view. The exit status is 1 if the view "
          "of an old template breaks.\n"
          "\n"
          "Two fields or templates are taken as the same if they have the same name, otherwise if they have the same "
          "identifier. Blocks are counted within their template.",
      .options = {{.names = "",
                   .value = "OLD",
                   .help = "A firmware image, or a template file if the name ends in .xml.",
                   .target = &arguments->before,
                   .hint = file_hint({".sbf", ".xml"}),
                   .required = true},
                  {.names = "",
                   .value = "NEW",
                   .help = "The new version, likewise.",
                   .target = &arguments->after,
                   .hint = file_hint({".sbf", ".xml"}),
                   .required = true},
                  {.names = "--json", .value = "", .help = "Prints one JSON object.", .target = &arguments->json}},
      .examples = {{"stopbit diff 2026-10.xml 2026-11.xml", "what does the exchange change in November?"},
                   {"stopbit diff old.sbf new.sbf --json | jq '.templates[] | select(.view_breaks) | .name'",
                    "for programs"}},
      .run = [arguments] { return run_diff(*arguments); },
  };
  for (Option& option : template_options(arguments->templates)) command.options.push_back(std::move(option));
  return command;
}

}  // namespace stopbit::tools
