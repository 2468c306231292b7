#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "microcode/program.hpp"

/// The byte layout of an image, in one place: reader, writer and the test of image.md all use it.
namespace stopbit::image {

/// As in PNG: a transfer that changes line ends or drops the top bit breaks the magic.
inline constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'S', 'B', 'F', '\r', '\n', 0x1A, '\n'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kTableEntryBytes = 24;
inline constexpr std::size_t kAlignment = 8;  ///< Sections begin at multiples; zero bytes fill the gaps.

/// In this order in the file; every section is present, even if it is empty. Append, never renumber.
enum class Section : std::uint32_t {
  Properties = 1,
  Code,
  Constants,
  ConstantPool,
  Slots,
  Dispatch,
  Profiles,
  Blocks,
  Templates,
  Nodes,
  Types,
  Elements,
  Sources,
  Positions,
  Names,
};
inline constexpr std::size_t kSectionCount = 15;

struct SectionInfo {
  Section id;
  std::string_view name;
  std::uint32_t entry_bytes;
  std::size_t max_entries;
};

// clang-format off
inline constexpr std::array<SectionInfo, kSectionCount> kSections = {{
    {Section::Properties, "properties", 24, 1},
    {Section::Code, "code", 8, limits::kMaxInstructions},
    {Section::Constants, "constants", 16, limits::kMaxConstants},
    {Section::ConstantPool, "constant pool", 1, limits::kMaxStringPoolBytes},
    {Section::Slots, "slots", 12, limits::kMaxSlots},
    {Section::Dispatch, "dispatch", 12, limits::kMaxInstructions},
    {Section::Profiles, "profiles", 16, limits::kMaxInstructions},
    {Section::Blocks, "blocks", 8, limits::kMaxBlocks},
    {Section::Templates, "templates", 32, limits::kMaxTemplates},
    {Section::Nodes, "nodes", 56, limits::kMaxFields},
    {Section::Types, "types", 16, limits::kMaxFields},
    {Section::Elements, "elements", 16, limits::kMaxTypeElements},
    {Section::Sources, "sources", 24, limits::kMaxFields},
    {Section::Positions, "positions", 12, limits::kMaxTemplates + limits::kMaxFields},
    {Section::Names, "names", 1, limits::kMaxStringPoolBytes},
}};
// clang-format on

constexpr const SectionInfo& info(Section section) {
  return kSections[static_cast<std::size_t>(section) - 1];
}

/// Content of the properties section.
struct Properties {
  std::uint64_t capabilities = 0;
  std::uint64_t layout_hash = 0;
  std::uint32_t max_record_slots = 0;
};

/// Position of a template or node in its file.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint16_t source = 0;
};

// The entries. Calls `v` for each field in order of its offset: number(name, value), enumerator(name, value, last
// value), flags(name, bits...), text(name, ref), instruction(name, value) and reserved(bytes). `T` may be const.

template <class V, class T>
void describe_properties(V& v, T&& p) {
  v.number("capabilities", p.capabilities);
  v.number("layout_hash", p.layout_hash);
  v.number("max_record_slots", p.max_record_slots);
  v.reserved(4);
}

template <class V, class T>
void describe_instruction(V& v, T&& instruction) {
  v.instruction("word", instruction);
}

template <class V, class T>
void describe_constant(V& v, T&& constant) {
  v.number("value", constant.value);
  v.number("limit", constant.limit);
  v.enumerator("kind", constant.kind, ValueKind::Bytes);
  v.enumerator("limit_kind", constant.limit_kind, LimitKind::Bits);
  v.reserved(2);
}

template <class V, class T>
void describe_slot(V& v, T&& slot) {
  v.text("name", slot.name);
  v.number("string_capacity", slot.string_capacity);
  v.reserved(2);
}

template <class V, class T>
void describe_dispatch(V& v, T&& entry) {
  v.number("id", entry.id);
  v.number("table", entry.table);
  v.number("template_index", entry.template_index);
  v.number("entry", entry.entry);
  v.reserved(2);
}

template <class V, class T>
void describe_profile(V& v, T&& profile) {
  v.number("presence_bits", profile.presence_bits);
  v.number("segment", profile.segment);
  v.number("entry", profile.entry);
  v.number("taken", profile.taken);
  v.reserved(3);
}

template <class V, class T>
void describe_block(V& v, T&& block) {
  v.enumerator("kind", block.kind, BlockKind::After);
  v.number("words", block.words);
  v.number("template_index", block.template_index);
  v.number("first_word", block.first_word);
  v.number("min_bytes", block.min_bytes);
}

template <class V, class T>
void describe_template(V& v, T&& item) {
  v.number("id", item.id);
  v.text("name", item.name);
  v.text("name_space", item.name_space);
  v.number("root_block", item.root_block);
  v.number("words", item.words);
  v.number("first_node", item.first_node);
  v.number("end_node", item.end_node);
  v.flags("flags", item.reset, item.supplied);
  v.reserved(3);
}

template <class V, class T>
void describe_node(V& v, T&& node) {
  v.enumerator("kind", node.kind, NodeKind::Reference);
  v.enumerator("type", node.type, FieldType::Timestamp);
  v.enumerator("unit", node.unit, TimeUnit::Nanosecond);
  v.flags("flags", node.optional, node.constant, node.unstored);
  v.number("block", node.block);
  v.number("element_block", node.element_block);
  v.number("constant_index", node.constant_index);
  v.number("type_info", node.type_info);
  v.number("end", node.end);
  v.number("word", node.word);
  v.reserved(1);
  v.number("id", node.id);
  v.number("length_id", node.length_id);
  v.text("name", node.name);
  v.text("name_space", node.name_space);
  v.text("length_name", node.length_name);
  v.text("epoch", node.epoch);
}

template <class V, class T>
void describe_type(V& v, T&& type) {
  v.text("name", type.name);
  v.number("first_element", type.first_element);
  v.number("element_count", type.element_count);
}

template <class V, class T>
void describe_element(V& v, T&& element) {
  v.text("name", element.name);
  v.text("label", element.label);
}

template <class V, class T>
void describe_source(V& v, T&& source) {
  v.text("name", source.name);
  v.number("bytes", source.bytes);
  v.number("hash", source.hash);
}

template <class V, class T>
void describe_position(V& v, T&& position) {
  v.number("line", position.line);
  v.number("column", position.column);
  v.number("source", position.source);
  v.reserved(2);
}

/// A field of an entry, for the test that compares image.md with the code.
struct FieldPlace {
  Section section;
  std::string_view field;  ///< "reserved" for bytes that must be zero.
  std::size_t offset;
  std::size_t bytes;
};

/// Every field of every section whose entries have fields, in order.
[[nodiscard]] std::vector<FieldPlace> field_places();

}  // namespace stopbit::image
