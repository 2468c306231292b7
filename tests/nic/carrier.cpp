#include "tests/nic/carrier.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/nic/transport/simulated/simulated_network.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "tests/lib/scratch.hpp"
#ifdef STOPBIT_HAS_LINKS
#include "tests/nic/link_network.hpp"
#endif

namespace stopbit::nic {
namespace {

class Model final : public Network {
 public:
  explicit Model(const ModelOptions& options) : network_(options) {}
  [[nodiscard]] Transport& port(NodeId node) override { return network_.port(node); }
  void set_time(std::uint64_t now_ns) override { network_.set_time(now_ns); }
  void cut(NodeId node) override { network_.cut(node); }
  void mend(NodeId node) override { network_.mend(node); }
  void restart(NodeId) override {}

 private:
  ModelNetwork network_;
};

/// Hosts of a simulated ring of switches.
class Simulated final : public Network {
 public:
  explicit Simulated(const network::Plan& plan) {
    auto made = SimulatedNetwork::make(plan);
    if (!made) throw std::runtime_error(made.message());
    network_ = std::move(made).value();
  }
  [[nodiscard]] Transport& port(NodeId node) override { return network_->port(node); }
  void set_time(std::uint64_t now_ns) override { network_->set_time(now_ns); }
  void cut(NodeId node) override { network_->cut(node); }
  void mend(NodeId node) override { network_->mend(node); }
  void restart(NodeId) override {}

 private:
  std::unique_ptr<SimulatedNetwork> network_;
};

/// A carrier's end with a cable that can be pulled.
class Cable final : public Transport {
 public:
  Cable(std::unique_ptr<Transport> end, const std::vector<bool>& is_cut) : end_(std::move(end)), is_cut_(is_cut) {}

  [[nodiscard]] NodeId node() const noexcept override { return end_->node(); }
  [[nodiscard]] std::size_t nodes() const noexcept override { return end_->nodes(); }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return end_->frame_bytes(); }
  [[nodiscard]] bool is_exact() const noexcept override { return end_->is_exact(); }
  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
    return is_cut_[node()] || is_cut_[to] || end_->send(to, frame);
  }
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
    const std::size_t length = end_->receive(into);
    return is_cut_[node()] ? 0 : length;
  }
  [[nodiscard]] std::optional<NodeId> sender() const noexcept override { return end_->sender(); }

 private:
  std::unique_ptr<Transport> end_;
  const std::vector<bool>& is_cut_;
};

/// Inboxes in shared memory, each mapped twice, as if the nodes were processes.
class Shm final : public Network {
 public:
  explicit Shm(std::size_t nodes) : is_cut_(nodes), ends_(nodes) {
    for (std::size_t node = 0; node < nodes; ++node) restart(static_cast<NodeId>(node));
  }
  [[nodiscard]] Transport& port(NodeId node) override { return *ends_[node]; }
  void set_time(std::uint64_t) override {}
  void cut(NodeId node) override { is_cut_[node] = true; }
  void mend(NodeId node) override { is_cut_[node] = false; }
  void restart(NodeId node) override {
    ShmOptions options;
    options.network = scratch_.path("net");
    options.node = node;
    options.nodes = is_cut_.size();
    options.slots = 16;
    options.look_every_ns = 0;  // the time of a case is not that of a clock
    ends_[node].reset();
    auto opened = ShmTransport::open(options);
    if (!opened) throw std::runtime_error(opened.message());
    ends_[node] = std::make_unique<Cable>(std::move(opened).value(), is_cut_);
  }

 private:
  testing::Scratch scratch_;
  std::vector<bool> is_cut_;
  std::vector<std::unique_ptr<Cable>> ends_;
};

/// Nodes in one thread that join node 0, all connected before the first packet: the time of a case is not theirs.
template <class Joining>
class Joined : public Network {
 public:
  [[nodiscard]] Transport& port(NodeId node) final { return *ends_[node].cable; }
  void cut(NodeId node) final { is_cut_[node] = true; }
  void mend(NodeId node) final { is_cut_[node] = false; }
  void restart(NodeId node) override {
    if (node == 0) throw std::runtime_error("node 0 of this carrier is not restarted here");
    ends_[node] = {};
    wait([&] {
      return std::none_of(ends_.begin(), ends_.end(),
                          [&](const End& end) { return end.transport != nullptr && end.transport->is_member(node); });
    });
    open(node);
    connect();
  }

 protected:
  struct End {
    Joining* transport = nullptr;
    std::unique_ptr<Cable> cable;
  };

  explicit Joined(std::size_t nodes) : is_cut_(nodes), ends_(nodes) {}
  void open_all() {
    for (std::size_t node = 0; node < ends_.size(); ++node) open(static_cast<NodeId>(node));
    connect();
  }
  /// With add().
  virtual void open(NodeId node) = 0;
  /// Until all nodes can send to each other.
  virtual void connect() = 0;

  /// `listen`: where node 0 is reached.
  template <class Options>
  void add(NodeId node, Options options, const std::string& listen) {
    options.nodes = std::max<std::size_t>(2, ends_.size());
    options.lease_ns = 600'000'000'000;
    if (node == 0) {
      options.listen = listen;
    } else {
      options.node = node;
    }
    auto opened = node == 0 ? Joining::listen(options) : Joining::start(options, ends_[0].transport->address());
    if (!opened) throw std::runtime_error(opened.message());
    ends_[node].transport = opened.value().get();
    ends_[node].cable = std::make_unique<Cable>(std::move(opened).value(), is_cut_);
  }
  template <class IsSo>
  void wait(IsSo is_so) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60); !is_so();) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the nodes do not connect");
      for (const End& each : ends_) {
        if (each.transport != nullptr) each.transport->progress();
      }
    }
  }

  std::vector<bool> is_cut_;
  std::vector<End> ends_;
};

/// Endpoints of libfabric.
class Fabric final : public Joined<FabricTransport> {
 public:
  /// `program`: the program that runs libfabric in a process of its own, for node 0; or nothing.
  Fabric(std::size_t nodes, std::string provider, std::string program = {})
      : Joined(nodes), provider_(std::move(provider)), program_(std::move(program)) {
    open_all();
  }
  /// Provider shm cannot send to an endpoint of the same process that has been closed: those who say goodbye go first.
  ~Fabric() override {
    while (!ends_.empty()) ends_.pop_back();
  }
  /// The other process gets some of the real time: at each step while frames are known to be under way, and now and
  /// then in any case, as it may have frames that it has not counted yet.
  void set_time(std::uint64_t) override {
    constexpr std::uint64_t kStepsAtMost = 4;
    if (program_.empty() || (under_way() == lost_ && ++steps_ % kStepsAtMost != 0)) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  void restart(NodeId node) override {
    Joined::restart(node);
    lost_ = under_way();
  }

 private:
  /// Frames that were sent and did not come.
  [[nodiscard]] std::uint64_t under_way() const {
    std::uint64_t count = 0;
    for (const End& end : ends_) {
      if (end.transport == nullptr) continue;
      count += end.transport->counters().sent - end.transport->counters().received;
    }
    return count;
  }

  void open(NodeId node) override {
    static int count = 0;
    FabricOptions options;
    options.provider = provider_;
    if (node == 0) options.program = program_;
    const bool is_shm = provider_ == "shm";
    add(node, options,
        is_shm ? "stopbit-cases-" + std::to_string(::getpid()) + "-" + std::to_string(count++)
               : std::string("127.0.0.1:0"));
  }

  /// Until a frame of each node has reached each other one.
  void connect() override {
    const std::array<std::byte, 1> nothing{};
    std::vector<std::byte> into(ends_[0].transport->frame_bytes());
    for (const End& from : ends_) {
      wait([&] { return from.transport->is_joined(); });
      for (const End& to : ends_) {
        if (&from == &to) continue;
        bool is_sent = false;
        wait([&] {
          is_sent = is_sent || from.transport->send(to.transport->node(), nothing);
          return to.transport->receive(into) == 1 && to.transport->sender() == from.transport->node();
        });
      }
    }
  }

  std::string provider_;
  std::string program_;
  std::uint64_t lost_ = 0;  ///< Of those, which will not come any more.
  std::uint64_t steps_ = 0;
};

/// Datagrams over loopback.
class Udp final : public Joined<UdpTransport> {
 public:
  Udp(std::size_t nodes, std::string token) : Joined(nodes), token_(std::move(token)) { open_all(); }
  void set_time(std::uint64_t) override {}

 private:
  void open(NodeId node) override {
    UdpOptions options;
    options.frame_bytes = 4080;
    options.token = token_;
    add(node, options, "127.0.0.1:0");
  }
  void connect() override {
    wait([&] {
      return std::all_of(ends_.begin(), ends_.end(), [&](const End& end) {
        for (std::size_t other = 0; other < ends_.size(); ++other) {
          if (!end.transport->is_member(static_cast<NodeId>(other))) return false;
        }
        return end.transport->is_joined();
      });
    });
  }

  std::string token_;
};

Carrier model(std::string_view name, const impair::LineOptions& line, std::uint64_t seed) {
  return {name, [line, seed](std::size_t nodes) {
            ModelOptions options;
            options.nodes = nodes;
            options.line = line;
            options.seed = seed;
            return std::make_unique<Model>(options);
          }};
}

/// A ring with two virtual channels. With bit errors some frames are lost: the links give up after two attempts.
Carrier simulated(std::string_view name, double bit_error_rate) {
  return {name, [bit_error_rate](std::size_t nodes) {
            network::Plan plan;
            plan.topology = {.shape = network::Shape::Grid,
                             .extent = {static_cast<std::uint32_t>(std::max<std::size_t>(2, nodes))},
                             .wraps = true};
            plan.simulation.node.vcs = 2;
            plan.simulation.link.bit_error_rate = bit_error_rate;
            plan.simulation.link.attempts = 2;
            return std::make_unique<Simulated>(plan);
          }};
}

/// Everything goes wrong, often.
impair::LineOptions bad_line() {
  impair::LineOptions line;
  line.loss = {0.05, 2};
  line.duplicate = 0.05;
  line.reorder = 0.1;
  line.reorder_depth = 20;
  line.corrupt = 0.02;
  line.delay_ns = 3'000;
  return line;
}

}  // namespace

const std::string& why_not_fabric() {
  static const Status has = FabricTransport::available();
  static const std::string why_not = has ? "" : has.message();
  return why_not;
}

std::vector<Carrier> carriers() {
  std::vector<Carrier> all{{"shm", [](std::size_t nodes) { return std::make_unique<Shm>(nodes); }},
                           model("model", {}, 1),
                           model("model, bad network", bad_line(), 1),
                           model("model, bad network, another seed", bad_line(), 1000),
                           simulated("simulated ring", 0),
                           simulated("simulated ring, bit errors", 1e-4)};
  all.push_back({"udp", [](std::size_t nodes) { return std::make_unique<Udp>(nodes, ""); }});
  all.push_back({"udp, sealed", [](std::size_t nodes) { return std::make_unique<Udp>(nodes, "0123456789abcdef"); }});
#ifdef STOPBIT_HAS_LINKS
  all.push_back({"hardware links", [](std::size_t nodes) { return link_network(nodes, 0); }});
  all.push_back({"hardware links, bit errors", [](std::size_t nodes) { return link_network(nodes, 20); }});
#endif
  if (!why_not_fabric().empty()) return all;
  all.push_back({"fabric, tcp", [](std::size_t nodes) { return std::make_unique<Fabric>(nodes, "tcp;ofi_rxm"); }});
  all.push_back({"fabric, tcp, isolated", [](std::size_t nodes) {
                   return std::make_unique<Fabric>(nodes, "tcp;ofi_rxm", find_fabric_program().value());
                 }});
  all.push_back({"fabric, shm", [](std::size_t nodes) { return std::make_unique<Fabric>(nodes, "shm"); }});
  return all;
}

}  // namespace stopbit::nic
