#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "host/nic/provider/carrier.hpp"
#include "host/nic/provider/limits.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"

namespace stopbit::nic::provider {
namespace {

// Memory loses no frame, so a packet goes again only if a receiver's successor dropped it. And silence means nothing.
constexpr LinkOptions kLinks{.resend_ns = 50'000'000, .silence_ns = ~std::uint64_t{0} / 4};
constexpr int kClaims = 100;  // of a node's number, against processes that start at the same time

/// Differs between hosts, and between two starts of one.
std::string host_text() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

class MemoryCarrier final : public Carrier {
 public:
  MemoryCarrier(std::unique_ptr<ShmTransport> transport, const std::string& network)
      : transport_(std::move(transport)), network_(hash_of(network + '@' + host_text())) {}

  [[nodiscard]] Transport& transport() noexcept override { return *transport_; }
  [[nodiscard]] LinkOptions links() const noexcept override { return kLinks; }
  [[nodiscard]] std::uint64_t network() const noexcept override { return network_; }
  /// The lock on its inbox, which ends with the process.
  [[nodiscard]] bool is_alive(NodeId node) override { return transport_->is_alive(node); }
  void forget(NodeId node) noexcept override { transport_->disconnect(node); }
  [[nodiscard]] std::optional<pid_t> process_of(NodeId node) override { return transport_->process_of(node); }
  [[nodiscard]] bool keeps_frames() const noexcept override { return true; }

 private:
  std::unique_ptr<ShmTransport> transport_;
  std::uint64_t network_;
};

}  // namespace

std::size_t packet_bytes(const Parameters& parameters) noexcept {
  const std::size_t frame = parameters.is_remote()
                                ? std::clamp(parameters.frame_bytes, kLeastFrameBytes, kMostFrameBytes)
                                : kMemoryFrameBytes;
  return frame - kLinkBytes;
}

Result<std::unique_ptr<Carrier>> open_memory(const Parameters& parameters) {
  const std::string& network = parameters.network;
  const std::size_t nodes = most_nodes(parameters);
  (void)ShmTransport::remove_dead(network, nodes);
  ShmOptions options;
  options.network = network;
  options.nodes = nodes;
  options.slots = 32;
  options.frame_bytes = kMemoryFrameBytes;
  for (int claim = 0;; ++claim) {
    const std::optional<NodeId> node = ShmTransport::free_node(network, nodes);
    if (!node) {
      return Failure{"network '" + network + "' has " + std::to_string(nodes) +
                     " processes already; set FI_STOPBIT_NETWORK to another name"};
    }
    options.node = *node;
    Result<std::unique_ptr<ShmTransport>> opened = ShmTransport::open(options);
    if (opened) return std::unique_ptr<Carrier>(new MemoryCarrier(std::move(opened).value(), network));
    // Another process was faster if the number is taken now; anything else is a failure.
    if (claim == kClaims || ShmTransport::free_node(network, nodes) == node) return opened.failure();
  }
}

}  // namespace stopbit::nic::provider
