#pragma once

#include <vector>

#include "host/lab/network/routing/router.hpp"

namespace stopbit::network {

enum class GridOrder : std::uint8_t {
  Dimension,  ///< x, then y, then z.
  Reverse,    ///< z, then y, then x: what two-level tables can express, if a group is a row.
  Random,     ///< Any shortest path, drawn at the source, as source routes may be. Not safe.
  WestFirst,  ///< The turn model on a mesh of two dimensions: hops to the west come first, others in any order.
  EdgeWrap,   ///< Dimension order on a torus of one channel: only a packet at an edge may take the link that closes the
              ///< ring, as its first hop there. Paths are longer; links that close rings are dimensions of their own.
};

/// Shortest paths on meshes and tori.
///
/// A ring is cut by two virtual channels: a packet that still has to cross the end of the ring is on channel 0, others
/// are on channel 1. No packet goes from 1 back to 0 in the same ring, so no cycle of waits exists. With one channel a
/// torus is safe only with EdgeWrap: nothing that moves along a ring ever takes the link that closes it.
class GridRouter final : public Router {
 public:
  /// `vcs`: channels for deterministic hops; with `is_adaptive` the next one is for adaptive hops.
  GridRouter(const Topology& topology, GridOrder order, std::uint32_t vcs, bool is_adaptive);

  void start(SwitchId from, Route& route, impair::Random& random) const override;
  [[nodiscard]] Hop next(SwitchId at, std::uint8_t in_port, Route& route) const override;
  void options(SwitchId at, std::uint8_t in_port, HostId target, std::vector<Hop>& out) const override;
  [[nodiscard]] bool is_by_target() const noexcept override {
    return order_ != GridOrder::Random && order_ != GridOrder::WestFirst;
  }
  [[nodiscard]] std::uint8_t adaptive_vc() const noexcept override { return static_cast<std::uint8_t>(vcs_); }

  /// Hops along one dimension.
  struct Leg {
    bool is_up = false;
    std::uint32_t links = 0;
    std::uint32_t links_before_end = 0;  ///< Of those, on channel 0 of a ring: up to its end, which is crossed.
  };
  [[nodiscard]] Leg leg(std::size_t dimension, std::uint32_t from, std::uint32_t to) const noexcept;

 private:
  [[nodiscard]] Leg edge_leg(std::uint32_t extent, std::uint32_t from, std::uint32_t to) const noexcept;
  [[nodiscard]] Hop hop(std::size_t dimension, const Leg& leg) const noexcept;
  /// Ports of all hops that bring the packet nearer, as the order allows; their number.
  [[nodiscard]] std::size_t choices(SwitchId at, HostId target, std::array<Hop, 3>& out) const noexcept;

  const Topology& topology_;
  GridOrder order_;
  std::uint32_t vcs_;
  bool is_adaptive_;
  std::size_t dimensions_;
  std::vector<Coordinates> coordinates_;
};

}  // namespace stopbit::network
