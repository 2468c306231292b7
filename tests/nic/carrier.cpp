#include "tests/nic/carrier.hpp"

#include "host/nic/transport/model/network.hpp"

namespace stopbit::nic {
namespace {

class Model final : public Network {
 public:
  explicit Model(const ModelOptions& options) : network_(options) {}
  [[nodiscard]] Transport& port(NodeId node) override { return network_.port(node); }
  void set_time(std::uint64_t now_ns) override { network_.set_time(now_ns); }
  void cut(NodeId node) override { network_.cut(node); }

 private:
  ModelNetwork network_;
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
  return {model("model", {}, 1), model("model, bad network", bad_line(), 1),
          model("model, bad network, another seed", bad_line(), 1000)};
}

}  // namespace stopbit::nic
