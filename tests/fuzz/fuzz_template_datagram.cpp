// A template file and datagrams for it.
//
// Input: options, text up to the first zero byte, then datagrams.

#include <algorithm>
#include <memory>
#include <string>

#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"

std::size_t stopbit::fuzz::datagrams_begin(std::span<const std::uint8_t> input) {
  if (input.empty()) return 0;
  return static_cast<std::size_t>(std::find(input.begin() + 1, input.end(), std::uint8_t{0}) - input.begin()) + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  if (size == 0) return 0;
  const std::uint8_t* text_end = std::find(data + 1, data + size, std::uint8_t{0});
  const auto source = std::make_shared<SourceBuffer>("fuzz.xml", std::string(data + 1, text_end));
  templates::CompileOptions compile;
  compile.template_id = 1;
  compile.string_capacity = 16;
  compile.max_record_slots = 256;
  Diagnostics diagnostics;
  const auto program = templates::compile({source}, compile, diagnostics);
  if (!program || text_end == data + size) return 0;
  fuzz::Input input({text_end + 1, data + size});
  fuzz::run_datagrams(*program, fuzz::engine_options(data[0]), fuzz::take_datagrams(input));
  return 0;
}
