#include "tests/nic/carrier.hpp"

#include <stdexcept>

#include "host/nic/transport/model/network.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "tests/lib/scratch.hpp"

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

/// A carrier's end with a cable that can be pulled.
class Cable final : public Transport {
 public:
  Cable(std::unique_ptr<Transport> end, const std::vector<bool>& is_cut) : end_(std::move(end)), is_cut_(is_cut) {}

  [[nodiscard]] NodeId node() const noexcept override { return end_->node(); }
  [[nodiscard]] std::size_t nodes() const noexcept override { return end_->nodes(); }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return end_->frame_bytes(); }
  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
    return is_cut_[node()] || is_cut_[to] || end_->send(to, frame);
  }
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
    const std::size_t length = end_->receive(into);
    return is_cut_[node()] ? 0 : length;
  }

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

Carrier model(std::string_view name, const impair::LineOptions& line, std::uint64_t seed) {
  return {name, [line, seed](std::size_t nodes) {
            ModelOptions options;
            options.nodes = nodes;
            options.line = line;
            options.seed = seed;
            return std::make_unique<Model>(options);
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

std::vector<Carrier> carriers() {
  return {{"shm", [](std::size_t nodes) { return std::make_unique<Shm>(nodes); }},
          model("model", {}, 1),
          model("model, bad network", bad_line(), 1),
          model("model, bad network, another seed", bad_line(), 1000)};
}

}  // namespace stopbit::nic
