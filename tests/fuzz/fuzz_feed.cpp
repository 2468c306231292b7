// Any bytes as a feed.toml or a configuration.xml: errors inside the file, or a description whose text says the same.

#include <memory>
#include <string>

#include "host/feed/description/description.hpp"
#include "host/feed/description/from_moex.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

void check(const std::optional<feed::Description>& description, const Diagnostics& diagnostics, std::size_t size) {
  fuzz::require(description.has_value() != diagnostics.has_errors(), "a description, or errors");
  for (const Diagnostic& item : diagnostics.all()) {
    fuzz::require(item.range.source == nullptr || item.range.offset <= size, "an error lies inside the file",
                  item.message);
  }
  (void)diagnostics.format();
  if (!description) return;
  const std::string text = feed::to_toml(*description);
  Diagnostics none;
  const auto again = feed::parse("again.toml", text, none);
  fuzz::require(again.has_value(), "its own text is a description", none.format() + text);
  fuzz::require(feed::to_toml(*again) == text, "its own text says the same", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8'192) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  {
    Diagnostics diagnostics;
    const auto description = feed::parse("fuzz.toml", text, diagnostics);
    check(description, diagnostics, size);
  }
  if (text.starts_with('<')) {
    Diagnostics diagnostics;
    const auto description =
        feed::from_moex(std::make_shared<const SourceBuffer>("fuzz.xml", text), "templates.xml", diagnostics);
    check(description, diagnostics, size);
  }
  return 0;
}
