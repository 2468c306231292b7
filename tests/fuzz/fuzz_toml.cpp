// Any bytes as a settings file: every getter on every key, and each error lies inside the file.

#include <string>

#include "host/os/config/toml.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

void read_all(config::Table table, int depth) {
  for (const std::string& key : table.keys()) {
    (void)table.text(key);
    (void)table.integer(key, {.least = 1, .most = 9});
    (void)table.real(key, {.least = 0, .most = 1}, 0.5);
    (void)table.flag(key);
    (void)table.duration_ns(key, {});
    (void)table.bytes(key, {}, 1);
    (void)table.choice(key, {"a", "b"});
    (void)table.texts(key, {.least = 0, .most = 4});
    (void)table.integers(key, {});
    if (depth == 0) continue;
    if (auto inner = table.table(key)) read_all(std::move(*inner), depth - 1);
    for (config::Table& item : table.tables(key)) read_all(std::move(item), depth - 1);
  }
  (void)table.has("key");
  table.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  Diagnostics diagnostics;
  const auto document = config::Document::parse("fuzz.toml", {reinterpret_cast<const char*>(data), size}, diagnostics);
  fuzz::require(document.ok() || diagnostics.has_errors(), "a refused file has an error");
  if (document.ok()) read_all(document.root(), 3);
  for (const Diagnostic& item : diagnostics.all()) {
    fuzz::require(item.range.source != nullptr, "an error has a place", item.message);
    fuzz::require(item.range.offset <= size, "an error lies inside the file", item.message);
  }
  (void)diagnostics.format();
  return 0;
}
