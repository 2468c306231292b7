#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "assembler/assembler.hpp"
#include "host/tools/commands.hpp"
#include "host/tools/files.hpp"
#include "host/tools/program_source.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::tools {
namespace {

struct CompileArguments {
  std::vector<std::string> inputs;
  std::string image;
  std::string listing;
  TemplateArguments templates;
};

int compile(const CompileArguments& arguments) {
  if (arguments.image == "-" && arguments.listing == "-") {
    throw ToolError(kExitUsage, "-o and --listing cannot both be stdout");
  }
  const Program program = compile_files(arguments.inputs, arguments.templates);
  require_verified(program, "compiler");  // our own output gets no free pass
  const std::vector<std::byte> image = image::write(program);
  if (!arguments.image.empty()) {
    write_file(arguments.image, {reinterpret_cast<const char*>(image.data()), image.size()}, arguments.inputs);
  }
  if (!arguments.listing.empty()) {
    std::vector<std::string> taken = arguments.inputs;
    taken.push_back(arguments.image);
    write_file(arguments.listing, assembler::disassemble(program), taken);
  }
  fmt::print(stderr, "{} templates, {} instructions, {} dictionary slots, {} bytes of firmware\n",
             program.templates.size(), program.code.size(), program.slots.size(), image.size());
  return kExitDone;
}

}  // namespace

Command compile_command() {
  const auto arguments = std::make_shared<CompileArguments>();
  Command command{
      .name = "compile",
      .summary = "Compiles template files to a firmware image",
      .description =
          "Compiles FAST template files to firmware for the decode engine. Several files are compiled as one set: "
          "their "
          "templates may refer to each other. Every error is reported with file, line and column. Without -o and "
          "--listing the files are only checked.\n"
          "\n"
          "Template 120 (FastReset), which many feeds send and few files declare, is added if the files lack it.\n"
          "\n" +
          fields_text(),
      .options = {{.names = "",
                   .value = "TEMPLATES.xml",
                   .help = "Template files; - is stdin.",
                   .target = &arguments->inputs,
                   .hint = file_hint({".xml"}),
                   .required = true},
                  {.names = "-o,--output",
                   .value = "FEED.sbf",
                   .help = "Writes the firmware image; - is stdout.",
                   .target = &arguments->image,
                   .hint = file_hint({".sbf"})},
                  {.names = "--listing",
                   .value = "FEED.sbasm",
                   .help = "Writes the assembly listing; - is stdout.",
                   .target = &arguments->listing,
                   .hint = file_hint({".sbasm"})},
                  string_capacity_option(arguments->templates.string_capacity),
                  fields_option(arguments->templates.fields)},
      .examples = {{"stopbit compile templates.xml -o feed.sbf", "firmware for `stopbit replay --firmware feed.sbf`"},
                   {"stopbit compile templates.xml --fields SecurityID,MDEntryPx,MDEntrySize -o feed.sbf",
                    "shorter records: only these fields, and the lengths of the sequences they are in"},
                   {"stopbit compile templates.xml --listing -", "shows the program as text"},
                   {"stopbit compile opra.xml --template-id 1", "checks a file whose only template has no id"}},
      .run = [arguments] { return compile(*arguments); },
  };
  for (Option& option : template_options(arguments->templates)) command.options.push_back(std::move(option));
  return command;
}

}  // namespace stopbit::tools
