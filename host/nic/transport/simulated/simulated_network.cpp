#include "host/nic/transport/simulated/simulated_network.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "host/lab/network/traffic/patterns.hpp"

namespace stopbit::nic {

class SimulatedNetwork::Port final : public Transport {
 public:
  Port(SimulatedNetwork& network, NodeId node) : network_(network), node_(node) {}

  [[nodiscard]] NodeId node() const noexcept override { return node_; }
  [[nodiscard]] std::size_t nodes() const noexcept override { return network_.ports_.size(); }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return network_.frame_bytes_; }

  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
    if (to >= nodes() || frame.size() > frame_bytes()) return false;
    if (network_.is_cut_[node_] || network_.is_cut_[to]) return true;  // as a cable that was pulled
    return network_.send(node_, to, frame);
  }

  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
    if (inbox_.empty()) return 0;
    const std::uint32_t number = inbox_.front();
    inbox_.pop_front();
    const Frame& frame = network_.frames_[number];
    const std::size_t length = std::min(into.size(), frame.bytes.size());
    std::copy_n(frame.bytes.begin(), length, into.begin());
    sender_ = frame.from;
    network_.free_frames_.push_back(number);
    return network_.is_cut_[node_] ? 0 : length;
  }

  [[nodiscard]] std::optional<NodeId> sender() const noexcept override { return sender_; }
  void put(std::uint32_t frame) { inbox_.push_back(frame); }

 private:
  SimulatedNetwork& network_;
  NodeId node_;
  std::deque<std::uint32_t> inbox_;
  std::optional<NodeId> sender_;
};

namespace {

constexpr NodeId kNoNode = 0xFFFF;

std::unique_ptr<network::Source> traffic_of(const network::Plan& plan, const network::Network& network) {
  const network::PatternOptions& pattern = plan.traffic.pattern;
  const std::uint32_t cells = plan.simulation.node.cells_of(pattern.payload);
  return std::make_unique<network::PatternSource>(network.topology().hosts(), cells, pattern);
}

std::vector<network::HostId> hosts_of(const network::Network& network, const SimulatedOptions& options) {
  if (!options.hosts.empty()) return options.hosts;
  std::vector<network::HostId> all(network.topology().hosts());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(const network::Plan& plan, std::unique_ptr<network::Network> network,
                                   const SimulatedOptions& options)
    : network_(std::move(network)),
      hosts_(hosts_of(*network_, options)),
      nodes_(network_->topology().hosts(), kNoNode),
      others_(options.has_traffic ? traffic_of(plan, *network_) : nullptr),
      simulation_(network_->topology(), network_->router(), network_->groups(), others_.get(), plan.simulation),
      cycles_of_ns_(plan.simulation.node.clock_mhz / 1'000),
      packet_bytes_(plan.simulation.node.packet_bytes),
      frame_bytes_(options.frame_bytes),
      under_way_(hosts_.size()),
      is_cut_(hosts_.size()) {
  for (std::size_t node = 0; node < hosts_.size(); ++node) {
    nodes_[hosts_[node]] = static_cast<NodeId>(node);
    ports_.push_back(std::make_unique<Port>(*this, static_cast<NodeId>(node)));
  }
  simulation_.on_delivery([this](const network::Packet& packet, network::HostId host) {
    if (packet.frame != network::kNone) arrive(packet, nodes_[host]);
  });
}

SimulatedNetwork::~SimulatedNetwork() = default;

Result<std::unique_ptr<SimulatedNetwork>> SimulatedNetwork::make(const network::Plan& plan,
                                                                 const SimulatedOptions& options) {
  auto network = network::Network::make(plan);
  if (!network) return Failure{network.message()};
  const std::vector<network::HostId> hosts = hosts_of(*network.value(), options);
  if (hosts.size() > kNoNode) return Failure{"nodes have numbers of 16 bits: at most 65535 nodes"};
  std::vector<bool> is_taken(network.value()->topology().hosts());
  for (const network::HostId host : hosts) {
    if (host >= is_taken.size()) return Failure{"host " + std::to_string(host) + " does not exist"};
    if (is_taken[host]) return Failure{"two nodes are host " + std::to_string(host)};
    is_taken[host] = true;
  }
  return std::unique_ptr<SimulatedNetwork>(new SimulatedNetwork(plan, std::move(network).value(), options));
}

Transport& SimulatedNetwork::port(NodeId node) noexcept {
  return *ports_[node];
}

void SimulatedNetwork::set_time(std::uint64_t now_ns) {
  const auto cycle = static_cast<network::Cycle>(static_cast<double>(now_ns) * cycles_of_ns_);
  (void)simulation_.run(cycle);  // a network that is stuck delivers nothing more, as the real one would
  simulation_.skip_to(cycle);
}

bool SimulatedNetwork::send(NodeId from, NodeId to, std::span<const std::byte> bytes) {
  if (under_way_[from] >= kFramesOfNode) return false;
  std::uint32_t number = 0;
  if (free_frames_.empty()) {
    number = static_cast<std::uint32_t>(frames_.size());
    frames_.emplace_back();
  } else {
    number = free_frames_.back();
    free_frames_.pop_back();
  }
  Frame& frame = frames_[number];
  frame.bytes.assign(bytes.begin(), bytes.end());
  frame.from = from;
  frame.is_damaged = false;
  if (from == to) {
    ports_[to]->put(number);
    return true;
  }
  ++under_way_[from];
  frame.missing =
      std::max<std::uint32_t>(1, static_cast<std::uint32_t>((bytes.size() + packet_bytes_ - 1) / packet_bytes_));
  std::size_t rest = bytes.size();
  for (std::uint32_t i = frame.missing; i != 0; --i) {
    const std::size_t part = std::min<std::size_t>(rest, packet_bytes_);
    simulation_.send(hosts_[from], hosts_[to], static_cast<std::uint32_t>(part), number);
    rest -= part;
  }
  return true;
}

/// Packets of one frame may overtake each other on adaptive ways; the frame is whole when all have come.
void SimulatedNetwork::arrive(const network::Packet& packet, NodeId to) {
  Frame& frame = frames_[packet.frame];
  frame.is_damaged = frame.is_damaged || packet.is_bad;
  if (--frame.missing != 0) return;
  --under_way_[frame.from];
  if (frame.is_damaged) {
    free_frames_.push_back(packet.frame);
  } else {
    ports_[to]->put(packet.frame);
  }
}

}  // namespace stopbit::nic
