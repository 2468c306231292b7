#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/feed/packet/packet.hpp"

namespace stopbit::net {

/// Numbers the groups (destination address and port) of a capture in the order in which they appear: 0, 1, 2, ...
/// The number is the channel of the group's records. Bounded: a capture cannot make it grow. Allocates when it is made.
class FlowTable {
 public:
  explicit FlowTable(std::uint16_t max_flows)
      : max_flows_(max_flows), mask_(std::bit_ceil(std::size_t{2} * max_flows + 1) - 1), cells_(mask_ + 1, kEmpty) {
    flows_.reserve(max_flows);
  }

  /// The number of the group, a new one if it was not seen before; nothing if the table is full.
  [[nodiscard]] std::optional<std::uint16_t> channel(Endpoint group) noexcept {
    std::uint16_t& cell = cell_of(group);
    if (cell == kEmpty) {
      if (flows_.size() == max_flows_) return std::nullopt;
      cell = static_cast<std::uint16_t>(flows_.size());
      flows_.push_back(group);  // within its reserve
    }
    return cell;
  }

  /// The number of a group that was seen before.
  [[nodiscard]] std::optional<std::uint16_t> find(Endpoint group) noexcept {
    const std::uint16_t cell = cell_of(group);
    if (cell == kEmpty) return std::nullopt;
    return cell;
  }

  /// The groups by number.
  [[nodiscard]] std::span<const Endpoint> groups() const noexcept { return flows_; }
  [[nodiscard]] std::uint16_t max_flows() const noexcept { return max_flows_; }

 private:
  static constexpr std::uint16_t kEmpty = 0xFFFF;

  static std::size_t hash(Endpoint group) noexcept {
    const std::uint64_t key = static_cast<std::uint64_t>(group.address) << 16 | group.port;
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15U >> 40);
  }

  /// Cell of the group's number, or the free cell for it. Half of the cells are always empty, so the search ends.
  std::uint16_t& cell_of(Endpoint group) noexcept {
    std::size_t cell = hash(group) & mask_;
    while (cells_[cell] != kEmpty && flows_[cells_[cell]] != group) cell = (cell + 1) & mask_;
    return cells_[cell];
  }

  std::uint16_t max_flows_;
  std::size_t mask_;
  std::vector<std::uint16_t> cells_;
  std::vector<Endpoint> flows_;
};

/// The groups a user asked for; none means all.
class GroupFilter {
 public:
  explicit GroupFilter(std::vector<Endpoint> groups) : groups_(std::move(groups)) {}

  [[nodiscard]] bool accepts(Endpoint group) const noexcept {
    if (groups_.empty()) return true;
    for (const Endpoint& wanted : groups_) {
      if (wanted == group) return true;
    }
    return false;
  }

  /// Whether a datagram of which only this much is known may be for us: a port or address of 0 is unknown.
  [[nodiscard]] bool may_accept(Endpoint group) const noexcept {
    if (groups_.empty()) return true;
    for (const Endpoint& wanted : groups_) {
      if ((group.address == 0 || group.address == wanted.address) && (group.port == 0 || group.port == wanted.port)) {
        return true;
      }
    }
    return false;
  }

 private:
  std::vector<Endpoint> groups_;
};

}  // namespace stopbit::net
