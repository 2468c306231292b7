#pragma once

#include <string_view>
#include <utility>

#include "microcode/program.hpp"

namespace stopbit::test {

/// Builds a Program by hand: texts are interned as they come, tables are filled in any order.
class ProgramBuilder {
 public:
  TextRef text(std::string_view value) {
    if (value.empty()) return {};
    const std::size_t at = program.names.find(value);
    if (at != std::string::npos) return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(value.size())};
    const TextRef ref{static_cast<std::uint32_t>(program.names.size()), static_cast<std::uint32_t>(value.size())};
    program.names += value;
    return ref;
  }
  void bytes_constant(std::string_view value) {
    Constant constant;
    constant.kind = ValueKind::Bytes;
    constant.value = program.constant_pool.size() | static_cast<std::uint64_t>(value.size()) << 32;
    program.constant_pool += value;
    program.constants.push_back(constant);
  }
  void integer_constant(std::uint64_t value, LimitKind limit_kind = LimitKind::None, std::uint32_t limit = 0) {
    program.constants.push_back({value, ValueKind::Integer, limit_kind, limit});
  }
  void slot(std::string_view name, std::uint16_t string_capacity = 0) {
    program.slots.push_back({string_capacity, text(name)});
  }
  SchemaNode& node(NodeKind kind, std::string_view name, std::uint32_t id = 0) {
    SchemaNode node;
    node.kind = kind;
    node.name = text(name);
    node.id = id;
    node.end = static_cast<std::uint16_t>(program.nodes.size() + 1);
    node.line = static_cast<std::uint32_t>(program.nodes.size() + 10);
    node.column = 5;
    return program.nodes.emplace_back(node);
  }
  SchemaNode& field(FieldType type, std::string_view name, std::uint16_t block, std::uint8_t word,
                    bool optional = false) {
    SchemaNode& added = node(NodeKind::Field, name, static_cast<std::uint32_t>(100 + program.nodes.size()));
    added.type = type;
    added.block = block;
    added.word = word;
    added.optional = optional;
    return added;
  }
  void code(isa::DataOp op, int word, std::uint16_t slot = 0, std::uint16_t constant = 0,
            isa::ControlOp control = isa::ControlOp::Next, std::uint16_t target = 0, bool pair = false) {
    program.code.push_back({op, static_cast<std::uint8_t>(word), slot, constant, control, target, pair});
  }

  Program program;
};

inline constexpr int kNoWord = isa::kNoWord;

/// Two templates that use every table and every control-op: "Quote" with an optional group, a sequence and what follows
/// it, and "Session" with a dynamic reference and a sequence of constant length. It verifies.
inline Program sample_program() {
  using isa::ControlOp;
  using isa::DataOp;
  ProgramBuilder b;
  b.program.sources.push_back({b.text("sample.xml"), 1234, 0x0123456789abcdef});

  b.program.constants.emplace_back();
  b.bytes_constant("CME");                                                 // 1
  b.integer_constant(1, LimitKind::Enum, 3);                               // 2
  b.program.constants.push_back({0, ValueKind::None, LimitKind::Set, 2});  // 3
  b.integer_constant(2);                                                   // 4
  b.bytes_constant(std::string_view("FIX\0\"4\\\n\xff", 9));               // 5
  b.integer_constant(static_cast<std::uint64_t>(-2));                      // 6: exponent of a constant decimal
  b.integer_constant(125);                                                 // 7: its mantissa

  b.slot("template id");
  b.slot("global/MsgSeqNum");
  b.slot("global/Px exponent");
  b.slot("global/Px mantissa");
  b.slot("global/Symbol", 64);
  b.slot("template:1/Level");
  b.slot("global/Size");
  b.slot("global/Rate exponent");
  b.slot("global/Rate mantissa");

  b.code(DataOp::Pmap, kNoWord, 6, 0);
  b.code(DataOp::Tid, kNoWord, 0, 0, ControlOp::Disp, 0);
  // Quote
  b.code(DataOp::CopU32Man, 0, 1, 0, ControlOp::Next, 0, true);  // 2
  b.code(DataOp::CopIexpOpt, 1, 2);
  b.code(DataOp::DelImanMan, 2, 3);
  b.code(DataOp::CopAsciiOpt, 3, 4, 1);  // 5
  b.code(DataOp::DefU32Man, 4, 0, 2);
  b.code(DataOp::Nop, 5, 0, 0, ControlOp::Skip, 10);
  b.code(DataOp::Pmap, kNoWord, 1, 1);
  b.code(DataOp::CopU32Opt, 6, 5, 0, ControlOp::Pop);
  b.code(DataOp::NonU32Man, 7, 0, 0, ControlOp::Seq, 15);  // 10
  b.code(DataOp::Pmap, kNoWord, 1, 2, ControlOp::Block, 1);
  b.code(DataOp::CopU64Man, 0, 6);
  b.code(DataOp::NonS32Opt, 1);
  b.code(DataOp::NonAsciiOpt, 2, 0, 0, ControlOp::Lend, 11);
  b.code(DataOp::NonBytesOpt, 0, 0, 0, ControlOp::Block, 2);  // 15
  b.code(DataOp::NonUniMan, 1, 0, 0, ControlOp::End);
  // Session
  b.code(DataOp::NonU64Man, 0);  // 17
  b.code(DataOp::DelDexpMan, 1, 7);
  b.code(DataOp::DelDmanMan, 2, 8);
  b.code(DataOp::NonS64Opt, 3);  // 20
  b.code(DataOp::NonU64Opt, 4, 0, 3);
  b.code(DataOp::Pmap, kNoWord, 6, 3);
  b.code(DataOp::Tid, kNoWord, 0, 0, ControlOp::Call, 0);
  b.code(DataOp::NonU32Man, 0, 0, 0, ControlOp::Block, 4);
  b.code(DataOp::ConU32Man, 1, 0, 4, ControlOp::Seq, 28);  // 25
  b.code(DataOp::Nop, kNoWord, 0, 0, ControlOp::Block, 5);
  b.code(DataOp::NonU32Man, 0, 0, 0, ControlOp::Lend, 26);
  b.code(DataOp::Nop, kNoWord, 0, 0, ControlOp::End);

  b.program.dispatch = {{0, 1, 0, 2}, {0, 2, 1, 17}};
  b.program.blocks = {{BlockKind::Root, 0, 8, 0, 0},   {BlockKind::Element, 0, 3, 8, 3},
                      {BlockKind::After, 0, 2, 11, 0}, {BlockKind::Root, 1, 5, 0, 0},
                      {BlockKind::After, 1, 2, 5, 0},  {BlockKind::Element, 1, 1, 7, 1}};

  const TextRef name_space = b.text("http://example.org/md");
  Template quote;
  quote.id = 1;
  quote.name = b.text("Quote");
  quote.name_space = name_space;
  quote.root_block = 0;
  quote.words = 13;
  quote.end_node = 14;
  quote.line = 3;
  quote.column = 3;
  Template session;
  session.id = 2;
  session.name = b.text("Session");
  session.reset = true;
  session.root_block = 3;
  session.words = 8;
  session.first_node = 14;
  session.end_node = 23;
  session.line = 30;
  session.column = 3;
  b.program.templates = {quote, session};

  // Quote
  SchemaNode& version = b.node(NodeKind::Field, "Version", 8);  // 0
  version.type = FieldType::Ascii;
  version.constant = true;
  version.constant_index = 5;
  b.field(FieldType::UInt32, "MsgSeqNum", 0, 0).name_space = name_space;
  b.field(FieldType::Decimal, "Px", 0, 1, true);
  b.field(FieldType::Ascii, "Symbol", 0, 3, true);
  b.field(FieldType::Enum, "Side", 0, 4).type_info = 0;
  SchemaNode& group = b.node(NodeKind::Group, "Book");  // 5
  group.optional = true;
  group.block = 0;
  group.word = 5;
  group.end = 7;
  b.field(FieldType::UInt32, "Level", 0, 6, true);
  SchemaNode& entries = b.node(NodeKind::Sequence, "Entries");  // 7
  entries.block = 0;
  entries.word = 7;
  entries.element_block = 1;
  entries.end = 12;
  entries.length_name = b.text("NoEntries");
  entries.length_id = 268;
  b.field(FieldType::UInt64, "Size", 1, 0);
  b.field(FieldType::Int32, "Change", 1, 1, true);
  b.field(FieldType::Ascii, "Text", 1, 2, true);
  SchemaNode& tick = b.node(NodeKind::Field, "Tick", 9);  // 11
  tick.type = FieldType::Decimal;
  tick.constant = true;
  tick.constant_index = 6;
  b.field(FieldType::ByteVector, "Raw", 2, 0, true);
  b.field(FieldType::Unicode, "Na\xc3\xafve", 2, 1);
  // Session
  b.field(FieldType::UInt64, "Sender", 3, 0);  // 14
  b.field(FieldType::Decimal, "Rate", 3, 1);
  SchemaNode& time = b.field(FieldType::Timestamp, "Time", 3, 3, true);
  time.unit = TimeUnit::Nanosecond;
  time.epoch = b.text("unix");
  b.field(FieldType::Set, "Flags", 3, 4, true).type_info = 1;
  b.node(NodeKind::Reference, "");
  b.field(FieldType::UInt32, "Count", 4, 0);
  SchemaNode& pairs = b.node(NodeKind::Sequence, "Pairs");  // 20
  pairs.block = 4;
  pairs.word = 1;
  pairs.element_block = 5;
  pairs.end = 22;
  b.field(FieldType::UInt32, "Item", 5, 0);
  SchemaNode& plain = b.node(NodeKind::Group, "Plain");  // 22: mandatory and empty
  plain.end = 23;

  const auto element = [&](std::string_view name, std::string_view label) {
    b.program.elements.push_back({b.text(name), b.text(label)});
  };
  element("B", "Buy");
  element("S", "Sell");
  element("X", "");
  element("0", "First");
  element("1", "Second");
  b.program.type_infos = {{b.text("SideType"), 0, 3}, {{}, 3, 2}};
  return std::move(b.program);
}

/// One template with a bit group of 7 + 4 bits: a mandatory and an optional field. It verifies.
inline Program bits_program() {
  using isa::ControlOp;
  using isa::DataOp;
  ProgramBuilder b;
  b.program.sources.push_back({b.text("bits.xml"), 1, 1});
  b.program.constants.emplace_back();
  b.integer_constant(0b0000011'1110000, LimitKind::Bits, 11);                 // 1: three bits after the last field
  b.program.constants.push_back({0, ValueKind::None, LimitKind::Signed, 3});  // 2
  b.slot("template id");
  b.slot("global/Bits");
  b.code(DataOp::Pmap, kNoWord, 2, 0);
  b.code(DataOp::Tid, kNoWord, 0, 0, ControlOp::Disp, 0);
  b.code(DataOp::CopBitsMan, 0, 1, 1);  // 2
  b.code(DataOp::BitU64Man, 0, isa::BitField{0, 7}.column());
  b.code(DataOp::BitS64Opt, 1, isa::BitField{7, 4}.column(), 2, ControlOp::End);
  b.program.dispatch = {{0, 1, 0, 2}};
  b.program.blocks = {{BlockKind::Root, 0, 2, 0, 0}};
  Template item;
  item.id = 1;
  item.name = b.text("Bits");
  item.words = 2;
  item.end_node = 3;
  b.program.templates = {item};
  b.node(NodeKind::Group, "Group").end = 3;
  b.field(FieldType::UInt8, "First", 0, 0);
  b.field(FieldType::Int8, "Second", 0, 1, true);
  return std::move(b.program);
}

}  // namespace stopbit::test
