#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "decoder/record/layout.hpp"
#include "decoder/record/read_error.hpp"
#include "decoder/record/word_place.hpp"
#include "microcode/program.hpp"

namespace stopbit::record {

static_assert(std::endian::native == std::endian::little, "records are little-endian; this reader does not swap");

/// The slots of one record, visited block by block in the order of layout.md; the base of Reader and Encoder. Safe with
/// any slots, provided that blocks and places come from a verified program or a checked schema. Allocates nothing.
class Cursor {
 public:
  /// Checks what can be checked without a schema: lengths, phase and number of each slot, tags of the header. `slots`
  /// begins with the record and may contain more after it; it must outlive the walk.
  [[nodiscard]] ReadError open(std::span<const Slot> slots) noexcept;
  /// The opened record alone.
  [[nodiscard]] std::span<const Slot> record() const noexcept { return slots_; }

  /// Opens a block at the next free slot. On success all its slots are in the record.
  [[nodiscard]] ReadError open_block(const Block& block, std::size_t base) noexcept {
    const std::size_t count = block_slots(base, block.words);
    if (count > body_slots_ - next_slot_) return ReadError::MissingSlots;
    block_slot_ = next_slot_;
    block_ = reinterpret_cast<const unsigned char*>(slots_.data() + next_slot_);
    next_slot_ += count;
    return ReadError::None;
  }

  /// Passes over slots that the caller does not read.
  [[nodiscard]] ReadError skip(std::uint64_t slots) noexcept {
    if (slots > body_slots_ - next_slot_) return ReadError::MissingSlots;
    next_slot_ += slots;
    return ReadError::None;
  }

  /// Number of the slot in which the block last opened begins.
  [[nodiscard]] std::size_t block_slot() const noexcept { return block_slot_; }

  /// The template index that begins a dynamic reference's block, which is the next to be opened. Any number.
  [[nodiscard]] ReadError reference(std::uint64_t& template_index) const noexcept;

  /// A word of the open block.
  [[nodiscard]] ReadError load(WordPlace place, std::uint64_t& raw, bool& present) const noexcept {
    return load(place, place.tag, raw, present);
  }
  [[nodiscard]] ReadError load(const WordPlace& place, std::uint8_t wanted, std::uint64_t& raw,
                               bool& present) const noexcept {
    std::memcpy(&raw, block_ + place.value_offset, sizeof(raw));
    const std::uint8_t tag = block_[place.tag_offset];
    present = tag != 0;
    return (present ? tag == wanted : raw == 0) ? ReadError::None : ReadError::WrongTag;
  }

  /// First byte of the open block, for callers that know the places of its words and check their tags.
  [[nodiscard]] const unsigned char* block() const noexcept { return block_; }
  [[nodiscard]] std::uint64_t word(std::size_t offset) const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, block_ + offset, sizeof(word));
    return word;
  }

  /// The string or byte vector that a word refers to. Valid until the next call.
  [[nodiscard]] ReadError text(std::uint64_t raw, std::string_view& out) noexcept;

  /// Every slot before the string area has been opened.
  [[nodiscard]] bool at_end() const noexcept { return next_slot_ == body_slots_; }

 private:
  std::span<const Slot> slots_;
  std::size_t body_slots_ = 0;  ///< Slots before the string area.
  std::size_t next_slot_ = 0;
  std::size_t block_slot_ = 0;
  const unsigned char* block_ = nullptr;            ///< First byte of the open block.
  std::array<char, limits::kMaxStringBytes> text_;  ///< The last string, if it is not contiguous.
};

}  // namespace stopbit::record
