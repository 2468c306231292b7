#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/feed/packet/packet.hpp"

namespace stopbit::net {

/// Finds the target of a datagram, by its destination and, where an entry has one, its source address. Filled at start;
/// a look-up usually costs one probe, and never allocates. Of two entries of one group that both fit, the first wins.
/// More entries than it was made for are another allocation.
template <class Target>
class GroupTable {
 public:
  /// Capacity.
  explicit GroupTable(std::size_t entries) : places_(std::bit_ceil(2 * entries + 2)), mask_(places_.size() - 1) {}

  void add(Endpoint group, std::optional<std::uint32_t> source, Target target) {
    if (2 * (count_ + 1) > places_.size()) grow();
    ++count_;
    put({.group = group,
         .source = source.value_or(0),
         .has_source = source.has_value(),
         .is_taken = true,
         .target = target});
  }

  /// Null: the datagram is none of ours.
  [[nodiscard]] const Target* find(Endpoint group, std::uint32_t source) const noexcept {
    for (std::size_t at = hash(group) & mask_; places_[at].is_taken; at = (at + 1) & mask_) {
      const Place& place = places_[at];
      if (place.group == group && (!place.has_source || place.source == source)) return &place.target;
    }
    return nullptr;
  }

 private:
  struct Place {
    Endpoint group;
    std::uint32_t source = 0;
    bool has_source = false;
    bool is_taken = false;
    Target target{};
  };

  void put(const Place& place) noexcept {
    std::size_t at = hash(place.group) & mask_;
    while (places_[at].is_taken) at = (at + 1) & mask_;
    places_[at] = place;
  }
  void grow() {
    const std::vector<Place> before = std::exchange(places_, std::vector<Place>(2 * places_.size()));
    const std::size_t before_mask = std::exchange(mask_, places_.size() - 1);
    // From a free place on: so entries of one group stay in their order.
    std::size_t begin = 0;
    while (before[begin].is_taken) ++begin;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Place& place = before[(begin + i) & before_mask];
      if (place.is_taken) put(place);
    }
  }

  static std::size_t hash(Endpoint group) noexcept {
    const std::uint64_t key = std::uint64_t{group.address} << 16 | group.port;
    return static_cast<std::size_t>(key * 0x9E37'79B9'7F4A'7C15U >> 32);
  }

  std::vector<Place> places_;  ///< At most half are taken, so every probe ends.
  std::size_t mask_;
  std::size_t count_ = 0;  ///< Entries.
};

}  // namespace stopbit::net
