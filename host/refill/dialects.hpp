#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "host/refill/dialect.hpp"
#include "host/refill/fix_dialect.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::refill {

enum class DialectKind : std::uint8_t {
#define STOPBIT_REPLAY_DIALECT(type, name, target, requests, meaning) type,
#include "host/refill/dialects.def"
#undef STOPBIT_REPLAY_DIALECT
};

/// A row of dialects.def.
struct DialectRow {
  std::string_view name;
  std::string_view target;     ///< Empty: there is no usual one.
  std::uint32_t requests = 0;  ///< The most a connection; 0: settings say it.
  std::string_view meaning;
};

/// By DialectKind.
[[nodiscard]] std::span<const DialectRow> dialect_rows() noexcept;
[[nodiscard]] const DialectRow& row_of(DialectKind kind) noexcept;

/// An empty target is the usual one. Fails if a text cannot be the value of a field.
[[nodiscard]] Result<std::unique_ptr<Dialect>> make_dialect(DialectKind kind, FixOptions options);

}  // namespace stopbit::refill
