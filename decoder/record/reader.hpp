#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "decoder/record/layout.hpp"
#include "decoder/record/schema.hpp"
#include "microcode/base/error_code.hpp"

/// Reads records (layout.md) with nothing but their slots and the schema of the image. Safe on any bytes: a torn or
/// forged record is an error, never a read outside its slots, and never more work than a constant allows.
namespace stopbit::record {

static_assert(std::endian::native == std::endian::little, "records are little-endian; this reader does not swap");

/// Words 0 to 3 of a record's first slot. A view: the slot must outlive it. Any slot may be looked at.
class HeaderView {
 public:
  explicit HeaderView(const Slot& slot) noexcept : words_(slot.words) {}

  [[nodiscard]] std::uint16_t template_index() const noexcept { return bits<std::uint16_t>(0, 0); }
  [[nodiscard]] bool is_pad() const noexcept { return template_index() == kPadIndex; }
  [[nodiscard]] bool is_event() const noexcept { return template_index() == kEventIndex; }
  [[nodiscard]] std::uint16_t slots() const noexcept { return bits<std::uint16_t>(0, 16); }
  [[nodiscard]] std::uint32_t stamp() const noexcept { return bits<std::uint32_t>(0, 32); }
  [[nodiscard]] std::uint64_t arrival_ns() const noexcept { return words_[1]; }
  [[nodiscard]] std::uint32_t sequence() const noexcept { return bits<std::uint32_t>(2, 0); }
  [[nodiscard]] std::uint16_t channel() const noexcept { return bits<std::uint16_t>(2, 32); }
  [[nodiscard]] std::uint8_t string_slots() const noexcept { return bits<std::uint8_t>(2, 48); }
  [[nodiscard]] std::uint8_t flags() const noexcept { return bits<std::uint8_t>(2, 56); }
  [[nodiscard]] std::uint16_t image_generation() const noexcept { return bits<std::uint16_t>(3, 0); }
  [[nodiscard]] std::uint16_t message_index() const noexcept { return bits<std::uint16_t>(3, 16); }
  [[nodiscard]] std::uint16_t sender_epoch() const noexcept { return bits<std::uint16_t>(3, 32); }
  [[nodiscard]] SourceLine source() const noexcept { return static_cast<SourceLine>(bits<std::uint8_t>(3, 48)); }
  [[nodiscard]] TimeQuality time_quality() const noexcept {
    return static_cast<TimeQuality>(bits<std::uint8_t>(3, 56));
  }

 private:
  template <class T>
  [[nodiscard]] T bits(std::size_t word, unsigned shift) const noexcept {
    return static_cast<T>(words_[word] >> shift);
  }

  const std::uint64_t* words_;
};

/// Words 4 to 6 of an event record. A view, as HeaderView.
class EventView {
 public:
  explicit EventView(const Slot& slot) noexcept : words_(slot.words) {}

  [[nodiscard]] EventKind kind() const noexcept { return static_cast<EventKind>(words_[4] & 0xFF); }
  [[nodiscard]] ErrorCode code() const noexcept { return static_cast<ErrorCode>(words_[4] >> 8 & 0xFF); }
  [[nodiscard]] std::uint16_t template_index() const noexcept { return static_cast<std::uint16_t>(words_[4] >> 16); }
  [[nodiscard]] std::uint16_t block() const noexcept { return static_cast<std::uint16_t>(words_[4] >> 32); }
  [[nodiscard]] std::uint8_t word() const noexcept { return static_cast<std::uint8_t>(words_[4] >> 48); }
  [[nodiscard]] std::uint32_t offset_bytes() const noexcept { return static_cast<std::uint32_t>(words_[5]); }
  [[nodiscard]] std::uint32_t template_id() const noexcept { return static_cast<std::uint32_t>(words_[5] >> 32); }
  [[nodiscard]] std::uint64_t packet_number() const noexcept { return words_[6]; }
  /// Of a gap.
  [[nodiscard]] std::uint64_t first_missing() const noexcept { return words_[5]; }
  [[nodiscard]] std::uint64_t missing() const noexcept { return words_[6]; }

 private:
  const std::uint64_t* words_;
};

/// Why a record cannot be read.
enum class ReadError : std::uint8_t {
  None = 0,
  Truncated,    ///< Fewer slots are there than its header says, or its lengths contradict each other.
  ForeignSlot,  ///< A slot carries the phase or number of another record.
  Pad,          ///< Not a record: the unused end of a ring.
  UnknownTemplate,
  UnknownEvent,
  WrongTag,         ///< A tag is not the one of its word.
  MissingSlots,     ///< A block begins where no slot is left.
  MissingValue,     ///< A mandatory value is not there.
  BadString,        ///< A string word has no legal form or leaves the string area.
  BadValue,         ///< Outside its enumeration, set or boolean; or an exponent outside -63 to 63.
  TooManyElements,  ///< More sequence elements than a datagram can make.
  TooDeep,          ///< Dynamic references are nested too deeply.
  TooMuchWork,      ///< More schema nodes than kMaxVisits would be visited.
  TooLong,          ///< Its text would be longer than a printer allows.
  LeftOver,         ///< Slots remain behind the last block.
};

/// One sentence without a full stop; empty for None.
[[nodiscard]] std::string_view error_text(ReadError error) noexcept;

/// Bounds of one walk. No record that an engine can make comes near the last.
inline constexpr std::uint64_t kMaxElements = limits::kMaxLoopDepth * limits::kMaxDatagramBytes;
inline constexpr std::uint64_t kMaxVisits = 1U << 24;

inline constexpr std::int64_t kMaxExponent = 63;

/// Whether `value` (a decimal: its exponent) is one that the type allows beyond its 64 bits.
constexpr bool is_in_range(FieldType type, std::uint32_t elements, std::uint64_t value) {
  switch (type) {
    case FieldType::Enum: return value < elements;
    case FieldType::Set: return elements >= 64 || value >> elements == 0;
    case FieldType::Boolean: return value <= 1;
    case FieldType::Decimal:
      return static_cast<std::int64_t>(value) >= -kMaxExponent && static_cast<std::int64_t>(value) <= kMaxExponent;
    default: return true;
  }
}

/// A value of a field, as its Node::type says.
struct Value {
  std::uint64_t bits = 0;     ///< Integers, enumerations (index), sets, booleans, time stamps; a decimal's mantissa.
  std::int32_t exponent = 0;  ///< Decimals only, -63 to 63.
  std::string_view bytes;     ///< Strings and byte vectors; valid until the visitor returns.

  [[nodiscard]] std::int64_t as_signed() const noexcept { return static_cast<std::int64_t>(bits); }
};

/// What a walk calls, in template order. Derive and hide what is wanted; the rest does nothing. Absent fields, groups
/// and sequences are not visited; an empty sequence is. `Reference` nodes are dynamic template references.
struct Visitor {
  void field(const Node&, const Value&) {}
  void begin_group(const Node&) {}
  void end_group(const Node&) {}
  void begin_sequence(const Node&, std::uint32_t /*count*/) {}
  void begin_element(const Node&, std::uint32_t /*index*/) {}
  void end_element(const Node&) {}
  void end_sequence(const Node&) {}
  void begin_reference(const Node&, const Template&) {}
  void end_reference(const Node&) {}
};

/// Walks records. One thread per reader; allocates nothing. The schema's program must outlive it.
class Reader {
 public:
  explicit Reader(const Schema& schema) noexcept : schema_(schema) {}

  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }

  /// Checks what can be seen without a schema: lengths, phase and number of each slot, tags of the header. `slots`
  /// begins with the record and may hold more behind it. On success `record()` is the record alone.
  [[nodiscard]] ReadError open(std::span<const Slot> slots) noexcept;
  [[nodiscard]] std::span<const Slot> record() const noexcept { return slots_; }

  /// The value of a mandatory constant.
  [[nodiscard]] static Value constant(const Schema& schema, const Node& node) noexcept;

  /// Visits the values of a message record. The visitor has seen a part of the record if an error comes back.
  /// Nothing else may write the slots meanwhile. Event records are not walked: see EventView.
  template <class V>
  [[nodiscard]] ReadError read(std::span<const Slot> slots, V&& visitor) {
    if (open(slots) != ReadError::None) return error_;
    const HeaderView header(slots_[0]);
    if (header.is_pad()) return ReadError::Pad;
    const Template* item = schema_.find(header.template_index());
    if (item == nullptr) return ReadError::UnknownTemplate;
    if (!open_block(item->root_block, kHeaderWords) || !walk(item->first_node, item->end_node, visitor)) return error_;
    return next_slot_ == body_slots_ ? ReadError::None : ReadError::LeftOver;
  }

 private:
  template <class V>
  bool walk(std::size_t first, std::size_t end, V& visitor) {
    for (std::size_t i = first; i < end;) {
      const Node& node = schema_.node(i);
      if (visits_left_-- == 0) return fail(ReadError::TooMuchWork);
      bool ok = true;
      switch (node.kind) {
        case NodeKind::Field: ok = field(node, visitor); break;
        case NodeKind::Group: ok = group(node, i, visitor); break;
        case NodeKind::Sequence: ok = sequence(node, i, visitor); break;
        case NodeKind::Reference: ok = reference(node, visitor); break;
      }
      if (!ok) return false;
      i = node.end;
    }
    return true;
  }

  template <class V>
  bool field(const Node& node, V& visitor) {
    Value value;
    if (node.constant) {
      value = constant(schema_, node);
    } else {
      bool present = false;
      if (!load(node, present) || (present && !convert(node, value))) return false;
      if (!present) return node.optional || fail(ReadError::MissingValue);
    }
    visitor.field(node, value);
    return true;
  }

  template <class V>
  bool group(const Node& node, std::size_t index, V& visitor) {
    bool present = true;
    if (node.optional && !load(node, present)) return false;
    if (!present) return true;
    visitor.begin_group(node);
    if (!walk(index + 1, node.end, visitor)) return false;
    visitor.end_group(node);
    return true;
  }

  template <class V>
  bool sequence(const Node& node, std::size_t index, V& visitor) {
    bool present = false;
    if (!load(node, present)) return false;
    if (!present && !node.optional) return fail(ReadError::MissingValue);
    if (present) {
      if (raw_ > elements_left_) return fail(ReadError::TooManyElements);
      const auto count = static_cast<std::uint32_t>(raw_);
      elements_left_ -= count;
      visitor.begin_sequence(node, count);
      for (std::uint32_t element = 0; element < count; ++element) {
        if (!open_block(node.element_block, 0)) return false;
        visitor.begin_element(node, element);
        if (!walk(index + 1, node.end, visitor)) return false;
        visitor.end_element(node);
      }
      visitor.end_sequence(node);
    }
    open_block_ = kNoBlock;
    return true;
  }

  template <class V>
  bool reference(const Node& node, V& visitor) {
    const Template* item = open_reference();
    if (item == nullptr) return false;
    visitor.begin_reference(node, *item);
    if (!walk(item->first_node, item->end_node, visitor)) return false;
    visitor.end_reference(node);
    open_block_ = kNoBlock;
    --references_;
    return true;
  }

  bool fail(ReadError error) noexcept {
    error_ = error;
    return false;
  }

  /// Opens a block at the next free slot. Its slots are all there afterwards.
  bool open_block(std::uint16_t index, std::size_t base) noexcept {
    const Block& block = schema_.block(index);
    const std::size_t count = block_slots(base, block.words);
    if (count > body_slots_ - next_slot_) return fail(ReadError::MissingSlots);
    block_ = slots_.data() + next_slot_;
    next_slot_ += count;
    base_ = base;
    first_word_ = block.first_word;
    open_block_ = index;
    return true;
  }

  /// Takes the word of a node into raw_, opening its block if it is not the open one.
  bool load(const Node& node, bool& present) noexcept {
    if (node.block != open_block_ && !open_block(node.block, 0)) return false;
    return load_word(node.word, present);
  }

  bool load_word(std::size_t word, bool& present) noexcept {
    const std::size_t place = base_ + word;
    const Slot& slot = block_[place / kValueWords];
    raw_ = slot.words[place % kValueWords];
    const auto tag = static_cast<std::uint8_t>(slot.words[kTagWord] >> 8 * (place % kValueWords));
    present = tag != 0;
    if (present ? tag != value_tag(first_word_ + word) : raw_ != 0) return fail(ReadError::WrongTag);
    return true;
  }

  const Template* open_reference() noexcept;
  bool convert(const Node& node, Value& value) noexcept;
  bool convert_text(std::string_view& text) noexcept;
  Schema schema_;
  std::span<const Slot> slots_;
  std::size_t body_slots_ = 0;  ///< Slots before the string area.
  std::size_t next_slot_ = 0;
  const Slot* block_ = nullptr;  ///< First slot of the open block.
  std::size_t base_ = 0;
  std::size_t first_word_ = 0;
  std::uint16_t open_block_ = kNoBlock;
  std::uint64_t raw_ = 0;  ///< The word last loaded.
  std::uint64_t elements_left_ = 0;
  std::uint64_t visits_left_ = 0;
  std::size_t references_ = 0;  ///< Open ones.
  ReadError error_ = ReadError::None;
  std::array<char, limits::kMaxStringBytes> text_;  ///< The string last converted, if it does not stand in one piece.
};

}  // namespace stopbit::record
