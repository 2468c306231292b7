// A list of fields that records shall hold, for a few fixed template sets.
//
// Input: template set, options, the list up to the first zero byte, then datagrams.

#include <algorithm>
#include <memory>
#include <string>

#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/property/projection.hpp"

std::size_t stopbit::fuzz::datagrams_begin(std::span<const std::uint8_t> input) {
  if (input.size() < 2) return input.size();
  return std::min<std::size_t>(
      static_cast<std::size_t>(std::find(input.begin() + 2, input.end(), std::uint8_t{0}) - input.begin()) + 1,
      input.size());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  if (size < 2) return 0;
  const std::uint8_t* list_end = std::find(data + 2, data + size, std::uint8_t{0});
  const std::vector<std::string>& texts = fuzz::fixed_template_texts();
  const std::string& text = texts[data[0] % texts.size()];
  templates::CompileOptions compile = fuzz::fixed_compile_options();
  compile.fields = std::make_shared<const SourceBuffer>("fields", std::string(data + 2, list_end));
  Diagnostics diagnostics;
  const auto program =
      templates::compile({std::make_shared<const SourceBuffer>("fixed.xml", text)}, compile, diagnostics);
  fuzz::require(program.has_value() != diagnostics.has_errors(), "a program or errors");
  fuzz::require(!diagnostics.has_errors() || !diagnostics.format().empty(), "errors can be printed");
  if (!program) return 0;
  fuzz::check_round_trips(*program);
  if (list_end == data + size) return 0;
  fuzz::Input input({list_end + 1, data + size});
  const EngineOptions options = fuzz::engine_options(data[1]);
  const std::vector<std::vector<std::byte>> datagrams = fuzz::take_datagrams(input);
  fuzz::run_datagrams(*program, options, datagrams);
  const std::string problem = cases::projection_problem(fuzz::fixed_program(data[0]), *program, options, datagrams);
  fuzz::require(problem.empty(), "what is stored is the same", problem);
  return 0;
}
