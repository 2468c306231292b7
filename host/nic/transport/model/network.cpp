#include "host/nic/transport/model/network.hpp"

#include <algorithm>

namespace stopbit::nic {

class ModelNetwork::ModelTransport final : public Transport {
 public:
  ModelTransport(ModelNetwork& network, NodeId node) : network_(network), node_(node) {}

  [[nodiscard]] NodeId node() const noexcept override { return node_; }
  [[nodiscard]] std::size_t nodes() const noexcept override { return network_.options_.nodes; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return network_.options_.frame_bytes; }

  [[nodiscard]] bool shares_memory(NodeId other) const noexcept override {
    return other == node_ || network_.options_.is_one_host;
  }

  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
    if (to >= nodes() || frame.size() > frame_bytes()) return false;
    if (network_.is_cut_[node_] || network_.is_cut_[to]) return true;  // as a cable that was pulled
    ++network_.frames_;
    network_.way(node_, to).push(frame, network_.now_ns_);
    return true;
  }

  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
    if (network_.is_cut_[node_]) return 0;
    for (std::size_t tried = 0; tried < nodes(); ++tried) {
      const auto from = static_cast<NodeId>(next_++ % nodes());
      if (const impair::Copy* copy = network_.way(from, node_).pop(network_.now_ns_)) {
        const std::size_t length = std::min(into.size(), copy->bytes.size());
        std::copy_n(copy->bytes.begin(), length, into.begin());
        return length;
      }
    }
    return 0;
  }

  [[nodiscard]] std::optional<HostAddress> address_of(NodeId node) const noexcept override {
    return node < nodes() ? network_.addresses_[node] : std::nullopt;
  }

 private:
  ModelNetwork& network_;
  NodeId node_;
  std::size_t next_ = 0;
};

ModelNetwork::ModelNetwork(const ModelOptions& options)
    : options_(options), is_cut_(options.nodes), addresses_(options.nodes) {
  for (std::size_t from = 0; from < options.nodes; ++from) {
    for (std::size_t to = 0; to < options.nodes; ++to) {
      impair::Options way;
      way.seed = options.seed + from * options.nodes + to;
      way.lines = 1;
      if (from != to) way.line[0] = options.line;
      ways_.emplace_back(way);
    }
    ports_.push_back(std::make_unique<ModelTransport>(*this, static_cast<NodeId>(from)));
  }
}

ModelNetwork::~ModelNetwork() = default;

Transport& ModelNetwork::port(NodeId node) noexcept {
  return *ports_[node];
}

void ModelNetwork::cut(NodeId node) {
  is_cut_[node] = true;
}

void ModelNetwork::mend(NodeId node) {
  is_cut_[node] = false;
}

}  // namespace stopbit::nic
