#include "microcode/verify/verify.hpp"

#include <fmt/format.h>

#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/text.hpp"

namespace stopbit::tools {
namespace {

int verify_image(const std::string& path) {
  const Program program = read_image(path);
  const verify::Report report = verify::check(program);
  Output out = Output::open("-");
  for (const verify::Finding& finding : report.findings) {
    out.write(fmt::format("{}: error: {} [{}]\n", finding.where, finding.message, finding.rule));
  }
  if (!report.ok()) {
    out.close();
    throw ToolError(kExitRejected, fmt::format("{}: not safe to run, {} finding(s)", path, report.findings.size()));
  }
  out.write(fmt::format(
      "Safe for every input: {} instructions, {} dictionary slots, {} blocks.\n\n"
      "Worst-case cost of a message, n = length of the datagram in bytes; sequence elements are not in the slots.\n\n"
      "        id  instructions       slots  min. bytes  template\n",
      program.code.size(), program.slots.size(), program.blocks.size()));
  for (const verify::TemplateCost& cost : report.costs) {
    const Template& item = program.templates[cost.template_index];
    const std::string instructions = cost.instructions_per_byte == 0
                                         ? fmt::format("{}", cost.instructions)
                                         : fmt::format("{} + {}n", cost.instructions, cost.instructions_per_byte);
    out.write(fmt::format("{:>10}  {:>12}  {:>10}  {:>10}  {}\n", item.id, instructions, cost.slots, cost.min_bytes,
                          plain(program.name(item.name))));
  }
  out.close();
  return kExitDone;
}

}  // namespace

Command verify_command() {
  const auto input = std::make_shared<std::string>();
  return {
      .name = "verify",
      .summary = "Checks that a firmware image is safe to run, and shows its worst-case cost",
      .description =
          "Checks that a firmware image is well-formed and that its program is safe for every input: it reads and "
          "writes only within its tables, stacks and loops are bounded, and every path ends. Prints the worst-case "
          "cost of each template, or the errors.",
      .options = {image_option(*input)},
      .examples = {{"stopbit verify feed.sbf", "check an image before you run it"}},
      .run = [input] { return verify_image(*input); },
  };
}

}  // namespace stopbit::tools
