#include "tests/attack/change_program.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace stopbit::attack {
namespace {

using cases::Random;
using isa::Instruction;

/// A number like `old`, or one that tests a limit.
template <class T>
T near(T old, Random& random) {
  constexpr T kMax = std::numeric_limits<T>::max();
  switch (random.below(8)) {
    case 0: return static_cast<T>(random.bits());
    case 1: return 0;
    case 2: return kMax;
    case 3: return static_cast<T>(1ULL << random.below(sizeof(T) * 8));
    case 4: return static_cast<T>(random.below(16));
    case 5: return static_cast<T>(old ^ static_cast<T>(1ULL << random.below(sizeof(T) * 8)));
    case 6: return static_cast<T>(old + 1U);
    default: return static_cast<T>(old - 1U);
  }
}

/// A number like `old` that fits `count` entries.
std::uint16_t index_near(std::uint16_t old, std::size_t count, Random& random) {
  const std::size_t bound = std::max<std::size_t>(1, count);
  switch (random.below(4)) {
    case 0: return static_cast<std::uint16_t>((old + 1U) % bound);
    case 1: return static_cast<std::uint16_t>((old + bound - 1U) % bound);
    default: return static_cast<std::uint16_t>(random.below(bound));
  }
}

template <class E>
E other(Random& random, unsigned count) {
  return static_cast<E>(random.below(count + 1));  // including a value that does not exist
}

isa::DataOp random_op(Random& random) {
  for (;;) {
    const auto op = static_cast<isa::DataOp>(random.below(256));
    if (isa::info(op) != nullptr) return op;
  }
}

/// Another instruction of the same type and presence, so that the schema still fits.
isa::DataOp same_type_op(isa::DataOp op, Random& random) {
  if (isa::is_special(op)) return op;
  constexpr unsigned kOperators = 7;
  const auto first = static_cast<unsigned>(random.below(kOperators));
  for (unsigned i = 0; i < kOperators; ++i) {
    const auto which = static_cast<isa::Operator>((first + i) % kOperators);
    const auto candidate = static_cast<isa::DataOp>(
        isa::encode_op(which, isa::type_of(op), isa::is_optional(op) ? isa::Presence::Opt : isa::Presence::Man));
    if (isa::info(candidate) != nullptr) return candidate;
  }
  return op;
}

void change_instruction(Program& program, Instruction& in, Random& random) {
  switch (random.below(10)) {
    case 0: in.op = random_op(random); break;
    case 1:
    case 2: in.op = same_type_op(in.op, random); break;
    case 3: in.word = near(in.word, random); break;
    case 4: in.slot = index_near(in.slot, program.slots.size(), random); break;
    case 5: in.constant = index_near(in.constant, program.constants.size(), random); break;
    case 6: in.control = static_cast<isa::ControlOp>(random.below(9)); break;
    case 7: in.target = index_near(in.target, program.code.size(), random); break;
    case 8: in.target = index_near(in.target, program.blocks.size(), random); break;
    default: in.pair = !in.pair;
  }
}

/// Moves what points at or past `address`.
void shift_targets(Program& program, std::size_t address, int by) {
  const auto shift = [&](std::uint16_t& place) {
    if (place >= address) place = static_cast<std::uint16_t>(place + by);
  };
  for (Instruction& in : program.code) {
    const isa::ControlOpInfo* info = isa::info(in.control);
    if (info != nullptr && info->target == isa::TargetUse::Address) shift(in.target);
  }
  for (DispatchEntry& entry : program.dispatch) shift(entry.entry);
}

void change_code(Program& program, Random& random) {
  std::vector<Instruction>& code = program.code;
  if (code.empty()) return;
  const auto at = static_cast<std::size_t>(random.below(code.size()));
  const auto place = code.begin() + static_cast<std::ptrdiff_t>(at);
  const bool keeps_targets = random.chance(70);
  switch (random.below(8)) {
    case 0: std::swap(code[at], code[(at + 1) % code.size()]); break;
    case 1: std::swap(code[at], random.pick(code)); break;
    case 2:  // doubled
      if (code.size() < limits::kMaxInstructions) {
        if (keeps_targets) shift_targets(program, at + 1, 1);
        code.insert(place, Instruction(*place));
      }
      break;
    case 3:
      if (keeps_targets) shift_targets(program, at + 1, -1);
      code.erase(place);
      break;
    case 4:
      if (code.size() < limits::kMaxInstructions) {
        if (keeps_targets) shift_targets(program, at, 1);
        Instruction added = random.pick(code);
        change_instruction(program, added, random);
        code.insert(place, added);
      }
      break;
    default: change_instruction(program, code[at], random);
  }
}

void change_constant(Program& program, Constant& constant, Random& random) {
  switch (random.below(4)) {
    case 0: constant.value = near(constant.value, random); break;
    case 1: constant.kind = other<ValueKind>(random, 3); break;
    case 2: constant.limit_kind = other<LimitKind>(random, 7); break;
    default: constant.limit = near(constant.limit, random);
  }
  (void)program;
}

void change_block(Program& program, Block& block, Random& random) {
  switch (random.below(5)) {
    case 0: block.kind = other<BlockKind>(random, 3); break;
    case 1: block.template_index = index_near(block.template_index, program.templates.size(), random); break;
    case 2: block.words = near(block.words, random); break;
    case 3: block.first_word = near(block.first_word, random); break;
    default: block.min_bytes = near(block.min_bytes, random);
  }
}

void change_node(Program& program, SchemaNode& node, Random& random) {
  switch (random.below(15)) {
    case 0: node.kind = other<NodeKind>(random, 4); break;
    case 1: node.type = other<FieldType>(random, static_cast<unsigned>(FieldType::Timestamp) + 1); break;
    case 2: node.optional = !node.optional; break;
    case 3: node.constant = !node.constant; break;
    case 4: node.block = index_near(node.block, program.blocks.size(), random); break;
    case 5: node.word = near(node.word, random); break;
    case 6: node.element_block = index_near(node.element_block, program.blocks.size(), random); break;
    case 7: node.constant_index = index_near(node.constant_index, program.constants.size(), random); break;
    case 8: node.type_info = index_near(node.type_info, program.type_infos.size(), random); break;
    case 9: node.end = near(node.end, random); break;
    case 10: node.name = {near(node.name.offset, random), near(node.name.length, random)}; break;
    case 11: node.unit = other<TimeUnit>(random, 6); break;
    case 12: node = random.pick(program.nodes); break;
    case 13: node.unstored = !node.unstored; break;
    default: std::swap(node, random.pick(program.nodes));
  }
}

void change_template(Program& program, Template& item, Random& random) {
  switch (random.below(6)) {
    case 0: item.root_block = index_near(item.root_block, program.blocks.size(), random); break;
    case 1: item.words = near(item.words, random); break;
    case 2: item.first_node = near(item.first_node, random); break;
    case 3: item.end_node = near(item.end_node, random); break;
    case 4: item.id = near(item.id, random); break;
    default: item.reset = !item.reset;
  }
}

void change_dispatch(Program& program, DispatchEntry& entry, Random& random) {
  switch (random.below(4)) {
    case 0: entry.table = near(entry.table, random); break;
    case 1: entry.id = near(entry.id, random); break;
    case 2: entry.template_index = index_near(entry.template_index, program.templates.size(), random); break;
    default: entry.entry = index_near(entry.entry, program.code.size(), random);
  }
}

}  // namespace

void change_program(Program& program, Random& random) {
  const auto entry_of = [&](auto& table, auto change) {
    if (!table.empty()) change(program, random.pick(table), random);
  };
  switch (random.below(17)) {
    case 0: return entry_of(program.constants, change_constant);
    case 1:
      return entry_of(program.slots, [](Program&, Slot& slot, Random& from) {
        slot.string_capacity = near(slot.string_capacity, from);
      });
    case 2: return entry_of(program.blocks, change_block);
    case 3: return entry_of(program.dispatch, change_dispatch);
    case 4:
    case 5: return entry_of(program.nodes, change_node);
    case 6: return entry_of(program.templates, change_template);
    case 7:
      return entry_of(program.type_infos, [](Program&, TypeInfo& type, Random& from) {
        if (from.chance(50)) {
          type.first_element = near(type.first_element, from);
        } else {
          type.element_count = near(type.element_count, from);
        }
      });
    case 8: program.max_record_slots = near(program.max_record_slots, random); return;
    case 9:
      if (!program.constant_pool.empty()) {
        char& constant = random.pick(program.constant_pool);
        constant = static_cast<char>(constant ^ static_cast<char>(random.bits()));
      }
      return;
    default: return change_code(program, random);
  }
}

void reshape_program(Program& program, Random& random) {
  for (Instruction& in : program.code) {
    const bool is_of_bit_group = isa::is_bits(in.op) || isa::is_bit(in.op);
    if (isa::is_special(in.op) || is_of_bit_group || !random.chance(30)) continue;
    const isa::DataOp op = same_type_op(in.op, random);
    const isa::DataOpInfo& now = *isa::info(op);
    // Only whole decimals: exponent and mantissa go together, and are left as they are.
    if (now.type == isa::Type::Dexp || now.type == isa::Type::Dman) continue;
    in.op = op;
    in.pair = false;
    in.slot = 0;
    if (now.uses_slot) {
      in.slot = static_cast<std::uint16_t>(program.slots.size() > 1 ? 1 + random.below(program.slots.size() - 1) : 0);
      if (isa::is_string(now.type) && program.slots[in.slot].string_capacity == 0) {
        program.slots[in.slot].string_capacity = 24;
      }
    }
    if (now.constant == isa::ConstantUse::Never || now.constant == isa::ConstantUse::LimitOnly) {
      const bool has_value = program.constants[in.constant].kind != ValueKind::None;
      if (has_value || now.constant == isa::ConstantUse::Never) in.constant = isa::kNoConstant;
    } else if (random.chance(50) || in.constant == isa::kNoConstant) {
      in.constant = index_near(in.constant, program.constants.size(), random);
    }
  }
}

Program noise_program(Random& random) {
  Program program;
  program.names = "names of noise";
  program.constant_pool = "constants";
  program.code = {{.op = isa::DataOp::Pmap, .slot = 8}, {.op = isa::DataOp::Tid, .control = isa::ControlOp::Disp}};
  program.constants.emplace_back();
  program.slots.emplace_back();
  program.sources.push_back({{0, 5}, 0, 0});
  const auto count = [&] { return 1 + random.below(8); };
  for (auto left = count(); left > 0; --left) program.constants.push_back({random.below(9), ValueKind::Integer});
  for (auto left = count(); left > 0; --left) {
    program.slots.push_back({static_cast<std::uint16_t>(random.below(2) * 24), {0, 5}});
  }
  // One template of fields whose schema fits, if the instructions do.
  const auto fields = static_cast<std::uint16_t>(count());
  for (std::uint16_t i = 0; i < fields; ++i) {
    Instruction in;
    in.op = random_op(random);
    const isa::DataOpInfo& info = *isa::info(in.op);
    in.word = static_cast<std::uint8_t>(i);
    if (info.uses_slot) in.slot = static_cast<std::uint16_t>(random.below(program.slots.size()));
    if (info.constant != isa::ConstantUse::Never && random.chance(60)) {
      in.constant = static_cast<std::uint16_t>(random.below(program.constants.size()));
    }
    if (random.chance(15)) change_instruction(program, in, random);
    program.code.push_back(in);

    constexpr std::array kTypes = {FieldType::UInt32,  FieldType::Int32,   FieldType::UInt64,    FieldType::Int64,
                                   FieldType::Decimal, FieldType::Decimal, FieldType::Decimal,   FieldType::Decimal,
                                   FieldType::Ascii,   FieldType::Unicode, FieldType::ByteVector};
    SchemaNode node;
    const auto type = static_cast<std::size_t>(info.type);
    node.type = type < kTypes.size() ? kTypes[type] : FieldType::UInt32;
    node.optional = info.presence == isa::Presence::Opt;
    node.block = 0;
    node.word = in.word;
    node.end = static_cast<std::uint16_t>(i + 1);
    node.name = {0, 5};
    program.nodes.push_back(node);
    if (random.chance(5)) change_node(program, program.nodes.back(), random);
  }
  program.code.back().control = isa::ControlOp::End;
  program.blocks.push_back({BlockKind::Root, 0, static_cast<std::uint8_t>(fields), 0, 0});
  Template item;
  item.id = 1;
  item.words = fields;
  item.end_node = fields;
  program.templates.push_back(item);
  program.dispatch.push_back({0, 1, 0, 2});
  return program;
}

}  // namespace stopbit::attack
