#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "decoder/record/sink.hpp"
#include "host/relay/message.hpp"
#include "host/remote/slot_writer.hpp"

namespace stopbit::relay {

/// What a message of a stream meant for its reader.
struct Taken {
  std::uint64_t records = 0;  ///< Complete, and in the sink.
  std::uint64_t lost = 0;     ///< Records between the message before and this one, or of which parts are missing.
  bool lost_unknown = false;  ///< More are lost, but not known how many.
  bool is_repeated = false;   ///< The stream had these records before: nothing was taken.
  bool is_damaged = false;    ///< Slots that are no record were dropped.
};

/// Puts the messages of a stream together again as records, of one ring after another. Nothing in a message is
/// believed: a sink gets whole records, as SlotWriter checks them, and everything that is missing is counted.
///
/// One thread.
class Unpacker {
 public:
  /// The message begins another ring than the one before: `begin_ring` comes next.
  [[nodiscard]] bool is_of_next_ring(const Head& head) const noexcept {
    return !ring_ || ring_->epoch != head.epoch || ring_->layout != head.layout;
  }
  /// Its records have at most `max_record_slots` slots. The sink must outlive the ring. @returns records of the ring
  /// before that were not complete.
  [[nodiscard]] std::uint64_t begin_ring(const Head& head, record::RecordSink& sink, std::uint32_t max_record_slots);
  /// A message that decode_message has accepted, and its slots.
  [[nodiscard]] Taken take(const Head& head, std::span<const std::byte> slots) noexcept;
  /// The stream's reader missed messages: what follows need not continue anything.
  void forget() noexcept { ring_.reset(); }

 private:
  struct Ring {
    std::uint64_t epoch = 0;
    std::uint64_t layout = 0;
    std::uint64_t end = 0;      ///< Slot after the last message.
    std::uint64_t records = 0;  ///< Records that began before it.
    bool is_new = true;         ///< No message of it was taken.
  };
  std::optional<Ring> ring_;
  std::optional<remote::SlotWriter> writer_;
};

}  // namespace stopbit::relay
