#pragma once

#include <algorithm>
#include <cstdint>

#include "host/market/stage/message.hpp"

namespace stopbit::market {

/// A message of a snapshot, as its map reads it.
struct SnapshotPart {
  std::uint32_t row = 0;
  std::uint64_t number = 0;   ///< Of the newest entry that the snapshot has.
  std::uint64_t message = 0;  ///< The same of a message of the channel; 0: not known.
  bool has_first = false;     ///< The map says which part is the first one.
  bool is_first = false;
  bool has_last = false;
  bool is_last = false;
  bool replaces = false;  ///< It becomes the book of an instrument that is right, too.
};

/// Where the messages of snapshots are in their channel: which parts follow each other, and which one is the first.
class SnapshotPlace {
 public:
  struct Step {
    std::uint64_t at = 0;  ///< One more than that of the part before, if nothing is between them.
    bool begins = false;   ///< The part is the first one of its snapshot.
    bool is_new_cycle = false;
    /// Pictures of this cycle have at least this message of the channel: that of the newest one in the cycle before.
    std::uint64_t not_before = 0;
  };
  [[nodiscard]] Step take(const Message& message, const SnapshotPart& part) noexcept {
    const bool is_same_run = is_seen_ && channel_ == message.channel && epoch_ == message.epoch;
    const bool follows = is_same_run && goes_on(sequence_, message.sequence);
    const bool is_new_cycle = !is_same_run || (!follows && message.sequence < sequence_);
    if (is_new_cycle) not_before_ = newest_;
    const Step step = {.at = at_ + (follows ? 1 : 2),
                       .begins = begins(message, part, follows),
                       .is_new_cycle = is_new_cycle,
                       .not_before = not_before_};
    is_seen_ = true;
    was_last_ = part.is_last;
    channel_ = message.channel;
    epoch_ = message.epoch;
    sequence_ = message.sequence;
    row_ = part.row;
    number_ = part.number;
    at_ = step.at;
    return step;
  }
  /// The part is no snapshot of a run of numbers before.
  void note_taken(const SnapshotPart& part) noexcept { newest_ = std::max(newest_, part.message); }
  /// The channel's numbers begin anew.
  void forget_messages() noexcept { newest_ = not_before_ = 0; }

 private:
  /// Whether a packet is `before` or the next one. Packet numbers of 16 bits go round in a session, wider ones do not.
  [[nodiscard]] static bool goes_on(std::uint32_t before, std::uint32_t now) noexcept {
    return now - before <= 1 || (before == 0xFFFF && now == 0);
  }
  [[nodiscard]] bool begins(const Message& message, const SnapshotPart& part, bool follows) const noexcept {
    if (part.has_first) return part.is_first;
    if (!part.has_last) return true;
    // Without a mark a snapshot begins where the one before it has ended, or with another instrument or number; after a
    // gap nothing tells.
    const bool is_next_one = was_last_ || row_ != part.row || number_ != part.number;
    return follows ? is_next_one : message.sequence <= 1;
  }

  bool is_seen_ = false;
  bool was_last_ = false;
  std::uint16_t channel_ = 0;
  std::uint16_t epoch_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint32_t row_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t newest_ = 0;
  std::uint64_t not_before_ = 0;
};

}  // namespace stopbit::market
