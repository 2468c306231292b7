// Any text as a template file: diagnostics, or a program that keeps every promise.

#include <memory>
#include <string>

#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const auto source = std::make_shared<SourceBuffer>("fuzz.xml", std::string(data, data + size));
  templates::CompileOptions options;
  options.template_id = 7;
  Diagnostics diagnostics;
  const auto program = templates::compile({source}, options, diagnostics);
  fuzz::require(program.has_value() != diagnostics.has_errors(), "a program or errors", diagnostics.format());
  fuzz::require(diagnostics.all().empty() == diagnostics.format().empty(), "diagnostics are printed");
  if (!program) return 0;
  fuzz::require(verify::check(*program).ok(), "the compiler's program is safe");
  fuzz::check_round_trips(*program);
  return 0;
}
