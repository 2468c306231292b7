#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "host/feed/arbitrate/numbering.hpp"
#include "host/feed/arbitrate/slots.hpp"
#include "host/feed/arbitrate/sources.hpp"

namespace stopbit::arbitrate {

/// What a packet is to the present run.
enum class Fit : std::uint8_t {
  InRun,
  Passed,  ///< Of a run before, or of a range that was leapt over, and not new there.
  Ahead,
  Behind,
  OtherSender,
};

/// Packets that may be of another run.
struct Stranger {
  Fit fit = Fit::InRun;  ///< InRun = there is none.
  bool is_confirmed = false;
  bool is_late = false;         ///< Its numbers were given up: late, not malformed, if it comes to nothing.
  bool is_early = false;        ///< They are just before the run's first: late, too, if it comes to nothing.
  bool is_given_up = false;     ///< The number that it began with was given up by the run, or may be a second copy.
  bool fills_holes = false;     ///< All its numbers were, just before they came.
  bool has_dropped = false;     ///< Some had no room.
  std::uint8_t lines = 0;       ///< A bit per line that has brought some.
  std::uint32_t first = kNone;  ///< Lowest number held.
  std::uint32_t last = kNone;
  std::uint32_t packets = 0;
  std::uint32_t successions = 0;  ///< How often a number followed another.
  std::uint64_t sender = 0;
  std::uint64_t lowest_dropped = 0;
  std::uint64_t highest_dropped = 0;
  /// How far each line had come in the run when it brought the last of these.
  std::array<std::uint64_t, kLines> line_top = {};
  std::uint64_t begin_t_ns = 0;
  std::uint64_t last_t_ns = 0;
  Sources sources = {};
};

/// Groups of strangers, and their packets in the order of numbers and chunks. It stores; what becomes of them is the
/// arbiter's decision.
class Strangers {
 public:
  static constexpr std::size_t kMost = 16;
  /// Packets of each stranger held outside the common room: enough to confirm it, however much the others send.
  static constexpr std::uint32_t kOwnRoom = 2;

  Strangers(Slots& slots, const Numbering& numbering) noexcept : slots_(slots), numbering_(numbering) {}

  /// All places, those without a stranger, too.
  [[nodiscard]] auto begin() noexcept { return all_.begin(); }
  [[nodiscard]] auto end() noexcept { return all_.end(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Packets in the common room.
  [[nodiscard]] std::uint32_t in_common_room() const noexcept { return in_common_room_; }
  [[nodiscard]] std::uint64_t packets() const noexcept;

  [[nodiscard]] const Packet& first(const Stranger& stranger) const noexcept { return slots_[stranger.first].packet; }
  [[nodiscard]] const Packet& last(const Stranger& stranger) const noexcept { return slots_[stranger.last].packet; }
  /// The lowest number that it has brought, as on the wire.
  [[nodiscard]] std::uint64_t begin_of(const Stranger& stranger) const noexcept;
  [[nodiscard]] bool is_before(const Stranger& left, const Stranger& right) const noexcept {
    return numbering_.distance(first(left).preamble.sequence, first(right).preamble.sequence) < 0;
  }
  /// Whether it has brought the same packet, from another address: that of the other line.
  [[nodiscard]] bool has_copy(const Stranger& stranger, const Packet& packet) const noexcept;
  /// Its highest packet that is not above this one; kNone if there is none.
  [[nodiscard]] std::uint32_t at_or_below(const Stranger& stranger, const Packet& packet) const noexcept;
  /// Difference of numbers, or of the chunks of one.
  [[nodiscard]] std::int64_t distance(const net::Preamble& left, const net::Preamble& right) const noexcept {
    const std::int64_t numbers = numbering_.distance(left.sequence, right.sequence);
    return numbers != 0 ? numbers : std::int64_t{left.chunk} - std::int64_t{right.chunk};
  }

  /// In a place of which no stranger has need.
  void put(Stranger& place, const Stranger& stranger) noexcept;
  /// Takes the packet in, after the slot `below`.
  void insert(Stranger& stranger, const Packet& packet, std::uint32_t below) noexcept;
  /// The packet has no room. If the stranger comes to something, its number is lost for that reason.
  void note_dropped(Stranger& stranger, std::uint64_t sequence) noexcept;
  /// Takes the slot out of the list; the caller frees it.
  void unlink(Stranger& stranger, std::uint32_t slot) noexcept;
  [[nodiscard]] std::uint32_t unlink_first(Stranger& stranger) noexcept;
  /// Takes the stranger away; the caller frees its slots, from the first one on.
  [[nodiscard]] std::uint32_t unlink_all(Stranger& stranger) noexcept;
  void release_if_empty(Stranger& stranger) noexcept;
  /// Both are of one sender. @returns how many packets were in both: they are freed.
  [[nodiscard]] std::uint64_t merge(Stranger& into, Stranger& from) noexcept;

 private:
  [[nodiscard]] static std::uint32_t beyond_own(const Stranger& stranger) noexcept {
    return stranger.packets - std::min(stranger.packets, kOwnRoom);
  }
  [[nodiscard]] bool follows(std::uint32_t below, std::uint32_t above) const noexcept;
  [[nodiscard]] std::uint64_t merge_lists(Stranger& into, const Stranger& from) noexcept;
  void append(Stranger& stranger, std::uint32_t slot) noexcept;

  Slots& slots_;
  const Numbering& numbering_;
  std::array<Stranger, kMost> all_;
  std::uint32_t count_ = 0;
  std::uint32_t in_common_room_ = 0;
};

}  // namespace stopbit::arbitrate
