#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/lab/impair/impairer.hpp"
#include "host/lab/simulate/settings.hpp"
#include "host/market/sync/options.hpp"

namespace stopbit::venue_test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

/// A time in which nothing arrives.
struct Outage {
  std::uint64_t begin_ns = 0;  ///< From the start, as all times here.
  std::uint64_t end_ns = 0;
  bool of_a = true;
  bool of_b = true;
  bool of_snapshots = true;  ///< And of the definitions.
  [[nodiscard]] bool has(std::uint64_t at_ns) const { return at_ns >= begin_ns && at_ns < end_ns; }
};

/// What a seed makes: an exchange, a network and an appliance.
struct Plan {
  simulate::Settings settings;
  std::array<impair::Options, 2> network;  ///< Of increments; of the other streams.
  std::vector<Outage> outages;
  std::uint64_t skew_ns = 0;   ///< Of line B.
  std::uint64_t joins_ns = 0;  ///< Nothing is received before.
  std::uint64_t quiet_ns = 0;  ///< Nothing is lost from here on.
  market::Policy policy = market::Policy::Optimistic;
  bool refresh = true;
  std::uint32_t queued = 65'536;
  bool knows_depth = true;
  std::size_t batch = 32;
};
[[nodiscard]] Plan make_plan(std::uint64_t seed);

/// How often things happened, over all schedules.
enum class Count : std::uint8_t {
  Packets,
  Lost,
  Gaps,
  Outages,
  LongOutages,
  Resets,
  LatestBooks,
  AheadBooks,
  SuspectBooks,
  StaleBooks,
  KnownRows,
  Loads,
  Audits,
  Refreshes,
  Queued,
  Unqueued,
  TornSnapshots,
  OldSnapshots,
  Healed,
};
inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::Healed) + 1;
using Counts = std::array<std::uint64_t, kCounts>;
[[nodiscard]] const char* to_text(Count count) noexcept;

/// Plays the schedule of a seed. @returns what went wrong; empty: nothing. `story`: prints what happens to this
/// instrument; -1: none.
[[nodiscard]] std::string play(std::uint64_t seed, Counts& counts, int story = -1);

}  // namespace stopbit::venue_test
