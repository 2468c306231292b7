#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/feed/framing/framing.hpp"

namespace stopbit::replay {

/// Missing datagrams of a group, by its sequence numbers.
struct NumberCount {
  std::uint64_t missing = 0;  ///< Numbers that never came,
  std::uint64_t gaps = 0;     ///< Number of gaps.
  std::uint64_t late = 0;     ///< Came after a higher one; not missing.
  std::uint64_t again = 0;    ///< Had come before.
  std::uint64_t runs = 0;     ///< Of numbers, the first one included: carousels, resets, other senders.

  NumberCount& operator+=(const NumberCount& other) noexcept;
};

/// Counts the sequence numbers that are missing in a capture, by group, without arbitration: lines A and B have groups
/// of their own. A number far from those before it begins a new run and leaves no gap; so does a return to the first
/// numbers, and another sender. Allocates when it is made.
class MissingNumbers {
 public:
  /// Counts nothing if datagrams of this framing have no number.
  MissingNumbers(const net::Framing& framing, std::size_t channels);

  /// A datagram whose preamble was read without error.
  void take(std::size_t channel, const net::Preamble& preamble) noexcept;
  [[nodiscard]] NumberCount count(std::size_t channel) const noexcept;

 private:
  /// Numbers that are missing, [begin, end).
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Run {
    std::uint64_t sender = 0;
    std::uint64_t next = 0;
    std::uint64_t again_in_order = 0;  ///< Numbers in order that had come before, up to the last one.
    std::uint64_t last = 0;
    NumberCount count;
    std::array<Range, 16> missing{};  ///< The last gaps, for numbers that come late.
    std::size_t oldest = 0;           ///< Of these, overwritten by the next gap.
  };
  static constexpr std::size_t kSenders = 4;
  struct Channel {
    std::array<Run, kSenders> runs{};
    std::size_t used = 0;
    std::size_t oldest = 0;
    NumberCount forgotten;  ///< Of senders that gave their place to others.
  };

  [[nodiscard]] static Run& run_of(Channel& channel, std::uint64_t sender) noexcept;
  void take_number(Run& run, std::uint64_t number) const noexcept;
  [[nodiscard]] bool fill(Run& run, std::uint64_t number) const noexcept;
  static void remember(Run& run, Range range) noexcept;
  static void begin(Run& run, std::uint64_t number, std::uint64_t mask) noexcept;

  std::uint64_t mask_ = 0;  ///< All numbers there are; 0: none.
  std::vector<Channel> channels_;
};

}  // namespace stopbit::replay
