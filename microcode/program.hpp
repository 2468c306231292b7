#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/limits.hpp"
#include "microcode/isa/isa.hpp"

/// The data that compiler, assembler, verifier, image and engines exchange: code, tables, and the schema of the records
/// that the code writes. A Program is plain data: do not trust it before verify::check has accepted it.
namespace stopbit {

/// A piece of one of the two byte pools of a Program.
struct TextRef {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  bool operator==(const TextRef&) const = default;
};

enum class ValueKind : std::uint8_t { None = 0, Integer = 1, Bytes = 2 };

/// Restricts the values of a field beyond its wire type, so that limits need no opcodes.
enum class LimitKind : std::uint8_t {
  None = 0,
  Unsigned = 1,  ///< value <= limit (uInt8, uInt16): D2
  Signed = 2,    ///< value fits in `limit` bits, two's complement (int8, int16): D2
  Enum = 3,      ///< value < limit, the number of elements; also booleans: X5
  Set = 4,       ///< value < 2^limit, limit = number of elements, 1 to 64: X6
  Bits = 5,      ///< A bit group: bits its fields use, 1 to 63; its entity has as few bytes as they need: X10
};

/// An entry of the constant table: an initial or constant value, a limit, or both. 128 bits in the image.
struct Constant {
  std::uint64_t value = 0;  ///< Integer: two's complement. Bytes: offset in the constant pool | length << 32.
  ValueKind kind = ValueKind::None;
  LimitKind limit_kind = LimitKind::None;
  std::uint32_t limit = 0;
  bool operator==(const Constant&) const = default;

  [[nodiscard]] TextRef bytes() const {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  }
};

/// A dictionary slot: one (dictionary, key). A decimal with one operator has two, exponent and mantissa.
struct Slot {
  std::uint16_t string_capacity = 0;  ///< Bytes; 0 = the slot never holds a string.
  TextRef name;                       ///< "global/Symbol", "template:12/MsgSeqNum", ... for people.
  bool operator==(const Slot&) const = default;
};

/// Maps a template identifier to code. One table per caller where code differs by caller; table 0 is for messages.
/// Sorted by (table, id); ids are unique in a table.
struct DispatchEntry {
  std::uint16_t table = 0;
  std::uint32_t id = 0;
  std::uint16_t template_index = 0;
  std::uint16_t entry = 0;  ///< Address.
  bool operator==(const DispatchEntry&) const = default;
};

/// A straight-line program for a presence map that is frequent in a segment: microcode/profile. Sorted by (segment,
/// presence_bits).
struct ProfileEntry {
  static constexpr std::uint16_t kBody = 0x8000;  ///< Segment of the body of template i: kBody | i.
  static constexpr unsigned kMaxBits = 63;        ///< Of a map that can have a profile program: nine bytes.

  std::uint16_t segment = 0;        ///< Number of its PMAP, or kBody | template index.
  std::uint16_t entry = 0;          ///< Address.
  std::uint64_t presence_bits = 0;  ///< The map, its first bit on top; of a body without the template identifier's bit.
  std::uint8_t taken = 0;           ///< Bits that the program replaces; the map continues after them.
  bool operator==(const ProfileEntry&) const = default;
};

/// The rows of field_types.def, which explains them.
enum class BlockKind : std::uint8_t {
#define STOPBIT_BLOCK_KIND(enumerator, word) enumerator,
#include "microcode/field_types.def"
};

/// A run of words at static positions. See decoder/record/layout.hpp for how blocks become slots.
struct Block {
  BlockKind kind = BlockKind::Root;
  std::uint16_t template_index = 0;
  std::uint8_t words = 0;        ///< Words stored in records. Higher words only identify fields that are not stored.
  std::uint16_t first_word = 0;  ///< Number of its first word, counted over the template's blocks; tags come from it.
  std::uint16_t min_bytes = 0;   ///< Element: fewest bytes one element takes from the stream (saturates).
  bool operator==(const Block&) const = default;
};

enum class NodeKind : std::uint8_t {
  Field = 0,
  Group = 1,
  Sequence = 2,
  Reference = 3,  ///< Dynamic template reference: a block of the template that the stream names.
};

enum class FieldType : std::uint8_t {
#define STOPBIT_FIELD_TYPE(enumerator, ...) enumerator,
#include "microcode/field_types.def"
};

enum class TimeUnit : std::uint8_t {
#define STOPBIT_TIME_UNIT(enumerator, word) enumerator,
#include "microcode/field_types.def"
};

inline constexpr std::uint16_t kNoBlock = 0xFFFF;
inline constexpr std::uint16_t kNoTypeInfo = 0xFFFF;

/// A node of a template's tree, in pre-order: the children of node i are the nodes from i + 1 up to `end`.
struct SchemaNode {
  NodeKind kind = NodeKind::Field;
  FieldType type = FieldType::UInt32;  ///< Field only.
  bool optional = false;
  bool constant = false;  ///< A mandatory constant: no word; the value is in the constant table.
  bool unstored = false;  ///< Decoded, but not stored in records, nor are its children; readers skip it. Its word, if
                          ///< any, is not below Block::words.
  TimeUnit unit = TimeUnit::None;    ///< Timestamp only.
  TextRef epoch;                     ///< Timestamp only: "unix", "today", ...
  std::uint16_t block = kNoBlock;    ///< Where the word is. Group: where its witness word is.
  std::uint8_t word = isa::kNoWord;  ///< Field: value (decimal: exponent, the mantissa is the next word). Sequence:
                                     ///< length. Optional group: the word whose tag marks the group as present.
  std::uint16_t element_block = kNoBlock;  ///< Sequence only.
  std::uint16_t constant_index = 0;  ///< Mandatory constant: value (decimal: exponent, the mantissa is the next entry).
  std::uint16_t type_info = kNoTypeInfo;  ///< Enum and set: their elements.
  std::uint16_t end = 0;                  ///< Index after the last child node.
  std::uint32_t id = 0;                   ///< FIX tag from the `id` attribute; 0 = none.
  TextRef name;
  TextRef name_space;
  TextRef length_name;          ///< Sequence only; empty if the length has none.
  std::uint32_t length_id = 0;  ///< Sequence only.
  std::uint16_t source = 0;     ///< Index of the template file.
  std::uint32_t line = 0;       ///< 0 = unknown.
  std::uint32_t column = 0;
  bool operator==(const SchemaNode&) const = default;
};

struct Template {
  std::uint32_t id = 0;
  TextRef name;
  TextRef name_space;
  bool reset = false;     ///< The dictionary is reset before the message.
  bool supplied = false;  ///< Not in the file: FastReset, which every feed may send.
  std::uint16_t root_block = 0;
  std::uint16_t words = 0;  ///< Value words over all its blocks.
  std::uint16_t first_node = 0;
  std::uint16_t end_node = 0;
  std::uint16_t source = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const Template&) const = default;
};

/// The elements of an enumeration or a set; a value is the index of an element or a bit per element.
struct TypeInfo {
  TextRef name;  ///< Empty if declared in place.
  std::uint32_t first_element = 0;
  std::uint32_t element_count = 0;
  bool operator==(const TypeInfo&) const = default;
};

struct Element {
  TextRef name;   ///< The FIX value, as printed.
  TextRef label;  ///< The `id` attribute, for people.
  bool operator==(const Element&) const = default;
};

/// A template file the program was made from.
struct Source {
  TextRef name;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  ///< FNV-1a of the text.
  bool operator==(const Source&) const = default;
};

struct Program {
  std::vector<isa::Instruction> code;  ///< [0] PMAP, [1] TID with DISP 0; then the templates; then profile programs.
  std::vector<Constant> constants;     ///< [0] is empty.
  std::string constant_pool;           ///< Bytes of string constants; may hold any byte.
  std::vector<Slot> slots;             ///< [0] is the template identifier.
  std::vector<DispatchEntry> dispatch;
  std::vector<ProfileEntry> profiles;
  std::vector<Block> blocks;
  std::vector<Template> templates;
  std::vector<SchemaNode> nodes;
  std::vector<TypeInfo> type_infos;
  std::vector<Element> elements;
  std::vector<Source> sources;
  std::string names;  ///< UTF-8 text the other tables refer to.
  std::uint32_t max_record_slots = limits::kDefaultMaxRecordSlots;

  bool operator==(const Program&) const = default;

  [[nodiscard]] std::string_view name(TextRef ref) const { return piece(names, ref); }
  [[nodiscard]] std::string_view constant_bytes(TextRef ref) const { return piece(constant_pool, ref); }

 private:
  /// Empty if the reference is outside the pool, which occurs in unverified programs only.
  static std::string_view piece(const std::string& pool, TextRef ref) {
    if (ref.offset > pool.size() || ref.length > pool.size() - ref.offset) return {};
    return std::string_view(pool).substr(ref.offset, ref.length);
  }
};

/// Number of instructions of the general program; profile programs begin after them.
[[nodiscard]] std::size_t general_size(const Program& program) noexcept;

/// Capability bits the program needs of an engine (isa::Capability).
[[nodiscard]] std::uint64_t required_capabilities(const Program& program) noexcept;

/// Whether the program leaves fields out of its records.
[[nodiscard]] bool is_projected(const Program& program) noexcept;

/// Hash of everything a reader of records depends on: templates, blocks, nodes, types and constants by value and name,
/// but not code, file positions or the order of the pools. Programs with equal hashes have the same record layout.
[[nodiscard]] std::uint64_t layout_hash(const Program& program);

/// The same program with both pools rebuilt: each text once, in the order of the tables that refer to it, and no other
/// text. Programs that differ only in their pools become equal. Images are always canonical. References must be inside
/// the pools.
[[nodiscard]] Program canonical(const Program& program);

/// Bytes and elements visited by a walk over the schema; shared ones count once per reference. A file of a few MiB can
/// make this huge; image reader and verifier reject more than limits::kMaxImageBytes before they walk.
[[nodiscard]] std::uint64_t schema_work(const Program& program);

}  // namespace stopbit
