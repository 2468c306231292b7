// Any datagrams against a few fixed template sets.
//
// Input: template set, options, then datagrams. A strict decoder must agree with a lenient one as far as it goes.

#include <cstring>

#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

namespace {

using namespace stopbit;

bool same(const cases::Record& a, const cases::Record& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

}  // namespace

std::size_t stopbit::fuzz::datagrams_begin(std::span<const std::uint8_t> /*input*/) {
  return 2;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const Program& program = fuzz::fixed_program(input.byte());
  EngineOptions options = fuzz::engine_options(input.byte());
  const std::vector<std::vector<std::byte>> datagrams = fuzz::take_datagrams(input);

  options.strict = false;
  const fuzz::Run lenient = fuzz::run_datagrams(program, options, datagrams);
  options.strict = true;
  const fuzz::Run strict = fuzz::run_datagrams(program, options, datagrams);
  for (std::size_t i = 0, record = 0; i < datagrams.size(); ++i) {
    fuzz::require(strict.outcomes[i].messages <= lenient.outcomes[i].messages, "strict accepts no more than lenient");
    for (std::uint32_t message = 0; message < strict.outcomes[i].messages; ++message, ++record) {
      fuzz::require(same(strict.records[record], lenient.records[record]), "strict and lenient give the same records");
    }
    if (strict.outcomes[i].error != lenient.outcomes[i].error) break;  // from here on they have seen different things
    if (strict.outcomes[i].error != ErrorCode::None || strict.outcomes[i].dropped) ++record;
  }
  return 0;
}
