#pragma once

#include <vector>

#include "host/lab/network/routing/dependencies.hpp"
#include "host/lab/network/topology/topology.hpp"

namespace stopbit::network {

/// The members of a group, which receive its packets.
struct GroupPlan {
  HostId source = 0;
  std::vector<HostId> members;
};

/// For each group the ports of each switch by which its packets leave: a tree from the source to all members.
class Groups {
 public:
  /// Grows the tree by the member that is nearest to it, until it has all. Fails if there is no way to a member.
  [[nodiscard]] Status add(const Topology& topology, const GroupPlan& plan);

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  /// 0: the switch has no entry for this group.
  [[nodiscard]] std::uint64_t ports(std::uint32_t group, SwitchId at) const noexcept;
  /// Links between switches in the tree of a group.
  [[nodiscard]] std::size_t links(const Topology& topology, std::uint32_t group) const noexcept;
  /// Which channels packets of groups wait for while they hold others.
  void add_dependencies(const Topology& topology, Dependencies& dependencies) const;

 private:
  struct Entry {
    SwitchId at;
    std::uint64_t ports;
  };
  [[nodiscard]] Status add_member(const Topology& topology, std::vector<Entry>& tree,
                                  std::vector<std::pair<SwitchId, HostId>>& missing) const;

  std::vector<std::vector<Entry>> groups_;  ///< Entries by switch.
};

}  // namespace stopbit::network
