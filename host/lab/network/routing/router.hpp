#pragma once

#include <memory>
#include <vector>

#include "host/lab/impair/random.hpp"
#include "host/lab/network/topology/topology.hpp"

namespace stopbit::network {

/// What routing knows of a packet.
struct Route {
  HostId target = 0;
  std::uint64_t word = 0;  ///< Set at the source by the router, which alone knows what it means.
  std::uint16_t hops = 0;  ///< Links between switches so far; stops at 65535.
};

/// Where a packet leaves a switch.
struct Hop {
  std::uint8_t port = 0;
  std::uint8_t vc = 0;
  std::uint64_t adaptive = 0;  ///< Other ports that lead to the target, on the adaptive channel; 0: none.
};

/// Decides at each switch where a packet goes. The switch of the target delivers; it does not ask.
class Router {
 public:
  Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  virtual ~Router() = default;

  /// Called once for each packet, before its first hop.
  virtual void start(SwitchId /*from*/, Route& /*route*/, impair::Random& /*random*/) const {}
  [[nodiscard]] virtual Hop next(SwitchId at, std::uint8_t in_port, Route& route) const = 0;
  /// Everything that `next` may return for this target; for the check of routes.
  virtual void options(SwitchId at, std::uint8_t in_port, HostId target, std::vector<Hop>& out) const {
    Route route{.target = target};
    out.push_back(next(at, in_port, route));
  }
  /// `next` depends on the switch and the target alone, so a table can replace it.
  [[nodiscard]] virtual bool is_by_target() const noexcept { return false; }
  /// The virtual channel of adaptive hops.
  [[nodiscard]] virtual std::uint8_t adaptive_vc() const noexcept { return 0; }
};

}  // namespace stopbit::network
