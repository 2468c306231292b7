#include "host/lab/network/traffic/patterns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "microcode/base/splitmix64.hpp"

namespace stopbit::network {

PatternSource::PatternSource(std::uint32_t hosts, std::uint32_t cells, const PatternOptions& options)
    : hosts_(hosts), mean_gap_(static_cast<double>(cells) / options.load), options_(options), states_(hosts) {
  bits_ = static_cast<std::uint32_t>(std::bit_width(hosts)) - 1;
  side_ = static_cast<std::uint32_t>(std::lround(std::sqrt(hosts)));
  std::uint64_t seed = options.seed;
  for (State& state : states_) state.random = impair::Random(splitmix64(seed));
}

bool PatternSource::fits(Pattern pattern, std::uint32_t hosts) noexcept {
  if (pattern == Pattern::BitReversal) return std::has_single_bit(hosts);
  if (pattern != Pattern::Transpose) return true;
  const auto side = static_cast<std::uint32_t>(std::lround(std::sqrt(hosts)));
  return side * side == hosts;
}

HostId PatternSource::target(HostId host, impair::Random& random) const {
  switch (options_.pattern) {
    case Pattern::HotSpot:
      if (host != options_.hot_host && random.happens(options_.hot_share)) return options_.hot_host;
      break;
    case Pattern::BitReversal: {
      HostId reversed = 0;
      for (std::uint32_t bit = 0; bit < bits_; ++bit) reversed |= (host >> bit & 1) << (bits_ - 1 - bit);
      return reversed;
    }
    case Pattern::Transpose: return host % side_ * side_ + host / side_;
    case Pattern::Neighbour: return (host + 1) % hosts_;
    case Pattern::Uniform: break;
  }
  const auto other = static_cast<HostId>(random.below(hosts_ - 1));
  return other < host ? other : other + 1;
}

bool PatternSource::next(HostId host, Offer& offer) {
  State& state = states_[host];
  constexpr double kTo53Bits = 1.0 / 9007199254740992.0;
  const double uniform = static_cast<double>((state.random.next() >> 11) + 1) * kTo53Bits;  // never 0
  state.time -= mean_gap_ * std::log(uniform);
  offer = {.at = static_cast<Cycle>(state.time),
           .target = target(host, state.random),
           .group = kNone,
           .payload = options_.payload,
           .traffic_class = static_cast<std::uint8_t>(state.sent++ % options_.classes)};
  return offer.target != host;  // of a permutation: this host talks to itself, so it sends nothing
}

FanOutSource::FanOutSource(HostId from, std::vector<Datagram> datagrams, std::uint32_t packet_bytes,
                           std::uint32_t group, std::vector<HostId> members)
    : from_(from),
      datagrams_(std::move(datagrams)),
      packet_bytes_(packet_bytes),
      group_(group),
      members_(std::move(members)) {}

bool FanOutSource::next(HostId host, Offer& offer) {
  if (host != from_ || datagram_ == datagrams_.size()) return false;
  const Datagram& datagram = datagrams_[datagram_];
  offer = {.at = datagram.at,
           .target = group_ == kNone ? members_[member_] : 0,
           .group = group_,
           .payload = std::min(packet_bytes_, datagram.bytes - offset_),
           .traffic_class = 0};
  if (group_ == kNone && ++member_ < members_.size()) return true;
  member_ = 0;
  offset_ += offer.payload;
  if (offset_ < datagram.bytes) return true;
  offset_ = 0;
  ++datagram_;
  return true;
}

}  // namespace stopbit::network
