// Any text as an assembly file: diagnostics, or a program whose listing gives it again. A program that the verifier
// accepts is run on the text itself.

#include <algorithm>
#include <memory>
#include <string>

#include "assembler/assembler.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const auto source = std::make_shared<SourceBuffer>("fuzz.sbasm", std::string(data, data + size));
  Diagnostics diagnostics;
  const auto program = assembler::assemble(source, diagnostics);
  fuzz::require(program.has_value() != diagnostics.has_errors(), "a program or errors", diagnostics.format());
  fuzz::require(diagnostics.all().empty() == diagnostics.format().empty(), "diagnostics are printed");
  if (!program) return 0;

  const std::string listing = assembler::disassemble(*program);
  Diagnostics again;
  const auto second = assembler::assemble(std::make_shared<SourceBuffer>("listing", listing), again);
  fuzz::require(second.has_value(), "our own listing is assembled", again.format() + listing);
  fuzz::require(assembler::disassemble(*second) == listing, "a listing gives the same listing", listing);

  if (!verify::check(*program).ok()) return 0;
  fuzz::check_round_trips(*program);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, std::min<std::size_t>(size, 256)));
  fuzz::run_datagrams(*program, {}, {{bytes.begin(), bytes.end()}});
  return 0;
}
