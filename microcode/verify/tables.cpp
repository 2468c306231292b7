#include <algorithm>
#include <tuple>

#include "microcode/base/utf8.hpp"
#include "microcode/name_references.hpp"
#include "microcode/verify/findings.hpp"

namespace stopbit::verify {
namespace {

void check_sizes(const Program& program, Findings& findings) {
  const auto size = [&](std::string_view table, std::size_t entries, std::size_t most) {
    if (entries <= most) return;
    findings.add("table-too-large", std::string(table),
                 std::to_string(entries) + " entries, the limit is " + std::to_string(most));
  };
  size("code", program.code.size(), limits::kMaxInstructions);
  size("constants", program.constants.size(), limits::kMaxConstants);
  size("constant pool", program.constant_pool.size(), limits::kMaxStringPoolBytes);
  size("slots", program.slots.size(), limits::kMaxSlots);
  size("dispatch", program.dispatch.size(), limits::kMaxInstructions);
  size("blocks", program.blocks.size(), limits::kMaxBlocks);
  size("templates", program.templates.size(), limits::kMaxTemplates);
  size("nodes", program.nodes.size(), limits::kMaxFields);
  size("types", program.type_infos.size(), limits::kMaxFields);
  size("elements", program.elements.size(), limits::kMaxTypeElements);
  size("sources", program.sources.size(), limits::kMaxFields);
  size("names", program.names.size(), limits::kMaxStringPoolBytes);
  size("profiles", program.profiles.size(), limits::kMaxInstructions);
  if (program.max_record_slots == 0 || program.max_record_slots > limits::kMaxRecordSlots) {
    findings.add("max-record-slots", "properties",
                 "max_record_slots is " + std::to_string(program.max_record_slots) + ", it must be 1 to " +
                     std::to_string(limits::kMaxRecordSlots));
  }
}

void check_texts(const Program& program, Findings& findings) {
  if (schema_work(program) > limits::kMaxImageBytes) {
    return findings.add("text-too-long", "names", "the references to texts add up to more than the limit");
  }
  for_each_name(program, [&](std::string_view table, std::size_t index, std::string_view field, TextRef ref) {
    if (!is_inside(ref, program.names.size())) {
      findings.add("text-outside-pool", place(table, index), std::string(field) + " reaches outside the names");
    } else if (ref.length > kMaxNameBytes && (table == "templates" || table == "nodes") && field != "epoch") {
      findings.add("name-too-long", place(table, index),
                   std::string(field) + " has more than " + std::to_string(kMaxNameBytes) + " bytes");
    } else if (!is_utf8(program.name(ref))) {
      findings.add("text-not-utf8", place(table, index), std::string(field) + " is not UTF-8");
    }
  });
}

bool is_limit(LimitKind kind, std::uint32_t limit) {
  switch (kind) {
    case LimitKind::None: return limit == 0;
    case LimitKind::Unsigned: return true;
    case LimitKind::Signed: return limit >= 1 && limit <= 32;
    case LimitKind::Enum: return limit >= 1;
    case LimitKind::Set: return limit >= 1 && limit <= 64;
    case LimitKind::Bits: return limit >= 1 && limit <= isa::kMaxGroupBits;
  }
  return false;
}

void check_constants(const Program& program, Findings& findings) {
  if (program.constants.empty() || program.constants[0] != Constant{}) {
    findings.add("constant-zero", "constants[0]", "entry 0 must exist and be empty");
  }
  for (std::size_t i = 0; i < program.constants.size(); ++i) {
    const Constant& constant = program.constants[i];
    if (i > 0) {
      findings.require(constant.kind != ValueKind::None || constant.limit_kind != LimitKind::None, "constant-empty",
                       "constants", i, "the entry has neither a value nor a limit");
    }
    findings.require(is_limit(constant.limit_kind, constant.limit), "constant-limit", "constants", i,
                     "the limit does not match its kind");
    switch (constant.kind) {
      case ValueKind::None:
        findings.require(constant.value == 0, "constant-kind", "constants", i, "a value without kind must be 0");
        break;
      case ValueKind::Integer: break;
      case ValueKind::Bytes:
        findings.require(is_inside(constant.bytes(), program.constant_pool.size()), "constant-outside-pool",
                         "constants", i, "the bytes reach outside the constant pool");
        break;
      default: findings.add("constant-kind", place("constants", i), "the kind of value is unknown");
    }
  }
}

void check_slots(const Program& program, Findings& findings) {
  if (program.slots.empty() || program.slots[0].string_capacity != 0) {
    findings.add("slot-zero", "slots[0]", "slot 0 must exist for the template identifier, without string capacity");
  }
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    findings.require(program.slots[i].string_capacity <= limits::kMaxStringCapacity, "slot-capacity", "slots", i,
                     "the string capacity exceeds the limit");
  }
}

void check_dispatch(const Program& program, Findings& findings) {
  const std::size_t general = general_size(program);
  std::size_t table = 0;
  for (std::size_t i = 0; i < program.dispatch.size(); ++i) {
    const DispatchEntry& entry = program.dispatch[i];
    if (i > 0) {
      const DispatchEntry& before = program.dispatch[i - 1];
      findings.require(std::tie(before.table, before.id) < std::tie(entry.table, entry.id), "dispatch-order",
                       "dispatch", i, "entries must be in ascending order of (table, id), without duplicates");
    }
    findings.require(entry.table == table || (i > 0 && entry.table == table + 1), "dispatch-gap", "dispatch", i,
                     "tables must be numbered from 0 without gaps");
    table = entry.table;
    findings.require(entry.entry >= 2 && entry.entry < general, "dispatch-entry", "dispatch", i,
                     "the entry is not an address of a template");
    if (findings.require(entry.template_index < program.templates.size(), "dispatch-template", "dispatch", i,
                         "no such template")) {
      findings.require(program.templates[entry.template_index].id == entry.id, "dispatch-id", "dispatch", i,
                       "the template has another identifier");
    }
  }
}

void check_profiles(const Program& program, Findings& findings) {
  for (std::size_t i = 0; i < program.profiles.size(); ++i) {
    const ProfileEntry& entry = program.profiles[i];
    if (i > 0) {
      const ProfileEntry& before = program.profiles[i - 1];
      findings.require(std::tie(before.segment, before.presence_bits) < std::tie(entry.segment, entry.presence_bits),
                       "profile-order", "profiles", i,
                       "entries must be in ascending order of (segment, presence bits), without duplicates");
    }
    findings.require(
        i < limits::kMaxProfileMaps || program.profiles[i - limits::kMaxProfileMaps].segment != entry.segment,
        "profile-maps", "profiles", i, "the segment has more than 64 maps with profile programs");
    constexpr unsigned kUnused = 64 - ProfileEntry::kMaxBits;
    findings.require(entry.taken <= ProfileEntry::kMaxBits && entry.presence_bits << (64 - kUnused) == 0,
                     "profile-bits", "profiles", i, "only the first 63 bits of a map can be profiled");
    findings.require(entry.entry >= 2 && entry.entry < program.code.size(), "profile-entry", "profiles", i,
                     "the entry is not an address of a profile program");
  }
}

void check_blocks(const Program& program, Findings& findings) {
  std::vector<std::size_t> words(program.templates.size());
  for (std::size_t i = 0; i < program.blocks.size(); ++i) {
    const Block& block = program.blocks[i];
    findings.require(block.kind <= BlockKind::After, "block-kind", "blocks", i, "the kind of block is unknown");
    findings.require(block.kind == BlockKind::Element || block.min_bytes == 0, "block-min-bytes", "blocks", i,
                     "only elements can have min_bytes");
    findings.require(block.words <= limits::kMaxBlockWords, "block-words", "blocks", i, "the block has too many words");
    if (!findings.require(block.template_index < program.templates.size(), "block-template", "blocks", i,
                          "no such template")) {
      continue;
    }
    findings.require(block.first_word == words[block.template_index], "block-first-word", "blocks", i,
                     "first_word is not the number of words of the template's earlier blocks");
    words[block.template_index] += block.words;
  }
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    findings.require(program.templates[i].words == words[i], "template-words", "templates", i,
                     "words is not the sum over the template's blocks");
  }
}

void check_templates(const Program& program, Findings& findings) {
  std::size_t node = 0;
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    const Template& item = program.templates[i];
    findings.require(item.root_block < program.blocks.size() &&
                         program.blocks[item.root_block].kind == BlockKind::Root &&
                         program.blocks[item.root_block].template_index == i,
                     "template-root-block", "templates", i, "root_block is not a root block of this template");
    findings.require(item.first_node == node && item.end_node >= item.first_node, "template-nodes", "templates", i,
                     "the nodes do not follow those of the previous template");
    findings.require(!item.supplied || item.reset, "template-supplied", "templates", i,
                     "a supplied template must reset the dictionary");
    findings.require(item.supplied || item.source < program.sources.size(), "template-source", "templates", i,
                     "no such source");
    node = item.end_node;
  }
  if (node != program.nodes.size()) {
    findings.add("template-nodes", "templates", "some nodes belong to no template");
  }
}

void check_types(const Program& program, Findings& findings) {
  for (std::size_t i = 0; i < program.type_infos.size(); ++i) {
    const TypeInfo& type = program.type_infos[i];
    findings.require(type.first_element <= program.elements.size() &&
                         type.element_count <= program.elements.size() - type.first_element && type.element_count > 0,
                     "type-elements", "types", i, "the elements are not in the table, or there are none");
  }
}

}  // namespace

void check_tables(const Program& program, Findings& findings) {
  check_sizes(program, findings);
  check_texts(program, findings);
  check_constants(program, findings);
  check_slots(program, findings);
  check_dispatch(program, findings);
  check_profiles(program, findings);
  check_blocks(program, findings);
  check_templates(program, findings);
  check_types(program, findings);
}

}  // namespace stopbit::verify
