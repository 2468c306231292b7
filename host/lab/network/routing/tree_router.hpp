#pragma once

#include "host/lab/network/routing/router.hpp"

namespace stopbit::network {

/// Up and down a fat tree. The way up is chosen by the target, so that the traffic of one switch spreads over all of
/// its ports; adaptive packets may take any port up.
class TreeRouter final : public Router {
 public:
  TreeRouter(const Topology& topology, std::uint32_t vcs, bool is_adaptive)
      : half_(topology.plan().arity / 2),
        edges_(topology.plan().arity * half_),
        adaptive_vc_(static_cast<std::uint8_t>(vcs)),
        is_adaptive_(is_adaptive) {}

  [[nodiscard]] Hop next(SwitchId at, std::uint8_t /*in_port*/, Route& route) const override {
    const std::uint32_t edge = route.target / half_;
    const std::uint32_t pod = edge / half_;
    if (at >= 2 * edges_) return down(pod);
    if (at >= edges_) return (at - edges_) / half_ == pod ? down(edge % half_) : up(route.target / half_ % half_);
    return up(route.target % half_);
  }
  [[nodiscard]] std::uint8_t adaptive_vc() const noexcept override { return adaptive_vc_; }

 private:
  [[nodiscard]] static Hop down(std::uint32_t port) noexcept { return {.port = static_cast<std::uint8_t>(port)}; }
  [[nodiscard]] Hop up(std::uint32_t choice) const noexcept {
    const std::uint64_t all = ((std::uint64_t{1} << half_) - 1) << half_;
    return {.port = static_cast<std::uint8_t>(half_ + choice), .vc = 0, .adaptive = is_adaptive_ ? all : 0};
  }

  std::uint32_t half_;
  std::uint32_t edges_;
  std::uint8_t adaptive_vc_;
  bool is_adaptive_;
};

}  // namespace stopbit::network
