#pragma once

#include <cstdint>
#include <memory>

#include "host/market/event/event.hpp"
#include "host/market/stage/key_index.hpp"

namespace stopbit::market {

/// Instruments by their product or group, so that a state of the group reaches each of them. As many groups as
/// instruments at most; what finds no room is no group. Allocates when it is made only.
class Groups {
 public:
  struct Known {
    TradingState state = TradingState::Unknown;
    std::uint8_t scale = 0;
    bool has_state = false;
    std::uint64_t code = 0;
    std::uint32_t first = 0;  ///< Row; 0: none.
  };

  Groups(std::uint32_t instruments, std::uint64_t salt)
      : capacity_(instruments),
        index_(instruments, salt),
        groups_(std::make_unique<Known[]>(std::size_t{instruments} + 1)),
        links_(std::make_unique<Link[]>(std::size_t{instruments} + 1)) {}

  /// Puts a row into the group with this name, if it is in none. Returns the group's state, if it has one.
  const Known* join(std::uint32_t row, std::uint64_t name) noexcept {
    Link& link = links_[row];
    if (link.group != 0) return nullptr;
    const std::uint32_t group = find_or_add(name);
    if (group == 0) return nullptr;
    link = {.group = group, .next = groups_[group].first};
    groups_[group].first = row;
    return groups_[group].has_state ? &groups_[group] : nullptr;
  }
  /// Remembers the state for instruments that join later.
  void set_state(std::uint64_t name, TradingState state, std::uint64_t code, std::uint8_t scale) noexcept {
    const std::uint32_t group = find_or_add(name);
    if (group == 0) return;
    Known& known = groups_[group];
    known = {.state = state, .scale = scale, .has_state = true, .code = code, .first = known.first};
  }
  /// Calls take(row) for the instruments of a group.
  template <class Take>
  void for_each(std::uint64_t name, const Take& take) const noexcept {
    for (std::uint32_t row = groups_[index_.find({name, 0, 0, 0})].first; row != 0; row = links_[row].next) take(row);
  }

 private:
  struct Link {
    std::uint32_t group = 0;
    std::uint32_t next = 0;
  };

  std::uint32_t find_or_add(std::uint64_t name) noexcept {
    const KeyBits key{name, 0, 0, 0};
    std::uint32_t group = index_.find(key);
    if (group != 0 || count_ == capacity_) return group;
    group = ++count_;
    index_.add(key, group);
    return group;
  }

  std::uint32_t capacity_;
  std::uint32_t count_ = 0;
  KeyIndex index_;
  std::unique_ptr<Known[]> groups_;
  std::unique_ptr<Link[]> links_;
};

}  // namespace stopbit::market
