#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/lab/network/engine/options.hpp"
#include "host/lab/network/routing/multicast.hpp"
#include "host/lab/network/topology/topology.hpp"
#include "host/lab/network/traffic/patterns.hpp"
#include "host/os/config/toml.hpp"

namespace stopbit::network {

/// Which paths packets take.
enum class Order : std::uint8_t { Dimension, Reverse, Random, WestFirst, Shortest, UpDown, Tree, EdgeWrap };

/// How switches find them.
enum class By : std::uint8_t { Computed, Table, TwoLevel, Interval, Delta };

struct RouteChange {
  SwitchId at = 0;
  SwitchId target = 0;
  std::uint8_t port = 0;
  std::uint8_t vc = 0;
  SourceRange place = {};
};

struct RoutingPlan {
  Order order = Order::Dimension;
  By by = By::Computed;
  bool is_adaptive = false;
  std::uint32_t local_bits = 10;  ///< By::TwoLevel.
  std::vector<RouteChange> changes;
  SourceRange place = {};
};

enum class TrafficKind : std::uint8_t { Pattern, FanOut };

struct TrafficPlan {
  TrafficKind kind = TrafficKind::Pattern;
  PatternOptions pattern;
  std::string capture;  ///< FanOut: a capture file, or empty: `datagrams` of `payload` bytes each, `every_ns` apart.
  double speed = 1;     ///< Of the capture.
  std::uint64_t datagrams = 1;
  std::uint64_t every_ns = 1'000;
  std::uint32_t group = 0;   ///< Which of the groups.
  bool is_multicast = true;  ///< Else a copy to each member.
};

struct RunPlan {
  std::uint64_t packets = ~std::uint64_t{0};
  Cycle cycles = ~Cycle{0};
  Cycle warmup = 0;
};

/// What a file of settings says.
struct Plan {
  TopologyPlan topology;
  SourceRange topology_place = {};
  SimulationOptions simulation;
  RoutingPlan routing;
  std::vector<GroupPlan> groups;
  std::vector<SourceRange> group_places;  ///< Where the file says them, for errors.
  TrafficPlan traffic;
  RunPlan run;
  std::vector<double> loads;  ///< A sweep; empty: one run.
};

/// The rows of the file's keys (host/os/config/keys.hpp).
[[nodiscard]] const config::TableKeys& plan_keys();

/// Checks everything that can be checked without building the network: ranges, numbers that have to fit each other, and
/// the memory, so that no number in the file makes the program allocate more than the room. Nothing: see the
/// diagnostics.
[[nodiscard]] std::optional<Plan> read_plan(const config::Document& document, Diagnostics& diagnostics);

/// Memory for the network and its routes, without packets.
[[nodiscard]] std::uint64_t memory_of(const Plan& plan, const TopologySize& size) noexcept;

/// Networks of more switches are not followed route by route; see Network::is_checked.
inline constexpr std::uint32_t kMostCheckedSwitches = 1'024;

}  // namespace stopbit::network
