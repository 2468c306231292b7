#pragma once

#include "host/lab/network/routing/grid_router.hpp"

namespace stopbit::network {

/// Source routes with runs: a packet carries an element for each dimension, {port, hops on channel 0, hops on channel
/// 1} in 16 bits. Each hop counts one down, those on channel 0 first; an element of zeros is removed. The paths are
/// those of dimension order.
class DeltaRouter final : public Router {
 public:
  static constexpr std::uint32_t kMostHops = 63;  ///< Of a channel, in an element.

  DeltaRouter(const Topology& topology, const GridRouter& grid) : topology_(topology), grid_(grid) {}
  /// Fails if a run of this network does not fit an element.
  [[nodiscard]] static bool fits(const Topology& topology) noexcept;

  void start(SwitchId from, Route& route, impair::Random& random) const override;
  [[nodiscard]] Hop next(SwitchId at, std::uint8_t in_port, Route& route) const override;
  void options(SwitchId at, std::uint8_t in_port, HostId target, std::vector<Hop>& out) const override {
    grid_.options(at, in_port, target, out);
  }

 private:
  const Topology& topology_;
  const GridRouter& grid_;
};

}  // namespace stopbit::network
