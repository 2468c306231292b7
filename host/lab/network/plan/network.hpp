#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/lab/network/plan/plan.hpp"
#include "host/lab/network/routing/router.hpp"

namespace stopbit::network {

class GridRouter;
class TableRouter;

/// Why a plan makes no network, and the place of the file that says so; a plan that comes from no file has no places.
struct NetworkFault {
  std::string message;
  SourceRange place = {};
};

/// A topology with its routes and groups, as a plan says. Simulations refer to it.
class Network {
 public:
  /// Follows all routes, unless the network is too large for that. Fails if one leads nowhere or in circles, or if a
  /// group has a member that cannot be reached.
  [[nodiscard]] static Result<std::unique_ptr<Network>, NetworkFault> make(const Plan& plan);

  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  [[nodiscard]] const Router& router() const noexcept { return *router_; }
  [[nodiscard]] const Groups& groups() const noexcept { return groups_; }
  /// False: more than kMostCheckedSwitches.
  [[nodiscard]] bool is_checked() const noexcept { return is_checked_; }
  /// Channels that could wait for each other, so that the network may deadlock. Empty: none, or not checked.
  [[nodiscard]] const std::vector<ChannelId>& cycle() const noexcept { return cycle_; }

 private:
  explicit Network(Topology topology);
  void make_router(const Plan& plan);
  [[nodiscard]] Result<Done, NetworkFault> check(const Plan& plan);

  Topology topology_;
  std::unique_ptr<GridRouter> grid_;
  std::unique_ptr<TableRouter> table_;
  std::unique_ptr<Router> own_;
  const Router* router_ = nullptr;  ///< One of these.
  Groups groups_;
  bool is_checked_ = false;
  std::vector<ChannelId> cycle_;
};

}  // namespace stopbit::network
