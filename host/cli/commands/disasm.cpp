#include <memory>

#include "assembler/assembler.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"

namespace stopbit::tools {
namespace {

struct DisasmArguments {
  std::string input;
  std::string output = "-";
};

}  // namespace

Command disasm_command() {
  const auto arguments = std::make_shared<DisasmArguments>();
  return {
      .name = "disasm",
      .summary = "Prints a firmware image as a listing",
      .description =
          "Prints a firmware image as assembly text. `stopbit asm` turns the text into the same image, byte for byte. "
          "The image need not be safe to run.",
      .options = {image_option(arguments->input),
                  {.names = "-o,--output",
                   .value = "FEED.sbasm",
                   .help = "Output file for the listing; default stdout.",
                   .target = &arguments->output,
                   .hint = file_hint({".sbasm"})}},
      .examples = {{"stopbit disasm feed.sbf | less", "read the program"}},
      .run =
          [arguments] {
            write_file(arguments->output, assembler::disassemble(read_image(arguments->input)), {arguments->input});
            return kExitDone;
          },
  };
}

}  // namespace stopbit::tools
