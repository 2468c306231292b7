#include "host/lab/network/routing/delta_router.hpp"

#include <algorithm>

namespace stopbit::network {

bool DeltaRouter::fits(const Topology& topology) noexcept {
  const TopologyPlan& plan = topology.plan();
  const auto fits_one = [&](std::uint32_t extent) { return (plan.wraps ? extent / 2 : extent - 1) <= kMostHops; };
  return plan.hosts + 2 * plan.extent.size() <= 16 && std::all_of(plan.extent.begin(), plan.extent.end(), fits_one);
}

void DeltaRouter::start(SwitchId from, Route& route, impair::Random& /*random*/) const {
  const Coordinates here = topology_.coordinates(from);
  const Coordinates there = topology_.coordinates(topology_.place(route.target).at);
  route.word = 0;
  std::uint32_t shift = 0;
  for (std::size_t d = 0; d < topology_.plan().extent.size(); ++d) {
    if (here[d] == there[d]) continue;
    const GridRouter::Leg leg = grid_.leg(d, here[d], there[d]);
    const bool has_two = topology_.plan().wraps && grid_.adaptive_vc() > 1;
    const std::uint64_t first = has_two ? std::min(leg.links, leg.links_before_end) : leg.links;
    const std::uint64_t port = topology_.plan().hosts + 2 * d + (leg.is_up ? 0 : 1);
    route.word |= (port << 12 | (leg.links - first) << 6 | first) << shift;
    shift += 16;
  }
}

Hop DeltaRouter::next(SwitchId /*at*/, std::uint8_t /*in_port*/, Route& route) const {
  const auto port = static_cast<std::uint8_t>(route.word >> 12 & 15);
  const bool is_first = (route.word & 63) != 0;
  route.word -= is_first ? 1 : 1 << 6;
  if ((route.word & 0xFFF) == 0) route.word >>= 16;
  return {.port = port, .vc = static_cast<std::uint8_t>(is_first ? 0 : 1)};
}

}  // namespace stopbit::network
