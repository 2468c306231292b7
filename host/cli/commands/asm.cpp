#include <cstdio>
#include <memory>

#include "assembler/assembler.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/program_source.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::tools {
namespace {

struct AsmArguments {
  std::string input;
  std::string output;
};

int assemble(const AsmArguments& arguments) {
  Diagnostics diagnostics;
  const std::optional<Program> program = assembler::assemble(read_text(arguments.input), diagnostics);
  write_stderr(diagnostics.format());
  if (!program) {
    throw ToolError(kExitRejected, std::to_string(diagnostics.errors()) + " error(s) in the listing");
  }
  require_verified(*program, arguments.input);
  const std::vector<std::byte> image = image::write(*program);
  write_file(arguments.output, {reinterpret_cast<const char*>(image.data()), image.size()}, {arguments.input});
  return kExitDone;
}

}  // namespace

Command asm_command() {
  const auto arguments = std::make_shared<AsmArguments>();
  return {
      .name = "asm",
      .summary = "Assembles a listing into a firmware image",
      .description =
          "Assembles a listing, in the form that `stopbit compile --listing` and `stopbit disasm` write, into a "
          "firmware image. A program that is not safe for every input is rejected, and nothing is written.",
      .options = {{.names = "",
                   .value = "FEED.sbasm",
                   .help = "The listing; - is stdin.",
                   .target = &arguments->input,
                   .hint = file_hint({".sbasm"}),
                   .required = true},
                  {.names = "-o,--output",
                   .value = "FEED.sbf",
                   .help = "The firmware image; - is stdout.",
                   .target = &arguments->output,
                   .hint = file_hint({".sbf"}),
                   .required = true}},
      .examples = {{"stopbit asm feed.sbasm -o feed.sbf", "assembles"},
                   {"stopbit disasm feed.sbf | stopbit asm - -o same.sbf", "produces the same bytes again"}},
      .run = [arguments] { return assemble(*arguments); },
  };
}

}  // namespace stopbit::tools
