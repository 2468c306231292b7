#pragma once

#include <cstdint>
#include <string>

#include "host/market/sync/options.hpp"

namespace stopbit::market::testing {

/// What happened in one schedule or in several.
struct Happened {
  std::uint64_t latest = 0;  ///< Checks of an instrument in this state.
  std::uint64_t suspect = 0;
  std::uint64_t stale = 0;
  std::uint64_t messages_lost = 0;
  std::uint64_t parts_lost = 0;
  std::uint64_t resets = 0;
  std::uint64_t spoiled = 0;
  SyncCounts counts;

  void add(const Happened& other);
  [[nodiscard]] std::string text() const;
};

/// Plays a seeded schedule of an exchange whose messages get lost, and compares the synchroniser's books and states
/// with the truth. Empty, or what was wrong.
[[nodiscard]] std::string play(std::uint64_t seed, ScopeOf scope, Happened& happened);

[[nodiscard]] const char* name_of(ScopeOf scope);

}  // namespace stopbit::market::testing
