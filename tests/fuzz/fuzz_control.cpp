// Any bytes as a command to a running appliance: refused with a reason, or a command with bounded, printable words. And
// as the query of an HTTP request: its values are no longer than it is.

#include <algorithm>
#include <string_view>

#include "host/monitor/control/command.hpp"
#include "host/monitor/control/query.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* const name : {"market", "instrument"}) {
    fuzz::require(control::query_value(text, name).size() <= size, "a value is bounded by the query", name);
  }
  const auto command = control::parse_command(text);
  if (!command) {
    fuzz::require(!command.message().empty(), "a refused command has a reason");
    return 0;
  }
  const std::string& image = command.value().image;
  using Kind = control::Command::Kind;
  const bool names_image = command.value().kind == Kind::Load || command.value().kind == Kind::Rollback;
  fuzz::require(names_image == !image.empty(), "only load and rollback name an image");
  fuzz::require(text.starts_with(control::word_of(command.value().kind)), "a command is the word that was said");
  fuzz::require(image.size() <= 256, "a name is bounded");
  fuzz::require(std::all_of(image.begin(), image.end(), [](char c) { return c > 0x20 && c < 0x7f; }),
                "a name is printable", image);
  return 0;
}
