#include <time.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/provider/carrier.hpp"
#include "host/nic/provider/limits.hpp"
#include "host/nic/transport/udp/endpoint.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/read_file.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
/// Between two attempts to be node 0.
constexpr std::uint64_t kListenEveryNs = 200'000'000;
/// A node whose control connection has ended may come again; then it is alive.
constexpr std::uint64_t kGraceNs = kSecond;
/// Of a member that was named before node 0 has told of it.
constexpr std::uint64_t kUnseenNs = 20 * kSecond;
/// Packets for a peer that computes go again this rarely at last.
constexpr std::uint64_t kSlowestResendNs = 200'000'000;

/// Other nodes by what node 0 says of them. A process that ends, however it ends, closes its connection to node 0,
/// which tells the others. Without node 0 only silence shows that a node is dead.
class NetworkCarrier final : public Carrier {
 public:
  NetworkCarrier(std::unique_ptr<UdpTransport> transport, const Parameters& parameters, const UdpEndpoint& own)
      : transport_(std::move(transport)),
        links_(udp_link_options()),
        network_(hash_of(parameters.network + '@' + parameters.rendezvous)),
        nodes_(transport_->nodes()) {
    links_.silence_ns = parameters.silence_s * kSecond;
    links_.slowest_resend_ns = kSlowestResendNs;
    own_.host = own.host.bytes;
    own_.port = own.port;
  }

  [[nodiscard]] Transport& transport() noexcept override { return *transport_; }
  [[nodiscard]] LinkOptions links() const noexcept override { return links_; }
  [[nodiscard]] std::uint64_t network() const noexcept override { return network_; }
  [[nodiscard]] Place place() const noexcept override { return own_; }
  [[nodiscard]] bool may_be_at(NodeId node, const Place& place) const noexcept override {
    if (node == transport_->node()) return place == own_;
    const std::optional<HostAddress> host = transport_->address_of(node);
    return place.port != 0 && (!host || host->bytes == place.host);
  }

  [[nodiscard]] bool is_alive(NodeId id) override {
    Node& node = nodes_[id];
    // Node 0 is a member of itself: what counts is the connection to it.
    const bool is_known = id == 0 ? transport_->is_joined() : transport_->is_member(id);
    if (is_known) {
      node = {.was_seen = true, .gone_since_ns = 0};
      return true;
    }
    if (id != 0 && !transport_->is_joined()) return true;  // nothing is known
    const std::uint64_t now = os::monotonic_clock_ns();
    if (node.gone_since_ns == 0) node.gone_since_ns = now;
    return now - node.gone_since_ns < (node.was_seen ? kGraceNs : kUnseenNs);
  }
  /// A member that is seen now is dead as soon as it is one no more.
  void meet(NodeId node) override { (void)is_alive(node); }
  void forget(NodeId node) noexcept override { nodes_[node] = {}; }
  [[nodiscard]] bool keeps_frames() const noexcept override { return false; }
  void tend() override { transport_->progress(); }
  [[nodiscard]] std::uint64_t rejected() const noexcept override {
    const UdpCounters& counters = transport_->counters();
    return counters.malformed + counters.version + counters.strangers + counters.stale + counters.replayed +
           counters.forged;
  }

 private:
  struct Node {
    bool was_seen = false;
    std::uint64_t gone_since_ns = 0;
  };
  std::unique_ptr<UdpTransport> transport_;
  LinkOptions links_;
  std::uint64_t network_;
  Place own_;
  std::vector<Node> nodes_;
};

Result<UdpOptions> options_of(const Parameters& parameters) {
  if (parameters.frame_bytes < kLeastFrameBytes || parameters.frame_bytes > kMostFrameBytes) {
    return Failure{"FI_STOPBIT_FRAME_BYTES must be " + std::to_string(kLeastFrameBytes) + " to " +
                   std::to_string(kMostFrameBytes)};
  }
  if (parameters.silence_s == 0 || parameters.silence_s > 1'000'000) {
    return Failure{"FI_STOPBIT_SILENCE must be 1 to 1000000 seconds"};
  }
  UdpOptions options;
  options.network = parameters.network;
  options.nodes = most_nodes(parameters);
  options.frame_bytes = parameters.frame_bytes;
  options.encryption = parameters.is_encrypted ? UdpEncryption::Required : UdpEncryption::Off;
  // A rank that computes says nothing on its control connection, either.
  options.lease_ns = std::max(parameters.silence_s, std::size_t{20}) * kSecond;
  if (parameters.token_file.empty()) return options;
  Result<std::string> token = os::read_first_line(parameters.token_file);
  if (!token) return Failure{"no token: " + token.message()};
  if (token.value().empty()) return Failure{parameters.token_file + ": the first line, the token, is empty"};
  options.token = std::move(token).value();
  return options;
}

/// As node 0 if the rendezvous is a free address of this host, else as a member. Any process may
/// come first, so both are tried until one succeeds.
Result<std::unique_ptr<UdpTransport>> meet(const Parameters& parameters, const UdpOptions& options) {
  UdpOptions host = options;
  host.listen = parameters.rendezvous;
  UdpOptions member = options;
  member.listen = parameters.listen;
  if (!member.listen.empty() && !resolve(member.listen)) member.listen += ":0";
  const std::uint64_t end = os::monotonic_clock_ns() + parameters.patience_s * kSecond;
  std::unique_ptr<UdpTransport> joining;
  for (;;) {
    Result<std::unique_ptr<UdpTransport>> listening = UdpTransport::listen(host);
    if (listening) return listening;
    if (joining == nullptr) {
      Result<std::unique_ptr<UdpTransport>> started = UdpTransport::start(member, parameters.rendezvous);
      if (!started) return started;
      joining = std::move(started).value();
    }
    const std::uint64_t again = os::monotonic_clock_ns() + kListenEveryNs;
    for (std::uint64_t now = 0; now < again; now = os::monotonic_clock_ns()) {
      joining->progress();
      if (joining->is_joined()) return joining;
      if (!joining->problem().empty() || now >= end) {
        return Failure{"cannot join at FI_STOPBIT_RENDEZVOUS " + parameters.rendezvous + ": " +
                       joining->why_not_joined() + "; nor listen there: " + listening.message()};
      }
      constexpr timespec kPause{0, 200'000};
      ::nanosleep(&kPause, nullptr);
    }
  }
}

}  // namespace

Result<std::unique_ptr<Carrier>> open_network(const Parameters& parameters) {
  const Result<UdpEndpoint> at = resolve(parameters.rendezvous);
  if (!at) return Failure{"FI_STOPBIT_RENDEZVOUS: " + at.message()};
  if (at.value().port == 0 || at.value().host == HostAddress() || to_text(at.value().host) == "0.0.0.0") {
    return Failure{"FI_STOPBIT_RENDEZVOUS must name one address and port of one host, not '" + parameters.rendezvous +
                   "'"};
  }
  const Result<UdpOptions> options = options_of(parameters);
  if (!options) return options.failure();
  Result<std::unique_ptr<UdpTransport>> met = meet(parameters, options.value());
  if (!met) return met.failure();
  const Result<UdpEndpoint> own = resolve(met.value()->address());
  if (!own) return own.failure();
  return std::unique_ptr<Carrier>(new NetworkCarrier(std::move(met).value(), parameters, own.value()));
}

}  // namespace stopbit::nic::provider
