#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "decoder/record/layout.hpp"
#include "decoder/record/views.hpp"

namespace stopbit::soak {

/// Packet numbers of the records that a reader of one writer sees. They have to go on without a hole: each is in a
/// record or in a gap, never in both.
class Numbers {
 public:
  struct Counts {
    std::uint64_t first = 1;
    std::uint64_t next = 1;
    std::uint64_t packets = 0;
    std::uint64_t missing = 0;  ///< In gaps.
    std::uint64_t messages = 0;
    std::uint64_t errors = 0;  ///< Packets that were not decoded.
    std::uint64_t broken = 0;  ///< Holes and repetitions.
  };
  struct Gap {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t time_ns = 0;
  };

  /// @returns the gap, if the record is one.
  std::optional<Gap> take(std::span<const record::Slot> slots) {
    const record::HeaderView header(slots.front());
    if (!header.is_event()) {
      ++counts_.messages;
      see(header.sequence());
      return std::nullopt;
    }
    const record::EventView event(slots.front());
    switch (event.kind()) {
      case record::EventKind::Gap:
        step(event.first_missing(), event.missing());
        counts_.missing += event.missing();
        last_was_missing_ = true;
        return Gap{event.first_missing(), event.missing(), header.arrival_ns()};
      case record::EventKind::DecodeError:
      case record::EventKind::Dropped:
        if (event.code() == ErrorCode::X9) return std::nullopt;  // a datagram without a number
        ++counts_.errors;
        see(header.sequence());
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  /// Records were lost: the next may have any number.
  void lose() { has_begun_ = false; }
  void damaged() { ++counts_.broken; }

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void see(std::uint64_t sequence) {
    if (has_begun_ && sequence + 1 == counts_.next && !last_was_missing_) return;  // another message of the packet
    step(sequence, 1);
    ++counts_.packets;
    last_was_missing_ = false;
  }
  void step(std::uint64_t first, std::uint64_t count) {
    if (!has_begun_) counts_.first = first;
    if (has_begun_ && first != counts_.next) ++counts_.broken;
    has_begun_ = true;
    counts_.next = first + count;
  }

  Counts counts_;
  bool has_begun_ = false;
  bool last_was_missing_ = false;
};

}  // namespace stopbit::soak
