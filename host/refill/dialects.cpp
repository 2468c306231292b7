#include "host/refill/dialects.hpp"

#include <array>
#include <string>
#include <utility>

#include "host/refill/b3.hpp"
#include "host/refill/cme.hpp"
#include "host/refill/moex.hpp"

namespace stopbit::refill {
namespace {

constexpr auto kRows = std::to_array<DialectRow>({
#define STOPBIT_REPLAY_DIALECT(type, name, target, requests, meaning) {name, target, requests, meaning},
#include "host/refill/dialects.def"
#undef STOPBIT_REPLAY_DIALECT
});

/// Why the options cannot be those of a session; empty: they can.
std::string why_not(const FixOptions& options) {
  struct Part {
    const char* what;
    const std::string& text;
    bool may_be_empty;
  };
  const Part parts[] = {{"the sender", options.sender, false},
                        {"the target", options.target, false},
                        {"the feed", options.feed, false},
                        {"the user", options.user, true},
                        {"the password", options.password, true}};
  for (const Part& part : parts) {
    if (part.may_be_empty && part.text.empty()) continue;
    if (!fix::is_fix_value(part.text))
      return std::string(part.what) + " must be 1 to 64 printable characters, in ASCII";
  }
  return {};
}

}  // namespace

std::span<const DialectRow> dialect_rows() noexcept {
  return kRows;
}

const DialectRow& row_of(DialectKind kind) noexcept {
  return kRows[static_cast<std::size_t>(kind)];
}

Result<std::unique_ptr<Dialect>> make_dialect(DialectKind kind, FixOptions options) {
  if (options.target.empty()) options.target = row_of(kind).target;
  if (std::string why = why_not(options); !why.empty()) return Failure{std::move(why)};
  switch (kind) {
#define STOPBIT_REPLAY_DIALECT(type, name, target, requests, meaning) \
  case DialectKind::type:                                             \
    return std::unique_ptr<Dialect>(std::make_unique<type>(std::move(options)));
#include "host/refill/dialects.def"
#undef STOPBIT_REPLAY_DIALECT
  }
  return Failure{"no such dialect"};
}

}  // namespace stopbit::refill
