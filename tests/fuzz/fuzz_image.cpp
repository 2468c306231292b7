// Any bytes as a firmware image, as they are and with the checksums mended: refused, or written again to the same
// bytes; and what the verifier accepts is safe to run.

#include <algorithm>
#include <string>
#include <vector>

#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/emit/lua/dissector.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/image_bytes.hpp"

namespace {

using namespace stopbit;

void check(const std::vector<std::byte>& bytes, const std::vector<std::vector<std::byte>>& datagrams) {
  const Result<Program> program = image::read(bytes);
  if (!program) {
    fuzz::require(!program.message().empty(), "a refusal says why");
    return;
  }
  fuzz::require(image::write(program.value()) == bytes, "writing an image again gives the same bytes");
  if (!verify::check(program.value()).ok()) return;
  fuzz::check_round_trips(program.value());
  const std::string dissector = emit::lua_dissector(program.value(), {});
  const auto is_harmless = [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); };
  fuzz::require(std::all_of(dissector.begin(), dissector.end(), is_harmless), "a dissector is printable ASCII");
  fuzz::run_datagrams(program.value(), {}, datagrams);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const std::span<const std::byte> rest = input.rest();
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  // The datagrams are the image's own beginning and end: something with stop bits in it.
  const auto some = static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, 64));
  const std::vector<std::vector<std::byte>> datagrams = {{bytes.end() - some, bytes.end()},
                                                         {std::byte{0xC0}, std::byte{0x81}, std::byte{0x85}}};
  check(bytes, datagrams);
  cases::mend_checksums(bytes);
  check(bytes, datagrams);
  return 0;
}
