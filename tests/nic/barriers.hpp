#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/sync/barrier.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic {

/// Barriers between ports of the hosts of a script.
class Barriers {
 public:
  using Place = std::pair<NodeId, Vpid>;

  /// False: it cannot work.
  [[nodiscard]] bool make(const std::string& name, std::uint8_t event, const std::vector<Place>& places,
                          const std::vector<std::unique_ptr<Host>>& hosts) {
    std::vector<BarrierMember> members;
    for (const auto& [node, vpid] : places) members.push_back({node, vpid});
    for (std::size_t i = 0; i < places.size(); ++i) {
      HostPort& port = *hosts[places[i].first]->of_port.at(places[i].second);
      Member member{places[i], std::make_unique<Barrier>(port.queue, port.events, members, i, event, kTag), false};
      if (!member.barrier->is_sound()) return false;
      of_name_[name].push_back(std::move(member));
    }
    return true;
  }
  /// False: no such member.
  [[nodiscard]] bool arrive(const std::string& name, Place place) {
    for (Member& member : of_name_[name]) {
      if (member.place != place) continue;
      member.barrier->arrive();
      member.is_waiting = true;
      return true;
    }
    return false;
  }
  /// The port has closed.
  void kill(Place place) {
    for (auto& [name, members] : of_name_) {
      std::erase_if(members, [&](const Member& member) { return member.place == place; });
    }
  }
  /// Lets all go on.
  void step() {
    for (auto& [name, members] : of_name_) {
      for (Member& member : members) {
        if (member.is_waiting && member.barrier->step()) {
          member.is_waiting = false;
          news_[name].push_back(std::to_string(member.place.first) + "." + std::to_string(member.place.second));
        }
      }
    }
  }
  /// Members that have passed since the last call: "B: 0.1 1.2 are through".
  [[nodiscard]] std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (auto& [name, through] : news_) {
      std::sort(through.begin(), through.end());
      std::string line = name + ":";
      for (const std::string& port : through) line += " " + port;
      lines.push_back(line + (through.size() == 1 ? " is through" : " are through"));
    }
    news_.clear();
    return lines;
  }

 private:
  static constexpr std::uint64_t kTag = 4711;
  struct Member {
    Place place;
    std::unique_ptr<Barrier> barrier;
    bool is_waiting = false;
  };
  std::map<std::string, std::vector<Member>> of_name_;
  std::map<std::string, std::vector<std::string>> news_;
};

}  // namespace stopbit::nic
