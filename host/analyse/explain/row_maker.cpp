#include "host/analyse/explain/row_maker.hpp"

#include <algorithm>
#include <array>

#include "decoder/record/layout.hpp"
#include "decoder/record/text.hpp"
#include "host/analyse/explain/values.hpp"
#include "microcode/template_terms.hpp"

namespace stopbit::explain {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Operator;
using trace::Source;

std::uint32_t key(std::uint16_t block, std::uint8_t word) {
  return static_cast<std::uint32_t>(block) << 8 | word;
}

bool is_decimal(const SchemaNode& node) {
  return node.kind == NodeKind::Field && node.type == FieldType::Decimal;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- CodeMap

CodeMap::CodeMap(const record::Schema& schema)
    : schema_(schema),
      values_(schema.program().code.size()),
      is_mantissa_(schema.program().code.size()),
      structures_(schema.program().code.size()),
      depths_(schema.program().nodes.size()) {
  const Program& program = schema.program();
  std::unordered_map<std::uint32_t, const SchemaNode*> owners;
  for (const SchemaNode& node : program.nodes) {
    const bool has_word = node.block != kNoBlock && node.word != isa::kNoWord && node.kind != NodeKind::Group;
    if (!has_word || node.constant) continue;
    owners.emplace(key(node.block, node.word), &node);
    if (is_decimal(node)) owners.emplace(key(node.block, static_cast<std::uint8_t>(node.word + 1)), &node);
  }
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    while (!ends.empty() && ends.back() <= i) ends.pop_back();
    depths_[i] = static_cast<std::uint8_t>(ends.size());
    const SchemaNode& node = program.nodes[i];
    if (node.kind == NodeKind::Sequence) ends.push_back(node.end);  // twice: its elements have rows too
    if (node.kind == NodeKind::Group || node.kind == NodeKind::Sequence) ends.push_back(node.end);
  }
  for (const DispatchEntry& entry : program.dispatch) walk(entry, owners);
}

/// The innermost group around a node; null if there is none.
const SchemaNode* CodeMap::group_of(const SchemaNode& node) const noexcept {
  for (std::size_t i = schema_.index_of(node), end = i; i > 0; --i) {
    const SchemaNode& before = schema_.node(i - 1);
    if (before.kind == NodeKind::Group && before.end > end) return &before;
  }
  return nullptr;
}

/// The code of a template has the order of its tree, so the n-th optional group has the n-th SKIP.
void CodeMap::walk(const DispatchEntry& entry, const std::unordered_map<std::uint32_t, const SchemaNode*>& owners) {
  const Program& program = schema_.program();
  const Template& chosen = program.templates[entry.template_index];
  std::uint16_t block = chosen.root_block;
  std::size_t group = chosen.first_node;
  std::size_t reference = chosen.first_node;
  const auto next = [&](std::size_t& at, auto wanted) -> const SchemaNode* {
    while (at < chosen.end_node && !wanted(program.nodes[at])) ++at;
    return at < chosen.end_node ? &program.nodes[at++] : nullptr;
  };
  for (std::size_t i = entry.entry, size = general_size(program); i < size; ++i) {
    const isa::Instruction& in = program.code[i];
    if (in.control == ControlOp::Block) block = in.target;
    if (in.word != isa::kNoWord && !isa::is_special(in.op)) {
      const auto owner = owners.find(key(block, in.word));
      if (owner != owners.end()) {
        values_[i] = isa::is_bits(in.op) ? group_of(*owner->second) : owner->second;
        is_mantissa_[i] = is_decimal(*owner->second) && in.word != owner->second->word;
      }
    }
    if (in.control == ControlOp::Skip) {
      structures_[i] =
          next(group, [](const SchemaNode& node) { return node.kind == NodeKind::Group && node.optional; });
    } else if (in.control == ControlOp::Call) {
      structures_[i] = next(reference, [](const SchemaNode& node) { return node.kind == NodeKind::Reference; });
    }
    if (in.control == ControlOp::End) return;
  }
}

// --------------------------------------------------------------------------------------------------------- RowMaker

void RowMaker::push(Row row) {
  const bool has_bytes = row.bytes.begin != row.bytes.end;
  if (!has_bytes && !row.is_faulty) {
    if (empty_rows_ == kMaxRows) {
      ++hidden_;
      return;
    }
    ++empty_rows_;
  }
  rows_.push_back(std::move(row));
}

void RowMaker::flush() {
  if (!has_row_) return;
  has_row_ = false;
  push(std::move(row_));
}

void RowMaker::finish(const Outcome& outcome, std::size_t datagram_bytes) {
  if (outcome.error != ErrorCode::None && outcome.error != ErrorCode::X9) {
    // The engine does not report an entity that the datagram cuts: its bytes are those from the instruction's first
    // one.
    if (has_row_ && outcome.error == ErrorCode::X1 && !has_entity_) {
      row_.bytes = {offset_, static_cast<std::uint32_t>(datagram_bytes)};
    }
    if (has_row_) row_.is_faulty = true;
  }
  flush();
  maps_.clear();
  frames_.clear();
  loops_.clear();
}

void RowMaker::message_begins(std::uint32_t offset) noexcept {
  if (!is_active_) return;
  frames_.clear();
  loops_.clear();
  maps_.clear();
  Row row;
  row.kind = RowKind::Message;
  row.bytes = {offset, offset};
  row.name = "message " + std::to_string(++messages_);
  push(std::move(row));
}

void RowMaker::message_ends() noexcept {
  if (!is_active_) return;
  flush();
  if (!frames_.empty()) advance_to(frames_.front().end_node);
}

void RowMaker::step(std::uint16_t address, std::uint32_t offset) noexcept {
  if (!is_active_) return;
  flush();
  address_ = address;
  offset_ = offset;
  position_ = offset;
  has_value_ = false;
  has_entity_ = false;
  row_ = {};
  const isa::Instruction& in = instruction();
  const isa::DataOpInfo& info = *isa::info(in.op);
  if (in.op == DataOp::Nop) {
    has_value_ = true;
    return;
  }
  has_row_ = true;
  row_.bytes = {offset, offset};
  if (in.op == DataOp::Pmap) {
    row_.kind = RowKind::PresenceMap;
    row_.name = "presence map";
    row_.depth = frames_.empty() ? 0 : frames_.back().depth;
  } else if (in.op == DataOp::Tid) {
    row_.kind = RowKind::TemplateId;
    row_.name = "template identifier";
    row_.type = "uInt32";
    row_.op = "copy";
    row_.slot = plain(name(schema_.program().slots[in.slot].name));
    row_.previous = previous_text(in.slot, nullptr);
    row_.depth = frames_.empty() ? 0 : frames_.back().depth;
  } else {
    const SchemaNode* const node = map_.value(address);
    if (node != nullptr) pass(schema_.index_of(*node));
    describe(info, node, map_.is_mantissa(address));
    if (info.uses_slot) {
      row_.slot = plain(name(schema_.program().slots[in.slot].name));
      row_.previous = previous_text(in.slot, node);
    }
  }
}

void RowMaker::describe(const isa::DataOpInfo& info, const SchemaNode* node, bool is_mantissa) {
  row_.kind = RowKind::Field;
  row_.op = operator_name(info.op_class);
  row_.is_optional = info.presence == isa::Presence::Opt;
  if (node == nullptr) {
    row_.name = "?";
    return;
  }
  row_.name = plain(schema_.owner_name(*node));
  row_.depth = depth_of(*node);
  if (isa::is_bits(info.op)) {
    row_.kind = RowKind::BitGroup;
    row_.type = "bit group";
    return;
  }
  row_.place = place_of(instruction().word);
  if (info.op_class == Operator::Bit) {
    const isa::BitField field = isa::BitField::of(instruction().slot);
    row_.op = "bit " + std::to_string(field.position);
    if (field.width > 1) row_.op += ".." + std::to_string(field.position + field.width - 1);
  }
  if (node->kind == NodeKind::Sequence) {
    row_.kind = RowKind::Length;
    row_.type = "length";
  } else if (is_decimal(*node)) {
    row_.type = is_mantissa ? "mantissa" : "exponent";
  } else {
    row_.type = record::type_name(node->type);
  }
}

void RowMaker::block_opens(std::uint16_t block, std::size_t first_slot, std::size_t base) noexcept {
  if (!is_active_) return;
  block_ = {block, first_slot, base};
  // An instruction that opens a block was announced before: its own word is in the new one.
  const bool has_word = map_.value(address_) != nullptr && !isa::is_bits(instruction().op);
  if (has_row_ && has_word) row_.place = place_of(instruction().word);
}

RecordPlace RowMaker::place_of(std::uint8_t word) const {
  if (block_.block == kNoBlock || word >= schema_.block(block_.block).words) return {};
  const std::size_t at = block_.base + word;
  return {block_.block, word, static_cast<std::uint32_t>(block_.first_slot + at / record::kValueWords),
          static_cast<std::uint8_t>(at % record::kValueWords)};
}

std::uint8_t RowMaker::depth_of(const SchemaNode& node) const {
  const unsigned base = frames_.empty() ? 0 : frames_.back().depth;
  return static_cast<std::uint8_t>(base + map_.depth(node));
}

void RowMaker::map_begins(trace::Extent bytes) noexcept {
  if (!is_active_) return;
  extend(bytes);
  has_value_ = true;
  flush();
  maps_.push_back({rows_.size() - 1, 0});
}

void RowMaker::map_ends() noexcept {
  if (!is_active_ || maps_.empty()) return;
  maps_.pop_back();
}

void RowMaker::bit(bool is_set) noexcept {
  if (!is_active_) return;
  const isa::Instruction& in = instruction();
  const bool is_groups = has_value_ && in.control == ControlOp::Skip;
  const SchemaNode* const group = is_groups ? map_.structure(address_) : nullptr;
  std::string owner = is_groups
                          ? "group " + (group != nullptr ? plain(name(group->name)) : std::string("?"))
                          : row_.name + (row_.type == "exponent" || row_.type == "mantissa" ? " " + row_.type : "");
  if (!maps_.empty()) {
    Map& map = maps_.back();
    Row& row = rows_[map.row];
    const bool is_implied = map.bits_taken >= std::size_t{7} * (row.bytes.end - row.bytes.begin);
    ++map.bits_taken;
    if (bits_ < kMaxBits) {
      ++bits_;
      row.bits.push_back({is_set, is_implied, owner});
    }
  }
  if (!is_groups) return;
  flush();
  if (group == nullptr) return;
  const std::size_t index = schema_.index_of(*group);
  advance_to(index);
  Row row;
  row.kind = RowKind::Group;
  row.bytes = {position_, position_};
  row.is_optional = true;
  row.is_absent = !is_set;
  row.name = plain(name(group->name));
  row.depth = depth_of(*group);
  row.source = is_set ? "present" : "absent";
  push(std::move(row));
  if (!frames_.empty()) frames_.back().next_node = is_set ? index + 1 : group->end;
}

void RowMaker::extend(trace::Extent bytes) {
  if (!has_entity_) row_.bytes.begin = bytes.begin;
  row_.bytes.end = bytes.end;
  position_ = bytes.end;
  has_entity_ = true;
}

void RowMaker::integer(trace::Extent bytes, wire::Int128 raw) noexcept {
  if (!is_active_) return;
  extend(bytes);
  if (!row_.raw.empty()) row_.raw += ' ';
  row_.raw += number_text(raw);
}

void RowMaker::ascii(trace::Extent bytes, std::string_view text, bool is_null) noexcept {
  if (!is_active_) return;
  extend(bytes);
  if (!row_.raw.empty()) row_.raw += ' ';
  row_.raw += is_null ? std::string("NULL") : quoted(text, true);
}

void RowMaker::vector(trace::Extent bytes, std::string_view text) noexcept {
  if (!is_active_) return;
  extend(bytes);
  row_.raw += ' ' + string_text(map_.value(address_), text);
}

std::string RowMaker::source_text(Source source) const {
  const Operator op = isa::operator_of(instruction().op);
  if (isa::is_bit(instruction().op)) return source == Source::Nothing ? "NULL" : "bit group";
  switch (source) {
    case Source::Stream: return "stream";
    case Source::Previous: return op == Operator::Inc ? "previous + 1" : "previous";
    case Source::Initial: return op == Operator::Con ? "constant" : op == Operator::Def ? "default" : "initial value";
    case Source::Nothing: return has_entity_ ? "NULL" : "absent";
    case Source::Error: break;
  }
  return {};
}

void RowMaker::value(Source source, std::uint64_t value) noexcept {
  if (!is_active_) return;
  has_value_ = true;
  row_.source = source_text(source);
  row_.is_absent = source == Source::Nothing;
  const SchemaNode* const node = map_.value(address_);
  const bool is_length = node != nullptr && node->kind == NodeKind::Sequence;
  if (is_length && !frames_.empty()) frames_.back().next_node = node->end;
  if (row_.is_absent) return;
  row_.result = value_text(schema_, node, value);
  if (node == nullptr || !is_decimal(*node)) return;
  if (!map_.is_mantissa(address_)) {
    exponent_ = static_cast<std::int64_t>(value);
  } else if (exponent_ >= -63 && exponent_ <= 63) {
    std::string decimal;
    record::append_decimal(decimal, static_cast<std::int64_t>(value), static_cast<std::int32_t>(exponent_));
    row_.result += " = " + decimal;
  }
}

void RowMaker::text(Source source, std::string_view value) noexcept {
  if (!is_active_) return;
  has_value_ = true;
  row_.source = source_text(source);
  row_.is_absent = source == Source::Nothing;
  if (!row_.is_absent) row_.result = string_text(map_.value(address_), value);
}

std::string RowMaker::previous_text(std::uint16_t slot, const SchemaNode* node) const {
  if (dictionary_ == nullptr) return {};
  switch (dictionary_->state(slot)) {
    case state::Dictionary::State::Undefined: return "undefined";
    case state::Dictionary::State::Empty: return "empty";
    case state::Dictionary::State::Assigned: break;
  }
  using state::EntryType;
  switch (std::min(dictionary_->type(slot), EntryType::Bits)) {
    case EntryType::Ascii: return quoted(dictionary_->string(slot), true);
    case EntryType::Unicode: return quoted(dictionary_->string(slot), false);
    case EntryType::Bytes: return hex(dictionary_->string(slot));
    case EntryType::U32:
    case EntryType::U64:
    case EntryType::Bits: return value_text(schema_, node, dictionary_->value(slot));
    default: return std::to_string(static_cast<std::int64_t>(dictionary_->value(slot)));
  }
}

void RowMaker::begin_element(const Loop& loop, std::uint32_t number) {
  Row row;
  row.kind = RowKind::Element;
  row.bytes = {position_, position_};
  row.name = (loop.node != nullptr ? plain(name(loop.node->name)) : std::string("element")) + " " +
             std::to_string(number) + " of " + std::to_string(loop.elements);
  row.depth = loop.node != nullptr ? static_cast<std::uint8_t>(depth_of(*loop.node) + 1) : std::uint8_t{0};
  push(std::move(row));
  if (loop.node != nullptr && !frames_.empty()) frames_.back().next_node = schema_.index_of(*loop.node) + 1;
}

void RowMaker::loop_begins(std::uint32_t elements) noexcept {
  if (!is_active_) return;
  flush();
  loops_.push_back({map_.value(address_), elements});
  begin_element(loops_.back(), 1);
}

void RowMaker::element_ends(std::uint32_t elements_left) noexcept {
  if (!is_active_ || loops_.empty()) return;
  flush();
  const Loop loop = loops_.back();
  if (loop.node != nullptr) advance_to(loop.node->end);
  if (elements_left != 0) {
    begin_element(loop, loop.elements - elements_left + 1);
  } else {
    loops_.pop_back();
  }
}

void RowMaker::template_begins(std::uint16_t template_index, bool is_reference) noexcept {
  if (!is_active_) return;
  flush();
  const Template& chosen = schema_.program().templates[template_index];
  const SchemaNode* const reference = is_reference ? map_.structure(address_) : nullptr;
  Row row;
  row.kind = is_reference ? RowKind::Reference : RowKind::Message;
  row.bytes = {position_, position_};
  row.name = "template " + plain(name(chosen.name)) + " (id " + std::to_string(chosen.id) + ")";
  std::uint8_t depth = 0;
  if (is_reference && !frames_.empty()) {
    depth = static_cast<std::uint8_t>((reference != nullptr ? depth_of(*reference) : frames_.back().depth) + 1);
    if (reference != nullptr) frames_.back().next_node = reference->end;
  }
  row.depth = depth;
  push(std::move(row));
  frames_.push_back({chosen.first_node, chosen.end_node, depth});
}

void RowMaker::reference_ends() noexcept {
  if (!is_active_ || frames_.size() < 2) return;
  flush();
  advance_to(frames_.back().end_node);
  frames_.pop_back();
}

void RowMaker::resets() noexcept {
  if (!is_active_) return;
  flush();
  Row row;
  row.kind = RowKind::Reset;
  row.bytes = {position_, position_};
  row.name = "the template resets the dictionary";
  push(std::move(row));
}

void RowMaker::pass(std::size_t node_index) {
  advance_to(node_index);
  if (!frames_.empty() && frames_.back().next_node == node_index) ++frames_.back().next_node;
}

void RowMaker::advance_to(std::size_t node_index) {
  if (frames_.empty()) return;
  Frame& frame = frames_.back();
  const std::size_t end = std::min(node_index, frame.end_node);
  for (; frame.next_node < end; ++frame.next_node) {
    const SchemaNode& node = schema_.node(frame.next_node);
    Row row;
    row.bytes = {position_, position_};
    row.depth = depth_of(node);
    row.name = plain(name(node.name));
    if (node.kind == NodeKind::Group && !node.optional) {
      row.kind = RowKind::Group;
    } else if (node.kind == NodeKind::Field && node.constant) {
      row.kind = RowKind::Constant;
      row.type = record::type_name(node.type);
      row.op = "constant";
      row.source = "constant";
      row.result = constant_text(schema_, node);
    } else {
      continue;
    }
    push(std::move(row));
  }
}

}  // namespace stopbit::explain
