#include "templates/lower/code.hpp"

#include <algorithm>
#include <utility>

#include "microcode/base/limits.hpp"
#include "templates/lower/facts.hpp"

namespace stopbit::templates::lower {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;
using Part = SlotTable::Part;

isa::Type wire_type(FieldType type) {
  switch (type) {
    case FieldType::Int8:
    case FieldType::Int16:
    case FieldType::Int32: return isa::Type::S32;
    case FieldType::UInt8:
    case FieldType::UInt16:
    case FieldType::UInt32:
    case FieldType::Enum:
    case FieldType::Boolean: return isa::Type::U32;
    case FieldType::Int64:
    case FieldType::Timestamp: return isa::Type::S64;
    case FieldType::UInt64:
    case FieldType::Set: return isa::Type::U64;
    case FieldType::Ascii: return isa::Type::Ascii;
    case FieldType::Unicode: return isa::Type::Uni;
    case FieldType::ByteVector: return isa::Type::Bytes;
    case FieldType::Decimal: return isa::Type::Dexp;
  }
  return isa::Type::U32;
}

void limit(Constant& constant, FieldType type, std::size_t elements) {
  const auto set = [&](LimitKind kind, std::size_t bound) {
    constant.limit_kind = kind;
    constant.limit = static_cast<std::uint32_t>(bound);
  };
  switch (type) {
    case FieldType::Int8: return set(LimitKind::Signed, 8);
    case FieldType::Int16: return set(LimitKind::Signed, 16);
    case FieldType::UInt8: return set(LimitKind::Unsigned, UINT8_MAX);
    case FieldType::UInt16: return set(LimitKind::Unsigned, UINT16_MAX);
    case FieldType::Enum: return set(LimitKind::Enum, elements);
    case FieldType::Boolean: return set(LimitKind::Enum, 2);
    case FieldType::Set: return set(LimitKind::Set, elements);
    default: return;
  }
}

}  // namespace

// --- Constants.

Constant ConstantMaker::number(std::uint64_t value) {
  Constant constant;
  constant.value = value;
  constant.kind = ValueKind::Integer;
  return constant;
}

std::uint16_t ConstantMaker::of(const ast::Operator& op, FieldType type, std::size_t enumeration) {
  if (op.initial && isa::is_string(wire_type(type))) return constants_.add_bytes({}, op.initial->bytes);
  Constant constant = op.initial ? number(op.initial->integer) : Constant();
  // A constant was checked against the limit when it was read.
  if (op.kind != isa::Operator::Con) {
    limit(constant, type, enumeration == ast::kNoEnumeration ? 0 : set_.enumerations[enumeration].elements.size());
  }
  return constants_.add(constant);
}

std::uint16_t ConstantMaker::bit_group(const ast::Group& group) {
  Constant constant = group.op.initial ? number(group.op.initial->integer) : Constant();
  constant.limit_kind = LimitKind::Bits;
  constant.limit = group.bits;
  return constants_.add(constant);
}

std::uint16_t ConstantMaker::bit_field(const ast::Field& field) {
  Constant constant;
  if (field.small_bits == 0) {
    limit(constant, field.type,
          field.enumeration == ast::kNoEnumeration ? 0 : set_.enumerations[field.enumeration].elements.size());
  } else if (field.optional) {
    const bool is_signed = field.type == FieldType::Int8;
    constant.limit_kind = is_signed ? LimitKind::Signed : LimitKind::Unsigned;
    constant.limit = is_signed ? field.small_bits : (1U << field.small_bits) - 1;
  }
  return constants_.add(constant);
}

std::uint16_t ConstantMaker::exponent(const ast::Operator& op) {
  return op.initial ? constants_.add(number(static_cast<std::uint64_t>(op.initial->exponent))) : isa::kNoConstant;
}

std::uint16_t ConstantMaker::mantissa(const ast::Operator& op) {
  if (op.initial) return constants_.add(number(op.initial->integer));
  // A default mantissa always has a value; that of an optional decimal without initial value is never taken.
  return op.kind == isa::Operator::Def ? constants_.add(number(0)) : isa::kNoConstant;
}

std::uint16_t ConstantMaker::schema(const ast::Field& field) {
  if (field.parts) {
    return constants_.add_pair(number(field.parts->exponent.initial->integer),
                               number(field.parts->mantissa.initial->integer));
  }
  if (field.type != FieldType::Decimal) return of(field.op, field.type, field.enumeration);
  return constants_.add_pair(number(static_cast<std::uint64_t>(field.op.initial->exponent)),
                             number(field.op.initial->integer));
}

// --- Code.

CodeMaker::CodeMaker(const ir::Module& module, const ast::TemplateSet& set, ConstantMaker& constants, SlotTable& slots,
                     CallerTables& tables, std::vector<Instruction>& code)
    : module_(module), set_(set), constants_(constants), slots_(slots), tables_(tables), code_(code) {
  for (const ir::Message& message : module.messages) {
    reference_bits_ = std::max(reference_bits_, 1 + presence_bits(message.items, 0, message.items.size()));
  }
  code_.push_back(
      {DataOp::Pmap, isa::kNoWord, static_cast<std::uint16_t>(reference_bits_), 0, ControlOp::Next, 0, false});
  code_.push_back({DataOp::Tid, isa::kNoWord, isa::kTemplateIdSlot, isa::kNoConstant, ControlOp::Disp, 0, false});
}

std::uint16_t CodeMaker::make(const ir::Message& message, const Layout& layout, std::uint32_t callers_type) {
  items_ = &message.items;
  layout_ = &layout;
  callers_type_ = callers_type;
  const auto entry = static_cast<std::uint16_t>(code_.size());
  label();
  body(0, message.items.size());
  attach(ControlOp::End);
  return entry;
}

std::uint16_t CodeMaker::make_empty() {
  const auto entry = static_cast<std::uint16_t>(code_.size());
  label();
  attach(ControlOp::End);
  return entry;
}

// Recursion is bounded by the nesting that the expansion allows.
void CodeMaker::body(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && code_.size() <= limits::kMaxInstructions; i = (*items_)[i].end) {
    const ir::Item& item = (*items_)[i];
    switch (item.kind) {
      case NodeKind::Field: field(item, layout_->places[i]); break;
      case NodeKind::Group: group(i); break;
      case NodeKind::Sequence: sequence(i); break;
      case NodeKind::Reference: reference(item); break;
    }
  }
}

void CodeMaker::field(const ir::Item& item, const ItemPlacement& place) {
  const ast::Field& field = *item.field;
  if (is_schema_constant(field)) return;
  open(place.opens);
  const std::uint8_t word = place.word;
  const auto next_word = static_cast<std::uint8_t>(word + 1);
  if (field.parts) {
    const ast::Operator& exponent = field.parts->exponent;
    const ast::Operator& mantissa = field.parts->mantissa;
    const std::uint16_t exponent_value = constants_.of(exponent, FieldType::Int32, ast::kNoEnumeration);
    const std::uint16_t mantissa_value = constants_.of(mantissa, FieldType::Int64, ast::kNoEnumeration);
    emit(instruction(item, field.name,
                     {exponent, isa::Type::Iexp, field.optional, word, Part::Exponent, exponent_value}));
    emit(instruction(item, field.name, {mantissa, isa::Type::Iman, false, next_word, Part::Mantissa, mantissa_value}));
  } else if (field.type == FieldType::Decimal) {
    const std::uint16_t mantissa_value = constants_.mantissa(field.op);
    emit(instruction(item, field.name,
                     {field.op, isa::Type::Dexp, field.optional, word, Part::Whole, constants_.exponent(field.op)}));
    emit(instruction(item, field.name,
                     {field.op, isa::Type::Dman, false, next_word, Part::WholeMantissa, mantissa_value}));
  } else {
    const std::uint16_t value = constants_.of(field.op, field.type, field.enumeration);
    emit(instruction(item, field.name, {field.op, wire_type(field.type), field.optional, word, Part::Whole, value}));
  }
}

void CodeMaker::group(std::size_t index) {
  const ir::Item& item = (*items_)[index];
  const ItemPlacement& place = layout_->places[index];
  std::size_t skip = 0;
  if (item.group->optional) {
    open(place.opens);
    flush_block();
    if (place.own_witness) {
      skip = emit({DataOp::Nop, place.word, 0, 0, ControlOp::Skip, 0, false});
    } else {
      skip = attach(ControlOp::Skip);
    }
  }
  if (place.inner_bits != 0) emit_map(place.inner_bits);
  if (item.group->is_bits) {
    bit_group(index);
  } else {
    body(index + 1, item.end);
  }
  if (place.inner_bits != 0) attach(ControlOp::Pop);
  if (item.group->optional) land(skip);
}

void CodeMaker::bit_group(std::size_t index) {
  const ir::Item& item = (*items_)[index];
  const ast::Group& group = *item.group;
  isa::BitField place;
  for (std::size_t i = index + 1; i < item.end; ++i) {
    const ast::Field& field = *(*items_)[i].field;
    if (field.bits == 0) continue;
    const std::uint8_t word = layout_->places[i].word;
    if (place.position == 0) {
      open(layout_->places[i].opens);
      emit(instruction(item, group.name,
                       {group.op, isa::Type::Bits, false, word, Part::Whole, constants_.bit_group(group)}));
    }
    place.width = field.bits;
    const isa::Type type = field.type == FieldType::Int8 ? isa::Type::S64 : isa::Type::U64;
    const isa::Presence presence = field.optional ? isa::Presence::Opt : isa::Presence::Man;
    const auto op = static_cast<DataOp>(isa::encode_op(isa::Operator::Bit, type, presence));
    emit({op, word, place.column(), constants_.bit_field(field), ControlOp::Next, 0, false});
    place.position = static_cast<std::uint8_t>(place.position + field.bits);
  }
}

void CodeMaker::sequence(std::size_t index) {
  const ir::Item& item = (*items_)[index];
  const ItemPlacement& place = layout_->places[index];
  const ast::Length& length = *item.length;
  open(place.opens);
  const ast::Name& name = length.name ? *length.name : item.group->name;
  const Part part = length.name ? Part::Whole : Part::Length;
  const std::uint16_t value = constants_.of(length.op, FieldType::UInt32, ast::kNoEnumeration);
  Instruction head =
      instruction(item, name, {length.op, isa::Type::U32, item.group->optional, place.word, part, value});
  head.control = ControlOp::Seq;
  const std::size_t seq = emit(head);

  const std::size_t begin = code_.size();
  label();
  open(place.element_block);
  if (place.inner_bits != 0) emit_map(place.inner_bits);
  body(index + 1, item.end);
  flush_block();
  attach(ControlOp::Lend, begin);
  land(seq);
}

void CodeMaker::reference(const ir::Item& item) {
  emit_map(reference_bits_);
  const std::uint32_t type = item.type == ir::kCallersType ? callers_type_ : item.type;
  emit({DataOp::Tid, isa::kNoWord, isa::kTemplateIdSlot, isa::kNoConstant, ControlOp::Call, tables_.table_of(type),
        false});
}

Instruction CodeMaker::instruction(const ir::Item& item, const ast::Name& name, const Value& value) {
  Instruction out;
  const isa::Presence presence = value.optional ? isa::Presence::Opt : isa::Presence::Man;
  out.op = static_cast<DataOp>(isa::encode_op(value.op.kind, value.type, presence));
  out.word = value.word;
  out.constant = value.constant;
  const isa::DataOpInfo* info = isa::info(out.op);
  if (info != nullptr && info->uses_slot) out.slot = slot(item, name, value);
  return out;
}

std::uint16_t CodeMaker::slot(const ir::Item& item, const ast::Name& name, const Value& value) {
  SlotTable::Key key;
  if (value.op.dictionary == "template") {
    const ast::Name& current = set_.templates[item.template_index].name;
    key.dictionary = "template:" + current.text;
    key.dictionary_space = current.name_space;
  } else if (value.op.dictionary == "type") {
    const ast::Name& type = module_.types[item.type == ir::kCallersType ? callers_type_ : item.type];
    key.dictionary = "type:" + type.text;
    key.dictionary_space = type.name_space;
  } else {
    key.dictionary = value.op.dictionary == "global" ? "global" : "user:" + value.op.dictionary;
  }
  key.name = value.op.key ? *value.op.key : name;
  // An explicit key is a name like any other; only the mantissa of a whole decimal always has one of its own.
  key.part = value.op.key && value.part != Part::WholeMantissa ? Part::Whole : value.part;
  return slots_.find(key, isa::is_string(value.type));
}

std::size_t CodeMaker::emit(Instruction instruction) {
  if (pending_block_ != kNoBlock) {
    const std::uint16_t block = std::exchange(pending_block_, kNoBlock);
    if (instruction.control == ControlOp::Next) {
      instruction.control = ControlOp::Block;
      instruction.target = block;
    } else {
      code_.push_back({DataOp::Nop, isa::kNoWord, 0, 0, ControlOp::Block, block, false});
    }
  }
  code_.push_back(instruction);
  return code_.size() - 1;
}

void CodeMaker::emit_map(std::size_t bits) {
  const auto segment = static_cast<std::uint16_t>(segments_++);
  emit({DataOp::Pmap, isa::kNoWord, static_cast<std::uint16_t>(bits), segment, ControlOp::Next, 0, false});
}

void CodeMaker::open(std::uint16_t block) {
  if (block != kNoBlock) pending_block_ = block;
}

void CodeMaker::flush_block() {
  if (pending_block_ != kNoBlock) emit({});
}

bool CodeMaker::may_attach(ControlOp control) const {
  if (code_.size() == label_ || code_.back().control != ControlOp::Next) return false;
  return control != ControlOp::Skip || !isa::is_special(code_.back().op);
}

std::size_t CodeMaker::attach(ControlOp control, std::size_t target) {
  if (!may_attach(control)) code_.push_back({});
  code_.back().control = control;
  code_.back().target = static_cast<std::uint16_t>(target);
  return code_.size() - 1;
}

void CodeMaker::land(std::size_t jump) {
  code_[jump].target = static_cast<std::uint16_t>(code_.size());
  label();
}

}  // namespace stopbit::templates::lower
