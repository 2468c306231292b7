#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "host/lab/network/names.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::network {

enum class Shape : std::uint8_t { Single, Grid, FatTree, Graph };

/// What a topology is made of. Numbers are from outside; `size_of` checks them before anything is allocated.
struct TopologyPlan {
  Shape shape = Shape::Single;
  std::vector<std::uint32_t> extent = {};  ///< Grid: switches along each dimension, one to three. x is the first.
  bool wraps = false;                      ///< Grid: each dimension is a ring.
  std::uint32_t hosts = 1;                 ///< Grid, Graph: of each switch. Single: of the switch.
  std::uint32_t arity = 4;                 ///< FatTree: ports of each switch.
  std::uint32_t nodes = 0;                 ///< Graph: switches.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links = {};  ///< Graph: in the order of the ports.
};

struct TopologySize {
  std::uint64_t switches = 0;
  std::uint64_t hosts = 0;
  std::uint32_t ports = 0;  ///< Of the switch with the most.
  [[nodiscard]] std::uint64_t channels() const noexcept { return switches * ports + hosts; }
};

/// Without building anything. Fails for a plan that is impossible.
[[nodiscard]] Result<TopologySize> size_of(const TopologyPlan& plan);

/// The other end of a port.
struct Peer {
  enum class Kind : std::uint8_t { None, Switch, Host };
  Kind kind = Kind::None;
  std::uint8_t port = 0;     ///< Of the other switch.
  std::uint32_t number = 0;  ///< Switch or host.
};

/// Where a host is attached.
struct Place {
  SwitchId at = 0;
  std::uint8_t port = 0;
};

using Coordinates = std::array<std::uint16_t, 3>;

/// What each port is connected to. The first ports of a switch are those of its hosts; those of links follow.
class Topology {
 public:
  /// Fails as size_of does.
  [[nodiscard]] static Result<Topology> make(const TopologyPlan& plan);

  [[nodiscard]] const TopologyPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::uint32_t switches() const noexcept { return switches_; }
  [[nodiscard]] std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
  [[nodiscard]] std::uint32_t ports() const noexcept { return ports_; }
  [[nodiscard]] std::uint32_t channels() const noexcept { return switches_ * ports_ + hosts(); }
  [[nodiscard]] ChannelId channel(SwitchId at, std::uint32_t port) const noexcept { return at * ports_ + port; }
  [[nodiscard]] ChannelId host_channel(HostId host) const noexcept { return switches_ * ports_ + host; }
  [[nodiscard]] const Peer& peer(SwitchId at, std::uint32_t port) const noexcept { return peers_[at * ports_ + port]; }
  [[nodiscard]] Place place(HostId host) const noexcept { return places_[host]; }
  /// The first host of a switch; kNone if it has none.
  [[nodiscard]] HostId host_of(SwitchId at) const noexcept {
    return peer(at, 0).kind == Peer::Kind::Host ? peer(at, 0).number : kNone;
  }
  /// The channel that ends in this input.
  [[nodiscard]] ChannelId into(SwitchId at, std::uint32_t port) const noexcept {
    const Peer& other = peer(at, port);
    return other.kind == Peer::Kind::Host ? host_channel(other.number) : channel(other.number, other.port);
  }
  /// Of a grid.
  [[nodiscard]] Coordinates coordinates(SwitchId at) const noexcept;
  /// Switches on the shortest way from each switch to `target`, less one: the links. kNone: there is no way.
  [[nodiscard]] std::vector<std::uint32_t> distances_to(SwitchId target) const;
  /// "3:1", or "host 5": the start of a channel.
  [[nodiscard]] std::string name(ChannelId channel) const;

 private:
  void connect(SwitchId a, std::uint32_t port_a, SwitchId b, std::uint32_t port_b);
  void attach(SwitchId at, std::uint32_t port);
  void make_grid();
  void make_fat_tree();
  void make_graph();

  TopologyPlan plan_;
  std::uint32_t switches_ = 0;
  std::uint32_t ports_ = 0;
  std::vector<Peer> peers_;
  std::vector<Place> places_;
};

}  // namespace stopbit::network
