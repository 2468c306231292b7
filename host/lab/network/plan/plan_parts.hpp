#pragma once

#include <optional>

#include "host/lab/network/plan/plan.hpp"

/// The tables of a file of settings, one function each. Mistakes are reported at their place.
namespace stopbit::network {

void read_switch(config::Table& root, Plan& plan);
void read_link(config::Table& root, Plan& plan);
void read_deadlock(config::Table& root, Plan& plan);
/// Without a size the topology is wrong, and what depends on it is not checked.
void read_routing(config::Table& root, Plan& plan, const std::optional<TopologySize>& size);
void read_groups(config::Table& root, Plan& plan, const std::optional<TopologySize>& size);
void read_traffic(config::Table& root, Plan& plan, const std::optional<TopologySize>& size);
void read_run(config::Table& root, Plan& plan);

}  // namespace stopbit::network
