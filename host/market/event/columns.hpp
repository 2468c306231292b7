#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include "host/market/event/event.hpp"

/// A market event as a row of numbers; columns.def lists them.
namespace stopbit::market {

/// Bits of kFlagNames; a type of its own, so that a column of flags is known.
enum class FlagBits : std::uint8_t {};

/// The type that holds a column's numbers.
template <class T>
struct ColumnStorage {
  using Type = T;
};
template <>
struct ColumnStorage<bool> {
  using Type = std::uint8_t;
};
template <class T>
requires std::is_enum_v<T>
struct ColumnStorage<T> {
  using Type = std::underlying_type_t<T>;
};
template <class T>
using Stored = typename ColumnStorage<T>::Type;

enum class ColumnType : std::uint8_t { Unsigned, Signed, Bool, Kind, Side, Flags };

struct EventColumn {
  std::string_view name;
  ColumnType type;
  std::uint8_t bytes;
  std::optional<std::int64_t> none;  ///< The number that means no value.
  std::string_view what;
};

template <class T>
[[nodiscard]] constexpr ColumnType column_type() noexcept {
  if (std::is_same_v<T, bool>) return ColumnType::Bool;
  if (std::is_same_v<T, Kind>) return ColumnType::Kind;
  if (std::is_same_v<T, Side>) return ColumnType::Side;
  if (std::is_same_v<T, FlagBits>) return ColumnType::Flags;
  return std::is_signed_v<T> ? ColumnType::Signed : ColumnType::Unsigned;
}

inline constexpr std::nullopt_t kAlways = std::nullopt;

inline constexpr EventColumn kEventColumns[] = {
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what) \
  {#name, column_type<type>(), sizeof(Stored<type>), none, what},
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN
};

/// The low bytes of each are the column's number.
[[nodiscard]] constexpr std::array<std::uint64_t, std::size(kEventColumns)> column_values(const Event& event) noexcept {
  return {{
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what) \
  static_cast<std::uint64_t>(static_cast<Stored<type>>(value)),
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN
  }};
}

}  // namespace stopbit::market
