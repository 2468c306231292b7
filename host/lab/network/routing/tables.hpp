#pragma once

#include <vector>

#include "host/lab/network/routing/router.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::network {

/// A table at each switch, with an entry for each other switch.
class TableRouter final : public Router {
 public:
  /// Shortest paths; of several the one by the lowest port. Not safe where the network has rings.
  [[nodiscard]] static std::unique_ptr<TableRouter> shortest(const Topology& topology);
  /// Up*/Down*: first towards switch 0, then away from it. Safe on any network.
  [[nodiscard]] static std::unique_ptr<TableRouter> up_down(const Topology& topology);
  /// The routes of another router, which is by target.
  [[nodiscard]] static std::unique_ptr<TableRouter> of(const Topology& topology, const Router& router);

  /// Overwrites one entry, with whatever was asked for: check_routes finds mistakes.
  void set(SwitchId at, SwitchId target, std::uint8_t port, std::uint8_t vc) noexcept;
  [[nodiscard]] Hop entry(SwitchId at, SwitchId target) const noexcept { return hop(rising_[index(at, target)]); }

  [[nodiscard]] Hop next(SwitchId at, std::uint8_t in_port, Route& route) const override;
  [[nodiscard]] bool is_by_target() const noexcept override { return falling_.empty(); }

 private:
  explicit TableRouter(const Topology& topology)
      : topology_(topology), rising_(std::size_t{topology.switches()} * topology.switches(), kNoWay) {}

  using Entry = std::uint16_t;                ///< port << 2 | vc
  static constexpr Entry kNoWay = 0xFF << 2;  ///< A port that no switch has.

  [[nodiscard]] static Hop hop(Entry entry) noexcept {
    return {.port = static_cast<std::uint8_t>(entry >> 2), .vc = static_cast<std::uint8_t>(entry & 3)};
  }
  [[nodiscard]] std::size_t index(SwitchId at, SwitchId target) const noexcept {
    return std::size_t{at} * topology_.switches() + target;
  }
  void fill_up_down(SwitchId target);
  /// Whether the link into this port leads away from switch 0.
  [[nodiscard]] bool falls(SwitchId at, std::uint32_t in_port) const noexcept;

  const Topology& topology_;
  std::vector<Entry> rising_;   ///< By switch and target.
  std::vector<Entry> falling_;  ///< Up*/Down*: for packets that have gone down.
  std::vector<std::uint32_t> level_;
};

/// The same routes as intervals of targets, as small as they can be.
class IntervalRouter final : public Router {
 public:
  IntervalRouter(const Topology& topology, const TableRouter& table);
  [[nodiscard]] Hop next(SwitchId at, std::uint8_t in_port, Route& route) const override;
  [[nodiscard]] bool is_by_target() const noexcept override { return true; }
  /// Of the switch with the most.
  [[nodiscard]] std::size_t most_intervals() const noexcept;

 private:
  struct Interval {
    SwitchId begin;
    Hop hop;
  };
  const Topology& topology_;
  std::vector<Interval> intervals_;
  std::vector<std::size_t> begin_;  ///< By switch, in `intervals_`; one more at the end.
};

/// The two tables of each switch of the R2 crossbar: one entry for each group of 2^local_bits switches, one for each
/// switch of the own group. The way to a group is that to its nearest switch.
class TwoLevelRouter final : public Router {
 public:
  TwoLevelRouter(const Topology& topology, const TableRouter& table, std::uint32_t local_bits);
  [[nodiscard]] Hop next(SwitchId at, std::uint8_t in_port, Route& route) const override;
  [[nodiscard]] bool is_by_target() const noexcept override { return true; }
  [[nodiscard]] std::size_t entries() const noexcept { return groups_ + (std::size_t{1} << local_bits_); }

 private:
  const Topology& topology_;
  std::uint32_t local_bits_;
  std::uint32_t groups_;
  std::vector<Hop> global_;
  std::vector<Hop> local_;
};

}  // namespace stopbit::network
