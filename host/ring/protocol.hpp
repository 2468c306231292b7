#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "decoder/record/layout.hpp"
#include "host/os/shm/shared_words.hpp"
#include "host/ring/layout.hpp"

/// How a writer and its readers use the words they share, and in which memory order: ring.md in C++. Both sides are
/// templates over the memory, so that the running code is the model-checked code (tests/unit/ring/model).
///
/// `Memory` has static functions `load<Step>(word)`, `store<Step>(word, value)` and `fence<Step>()`. memory.hpp
/// is the real one.
namespace stopbit::ring {

/// Every access to shared memory, by purpose. `order_of` gives its memory order, the comments the reason.
enum class Step : std::uint8_t {
  // The writer, for each record. Slots after the first are stored by the engine, relaxed.
  FirstSlot,  ///< Words 0 to 6 of the first slot.
  Commit,     ///< Its tag word: publishes the record.
  Records,    ///< Number of records written: for tools, and for readers that start at the newest record.
  Head,
  // The writer, once in claim_step slots.
  MarkEnd,      ///< Invalidates the old mark before
  MarkFence,    ///< any part of the new one is visible.
  MarkRecords,  ///< The new one.
  MarkNumber,   ///< A reader that begins there sees everything written before.
  Claim,        ///< A reader that sees it also sees that the mark changes: MarkFence.
  ClaimFence,   ///< A reader that sees a word stored after the claim also sees the claim.
  ReadCursor,   ///< The reader has read its records before they are overwritten.
  // A reader, for each record.
  Tags,            ///< Reads the commit: then the whole record is visible.
  Words,           ///< Copies the record.
  OvertakenFence,  ///< If a word was newer than the record, then
  OvertakenClaim,  ///< this is the claim that came before it.
  WriteCursor,     ///< The record was copied before.
  // A reader that looks for a place to start.
  FindClaim,
  FindNumber,
  FindRecords,
  FindFence,
  FindNumberAgain,  ///< The mark did not change in between.
};
inline constexpr std::size_t kSteps = static_cast<std::size_t>(Step::FindNumberAgain) + 1;

using os::Order;

constexpr Order order_of(Step step) {
  switch (step) {
    case Step::Commit:
    case Step::MarkFence:
    case Step::MarkNumber:
    case Step::ClaimFence:
    case Step::WriteCursor: return Order::Release;
    case Step::ReadCursor:
    case Step::Tags:
    case Step::OvertakenFence:
    case Step::FindClaim:
    case Step::FindNumber:
    case Step::FindFence: return Order::Acquire;
    default: return Order::Relaxed;
  }
}

struct Geometry {
  std::uint64_t slot_count = 0;  ///< A power of two.
  std::uint64_t max_record_slots = 0;
  std::uint64_t claim_step = 0;
  std::size_t marks = kMarks;

  [[nodiscard]] constexpr std::uint64_t place(std::uint64_t number) const { return number & (slot_count - 1); }
  [[nodiscard]] constexpr std::uint64_t rest(std::uint64_t number) const { return slot_count - place(number); }
};

/// The writer's half. One thread. Keeps copies of the shared words and loads none of them, except readers' cursors.
template <class Memory>
class WriterCore {
 public:
  WriterCore() = default;
  /// The header's mutable words are zero; so are the slots. The segment is not yet known to readers.
  WriterCore(Header& header, record::Slot* slots, const Geometry& geometry)
      : header_(&header), slots_(slots), geometry_(geometry), number_(geometry.slot_count), claim_(number_) {
    Memory::template store<Step::Head>(header.head, number_);
    claim_ahead(Ungated());
  }

  /// Number of the slot at which the next record begins; valid after has_room.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] std::uint64_t claim() const noexcept { return claim_; }
  [[nodiscard]] record::Slot& slot(std::uint64_t number) const noexcept { return slots_[geometry_.place(number)]; }
  [[nodiscard]] const Geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] Mark last_mark() const noexcept { return last_mark_; }

  /// Whether the longest record can be written at number() at once.
  [[nodiscard]] bool has_room() const noexcept {
    return geometry_.rest(number_) >= geometry_.max_record_slots && claim_ - number_ >= geometry_.max_record_slots;
  }

  /// Pads the end of the ring if necessary, and claims slots. `gate(need, want)` returns the granted claim, at least
  /// `need`; it may wait for readers first.
  template <class Gate>
  void make_room(const Gate& gate) noexcept {
    const std::uint64_t rest = geometry_.rest(number_);
    if (rest < geometry_.max_record_slots) {
      if (claim_ - number_ < rest) claim_ahead(gate);
      record::Slot pad{};
      pad.words[0] = record::kPadIndex | rest << 16 | number_ << 32;
      pad.words[record::kTagWord] = first_slot_tags(phase_of(number_, geometry_.slot_count));
      publish(pad.words[0], pad.words, pad.words[record::kTagWord]);
      number_ += rest;
      Memory::template store<Step::Head>(header_->head, number_);
    }
    if (claim_ - number_ < geometry_.max_record_slots) claim_ahead(gate);
  }

  /// Publishes the record at number(). Its first slot is `first`; the others are in their places.
  void commit(const record::Slot& first, std::uint32_t slots) noexcept {
    publish(first.words[0], first.words, first.words[record::kTagWord]);
    advance(slots);
  }
  /// The same for a record of one slot, which gets the stamp and phase of its place.
  void put(const std::uint64_t (&words)[record::kSlotWords]) noexcept {
    publish(record::stamped(words[0], static_cast<std::uint32_t>(number_)), words,
            record::with_phase(words[record::kTagWord], phase_of(number_, geometry_.slot_count)));
    advance(1);
  }

  struct Ungated {
    std::uint64_t operator()(std::uint64_t, std::uint64_t want) const noexcept { return want; }
  };

 private:
  /// The only stores to the line that readers poll. Header tags with the phase of this lap occur nowhere else and at no
  /// other time, so the tag word marks the record as complete. No value chosen by a sender can be mistaken for it, and
  /// nothing has to be cleared.
  void publish(std::uint64_t head, const std::uint64_t (&words)[record::kSlotWords], std::uint64_t tags) noexcept {
    record::Slot& to = slot(number_);
    Memory::template store<Step::FirstSlot>(to.words[0], head);
#pragma GCC unroll 8
    for (std::size_t word = 1; word < record::kTagWord; ++word) {
      Memory::template store<Step::FirstSlot>(to.words[word], words[word]);
    }
    Memory::template store<Step::Commit>(to.words[record::kTagWord], tags);
  }
  void advance(std::uint32_t slots) noexcept {
    // Kept here, as the stores below could change a member as far as a compiler knows.
    Header& header = *header_;
    const std::uint64_t records = ++records_;
    const std::uint64_t number = number_ += slots;
    Memory::template store<Step::Records>(header.records, records);
    Memory::template store<Step::Head>(header.head, number);
  }

  template <class Gate>
  void claim_ahead(const Gate& gate) noexcept {
    const std::uint64_t need = number_ + geometry_.max_record_slots;
    claim_ = gate(need, need + geometry_.claim_step);
    if (last_mark_.number == 0 || number_ - last_mark_.number >= geometry_.claim_step) set_mark();
    Memory::template store<Step::Claim>(header_->claim, claim_);
    Memory::template fence<Step::ClaimFence>();
  }

  void set_mark() noexcept {
    last_mark_ = {number_, records_};
    Mark& mark = header_->marks[marks_++ % geometry_.marks];
    Memory::template store<Step::MarkEnd>(mark.number, kMarkChanges);
    Memory::template fence<Step::MarkFence>();
    Memory::template store<Step::MarkRecords>(mark.records, records_);
    Memory::template store<Step::MarkNumber>(mark.number, number_);
  }

  Header* header_ = nullptr;
  record::Slot* slots_ = nullptr;
  Geometry geometry_;
  std::uint64_t number_ = 0;
  std::uint64_t claim_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t marks_ = 0;  ///< Number of marks set.
  Mark last_mark_{};
};

/// Lossless ring, the reader's side: it has copied all slots below, and the writer may overwrite them.
template <class Memory>
void store_position(Cursor& cursor, std::uint64_t position) noexcept {
  Memory::template store<Step::WriteCursor>(cursor.position, position);
}
/// The writer's side: claims up to slot_count beyond this are free.
template <class Memory>
std::uint64_t load_position(const Cursor& cursor) noexcept {
  return Memory::template load<Step::ReadCursor>(cursor.position);
}

/// The claim that a writer gets when it asks for `want`, if no reader needs a slot below `least`.
constexpr std::uint64_t claimable(std::uint64_t want, std::uint64_t least, std::uint64_t slot_count) {
  return least > want - slot_count ? want : least + slot_count;
}

/// Result of a poll.
enum class Poll : std::uint8_t {
  Nothing,  ///< No record yet.
  Record,   ///< One record.
  Lost,     ///< The writer has overtaken the reader: slots were skipped. Poll again.
  Damaged,  ///< The ring's content is inconsistent. Permanent: open the ring again, or stop.
};

/// A reader's half. One thread. Stores nothing in the segment and does not trust its content.
template <class Memory>
class ReaderCore {
 public:
  using Words = std::array<std::uint64_t, record::kSlotWords>;

  ReaderCore() = default;
  ReaderCore(const Header& header, const record::Slot* slots, const Geometry& geometry)
      : header_(&header), slots_(slots), geometry_(geometry) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return at_.number; }
  /// Number of records published before the next one.
  [[nodiscard]] std::uint64_t next_record() const noexcept { return at_.records; }
  void begin_at(const Mark& mark) noexcept { at_ = mark; }

  /// Slots and records that the last Poll::Lost skipped.
  [[nodiscard]] Mark lost() const noexcept { return lost_; }

  /// Takes the record at the position and copies it to `copy`, which has space for max_record_slots; null skips the
  /// copy. `slots` receives its length.
  [[nodiscard]] Poll poll(record::Slot* copy, std::uint64_t& slots) noexcept {
    if (copy == nullptr) return poll_to(Nowhere(), slots);
    return poll_to(Copy{copy}, slots);
  }

  /// Like take, to a sink: calls `to.begin()` for a record and, if that returns true, `to.slot(number, words)` for each
  /// of its slots. The slots are valid only if this returns Poll::Record: otherwise the writer may have changed them
  /// meanwhile.
  template <class To>
  [[nodiscard]] Poll poll_to(To&& to, std::uint64_t& slots) noexcept {
    for (int i = 0; i < 2; ++i) {  // padding and the record after it
      const record::Slot& first = slot(at_.number);
      const std::uint64_t tags = Memory::template load<Step::Tags>(first.words[record::kTagWord]);
      if ((tags & kFirstSlotMask) != first_slot_tags(phase_of(at_.number, geometry_.slot_count))) return nothing();
      const std::uint64_t word0 = Memory::template load<Step::Words>(first.words[0]);
      if (word0 >> 32 != (at_.number & 0xFFFF'FFFF)) return nothing();

      const std::uint64_t total = word0 >> 16 & 0xFFFF;
      const std::uint64_t rest = geometry_.rest(at_.number);
      const bool is_pad = (word0 & 0xFFFF) == record::kPadIndex;
      const bool is_possible =
          total != 0 && total <= geometry_.max_record_slots && (is_pad ? total == rest : total <= rest);
      if (is_possible && !is_pad && to.begin()) {
        Words words;
        words[0] = word0;
        load_words<1>(words, first, std::make_index_sequence<record::kTagWord - 1>());
        words[record::kTagWord] = tags;
        to.slot(0, words);
        // From the end: on ascending reads the processor prefetches the next lines, which the writer needs for its next
        // record.
        for (std::uint64_t k = total - 1; k > 0; --k) {
          load_words<0>(words, slot(at_.number + k), std::make_index_sequence<record::kSlotWords>());
          to.slot(k, words);
        }
      }
      if (is_overtaken()) return resume();
      if (!is_possible) return Poll::Damaged;
      at_.number += total;
      if (!is_pad) {
        ++at_.records;
        slots = total;
        return Poll::Record;
      }
    }
    return Poll::Damaged;  // the writer never pads twice
  }

  /// The oldest marked record after slot `after` that the writer cannot reach before it has claimed `margin` more
  /// slots. Otherwise number 0, or kMarkChanges if the marks changed meanwhile: try again.
  [[nodiscard]] Mark find_start(std::uint64_t after, std::uint64_t margin) const noexcept {
    return find(after, margin, [](std::uint64_t mark, std::uint64_t best) { return mark < best; });
  }
  /// The newest marked record.
  [[nodiscard]] Mark find_newest() const noexcept {
    return find(0, 0, [](std::uint64_t mark, std::uint64_t best) { return mark > best; });
  }

 private:
  static constexpr std::uint64_t kMaxNumber = ~std::uint64_t{0} / 2;  ///< No ring gets there in 10^5 years.

  [[nodiscard]] const record::Slot& slot(std::uint64_t number) const noexcept {
    return slots_[geometry_.place(number)];
  }

  struct Nowhere {
    [[nodiscard]] bool begin() const noexcept { return false; }
    void slot(std::uint64_t, const Words&) const noexcept {}
  };
  struct Copy {
    record::Slot* slots;
    [[nodiscard]] bool begin() const noexcept { return true; }
    void slot(std::uint64_t number, const Words& words) const noexcept {
      record::copy_words(slots[number].words, words.data());
    }
  };
  template <std::size_t begin, std::size_t... word>
  static void load_words(Words& words, const record::Slot& from, std::index_sequence<word...>) noexcept {
    ((words[begin + word] = Memory::template load<Step::Words>(from.words[begin + word])), ...);
  }

  [[nodiscard]] Poll nothing() noexcept { return is_overtaken() ? resume() : Poll::Nothing; }

  /// Whether the writer may have written to the slot at the position since the reader reached it. If not, the data
  /// loaded before is consistent.
  [[nodiscard]] bool is_overtaken() const noexcept {
    Memory::template fence<Step::OvertakenFence>();
    return Memory::template load<Step::OvertakenClaim>(header_->claim) > at_.number + geometry_.slot_count;
  }

  [[nodiscard]] Poll resume() noexcept {
    // Half a ring ahead of the writer, so that the reader is not overtaken again at once.
    const Mark next = find_start(at_.number, geometry_.slot_count / 2);
    if (next.number == kMarkChanges) return Poll::Nothing;
    if (next.number == 0 || next.records < at_.records) return Poll::Damaged;
    lost_ = {next.number - at_.number, next.records - at_.records};
    at_ = next;
    return Poll::Lost;
  }

  template <class Better>
  [[nodiscard]] Mark find(std::uint64_t after, std::uint64_t margin, const Better& better) const noexcept {
    const std::uint64_t claim = Memory::template load<Step::FindClaim>(header_->claim);
    Mark best{};
    bool has_change = false;
    for (std::size_t i = 0; i < geometry_.marks; ++i) {
      const Mark& mark = header_->marks[i];
      const std::uint64_t number = Memory::template load<Step::FindNumber>(mark.number);
      const bool is_safe = claim <= number || claim - number <= geometry_.slot_count - margin;
      has_change |= number == kMarkChanges;
      if (number <= after || number < geometry_.slot_count || number > kMaxNumber || !is_safe) continue;
      if (best.number != 0 && !better(number, best.number)) continue;
      const std::uint64_t records = Memory::template load<Step::FindRecords>(mark.records);
      Memory::template fence<Step::FindFence>();
      if (Memory::template load<Step::FindNumberAgain>(mark.number) == number) {
        best = {number, records};
      } else {
        has_change = true;
      }
    }
    if (best.number == 0 && has_change) best.number = kMarkChanges;
    return best;
  }

  const Header* header_ = nullptr;
  const record::Slot* slots_ = nullptr;
  Geometry geometry_;
  Mark at_{};
  Mark lost_{};
};

}  // namespace stopbit::ring
