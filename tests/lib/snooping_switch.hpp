#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/lib/igmp_frames.hpp"

namespace stopbit::test {

/// A switch that passes a group to a card only while the card has joined it (RFC 4541), and its querier, which believes
/// a report for the time of RFC 3376, 8.4. Times are in ns.
class SnoopingSwitch {
 public:
  static constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::uint64_t kMembership = 260 * kSecond;

  /// A frame of the card.
  void learn(const std::vector<std::byte>& frame, std::uint64_t now) {
    if (frame[13] == std::byte{6}) ++arp_replies;
    for (const Reported& group : reported(frame)) {
      ++reports;
      const bool leaves = group.type == 0x17 || group.type == 3 || group.type == 6;
      if (leaves) {
        until_.erase(group.group);
      } else {
        until_[group.group] = now + kMembership;
      }
    }
  }
  [[nodiscard]] bool passes(std::uint32_t group, std::uint64_t now) const {
    const auto found = until_.find(group);
    return found != until_.end() && now < found->second;
  }

  std::size_t reports = 0;  ///< Groups in them.
  std::size_t arp_replies = 0;

 private:
  std::map<std::uint32_t, std::uint64_t> until_;
};

}  // namespace stopbit::test
