#pragma once

#include <cstdint>

/// Sizes, operations and layouts that the units in software and in hardware (`stopbit_nic_pkg`) share: one list of rows
/// for both. A new unit adds rows.
namespace stopbit::nic::protocol {

#define STOPBIT_NIC_SIZE(name, value, meaning) inline constexpr unsigned k##name = value;  ///< meaning
#include "host/nic/protocol/sizes.def"
#undef STOPBIT_NIC_SIZE

// kAtsTranslateRequest and so on.
#define STOPBIT_NIC_OPERATION(group, enumerator, code, meaning) \
  inline constexpr std::uint8_t k##group##enumerator = code;  ///< meaning
#include "host/nic/protocol/operations.def"
#undef STOPBIT_NIC_OPERATION

/// Bits `high` to `low` of a word.
struct BitField {
  unsigned high = 0;
  unsigned low = 0;

  [[nodiscard]] constexpr std::uint64_t mask() const noexcept { return ~std::uint64_t{0} >> (63 - (high - low)); }
  [[nodiscard]] constexpr std::uint64_t of(std::uint64_t word) const noexcept { return word >> low & mask(); }
  /// The field alone, to be combined with others by `|`. Bits of `value` beyond the field are left out.
  [[nodiscard]] constexpr std::uint64_t put(std::uint64_t value) const noexcept { return (value & mask()) << low; }
};

// kGatEntryOwner and so on.
#define STOPBIT_NIC_LAYOUT(name, bits, meaning)
#define STOPBIT_NIC_FIELD(name, field, high, low, meaning) \
  inline constexpr BitField k##name##field{high, low};  ///< meaning
#include "host/nic/protocol/layouts.def"
#undef STOPBIT_NIC_FIELD
#undef STOPBIT_NIC_LAYOUT

}  // namespace stopbit::nic::protocol
