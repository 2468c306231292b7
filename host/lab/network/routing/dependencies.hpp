#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/lab/network/routing/router.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::network {

/// Which channel a packet may wait for while it holds another. No cycle: no deadlock.
class Dependencies {
 public:
  Dependencies(const Topology& topology, std::uint32_t vcs)
      : topology_(topology), vcs_(vcs), waits_(std::size_t{topology.switches()} * topology.ports() * vcs) {}

  /// A packet that came to switch `at` by the channel `held` may leave by `hop`.
  void add(ChannelId held, std::uint32_t held_vc, const Hop& hop) noexcept {
    waits_[held * vcs_ + held_vc][hop.vc] |= std::uint64_t{1} << hop.port;
  }
  /// Channels that wait for each other in a circle; empty: there is none.
  [[nodiscard]] std::vector<ChannelId> cycle() const;

 private:
  [[nodiscard]] std::vector<std::size_t> next(std::size_t node) const;

  const Topology& topology_;
  std::uint32_t vcs_;
  std::vector<std::array<std::uint64_t, kMaxVcs>>
      waits_;  ///< By channel and vc: ports of the switch at its end, by vc.
};

/// A route that leads nowhere, or in circles.
struct RouteFault {
  std::string message;
  SwitchId target = 0;
};

/// Follows all routes from all hosts to all hosts.
[[nodiscard]] Result<Done, RouteFault> follow_routes(const Topology& topology, const Router& router, std::uint32_t vcs,
                                                     Dependencies& dependencies);

}  // namespace stopbit::network
