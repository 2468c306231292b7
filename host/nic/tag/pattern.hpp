#pragma once

#include <cstdint>

namespace stopbit::nic {

/// What a record is sorted by: the channel and template it came by, and one of its values.
struct TagHeader {
  std::uint32_t channel = 0;
  std::uint32_t template_id = 0;
  std::uint64_t value = 0;
};

/// The bits of a header that a receive compares; 0 in all bits of a field is a wildcard.
struct TagMask {
  std::uint32_t channel = ~std::uint32_t{0};
  std::uint32_t template_id = ~std::uint32_t{0};
  std::uint64_t value = ~std::uint64_t{0};
  [[nodiscard]] friend bool operator==(const TagMask&, const TagMask&) = default;
};

[[nodiscard]] constexpr TagHeader masked(const TagHeader& header, const TagMask& mask) noexcept {
  return {header.channel & mask.channel, header.template_id & mask.template_id, header.value & mask.value};
}

/// A receive that is posted.
struct TagReceive {
  TagHeader wanted;
  TagMask mask;
  bool is_persistent = false;  ///< Stays after a match; else it serves one record.
  std::uint64_t id = 0;        ///< The user's name for it, once at a time.
};
[[nodiscard]] constexpr bool matches(const TagReceive& receive, const TagHeader& header) noexcept {
  return ((receive.wanted.channel ^ header.channel) & receive.mask.channel) == 0 &&
         ((receive.wanted.template_id ^ header.template_id) & receive.mask.template_id) == 0 &&
         ((receive.wanted.value ^ header.value) & receive.mask.value) == 0;
}

/// A record that has arrived.
struct TagRecord {
  TagHeader header;
  std::uint64_t id = 0;  ///< Where the record lies, or what it is called.
};

/// An entry of a store, with the time of its arrival: smaller is older. One clock for receives and records.
template <class What>
struct Stamped {
  What what;
  std::uint64_t stamp = 0;
};

}  // namespace stopbit::nic
