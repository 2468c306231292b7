#include "tests/runner/case_program.hpp"

#include <memory>
#include <vector>

#include "assembler/assembler.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"

namespace stopbit::cases {

std::optional<Program> program_of(const CaseFile& file, const CaseOptions& options) {
  Diagnostics diagnostics;
  std::optional<Program> program;
  if (const Section* text = file.find("program")) {
    program = assembler::assemble(file.as_file(*text, "program"), diagnostics);
  } else {
    std::vector<std::shared_ptr<const SourceBuffer>> sources;
    for (const Section& section : file.sections()) {
      if (section.name == "template") sources.push_back(file.as_file(section, "template"));
    }
    program = templates::compile(sources, options.compile, diagnostics);
  }
  if (program && !verify::check(*program).ok()) program.reset();
  return program;
}

}  // namespace stopbit::cases
