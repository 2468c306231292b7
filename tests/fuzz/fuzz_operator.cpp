// Any bytes as the names of recorded files, as descriptions and files of feed packages, and as arguments of commands
// for operators: refused, or what is written again in the same way.

#include "host/cli/common/feed_package.hpp"
#include "host/cli/common/resend.hpp"
#include "host/cli/common/since.hpp"
#include "host/ports/recorder/file_name.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto name = recorder::parse_file_name(text)) {
    const auto again = recorder::parse_file_name(recorder::to_text(*name));
    fuzz::require(again && again->line == name->line && again->number == name->number &&
                      again->is_frozen == name->is_frozen && again->is_compressed == name->is_compressed,
                  "the name of a file is read as written");
  }
  if (const auto rename = tools::parse_group_rename(text)) {
    const auto again =
        tools::parse_group_rename(net::to_text(rename.value().from) + "=" + net::to_text(rename.value().to));
    fuzz::require(again && again.value().to == rename.value().to, "a renamed group is read as written");
  }
  (void)tools::parse_span(text);
  (void)tools::parse_since(std::string(text), 1'000'000'000'000'000'000);
  Diagnostics diagnostics;
  const auto package = tools::parse_package("package.toml", std::string(text), diagnostics);
  fuzz::require(package.has_value() == !diagnostics.has_errors(), "a package without errors is read");
  for (const auto kind : {tools::PackageVariable::Kind::Text, tools::PackageVariable::Kind::Line}) {
    const auto value = tools::value_text({.name = "v", .kind = kind, .meaning = {}, .example = {}}, text);
    if (!value) continue;
    fuzz::require(value.value().find_first_of("\n\\") == std::string::npos, "a value stays within its text of TOML");
    const auto filled = tools::fill_in("a @v@ b\n", {{"v", value.value()}});
    fuzz::require(filled.ok(), "a value is filled in");
  }
  const auto filled = tools::fill_in(text, {{"v", "x"}, {"n", "none"}});
  fuzz::require(filled.ok() ? filled.value().size() <= text.size() : !filled.message().empty(),
                "a text is filled in, or a variable is named");
  return 0;
}
