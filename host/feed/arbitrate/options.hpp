#pragma once

#include <array>
#include <cstdint>

#include "host/feed/framing/framing.hpp"

namespace stopbit::arbitrate {

struct Options {
  bool ordered = true;    ///< False: the first copy is delivered at once, and what it has overtaken is late.
  bool carousel = false;  ///< Numbers begin at 1 with each cycle.
  /// A missing number is given up when this many packets wait for it (at least 1) and every port has been read up to
  /// the arrival of the newest of them,
  std::uint32_t window_packets = 64;
  /// or when every port has been read up to this long after the arrival of the oldest of them.
  std::uint64_t window_ns = 2'000'000;
  /// Packets that can wait at once, in the run and, once more, of strangers (below), each of which has room for two
  /// more of its own. Sized for stall x rate: after a stall the lines are read one after another. At least
  /// window_packets.
  std::uint32_t room_packets = 1'024;
  std::uint32_t datagram_bytes = 2'048;  ///< Longest packet that can be held.
  std::uint8_t sequence_bits = 32;       ///< 16, 32 or 64; 0 = there is no number, everything is delivered.
  bool chunks = false;                   ///< Whether packets may be parts of a number (b3).
  std::uint32_t history =
      65'536;  ///< Number of remembered sequence numbers; a power of two, at least 4 * room_packets.
  /// Another run (sender, reset, range of numbers) takes the channel only when no line has brought a packet of the
  /// present one for this long. Also: a leader of a carousel that is silent for this long has gone.
  std::uint64_t switch_silence_ns = 1'000'000'000;
  std::array<bool, 2> lines = {true, true};  ///< Whether line A and line B exist.
};

/// The options for packets of this framing: bits of the sequence number, and chunks.
[[nodiscard]] Options options_for(const net::Framing& framing);

/// The same with every size within its limits.
[[nodiscard]] Options checked(Options options) noexcept;

}  // namespace stopbit::arbitrate
