#pragma once

#include <vector>

#include "host/lab/impair/random.hpp"
#include "host/lab/network/traffic/source.hpp"

namespace stopbit::network {

enum class Pattern : std::uint8_t {
  Uniform,      ///< To any other host.
  HotSpot,      ///< A share of all packets goes to one host, the rest is uniform.
  BitReversal,  ///< To the host whose number has the bits in reverse order. The number of hosts is a power of two.
  Transpose,    ///< From (x, y) to (y, x), of hosts in a square.
  Neighbour,    ///< To the next host.
};

struct PatternOptions {
  Pattern pattern = Pattern::Uniform;
  double load = 0.1;  ///< Part of the link of each host that its packets would take.
  std::uint32_t payload = 64;
  std::uint32_t classes = 1;  ///< In turn.
  double hot_share = 0.1;
  HostId hot_host = 0;
  std::uint64_t seed = 1;
};

/// Packets of one length at random times: each host's gaps have an exponential distribution, from a seed of its own.
class PatternSource final : public Source {
 public:
  /// `cells` is the length of a packet on the link.
  PatternSource(std::uint32_t hosts, std::uint32_t cells, const PatternOptions& options);
  [[nodiscard]] bool next(HostId host, Offer& offer) override;
  /// Whether the pattern exists for this number of hosts.
  [[nodiscard]] static bool fits(Pattern pattern, std::uint32_t hosts) noexcept;

 private:
  struct State {
    impair::Random random{0};
    double time = 0;
    std::uint32_t sent = 0;
  };
  [[nodiscard]] HostId target(HostId host, impair::Random& random) const;

  std::uint32_t hosts_;
  std::uint32_t bits_ = 0;
  std::uint32_t side_ = 0;
  double mean_gap_;
  PatternOptions options_;
  std::vector<State> states_;
};

/// A datagram of a feed.
struct Datagram {
  Cycle at = 0;
  std::uint32_t bytes = 0;
};

/// One host sends datagrams to many: once to a group, or a copy to each member. Those that are longer than a packet
/// take several.
class FanOutSource final : public Source {
 public:
  /// `group` is kNone for copies to each of `members`.
  FanOutSource(HostId from, std::vector<Datagram> datagrams, std::uint32_t packet_bytes, std::uint32_t group,
               std::vector<HostId> members);
  [[nodiscard]] bool next(HostId host, Offer& offer) override;

 private:
  HostId from_;
  std::vector<Datagram> datagrams_;
  std::uint32_t packet_bytes_;
  std::uint32_t group_;
  std::vector<HostId> members_;
  std::size_t datagram_ = 0;
  std::uint32_t offset_ = 0;
  std::size_t member_ = 0;
};

}  // namespace stopbit::network
