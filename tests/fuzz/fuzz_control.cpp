// Any bytes as a command to a running appliance: refused with a reason, or a command with bounded, printable words.

#include <algorithm>

#include "host/monitor/control/command.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const auto command = control::parse_command({reinterpret_cast<const char*>(data), size});
  if (!command) {
    fuzz::require(!command.message().empty(), "a refused command has a reason");
    return 0;
  }
  const std::string& image = command.value().image;
  fuzz::require((command.value().kind == control::Command::Kind::Load) == !image.empty(), "only load names an image");
  fuzz::require(image.size() <= 256, "a name is bounded");
  fuzz::require(std::all_of(image.begin(), image.end(), [](char c) { return c > 0x20 && c < 0x7f; }),
                "a name is printable", image);
  return 0;
}
