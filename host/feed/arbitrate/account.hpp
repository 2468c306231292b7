#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/feed/arbitrate/histogram.hpp"

/// Accounts for every packet and every sequence number of a channel; exact except during Arbiter::offer.
namespace stopbit::arbitrate {

/// Where a packet came from.
enum class Line : std::uint8_t { A, B, Replay };
inline constexpr std::size_t kLines = 3;

/// Packets: received on all lines = sum of the rest.
struct Packets {
  std::array<std::uint64_t, kLines> received{};  ///< By Line.
  std::uint64_t delivered = 0;
  std::uint64_t duplicate = 0;   ///< Another copy arrived earlier.
  std::uint64_t late = 0;        ///< The only copy, but its number was given up, or is of an earlier run.
  std::uint64_t held = 0;        ///< Waiting now.
  std::uint64_t malformed = 0;   ///< Its preamble is implausible, or no other packet confirms its number.
  std::uint64_t incomplete = 0;  ///< Chunks of numbers that were given up. 0 on feeds without chunks.

  [[nodiscard]] std::uint64_t all_received() const noexcept { return received[0] + received[1] + received[2]; }
  [[nodiscard]] bool balanced() const noexcept {
    return all_received() == delivered + duplicate + late + held + malformed + incomplete;
  }
  bool operator==(const Packets&) const = default;
};

/// Sequence numbers: expected = sum of the rest.
struct Numbers {
  std::uint64_t expected = 0;  ///< last - first + 1.
  std::uint64_t delivered = 0;
  std::uint64_t recovered = 0;  ///< Delivered thanks to Line::Replay, in time or after they were given up.
  std::uint64_t lost = 0;       ///< Reported as gaps.
  std::uint64_t held = 0;       ///< Undecided: waiting, or missing and waited for.

  [[nodiscard]] bool balanced() const noexcept { return expected == delivered + recovered + lost + held; }
  bool operator==(const Numbers&) const = default;
};

/// Of one run of sequence numbers (channel, sender, epoch), or of all runs of a channel together.
struct Account {
  Packets packets;
  Numbers numbers;

  [[nodiscard]] bool balanced() const noexcept { return packets.balanced() && numbers.balanced(); }
  Account& operator+=(const Account& what) noexcept;
  bool operator==(const Account&) const = default;
};

inline Account& Account::operator+=(const Account& what) noexcept {
  for (std::size_t i = 0; i < kLines; ++i) packets.received[i] += what.packets.received[i];
  packets.delivered += what.packets.delivered;
  packets.duplicate += what.packets.duplicate;
  packets.late += what.packets.late;
  packets.held += what.packets.held;
  packets.malformed += what.packets.malformed;
  packets.incomplete += what.packets.incomplete;
  numbers.expected += what.numbers.expected;
  numbers.delivered += what.numbers.delivered;
  numbers.recovered += what.numbers.recovered;
  numbers.lost += what.numbers.lost;
  numbers.held += what.numbers.held;
  return *this;
}

/// Statistics of a line. `missing` and `saved` count a number when the line has passed it by the window, when the run
/// is far past it, or when the run has ended; a packet that arrives later reverses this.
struct LineStats {
  std::uint64_t brought = 0;          ///< Numbers of which it brought a copy, in time or not.
  std::uint64_t missing = 0;          ///< Numbers that did not arrive on it.
  std::uint64_t saved = 0;            ///< Of those, delivered thanks to another line or a replay: the early warning.
  std::uint64_t first_copies = 0;     ///< Numbers it brought before the others, by their arrival.
  std::uint64_t last_sequence = 0;    ///< The highest of the run.
  std::uint64_t last_t_ns = 0;        ///< Arrival of its latest packet, monotonic; 0 = nothing came yet.
  std::uint64_t last_arrival_ns = 0;  ///< The same by the wall clock.
  Histogram behind;                   ///< How long after the other line its copies arrived.
};

}  // namespace stopbit::arbitrate
