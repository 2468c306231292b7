#include "host/lab/network/routing/grid_router.hpp"

#include <algorithm>
#include <array>

#include "microcode/base/splitmix64.hpp"

namespace stopbit::network {

GridRouter::GridRouter(const Topology& topology, GridOrder order, std::uint32_t vcs, bool is_adaptive)
    : topology_(topology),
      order_(order),
      vcs_(vcs),
      is_adaptive_(is_adaptive),
      dimensions_(topology.plan().extent.size()),
      coordinates_(topology.switches()) {
  for (SwitchId at = 0; at < topology.switches(); ++at) coordinates_[at] = topology.coordinates(at);
}

void GridRouter::start(SwitchId /*from*/, Route& route, impair::Random& random) const {
  if (!is_by_target()) route.word = random.next();
}

GridRouter::Leg GridRouter::leg(std::size_t dimension, std::uint32_t from, std::uint32_t to) const noexcept {
  Leg leg;
  if (!topology_.plan().wraps) {
    leg.is_up = to > from;
    leg.links = leg.is_up ? to - from : from - to;
    return leg;
  }
  const std::uint32_t extent = topology_.plan().extent[dimension];
  if (order_ == GridOrder::EdgeWrap) return edge_leg(extent, from, to);
  const std::uint32_t up = (to + extent - from) % extent;
  // Half of the switches break a tie upwards; after the first hop there is none.
  leg.is_up = up * 2 < extent || (up * 2 == extent && from % 2 == 0);
  leg.links = leg.is_up ? up : extent - up;
  const bool crosses = leg.is_up ? to < from : to > from;
  if (crosses) leg.links_before_end = leg.is_up ? extent - from : from + 1;
  return leg;
}

GridRouter::Leg GridRouter::edge_leg(std::uint32_t extent, std::uint32_t from, std::uint32_t to) const noexcept {
  const bool is_up = to > from;
  const std::uint32_t direct = is_up ? to - from : from - to;
  const std::uint32_t last = extent - 1;
  const std::uint32_t around = from == 0 ? 1 + last - to : from == last ? 1 + to : extent;
  return around < direct ? Leg{.is_up = !is_up, .links = around} : Leg{.is_up = is_up, .links = direct};
}

Hop GridRouter::hop(std::size_t dimension, const Leg& leg) const noexcept {
  const std::size_t port = topology_.plan().hosts + 2 * dimension + (leg.is_up ? 0 : 1);
  const bool is_cut = topology_.plan().wraps && vcs_ > 1 && order_ != GridOrder::EdgeWrap;
  const bool is_second = is_cut && leg.links_before_end == 0;
  return {.port = static_cast<std::uint8_t>(port), .vc = static_cast<std::uint8_t>(is_second ? 1 : 0)};
}

std::size_t GridRouter::choices(SwitchId at, HostId target, std::array<Hop, 3>& out) const noexcept {
  const Coordinates& here = coordinates_[at];
  const Coordinates& there = coordinates_[topology_.place(target).at];
  std::size_t count = 0;
  for (std::size_t i = 0; i < dimensions_; ++i) {
    const std::size_t d = order_ == GridOrder::Reverse ? dimensions_ - 1 - i : i;
    if (here[d] == there[d]) continue;
    out[count++] = hop(d, leg(d, here[d], there[d]));
    const bool is_west = order_ == GridOrder::WestFirst && d == 0 && there[0] < here[0];
    if (is_west) break;
  }
  return count;
}

Hop GridRouter::next(SwitchId at, std::uint8_t /*in_port*/, Route& route) const {
  std::array<Hop, 3> hops;
  const std::size_t count = choices(at, route.target, hops);
  if (is_by_target()) {
    Hop first = hops[0];
    if (is_adaptive_) {
      for (std::size_t i = 0; i < count; ++i) first.adaptive |= std::uint64_t{1} << hops[i].port;
    }
    return first;
  }
  if (count == 1) return hops[0];
  std::uint64_t state = route.word + route.hops;
  return hops[splitmix64(state) % count];
}

void GridRouter::options(SwitchId at, std::uint8_t /*in_port*/, HostId target, std::vector<Hop>& out) const {
  std::array<Hop, 3> hops;
  const std::size_t count = choices(at, target, hops);
  // Adaptive hops may always be left for the deterministic ones, from any switch: those alone have to be free of
  // cycles.
  out.insert(out.end(), hops.begin(), hops.begin() + static_cast<std::ptrdiff_t>(is_by_target() ? 1 : count));
}

}  // namespace stopbit::network
