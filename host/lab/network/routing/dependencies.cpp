#include "host/lab/network/routing/dependencies.hpp"

#include <algorithm>
#include <string>

namespace stopbit::network {
namespace {

/// Walks the routes to one target, from wherever they may begin.
class Walk {
 public:
  Walk(const Topology& topology, const Router& router, std::uint32_t vcs, Dependencies& dependencies)
      : topology_(topology),
        router_(router),
        vcs_(vcs),
        dependencies_(dependencies),
        seen_(std::size_t{topology.switches()} * topology.ports() * vcs, 0) {}

  Result<Done, RouteFault> run(HostId target) {
    target_ = target;
    opened_ = 2 * target + 1;
    for (SwitchId from = 0; from < topology_.switches(); ++from) {
      if (topology_.host_of(from) == kNone || from == topology_.place(target).at) continue;
      if (Result<Done, RouteFault> status = walk(from, 0, kNone, 0); !status) return status;
    }
    return Done{};
  }

 private:
  struct Frame {
    ChannelId held;
    std::uint32_t vc;
    SwitchId at;
    std::vector<Hop> hops;
    std::size_t next = 0;
  };

  Frame frame(SwitchId at, std::uint8_t in_port, ChannelId held, std::uint32_t vc) const {
    Frame made{held, vc, at, {}, 0};
    if (at != topology_.place(target_).at) router_.options(at, in_port, target_, made.hops);
    return made;
  }

  RouteFault fault(SwitchId at, const std::string& what) const {
    return {"the route from switch " + std::to_string(at) + " to host " + std::to_string(target_) + ' ' + what,
            topology_.place(target_).at};
  }

  /// Depth first. A channel that is met again while its own walk is not finished is part of a circle.
  Result<Done, RouteFault> walk(SwitchId from, std::uint8_t in_port, ChannelId held, std::uint32_t vc) {
    std::vector<Frame> open{frame(from, in_port, held, vc)};
    while (!open.empty()) {
      Frame& top = open.back();
      if (top.next == top.hops.size()) {
        if (top.held != kNone) seen_[top.held * vcs_ + top.vc] = opened_ + 1;
        open.pop_back();
        continue;
      }
      const Hop hop = top.hops[top.next++];
      if (hop.port >= topology_.ports()) return fault(top.at, "does not exist");
      const Peer& peer = topology_.peer(top.at, hop.port);
      if (peer.kind != Peer::Kind::Switch) {
        return fault(top.at, "leads to port " + std::to_string(hop.port) + ", which no other switch is connected to");
      }
      if (hop.vc >= vcs_)
        return fault(top.at, "uses virtual channel " + std::to_string(hop.vc) + ", which does not exist");
      if (top.held != kNone) dependencies_.add(top.held, top.vc, hop);
      const ChannelId channel = topology_.channel(top.at, hop.port);
      std::uint64_t& seen = seen_[channel * vcs_ + hop.vc];
      if (seen == opened_) return fault(top.at, "goes in circles");
      if (seen == opened_ + 1) continue;
      seen = opened_;
      open.push_back(frame(peer.number, peer.port, channel, hop.vc));
    }
    return Done{};
  }

  const Topology& topology_;
  const Router& router_;
  std::uint32_t vcs_;
  Dependencies& dependencies_;
  HostId target_ = 0;
  std::uint64_t opened_ = 0;
  std::vector<std::uint64_t>
      seen_;  ///< By channel and vc: the mark of the target for which it was opened, or one more.
};

}  // namespace

Result<Done, RouteFault> follow_routes(const Topology& topology, const Router& router, std::uint32_t vcs,
                                       Dependencies& dependencies) {
  Walk walk(topology, router, vcs, dependencies);
  for (SwitchId at = 0; at < topology.switches(); ++at) {
    if (topology.host_of(at) == kNone) continue;  // routes to all hosts of a switch are the same
    if (Result<Done, RouteFault> status = walk.run(topology.host_of(at)); !status) return status;
  }
  return Done{};
}

std::vector<std::size_t> Dependencies::next(std::size_t node) const {
  std::vector<std::size_t> all;
  const auto channel = static_cast<ChannelId>(node / vcs_);
  const SwitchId at = topology_.peer(channel / topology_.ports(), channel % topology_.ports()).number;
  for (std::uint32_t vc = 0; vc < vcs_; ++vc) {
    for_each_bit(waits_[node][vc], [&](std::uint32_t port) {
      if (topology_.peer(at, port).kind == Peer::Kind::Switch)
        all.push_back(topology_.channel(at, port) * std::size_t{vcs_} + vc);
    });
  }
  return all;
}

std::vector<ChannelId> Dependencies::cycle() const {
  enum class State : std::uint8_t { New, Open, Finished };
  std::vector<State> state(waits_.size(), State::New);
  for (std::size_t root = 0; root < waits_.size(); ++root) {
    if (state[root] != State::New) continue;
    std::vector<std::pair<std::size_t, std::vector<std::size_t>>> open;
    const auto push = [&](std::size_t node) {
      state[node] = State::Open;
      open.emplace_back(node, next(node));
    };
    push(root);
    while (!open.empty()) {
      auto& [node, rest] = open.back();
      if (rest.empty()) {
        state[node] = State::Finished;
        open.pop_back();
        continue;
      }
      const std::size_t other = rest.back();
      rest.pop_back();
      if (state[other] == State::New) push(other);
      if (state[other] != State::Open || open.back().first == other) continue;
      std::vector<ChannelId> found;
      auto it = std::find_if(open.begin(), open.end(), [&](const auto& frame) { return frame.first == other; });
      for (; it != open.end(); ++it) found.push_back(static_cast<ChannelId>(it->first / vcs_));
      return found;
    }
  }
  return {};
}

}  // namespace stopbit::network
