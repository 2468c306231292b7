#pragma once

#include <memory>
#include <vector>

#include "host/lab/network/engine/simulation.hpp"
#include "host/lab/network/routing/delta_router.hpp"
#include "host/lab/network/routing/grid_router.hpp"
#include "host/lab/network/routing/tables.hpp"
#include "host/lab/network/routing/tree_router.hpp"
#include "host/lab/network/traffic/patterns.hpp"

/// Small networks for tests.
namespace stopbit::network::testing {

inline Topology topology_of(const TopologyPlan& plan) {
  return Topology::make(plan).value();
}

inline TopologyPlan mesh(std::vector<std::uint32_t> extent) {
  return {.shape = Shape::Grid, .extent = std::move(extent), .wraps = false, .hosts = 1};
}

inline TopologyPlan torus(std::vector<std::uint32_t> extent) {
  return {.shape = Shape::Grid, .extent = std::move(extent), .wraps = true, .hosts = 1};
}

/// Packets from a list, each host's by time.
class ListSource final : public Source {
 public:
  explicit ListSource(std::vector<std::vector<Offer>> offers) : offers_(std::move(offers)), next_(offers_.size()) {}
  [[nodiscard]] bool next(HostId host, Offer& offer) override {
    if (host >= offers_.size() || next_[host] == offers_[host].size()) return false;
    offer = offers_[host][next_[host]++];
    return true;
  }

 private:
  std::vector<std::vector<Offer>> offers_;
  std::vector<std::size_t> next_;
};

}  // namespace stopbit::network::testing
