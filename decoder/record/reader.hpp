#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "decoder/record/cursor.hpp"
#include "decoder/record/read_error.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/record/views.hpp"

/// Reads records (layout.md) using only their slots and the schema of the image. Safe with any bytes: a torn or forged
/// record gives an error, never a read outside its slots and never unbounded work.
namespace stopbit::record {

/// Whether the type allows `value` (for a decimal: its exponent).
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

/// A value of a field, interpreted by its SchemaNode::type.
struct Value {
  std::uint64_t bits = 0;     ///< Integers, enumerations (index), sets, booleans, time stamps; a decimal's mantissa.
  std::int32_t exponent = 0;  ///< Decimals only, -63 to 63.
  std::string_view bytes;     ///< Strings and byte vectors; valid until the visitor returns.

  [[nodiscard]] std::int64_t as_signed() const noexcept { return static_cast<std::int64_t>(bits); }
};

/// Visitor of a walk, called in template order. Derive from it and hide the functions you need; the others do nothing.
/// A visitor with `node(index)` gets its own nodes, which are derived from the schema's: it need not look up what it
/// keeps for each.
/// Absent or unstored fields, groups and sequences are not visited; an empty sequence is. `Reference` nodes are dynamic
/// template references.
struct Visitor {
  void field(const SchemaNode&, const Value&) {}
  void begin_group(const SchemaNode&) {}
  void end_group(const SchemaNode&) {}
  void begin_sequence(const SchemaNode&, std::uint32_t /*count*/) {}
  void begin_element(const SchemaNode&, std::uint32_t /*index*/) {}
  void end_element(const SchemaNode&) {}
  void end_sequence(const SchemaNode&) {}
  void begin_reference(const SchemaNode&, const Template&) {}
  void end_reference(const SchemaNode&) {}
};

/// Walks records. One thread per reader; allocates nothing. The schema's program must outlive it.
class Reader {
 public:
  explicit Reader(const Schema& schema) noexcept : schema_(schema) {}

  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }

  /// As Cursor::open. On success `record()` is the record alone.
  [[nodiscard]] ReadError open(std::span<const Slot> slots) noexcept;
  [[nodiscard]] std::span<const Slot> record() const noexcept { return cursor_.record(); }

  /// The value of a mandatory constant.
  [[nodiscard]] static Value constant(const Schema& schema, const SchemaNode& node) noexcept;

  /// Visits the values of a message record. On an error the visitor may have seen part of the record. The slots must
  /// not change meanwhile. For event records see EventView.
  template <class V>
  [[nodiscard]] ReadError read(std::span<const Slot> slots, V&& visitor) {
    if (open(slots) != ReadError::None) return error_;
    const Template* item = schema_.find(HeaderView(record()[0]).template_index());
    if (item == nullptr) return ReadError::UnknownTemplate;
    if (!open_block(item->root_block, kHeaderWords) || !walk(item->first_node, item->end_node, visitor)) return error_;
    return cursor_.at_end() ? ReadError::None : ReadError::LeftOver;
  }

 private:
  template <class V>
  [[nodiscard]] const auto& node_of(std::size_t index, V& visitor) const noexcept {
    if constexpr (requires { visitor.node(index); }) {
      return visitor.node(index);
    } else {
      return schema_.node(index);
    }
  }

  template <class V>
  bool walk(std::size_t first, std::size_t end, V& visitor) {
    for (std::size_t i = first; i < end;) {
      const auto& node = node_of(i, visitor);
      if (visits_left_-- == 0) return fail(ReadError::TooMuchWork);
      if (node.unstored) {
        i = node.end;
        continue;
      }
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

  template <class Node, class V>
  bool field(const Node& node, V& visitor) {
    if (node.constant) {
      visitor.field(node, constant(schema_, node));
      return true;
    }
    Value value;
    bool present = false;
    if (!load(node, present) || (present && !convert(node, value))) return false;
    if (!present) return node.optional || fail(ReadError::MissingValue);
    visitor.field(node, value);
    return true;
  }

  template <class Node, class V>
  bool group(const Node& node, std::size_t index, V& visitor) {
    bool present = true;
    if (node.optional && !load(node, present)) return false;
    if (!present) return true;
    visitor.begin_group(node);
    if (!walk(index + 1, node.end, visitor)) return false;
    visitor.end_group(node);
    return true;
  }

  template <class Node, class V>
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

  template <class Node, class V>
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

  bool open_block(std::uint16_t index, std::size_t base) noexcept {
    const Block& block = schema_.block(index);
    places_ = kWordPlaces.data() + base;
    tags_ = kValueTags.data() + block.first_word % kMaxValueTag;
    open_block_ = index;
    return pass(cursor_.open_block(block, base));
  }

  /// Takes the word of a node into raw_, opening its block if it is not the open one.
  bool load(const SchemaNode& node, bool& present) noexcept {
    if (node.block != open_block_ && !open_block(node.block, 0)) return false;
    return load_word(node.word, present);
  }

  bool load_word(std::size_t word, bool& present) noexcept {
    return pass(cursor_.load(places_[word], tags_[word], raw_, present));
  }

  bool pass(ReadError error) noexcept { return error == ReadError::None || fail(error); }

  const Template* open_reference() noexcept;

  bool convert(const SchemaNode& node, Value& value) noexcept {
    if (is_text(node.type)) return pass(cursor_.text(raw_, value.bytes));
    if (node.type >= FieldType::Decimal) return convert_limited(node, value);
    value.bits = raw_;
    return true;
  }
  /// Of a type that does not allow every value, or has two words.
  bool convert_limited(const SchemaNode& node, Value& value) noexcept;

  Schema schema_;
  Cursor cursor_;
  // By word of the open block.
  const WordPlace* places_ = kWordPlaces.data();
  const std::uint8_t* tags_ = kValueTags.data();
  std::uint16_t open_block_ = kNoBlock;
  std::uint64_t raw_ = 0;  ///< The word last loaded.
  std::uint64_t elements_left_ = 0;
  std::uint64_t visits_left_ = 0;
  std::size_t references_ = 0;  ///< Open ones.
  ReadError error_ = ReadError::None;
};

}  // namespace stopbit::record
