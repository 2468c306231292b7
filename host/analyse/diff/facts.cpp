#include "host/analyse/diff/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "decoder/record/layout.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/record/text.hpp"
#include "microcode/base/hash.hpp"
#include "microcode/template_terms.hpp"

namespace stopbit::diff {
namespace {

constexpr std::uint16_t kNoAddress = 0xFFFF;
/// Of a list; many fields may have the same long one.
constexpr std::uint32_t kShownElements = 64;

std::string_view operator_or_none(isa::DataOp op) {
  const std::string_view name = operator_name(isa::operator_of(op));
  return name.empty() ? "none" : name;
}

std::string_view kind_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::Field: break;
    case NodeKind::Group: return "group";
    case NodeKind::Sequence: return "sequence";
    case NodeKind::Reference: return "templateRef";
  }
  return "field";
}

std::string number(std::uint32_t value) {
  return value != 0 ? std::to_string(value) : std::string();
}

}  // namespace

Describer::Describer(const Program& program) : program_(program) {
  types_.reserve(program.type_infos.size());
  for (const TypeInfo& info : program.type_infos) types_.push_back(describe(info));
  std::map<std::uint16_t, std::uint16_t> blocks;  // of each template so far
  addresses_.reserve(program.blocks.size());
  for (const Block& block : program.blocks) {
    ranks_.push_back(blocks[block.template_index]++);
    addresses_.emplace_back(block.words, kNoAddress);
  }
  // Words that records do not hold: the verifier has bounded them.
  for (const SchemaNode& node : program.nodes) {
    if (!node.unstored || node.block == kNoBlock) continue;
    std::vector<std::uint16_t>& words = addresses_[node.block];
    words.resize(std::max(words.size(), node.word + std::size_t{2}), kNoAddress);
  }
  // Paths through the code with different open blocks never meet where a word is written: the order of addresses
  // determines the open block. A template may have several entries; its facts come from the first.
  std::multimap<std::uint16_t, std::uint16_t> entries;
  for (const DispatchEntry& entry : program.dispatch) entries.emplace(entry.entry, entry.template_index);
  std::uint16_t open = kNoBlock;
  for (std::size_t address = 0, size = general_size(program); address < size; ++address) {
    const isa::Instruction& code = program.code[address];
    const auto entry = entries.find(static_cast<std::uint16_t>(address));
    if (entry != entries.end()) open = program.templates[entry->second].root_block;
    if (code.control == isa::ControlOp::Block) open = code.target;
    if (code.word == isa::kNoWord || open >= addresses_.size() || code.word >= addresses_[open].size()) continue;
    // The instruction that takes the entity of a bit group names the word of the group's first field, and writes none.
    if (isa::is_bits(code.op)) {
      bit_groups_.try_emplace({open, code.word}, static_cast<std::uint16_t>(address));
      continue;
    }
    std::uint16_t& known = addresses_[open][code.word];
    if (known == kNoAddress && code.op != isa::DataOp::Nop) known = static_cast<std::uint16_t>(address);
  }
}

const isa::Instruction* Describer::instruction(std::uint16_t block, std::uint8_t word) const {
  if (block >= addresses_.size() || word >= addresses_[block].size()) return nullptr;
  const std::uint16_t address = addresses_[block][word];
  return address != kNoAddress ? &program_.code[address] : nullptr;
}

std::string Describer::text(TextRef ref) const {
  return std::string(program_.name(ref));
}

std::string Describer::where(std::uint16_t source, std::uint32_t line) const {
  if (line == 0 || source >= program_.sources.size()) return {};
  return fmt::format("{}:{}", text(program_.sources[source].name), line);
}

std::string Describer::place(std::uint16_t block, std::uint8_t word) const {
  if (block >= program_.blocks.size() || word == isa::kNoWord) return {};
  const std::size_t base = program_.blocks[block].kind == BlockKind::Root ? record::kHeaderWords : 0;
  const std::size_t at = base + word;
  return fmt::format("block {} word {} (slot {}.{})", ranks_[block], word, at / record::kValueWords,
                     at % record::kValueWords);
}

std::string Describer::type(const SchemaNode& node) const {
  if (node.kind != NodeKind::Field) return std::string(kind_text(node.kind));
  std::string out(record::type_name(node.type));
  if (node.type == FieldType::Timestamp) out += fmt::format(" ({}, {})", unit_name(node.unit), text(node.epoch));
  return out;
}

std::string Describer::describe(const TypeInfo& info) const {
  std::string out = text(info.name);
  std::uint64_t rest = kFnv1aBegin;  // of what is not shown
  for (std::uint32_t i = 0; i < info.element_count; ++i) {
    const Element& element = program_.elements[info.first_element + i];
    std::string one = fmt::format("{} {}", i, record::json_string(program_.name(element.name), false));
    if (element.label.length != 0) one += fmt::format(" ({})", text(element.label));
    if (i < kShownElements) {
      out += out.empty() ? "" : i == 0 ? ": " : ", ";
      out += one;
    } else {
      rest = fnv1a(one, rest);
    }
  }
  if (info.element_count > kShownElements) {
    out += fmt::format(" and {} more, digest {:016x}", info.element_count - kShownElements, rest);
  }
  return out;
}

std::string Describer::elements(const SchemaNode& node) const {
  const bool has_elements =
      node.kind == NodeKind::Field && (node.type == FieldType::Enum || node.type == FieldType::Set);
  return has_elements && node.type_info < types_.size() ? types_[node.type_info] : std::string();
}

std::string Describer::value(const Constant& constant, FieldType type) const {
  std::string out;
  if (constant.kind == ValueKind::None) return out;
  if (constant.kind == ValueKind::Bytes) {
    const std::string_view bytes = program_.constant_bytes(constant.bytes());
    if (type != FieldType::ByteVector) return record::json_string(bytes, false);
    out = "0x";
    record::append_hex(out, bytes);
  } else if (record::is_signed(type) || type == FieldType::Decimal) {
    record::append_signed(out, static_cast<std::int64_t>(constant.value));
  } else {
    record::append_unsigned(out, constant.value);
  }
  return out;
}

std::string Describer::constant(const SchemaNode& node) const {
  if (node.kind != NodeKind::Field || !node.constant) return {};
  const Constant& first = program_.constants[node.constant_index];
  if (node.type != FieldType::Decimal) return value(first, node.type);
  std::string out;
  record::append_decimal(out, static_cast<std::int64_t>(program_.constants[node.constant_index + std::size_t{1}].value),
                         static_cast<std::int32_t>(first.value));
  return out;
}

const isa::Instruction* Describer::bit_group(std::size_t index) const {
  const Program& program = program_;
  for (std::size_t i = index + 1; i < program.nodes[index].end; ++i) {
    const SchemaNode& node = program.nodes[i];
    if (node.kind != NodeKind::Field) return nullptr;
    if (node.constant) continue;
    const auto found = bit_groups_.find({node.block, node.word});
    return found != bit_groups_.end() ? &program.code[found->second] : nullptr;
  }
  return nullptr;
}

void Describer::add_operators(std::size_t index, Facts& facts) const {
  const SchemaNode& node = program_.nodes[index];
  const auto add_of = [&](const isa::Instruction& code, const Constant& initial, FieldType type, std::string_view of) {
    const isa::DataOpInfo* info = isa::info(code.op);
    const bool uses_slot = info != nullptr && info->uses_slot;
    facts.decoder.emplace_back(fmt::format("operator{}", of), operator_or_none(code.op));
    facts.decoder.emplace_back(fmt::format("initial value{}", of), value(initial, type));
    facts.decoder.emplace_back(fmt::format("dictionary entry{}", of),
                               uses_slot ? text(program_.slots[code.slot].name) : "");
  };
  const auto add = [&](const isa::Instruction* code, FieldType type, std::string_view of) {
    if (code != nullptr) add_of(*code, program_.constants[code->constant], type, of);
  };
  if (node.kind == NodeKind::Field && node.constant) {
    facts.decoder.emplace_back("operator", "constant");
    return;
  }
  if (node.kind == NodeKind::Group) {
    const isa::Instruction* const bits = bit_group(index);
    if (bits == nullptr) return;
    // The value is of the entity, in which the fields are left-aligned.
    Constant all = program_.constants[bits->constant];
    all.value >>= isa::unused_bits(all.limit);
    facts.decoder.emplace_back("bits", std::to_string(all.limit));
    return add_of(*bits, all, FieldType::UInt64, "");
  }
  const isa::Instruction* const first = instruction(node.block, node.word);
  if (first != nullptr && isa::is_bit(first->op)) {
    const isa::BitField bits = isa::BitField::of(first->slot);
    facts.decoder.emplace_back("bits", fmt::format("{} after the first {}", bits.width, bits.position));
    return;
  }
  if (node.kind == NodeKind::Sequence) return add(first, FieldType::UInt32, " of the length");
  if (node.type != FieldType::Decimal) return add(first, node.type, "");
  add(first, node.type, " of the exponent");
  add(instruction(node.block, static_cast<std::uint8_t>(node.word + 1)), node.type, " of the mantissa");
}

Facts Describer::of_node(std::size_t index) const {
  const SchemaNode& node = program_.nodes[index];
  Facts facts;
  // The element's block has a number only if it has words; that it comes next is clear anyhow.
  facts.layout = {{"name", text(node.name)},
                  {"type", type(node)},
                  {"presence", node.optional ? "optional" : "mandatory"},
                  {"tag", number(node.id)},
                  {"namespace", text(node.name_space)},
                  {"constant", constant(node)},
                  {"elements", elements(node)},
                  {"place", node.unstored ? "not stored" : place(node.block, node.word)},
                  {"block of the elements", node.kind == NodeKind::Sequence && node.element_block < ranks_.size()
                                                ? fmt::format("block {}", ranks_[node.element_block])
                                                : ""},
                  {"name of the length", text(node.length_name)},
                  {"tag of the length", number(node.length_id)}};
  if (node.kind != NodeKind::Reference) add_operators(index, facts);
  return facts;
}

Facts Describer::of_template(std::size_t index) const {
  const Template& item = program_.templates[index];
  std::string blocks;
  for (const Block& block : program_.blocks) {
    if (block.template_index != index) continue;
    const std::string_view kind = block.kind == BlockKind::Root      ? "root"
                                  : block.kind == BlockKind::Element ? "element"
                                                                     : "after";
    blocks += fmt::format("{}{} {}", blocks.empty() ? "" : ", ", kind, block.words);
  }
  Facts facts;
  facts.layout = {{"name", text(item.name)},
                  {"namespace", text(item.name_space)},
                  {"id", std::to_string(item.id)},
                  {"words of the blocks", std::move(blocks)}};
  facts.decoder = {{"reset", item.reset ? "yes" : "no"}};
  return facts;
}

}  // namespace stopbit::diff
