#pragma once

#include <cstdint>

/// Numbers that several of the arbiter's rules use.
namespace stopbit::arbitrate {

inline constexpr std::uint64_t kRestartNumbers = 16;  ///< A sender that begins anew begins with one of these.
inline constexpr std::uint64_t kLateWindows = 4;      ///< A line that is late is hardly ever later than this.
/// A leap that is more than this many times as long as what is believed hardly ever ends by chance where another run
/// has stopped.
inline constexpr std::int64_t kFarLeaps = 16;
/// No sender of a channel sends more than 100,000 packets a second for long.
inline constexpr std::uint64_t kNsPerSkippedNumber = 10'000;
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};  ///< As a time.

}  // namespace stopbit::arbitrate
