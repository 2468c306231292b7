#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "microcode/program.hpp"

namespace stopbit::state {

/// Type of an assigned entry, for D4. Exponents count as int32 and mantissas as int64, but a decimal with one operator
/// is a decimal. Bit groups are of one type if their fields use as many bits: Bits + that number.
enum class EntryType : std::uint8_t { U32, S32, U64, S64, Decimal, Ascii, Unicode, Bytes, Bits };

constexpr EntryType bits_type(std::uint32_t used_bits) {
  return static_cast<EntryType>(static_cast<std::uint32_t>(EntryType::Bits) + used_bits);
}

constexpr EntryType entry_type(isa::Type type) {
  switch (type) {
    case isa::Type::U32: return EntryType::U32;
    case isa::Type::S32:
    case isa::Type::Iexp: return EntryType::S32;
    case isa::Type::U64: return EntryType::U64;
    case isa::Type::S64:
    case isa::Type::Iman: return EntryType::S64;
    case isa::Type::Dexp:
    case isa::Type::Dman: return EntryType::Decimal;
    case isa::Type::Ascii: return EntryType::Ascii;
    case isa::Type::Uni: return EntryType::Unicode;
    case isa::Type::Bytes: return EntryType::Bytes;
    case isa::Type::Bits: return EntryType::Bits;
  }
  return EntryType::U32;
}

/// The same for an instruction with this constant, which has the size of a bit group.
constexpr EntryType entry_type(isa::Type type, const Constant& constant) {
  return type == isa::Type::Bits ? bits_type(constant.limit) : entry_type(type);
}

/// The previous values of one channel (FAST 1.1, section 6.3.1). Allocates when made, never later.
class Dictionary {
 public:
  enum class State : std::uint8_t { Undefined, Empty, Assigned };

  struct Entry {
    std::uint64_t mark = 0;  ///< Generation, assigned, type. Generation 0 is never current.
    std::uint64_t value = 0;
    std::uint32_t string_offset = 0;
    std::uint32_t string_length = 0;
    std::uint32_t string_capacity = 0;
  };
  static constexpr unsigned kGenerationShift = 8;
  static constexpr std::uint64_t kAssigned = 1U << 7;
  /// Bytes after the capacity of each string that may be read and overwritten, so that copies need no exact length.
  static constexpr std::uint32_t kStringSlack = 64;

  // For native code, which works on the entries as the functions below do.
  [[nodiscard]] Entry* entries() noexcept { return entries_.data(); }
  [[nodiscard]] char* strings() noexcept { return strings_.get(); }
  static constexpr std::size_t generation_offset() noexcept;
  /// The mark of an entry that was assigned since the last reset, type 0.
  [[nodiscard]] std::uint64_t assigned_mark() const noexcept { return generation_ << kGenerationShift | kAssigned; }

  explicit Dictionary(const Program& program);

  /// All entries become undefined. O(1): entries of an older generation count as undefined.
  void reset() noexcept { ++generation_; }

  [[nodiscard]] State state(std::uint16_t slot) const noexcept {
    const std::uint64_t mark = entries_[slot].mark;
    if (mark >> kGenerationShift != generation_) return State::Undefined;
    return (mark & kAssigned) != 0 ? State::Assigned : State::Empty;
  }
  /// Meaningful for assigned entries.
  [[nodiscard]] EntryType type(std::uint16_t slot) const noexcept {
    return static_cast<EntryType>(entries_[slot].mark & kTypeMask);
  }
  [[nodiscard]] std::uint64_t value(std::uint16_t slot) const noexcept { return entries_[slot].value; }
  [[nodiscard]] std::string_view string(std::uint16_t slot) const noexcept {
    return {strings_.get() + entries_[slot].string_offset, entries_[slot].string_length};
  }
  [[nodiscard]] std::size_t capacity(std::uint16_t slot) const noexcept { return entries_[slot].string_capacity; }

  void set_empty(std::uint16_t slot) noexcept { entries_[slot].mark = generation_ << kGenerationShift; }
  void assign(std::uint16_t slot, EntryType type, std::uint64_t value) noexcept {
    entries_[slot].value = value;
    entries_[slot].mark = generation_ << kGenerationShift | kAssigned | static_cast<std::uint64_t>(type);
  }
  /// `value` must fit the capacity; it may lie in the entry itself.
  void assign(std::uint16_t slot, EntryType type, std::string_view value) noexcept {
    Entry& entry = entries_[slot];
    if (!value.empty()) std::memmove(strings_.get() + entry.string_offset, value.data(), value.size());
    entry.string_length = static_cast<std::uint32_t>(value.size());
    entry.mark = generation_ << kGenerationShift | kAssigned | static_cast<std::uint64_t>(type);
  }

  /// Takes over an entry as it is, its generation included, from a dictionary of the same program.
  void copy_entry(std::uint16_t slot, const Dictionary& from) noexcept {
    entries_[slot] = from.entries_[slot];
    const Entry& entry = entries_[slot];
    if (entry.string_length == 0) return;
    std::memcpy(strings_.get() + entry.string_offset, from.strings_.get() + entry.string_offset, entry.string_length);
  }
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  /// Returns to an older generation. The caller must have taken back every entry that changed since.
  void set_generation(std::uint64_t generation) noexcept { generation_ = generation; }

 private:
  static constexpr std::uint64_t kTypeMask = 0x7F;

  std::uint64_t generation_ = 1;
  std::vector<Entry> entries_;
  std::unique_ptr<char[]> strings_;
};

// Clang warns of any class that is not of standard layout; both compilers know the offset.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr std::size_t Dictionary::generation_offset() noexcept {
  return offsetof(Dictionary, generation_);
}
#pragma GCC diagnostic pop

}  // namespace stopbit::state
