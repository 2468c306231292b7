#include "microcode/verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "tests/unit/microcode/sample_program.hpp"

namespace stopbit::verify::verify_test {

using isa::ControlOp;
using isa::DataOp;

std::string text(const Report& report) {
  std::string out;
  for (const Finding& finding : report.findings) {
    out += "  " + finding.where + ": " + finding.message + " [" + std::string(finding.rule) + "]\n";
  }
  return out;
}

/// One thing that is wrong with an otherwise good program.
struct Bad {
  const char* rule;   ///< The rule that must be named ...
  const char* where;  ///< ... and the entry.
  const char* name;
  std::function<void(Program&)> change;
};

void PrintTo(const Bad& bad, std::ostream* out) {  // NOLINT(readability-identifier-naming): the name GoogleTest calls

  *out << bad.name;
}

isa::Instruction nop(ControlOp control = ControlOp::Next, std::uint16_t target = 0) {
  isa::Instruction in;
  in.control = control;
  in.target = target;
  return in;
}

/// Programs for an element and for the body of "Quote", after the 29 instructions of the sample.
void add_profiles(Program& p) {
  const auto known = [&](std::size_t from, isa::KnownBit bit) {
    isa::Instruction in = p.code[from];
    in.known = bit;
    in.pair = false;
    p.code.push_back(in);
  };
  known(12, isa::KnownBit::Set);  // 29
  known(13, isa::KnownBit::No);
  known(14, isa::KnownBit::No);
  p.code.push_back(nop(ControlOp::Join, 15));
  known(2, isa::KnownBit::Set);  // 33
  known(3, isa::KnownBit::Clear);
  known(4, isa::KnownBit::No);
  known(5, isa::KnownBit::Clear);
  known(6, isa::KnownBit::Set);
  p.code.back().control = ControlOp::Join;
  p.code.back().target = 10;
  p.profiles = {{2, 29, std::uint64_t{1} << 63, 1}, {ProfileEntry::kBody, 33, std::uint64_t{0b1001} << 60, 5}};
}

// Addresses, words and blocks are those of the listing in sample_program.hpp.
const Bad kBad[] = {
    // Sizes and texts
    {"table-too-large", "code", "too_much_code", [](Program& p) { p.code.resize(16'385); }},
    {"table-too-large", "slots", "too_many_slots", [](Program& p) { p.slots.resize(4'097); }},
    {"table-too-large", "constants", "too_many_constants", [](Program& p) { p.constants.resize(4'097); }},
    {"table-too-large", "blocks", "too_many_blocks", [](Program& p) { p.blocks.resize(16'385); }},
    {"table-too-large", "templates", "too_many_templates", [](Program& p) { p.templates.resize(4'097); }},
    {"table-too-large", "nodes", "too_many_nodes", [](Program& p) { p.nodes.resize(65'536); }},
    {"table-too-large", "names", "too_many_names", [](Program& p) { p.names.resize((4U << 20) + 1); }},
    {"table-too-large", "profiles", "too_many_profiles", [](Program& p) { p.profiles.resize(16'385); }},
    {"profile-order", "profiles[1]", "profiles_do_not_rise",
     [](Program& p) {
       add_profiles(p);
       std::swap(p.profiles[0], p.profiles[1]);
     }},
    {"profile-order", "profiles[1]", "a_map_twice",
     [](Program& p) {
       add_profiles(p);
       p.profiles[1] = p.profiles[0];
     }},
    {"profile-maps", "profiles[64]", "more_maps_than_a_segment_may_have",
     [](Program& p) {
       add_profiles(p);
       p.profiles.clear();
       for (std::uint64_t i = 0; i < 65; ++i) p.profiles.push_back({2, 29, i << 57, 1});
     }},
    {"profile-bits", "profiles[0]", "a_map_of_64_bits",
     [](Program& p) {
       add_profiles(p);
       p.profiles[0].presence_bits |= 1;
     }},
    {"profile-bits", "profiles[0]", "more_bits_taken_than_a_map_has",
     [](Program& p) {
       add_profiles(p);
       p.profiles[0].taken = 64;
     }},
    {"profile-entry", "profiles[0]", "profile_behind_the_code",
     [](Program& p) {
       add_profiles(p);
       p.profiles[0].entry = 99;
     }},
    {"dispatch-entry", "dispatch[1]", "entry_in_a_profile_program",
     [](Program& p) {
       add_profiles(p);
       p.dispatch[1].entry = 29;
     }},
    {"profile-entry", "profiles[1]", "a_program_for_two_maps",
     [](Program& p) {
       add_profiles(p);
       p.profiles[1].entry = p.profiles[0].entry;
     }},
    {"profile-segment", "profiles[1]", "no_such_segment",
     [](Program& p) {
       add_profiles(p);
       p.profiles[1].segment = 0x8002;
     }},
    {"profile-segment", "profiles[0]", "segment_of_an_identifier",
     [](Program& p) {
       add_profiles(p);
       p.profiles[0].segment = 0;
     }},
    {"profile-segment", "profiles[0]", "two_segments_of_one_number",
     [](Program& p) {
       add_profiles(p);
       p.code[8].constant = 2;
     }},
    {"profile-code", "profiles[0]", "profile_of_another_map",
     [](Program& p) {
       add_profiles(p);
       p.profiles[0].presence_bits = 0;
     }},
    {"profile-code", "profiles[0]", "more_bits_than_the_program_takes",
     [](Program& p) {
       add_profiles(p);
       ++p.profiles[0].taken;
     }},
    {"profile-code", "profiles[0]", "profile_with_another_word",
     [](Program& p) {
       add_profiles(p);
       p.code[30].word = 2;
     }},
    {"profile-code", "profiles[1]", "profile_joins_elsewhere",
     [](Program& p) {
       add_profiles(p);
       p.code[37].target = 7;
     }},
    {"profile-code", "profiles[0]", "code_behind_a_profile_program",
     [](Program& p) {
       add_profiles(p);
       p.code.insert(p.code.begin() + 33, nop());
       p.profiles[1].entry = 34;
     }},
    {"max-record-slots", "properties", "no_record_slots", [](Program& p) { p.max_record_slots = 0; }},
    {"max-record-slots", "properties", "too_many_record_slots", [](Program& p) { p.max_record_slots = 65'536; }},
    {"record-slots", "templates[0]", "records_too_small_for_a_template", [](Program& p) { p.max_record_slots = 2; }},
    {"text-outside-pool", "nodes[3]", "name_outside_the_pool", [](Program& p) { p.nodes[3].name.offset = 1U << 30; }},
    {"text-outside-pool", "slots[2]", "name_longer_than_the_pool",
     [](Program& p) { p.slots[2].name.length = 50'000; }},
    {"text-not-utf8", "templates[0]", "name_not_utf8", [](Program& p) { p.names[p.templates[0].name.offset] = '\xff'; }},
    {"text-not-utf8", "nodes[13]", "name_cut_inside_a_character", [](Program& p) { p.nodes[13].name.length = 3; }},
    {"text-too-long", "names", "texts_add_up",
     [](Program& p) {
       p.names.resize(4U << 20, 'a');
       for (SchemaNode& node : p.nodes) node.name = {0, 4U << 20};
     }},
    {"name-too-long", "templates[0]", "long_name_of_a_template",
     [](Program& p) {
       p.templates[0].name = {static_cast<std::uint32_t>(p.names.size()), 257};
       p.names.append(257, 'a');
     }},
    {"name-too-long", "nodes[3]", "long_name_of_a_field",
     [](Program& p) {
       p.nodes[3].name = {static_cast<std::uint32_t>(p.names.size()), 257};
       p.names.append(257, 'a');
     }},
    // Constants
    {"constant-zero", "constants[0]", "no_constants", [](Program& p) { p.constants.clear(); }},
    {"constant-zero", "constants[0]", "constant_zero_has_a_value", [](Program& p) { p.constants[0].value = 1; }},
    {"constant-empty", "constants[4]", "constant_without_value_and_limit", [](Program& p) { p.constants[4] = {}; }},
    {"constant-kind", "constants[3]", "value_without_kind", [](Program& p) { p.constants[3].value = 5; }},
    {"constant-kind", "constants[4]", "unknown_kind", [](Program& p) { p.constants[4].kind = ValueKind{7}; }},
    {"constant-limit", "constants[3]", "set_of_65_elements", [](Program& p) { p.constants[3].limit = 65; }},
    {"constant-limit", "constants[2]", "enumeration_of_nothing", [](Program& p) { p.constants[2].limit = 0; }},
    {"constant-limit", "constants[4]", "limit_without_kind", [](Program& p) { p.constants[4].limit = 3; }},
    {"constant-limit", "constants[4]", "signed_limit_of_33_bits",
     [](Program& p) {
       p.constants[4].limit_kind = LimitKind::Signed;
       p.constants[4].limit = 33;
     }},
    {"constant-outside-pool", "constants[1]", "string_outside_the_pool", [](Program& p) { p.constant_pool.clear(); }},
    // Slots, dispatch
    {"slot-zero", "slots[0]", "no_slots", [](Program& p) { p.slots.clear(); }},
    {"slot-zero", "slots[0]", "template_identifier_holds_strings", [](Program& p) { p.slots[0].string_capacity = 8; }},
    {"slot-capacity", "slots[4]", "string_capacity_too_large", [](Program& p) { p.slots[4].string_capacity = 4'097; }},
    {"dispatch-order", "dispatch[1]", "identifier_twice", [](Program& p) { p.dispatch[1].id = 1; }},
    {"dispatch-order", "dispatch[1]", "not_sorted", [](Program& p) { std::swap(p.dispatch[0], p.dispatch[1]); }},
    {"dispatch-gap", "dispatch[0]", "no_table_0",
     [](Program& p) {
       for (DispatchEntry& entry : p.dispatch) entry.table = 1;
     }},
    {"dispatch-gap", "dispatch[1]", "gap_in_the_tables", [](Program& p) { p.dispatch[1].table = 2; }},
    {"dispatch-template", "dispatch[1]", "no_such_template", [](Program& p) { p.dispatch[1].template_index = 2; }},
    {"dispatch-entry", "dispatch[1]", "entry_behind_the_code", [](Program& p) { p.dispatch[1].entry = 29; }},
    {"dispatch-entry", "dispatch[1]", "entry_at_the_start", [](Program& p) { p.dispatch[1].entry = 1; }},
    {"dispatch-id", "dispatch[1]", "identifier_of_another_template", [](Program& p) { p.dispatch[1].id = 7; }},
    // Blocks, templates, types
    {"block-kind", "blocks[1]", "unknown_kind_of_block", [](Program& p) { p.blocks[1].kind = BlockKind{3}; }},
    {"block-words", "blocks[0]", "block_of_251_words", [](Program& p) { p.blocks[0].words = 251; }},
    {"block-template", "blocks[2]", "block_of_no_template", [](Program& p) { p.blocks[2].template_index = 2; }},
    {"block-first-word", "blocks[2]", "first_word_wrong", [](Program& p) { p.blocks[2].first_word = 10; }},
    {"block-min-bytes", "blocks[0]", "root_with_min_bytes", [](Program& p) { p.blocks[0].min_bytes = 1; }},
    {"template-words", "templates[0]", "sum_of_words_wrong", [](Program& p) { p.templates[0].words = 12; }},
    {"template-root-block", "templates[0]", "root_is_an_after_block", [](Program& p) { p.templates[0].root_block = 2; }},
    {"template-root-block", "templates[1]", "root_of_another_template", [](Program& p) { p.templates[1].root_block = 0; }},
    {"template-root-block", "templates[1]", "no_such_root", [](Program& p) { p.templates[1].root_block = 6; }},
    {"template-nodes", "templates[1]", "nodes_overlap", [](Program& p) { p.templates[1].first_node = 13; }},
    {"template-nodes", "templates", "nodes_of_no_template", [](Program& p) { p.templates[1].end_node = 22; }},
    {"template-supplied", "templates[0]", "supplied_without_reset", [](Program& p) { p.templates[0].supplied = true; }},
    {"template-source", "templates[0]", "no_such_source", [](Program& p) { p.templates[0].source = 1; }},
    {"type-elements", "types[1]", "elements_outside_the_table", [](Program& p) { p.type_infos[1].element_count = 3; }},
    {"type-elements", "types[0]", "type_without_elements", [](Program& p) { p.type_infos[0].element_count = 0; }},
    // Schema
    {"node-kind", "nodes[1]", "unknown_kind_of_node", [](Program& p) { p.nodes[1].kind = NodeKind{4}; }},
    {"node-type", "nodes[1]", "unknown_type", [](Program& p) { p.nodes[1].type = FieldType{16}; }},
    {"node-end", "nodes[1]", "field_with_a_node_inside", [](Program& p) { p.nodes[1].end = 3; }},
    {"node-end", "nodes[5]", "node_that_ends_before_it_begins", [](Program& p) { p.nodes[5].end = 5; }},
    {"node-end", "nodes[7]", "sequence_that_ends_behind_its_template", [](Program& p) { p.nodes[7].end = 15; }},
    {"node-depth", "nodes[64]", "groups_nested_too_deeply",
     [](Program& p) {
       SchemaNode group = p.nodes[22];
       p.nodes.resize(22);
       p.nodes.insert(p.nodes.begin(), 65, group);
       for (SchemaNode& node : p.nodes) node.end = static_cast<std::uint16_t>(p.nodes.size());
       p.templates[0].end_node = p.nodes[0].end;
       p.templates[1].first_node = p.templates[1].end_node = p.nodes[0].end;
     }},
    {"node-block", "nodes[1]", "word_in_no_block", [](Program& p) { p.nodes[1].block = kNoBlock; }},
    {"node-block", "nodes[1]", "word_in_a_block_of_another_template", [](Program& p) { p.nodes[1].block = 3; }},
    {"node-word", "nodes[1]", "word_outside_its_block", [](Program& p) { p.nodes[1].word = 8; }},
    {"node-word", "nodes[2]", "mantissa_outside_its_block", [](Program& p) { p.nodes[2].word = 7; }},
    {"node-word", "nodes[1]", "unstored_field_with_a_word_of_the_record", [](Program& p) { p.nodes[1].unstored = true; }},
    {"node-word", "nodes[2]", "unstored_decimal_behind_the_last_word",
     [](Program& p) {
       p.nodes[2].unstored = true;
       p.nodes[2].word = 249;
     }},
    {"node-unstored", "nodes[18]", "reference_that_is_not_stored", [](Program& p) { p.nodes[18].unstored = true; }},
    {"node-unstored", "nodes[8]", "stored_field_in_an_unstored_sequence",
     [](Program& p) {
       p.nodes[7].unstored = true;
       p.nodes[7].word = 8;
     }},
    {"node-unstored", "nodes[7]", "unstored_sequence_with_stored_elements",
     [](Program& p) {
       for (std::size_t i = 7; i < 12; ++i) p.nodes[i].unstored = true;
       p.nodes[7].word = 8;
       for (std::size_t i = 8; i < 11; ++i) p.nodes[i].word = static_cast<std::uint8_t>(i - 5);
     }},
    {"word-claimed-twice", "nodes[4]", "two_fields_in_one_word", [](Program& p) { p.nodes[4].word = 3; }},
    {"node-unit", "nodes[16]", "time_without_unit", [](Program& p) { p.nodes[16].unit = TimeUnit::None; }},
    {"node-type-info", "nodes[4]", "enumeration_without_elements", [](Program& p) { p.nodes[4].type_info = 2; }},
    {"node-constant", "nodes[0]", "constant_of_another_type", [](Program& p) { p.nodes[0].constant_index = 4; }},
    {"node-constant", "nodes[11]", "constant_decimal_without_mantissa", [](Program& p) { p.nodes[11].constant_index = 7; }},
    {"node-element-block", "nodes[7]", "sequence_without_elements", [](Program& p) { p.nodes[7].element_block = 2; }},
    {"node-unused-column", "nodes[3]", "string_with_a_unit", [](Program& p) { p.nodes[3].unit = TimeUnit::Day; }},
    {"node-unused-column", "nodes[0]", "constant_with_a_word", [](Program& p) { p.nodes[0].word = 1; }},
    {"node-unused-column", "nodes[18]", "reference_with_a_block", [](Program& p) { p.nodes[18].block = 3; }},
    {"node-unused-column", "nodes[22]", "mandatory_group_with_a_witness", [](Program& p) { p.nodes[22].block = 3; }},
    {"node-source", "nodes[1]", "node_of_no_source", [](Program& p) { p.nodes[1].source = 1; }},
    {"group-witness", "nodes[5]", "witness_outside_the_group", [](Program& p) { p.nodes[5].word = 4; }},
    {"group-witness", "nodes[5]", "witness_is_optional", [](Program& p) { p.nodes[5].word = 6; }},
    // Instructions by themselves
    {"start", "code[0]", "no_code", [](Program& p) { p.code.clear(); p.dispatch.clear(); }},
    {"start", "code[0]", "start_without_pmap", [](Program& p) { p.code[0] = nop(); }},
    {"start", "code[0]", "start_without_dispatch", [](Program& p) { p.code[1].control = ControlOp::Call; }},
    {"instruction-unknown", "code[2]", "unknown_data_op", [](Program& p) { p.code[2].op = DataOp{0xFF}; }},
    {"instruction-unknown", "code[2]", "unknown_control_op", [](Program& p) { p.code[2].control = ControlOp{10}; }},
    {"known-bit", "code[13]", "known_bit_of_an_op_without", [](Program& p) { p.code[13].known = isa::KnownBit::Set; }},
    {"known-bit", "code[7]", "group_known_to_be_absent", [](Program& p) { p.code[7].known = isa::KnownBit::Clear; }},
    {"known-bit", "code[2]", "unknown_knowledge", [](Program& p) { p.code[2].known = isa::KnownBit{3}; }},
    {"known-outside-profile", "code[2]", "known_bit_in_the_general_program",
     [](Program& p) { p.code[2].known = isa::KnownBit::Set; }},
    {"predicate-bit", "code[13]", "hint_for_an_op_without_bit", [](Program& p) { p.code[13].predicate = true; }},
    {"join-outside-profile", "code[6]", "join_in_the_general_program",
     [](Program& p) {
       p.code[6].control = ControlOp::Join;
       p.code[6].target = 2;
     }},
    {"target-not-backward", "code[6]", "join_leads_forward",
     [](Program& p) {
       p.code[6].control = ControlOp::Join;
       p.code[6].target = 8;
     }},
    {"jump-into-profile", "code[7]", "group_ends_in_a_profile_program",
     [](Program& p) {
       add_profiles(p);
       p.code[7].target = 30;
     }},
    {"slot-outside-table", "code[2]", "no_such_slot", [](Program& p) { p.code[2].slot = 9; }},
    {"slot-unused", "code[6]", "slot_of_an_op_without", [](Program& p) { p.code[6].slot = 1; }},
    {"slot-of-template-id", "code[2]", "slot_0_for_a_field", [](Program& p) { p.code[2].slot = 0; }},
    {"slot-of-template-id", "code[1]", "identifier_in_another_slot", [](Program& p) { p.code[1].slot = 1; }},
    {"slot-without-capacity", "code[5]", "string_in_a_slot_without_room", [](Program& p) { p.slots[4].string_capacity = 0; }},
    {"constant-outside-table", "code[6]", "no_such_constant", [](Program& p) { p.code[6].constant = 8; }},
    {"constant-unused", "code[7]", "constant_of_an_op_without", [](Program& p) { p.code[7].constant = 4; }},
    {"constant-missing", "code[6]", "mandatory_default_without_value", [](Program& p) { p.code[6].constant = 0; }},
    {"constant-missing", "code[6]", "mandatory_default_with_limit_only", [](Program& p) { p.code[6].constant = 3; }},
    {"constant-value-unused", "code[10]", "value_for_an_op_without_operator", [](Program& p) { p.code[10].constant = 4; }},
    {"constant-wrong-kind", "code[5]", "integer_for_a_string", [](Program& p) { p.code[5].constant = 4; }},
    {"constant-wrong-kind", "code[2]", "string_for_an_integer", [](Program& p) { p.code[2].constant = 1; }},
    {"constant-too-long", "code[5]", "initial_value_longer_than_its_slot",
     [](Program& p) { p.slots[4].string_capacity = 2; }},
    {"constant-out-of-range", "code[6]", "value_above_the_type", [](Program& p) { p.constants[2].value = 1ULL << 32; }},
    {"constant-out-of-range", "code[6]", "value_outside_its_limit", [](Program& p) { p.constants[2].value = 3; }},
    {"constant-limit-type", "code[18]", "limit_of_a_decimal", [](Program& p) { p.code[18].constant = 3; }},
    {"word-missing", "code[2]", "value_without_word", [](Program& p) { p.code[2].word = isa::kNoWord; }},
    {"word-unused", "code[8]", "pmap_with_a_word", [](Program& p) { p.code[8].word = 6; }},
    {"word-unused", "code[28]", "nop_with_a_word_without_skip", [](Program& p) { p.code[28].word = 0; }},
    {"target-unused", "code[2]", "target_of_an_op_without", [](Program& p) { p.code[2].target = 5; }},
    {"target-outside-code", "code[7]", "skip_behind_the_code", [](Program& p) { p.code[7].target = 29; }},
    {"target-outside-blocks", "code[15]", "no_such_block", [](Program& p) { p.code[15].target = 6; }},
    {"target-outside-tables", "code[23]", "no_such_table", [](Program& p) { p.code[23].target = 1; }},
    {"target-not-forward", "code[7]", "skip_to_itself", [](Program& p) { p.code[7].target = 7; }},
    {"target-not-forward", "code[7]", "skip_backward", [](Program& p) { p.code[7].target = 2; }},
    {"target-not-forward", "code[10]", "sequence_backward", [](Program& p) { p.code[10].target = 5; }},
    {"target-not-backward", "code[14]", "loop_end_forward", [](Program& p) { p.code[14].target = 15; }},
    {"tid-control", "code[23]", "tid_without_call", [](Program& p) { p.code[23].control = ControlOp::Next; }},
    {"tid-control", "code[28]", "call_without_tid", [](Program& p) { p.code[28].control = ControlOp::Call; }},
    {"disp-not-at-start", "code[23]", "dispatch_inside_a_template", [](Program& p) { p.code[23].control = ControlOp::Disp; }},
    {"seq-length", "code[17]", "length_of_64_bits",
     [](Program& p) {
       p.code[17].control = ControlOp::Seq;
       p.code[17].target = 20;
     }},
    {"constant-length", "code[25]", "constant_length_without_sequence",
     [](Program& p) {
       p.code[25].control = ControlOp::Next;
       p.code[25].target = 0;
     }},
    {"segment-number", "code[8]", "segment_too_large", [](Program& p) { p.code[8].constant = 4'096; }},
    // Neighbours
    {"tid-without-pmap", "code[23]", "tid_after_a_field", [](Program& p) { p.code[22] = nop(); }},
    {"jump-to-tid", "code[23]", "jump_between_pmap_and_tid",
     [](Program& p) {
       p.code[21].control = ControlOp::Skip;
       p.code[21].target = 23;
     }},
    {"exponent-without-mantissa", "code[3]", "exponent_alone", [](Program& p) { p.code[4] = nop(); }},
    {"exponent-without-mantissa", "code[3]", "mantissa_of_the_other_kind", [](Program& p) { p.code[4].op = DataOp::DelDmanMan; }},
    {"mantissa-without-exponent", "code[4]", "mantissa_alone", [](Program& p) { p.code[3] = nop(); }},
    {"jump-into-decimal", "code[19]", "jump_between_exponent_and_mantissa",
     [](Program& p) {
       p.code[17].control = ControlOp::Skip;
       p.code[17].target = 19;
     }},
    {"jump-into-decimal", "code[19]", "entry_at_a_mantissa", [](Program& p) { p.dispatch[1].entry = 19; }},
    {"decimal-word", "code[19]", "mantissa_in_a_far_word", [](Program& p) { p.code[19].word = 3; }},
    {"decimal-operator", "code[19]", "mantissa_with_another_operator", [](Program& p) { p.code[19].op = DataOp::CopDmanMan; }},
    {"decimal-control", "code[18]", "exponent_with_a_control_op",
     [](Program& p) {
       p.code[18].control = ControlOp::Skip;
       p.code[18].target = 20;
     }},
    {"decimal-control", "code[19]", "block_between_exponent_and_mantissa",
     [](Program& p) {
       p.code[19].control = ControlOp::Block;
       p.code[19].target = 4;
     }},
    {"pair-control", "code[9]", "pair_with_a_control_op", [](Program& p) { p.code[9].pair = true; }},
    {"pair-end", "code[28]", "pair_at_the_end", [](Program& p) { p.code[28].pair = true; p.code[28].control = ControlOp::Next; }},
    {"pair-chain", "code[2]", "three_in_a_row", [](Program& p) { p.code[3].pair = true; }},
    {"pair-op", "code[4]", "integer_with_a_string", [](Program& p) { p.code[4].pair = true; }},
    {"pair-op", "code[8]", "pmap_in_a_pair", [](Program& p) { p.code[8].pair = true; }},
    {"pair-slot", "code[2]", "slots_of_one_parity", [](Program& p) { p.code[2].slot = 2; }},
    // Bit groups: another program
    {"constant-limit", "constants[1]", "bit_group_of_64_bits",
     [](Program& p) { p = test::bits_program(); p.constants[1].limit = 64; }},
    {"constant-limit-type", "code[4]", "limit_of_a_bit_group_for_a_field",
     [](Program& p) { p = test::bits_program(); p.code[4].constant = 1; }},
    {"constant-out-of-range", "code[2]", "value_of_a_bit_group_behind_its_fields",
     [](Program& p) { p = test::bits_program(); p.constants[1].value |= 1; }},
    {"constant-out-of-range", "code[2]", "value_of_a_bit_group_of_15_bits",
     [](Program& p) { p = test::bits_program(); p.constants[1].value = 1U << 14; }},
    {"bits-limit", "code[2]", "bit_group_without_size", [](Program& p) { p = test::bits_program(); p.code[2].constant = 0; }},
    {"bits-limit", "code[2]", "bit_group_with_another_limit",
     [](Program& p) { p = test::bits_program(); p.code[2].constant = 2; }},
    {"bits-control", "code[2]", "bit_group_with_a_control_op",
     [](Program& p) { p = test::bits_program(); p.code[2].control = ControlOp::Pop; }},
    {"bits-control", "code[3]", "block_inside_a_bit_group",
     [](Program& p) { p = test::bits_program(); p.code[3].control = ControlOp::Block; }},
    {"bits-control", "code[4]", "control_op_inside_a_bit_group",
     [](Program& p) { p = test::bits_program(); p.code[3].control = ControlOp::Pop; }},
    {"bits-without-field", "code[2]", "bit_group_without_fields",
     [](Program& p) { p = test::bits_program(); p.code[3] = nop(); }},
    {"bits-word", "code[2]", "bit_group_with_another_word", [](Program& p) { p = test::bits_program(); p.code[2].word = 1; }},
    {"bit-without-group", "code[3]", "field_without_a_bit_group",
     [](Program& p) { p = test::bits_program(); p.code[2] = nop(); }},
    {"bit-field", "code[4]", "field_outside_its_bit_group",
     [](Program& p) { p = test::bits_program(); p.code[4].slot = isa::BitField{8, 4}.column(); }},
    {"bit-field", "code[4]", "field_without_bits",
     [](Program& p) { p = test::bits_program(); p.code[4].slot = isa::BitField{7, 0}.column(); }},
    {"bit-field", "code[4]", "field_outside_every_bit_group",
     [](Program& p) { p = test::bits_program(); p.code[4].slot = isa::BitField{63, 63}.column(); }},
    {"jump-into-bits", "code[3]", "entry_inside_a_bit_group",
     [](Program& p) { p = test::bits_program(); p.dispatch[0].entry = 3; }},
    {"pair-op", "code[3]", "fields_of_a_bit_group_as_a_pair", [](Program& p) { p = test::bits_program(); p.code[3].pair = true; }},
    {"word-limit", "code[4]", "nullable_field_without_limit",
     [](Program& p) { p = test::bits_program(); p.code[4].constant = 0; }},
    {"word-type", "code[3]", "field_of_a_bit_group_of_another_type",
     [](Program& p) { p = test::bits_program(); p.nodes[1].type = FieldType::UInt32; }},
    {"word-type", "code[3]", "field_of_a_bit_group_of_another_sign",
     [](Program& p) { p = test::bits_program(); p.nodes[1].type = FieldType::Int8; }},
    // Paths
    {"path-without-end", "code[28]", "code_that_runs_out", [](Program& p) { p.code[28].control = ControlOp::Next; }},
    {"code-unreachable", "code[29]", "code_behind_the_end", [](Program& p) { p.code.push_back(nop(ControlOp::End)); }},
    {"code-unreachable", "code[17]", "template_without_entry", [](Program& p) { p.dispatch.pop_back(); }},
    {"join-template", "code[17]", "template_that_runs_into_another", [](Program& p) { p.code[16].control = ControlOp::Next; }},
    {"join-template", "code[17]", "jump_into_another_template", [](Program& p) { p.code[7].target = 17; }},
    {"join-loop", "code[12]", "jump_into_an_element", [](Program& p) { p.code[7].target = 12; }},
    {"join-presence-map", "code[9]", "jump_into_a_group", [](Program& p) { p.code[7].target = 9; }},
    {"element-without-block", "code[26]", "element_that_opens_no_block",
     [](Program& p) {
       p.code[26].control = ControlOp::Next;
       p.code[26].target = 0;
     }},
    {"element-without-block", "code[26]", "element_that_begins_with_a_jump",
     [](Program& p) {
       p.code[26].control = ControlOp::Skip;
       p.code[26].target = 27;
     }},
    {"block-of-other-template", "code[15]", "block_of_another_templates", [](Program& p) { p.code[15].target = 4; }},
    {"block-kind-here", "code[15]", "element_block_after_a_loop", [](Program& p) { p.code[15].target = 1; }},
    {"block-kind-here", "code[11]", "after_block_for_an_element", [](Program& p) { p.code[11].target = 2; }},
    {"block-kind-here", "code[15]", "root_block_opened_again", [](Program& p) { p.code[15].target = 0; }},
    {"block-missing", "code[15]", "no_block_after_a_sequence",
     [](Program& p) {
       p.code[15].control = ControlOp::Next;
       p.code[15].target = 0;
     }},
    {"block-missing", "code[24]", "no_block_after_a_reference",
     [](Program& p) {
       p.code[24].control = ControlOp::Next;
       p.code[24].target = 0;
     }},
    {"word-outside-block", "code[13]", "word_behind_the_block", [](Program& p) { p.code[13].word = 3; }},
    {"word-order", "code[6]", "words_that_do_not_rise", [](Program& p) { std::swap(p.code[2].word, p.code[6].word); }},
    {"word-order", "code[13]", "word_written_twice", [](Program& p) { p.code[13].word = 0; }},
    {"word-not-in-schema", "code[29]", "word_of_no_node",
     [](Program& p) {
       p.blocks[4].words = 3;
       p.blocks[5].first_word = 8;
       p.templates[1].words = 9;
       p.code[28] = nop(ControlOp::End);
       p.code[28].op = DataOp::NonU32Man;
       p.code[28].word = 2;
       p.code.insert(p.code.begin() + 28, nop(ControlOp::Block, 4));
     }},
    {"word-type", "code[17]", "type_differs_from_schema", [](Program& p) { p.nodes[14].type = FieldType::Int64; }},
    {"word-type", "code[5]", "string_where_schema_has_bytes", [](Program& p) { p.nodes[3].type = FieldType::ByteVector; }},
    {"word-type", "code[7]", "field_as_witness", [](Program& p) { p.code[7].op = DataOp::NonU32Man; }},
    {"word-type", "code[27]", "length_that_begins_no_loop",
     [](Program& p) {
       p.nodes[21] = p.nodes[20];
       p.nodes[21].block = 5;
       p.nodes[21].word = 0;
       p.nodes[21].element_block = 5;
       p.nodes[21].end = 22;
     }},
    {"word-presence", "code[5]", "presence_differs_from_schema", [](Program& p) { p.nodes[3].optional = false; }},
    {"word-limit", "code[6]", "enumeration_without_limit", [](Program& p) { p.constants[2] = p.constants[4]; }},
    {"word-limit", "code[21]", "set_with_too_many_bits", [](Program& p) { p.constants[3].limit = 3; }},
    {"word-limit", "code[2]", "small_integer_without_limit", [](Program& p) { p.nodes[1].type = FieldType::UInt8; }},
    {"element-block", "code[11]", "elements_in_another_block_than_the_schema_says",
     [](Program& p) {
       p.blocks.push_back({BlockKind::Element, 0, 0, 13, 0});
       p.nodes[7].element_block = 6;
     }},
    {"element-min-bytes", "code[14]", "element_said_to_take_more_bytes_than_it_does",
     [](Program& p) { p.blocks[1].min_bytes = 4; }},
    {"bit-without-map", "code[12]", "element_without_map_takes_a_bit",
     [](Program& p) {
       p.code[11].op = DataOp::Nop;
       p.code[11].slot = 0;
       p.code[11].constant = 0;
     }},
    {"presence-bits", "code[9]", "more_bits_than_the_group_announces", [](Program& p) { p.code[8].slot = 0; }},
    {"presence-bits", "code[1]", "more_bits_than_the_message_announces", [](Program& p) { p.code[0].slot = 5; }},
    {"presence-bits", "code[23]", "more_bits_than_the_reference_announces", [](Program& p) { p.code[22].slot = 5; }},
    {"pop-without-map", "code[13]", "element_drops_its_sequences_map",
     [](Program& p) {
       p.code[12].control = ControlOp::Pop;
       p.code[13].control = ControlOp::Pop;
     }},
    {"pop-without-map", "code[20]", "template_drops_its_own_map", [](Program& p) { p.code[20].control = ControlOp::Pop; }},
    {"jump-out-of-loop", "code[13]", "skip_out_of_an_element",
     [](Program& p) {
       p.code[13].control = ControlOp::Skip;
       p.code[13].target = 15;
     }},
    {"seq-target", "code[10]", "sequence_that_skips_too_far", [](Program& p) { p.code[10].target = 16; }},
    {"seq-target", "code[25]", "sequence_without_end", [](Program& p) { p.code[27].control = ControlOp::Next; p.code[27].target = 0; }},
    {"lend-outside-loop", "code[5]", "loop_end_without_loop",
     [](Program& p) {
       p.code[5].control = ControlOp::Lend;
       p.code[5].target = 3;
     }},
    {"lend-target", "code[13]", "loop_that_ends_twice",
     [](Program& p) {
       p.code[13].control = ControlOp::Lend;
       p.code[13].target = 11;
     }},
    {"lend-presence-map", "code[14]", "group_left_open_in_an_element",
     [](Program& p) {
       p.code[13] = p.code[8];
       p.code[12].control = ControlOp::Next;
     }},
    {"lend-presence-map", "code[14]", "element_that_loads_its_map_late",
     [](Program& p) {
       p.code[12] = p.code[11];
       p.code[12].control = ControlOp::Next;
       p.code[12].target = 0;
       p.code[11] = nop(ControlOp::Block, 1);
     }},
    {"end-inside-loop", "code[13]", "end_in_an_element", [](Program& p) { p.code[13].control = ControlOp::End; }},
    {"schema-order", "code[17]", "two_fields_in_another_order",
     [](Program& p) {
       std::swap(p.nodes[14], p.nodes[15]);
       p.nodes[14].end = 15;
       p.nodes[15].end = 16;
     }},
    {"schema-order", "code[28]", "field_that_is_never_taken",
     [](Program& p) {
       p.nodes.insert(p.nodes.begin() + 22, p.nodes[19]);
       p.nodes[22].end = 23;
       p.nodes[22].word = 2;
       p.nodes[23].end = 24;
       p.templates[1].end_node = 24;
       p.blocks[4].words = 3;
       p.blocks[5].first_word = 8;
       p.templates[1].words = 9;
     }},
    {"schema-order", "code[14]", "sequence_that_ends_too_early", [](Program& p) { p.nodes[7].end = 13; }},
    {"schema-order", "code[10]", "group_that_ends_too_early", [](Program& p) { p.nodes[5].end = 8; p.nodes[7].end = 8; }},
    {"schema-order", "code[20]", "branch_without_a_group",
     [](Program& p) {
       p.code[20].control = ControlOp::Skip;
       p.code[20].target = 22;
     }},
    {"schema-order", "code[23]", "reference_that_the_schema_lacks",
     [](Program& p) {
       p.nodes[18] = p.nodes[22];
       p.nodes[18].end = 19;
     }},
    {"block-opened-twice", "code[28]", "block_opened_twice", [](Program& p) { p.code[28] = nop(ControlOp::Block, 4); p.code.push_back(nop(ControlOp::End)); }},
    {"block-without-word", "code[28]", "block_in_which_nothing_is_stored",
     [](Program& p) {
       p.blocks.push_back({BlockKind::After, 1, 0, 8, 0});
       p.code[28] = nop(ControlOp::Block, 6);
       p.code.push_back(nop(ControlOp::End));
     }},
    {"block-without-word", "code[15]", "block_that_no_reader_opens",
     [](Program& p) {
       for (const std::size_t i : {0U, 1U}) {
         p.nodes[12 + i].unstored = true;
         p.nodes[12 + i].word = p.code[15 + i].word = static_cast<std::uint8_t>(2 + i);
       }
     }},
    {"jump-out-of-group", "code[9]", "group_that_ends_behind_the_group_around",
     [](Program& p) {
       p.code[8] = nop();
       p.code[9] = nop(ControlOp::Skip, 15);
       p.code[9].word = 6;
       p.nodes[6].kind = NodeKind::Group;
     }},
    {"entry-inside-template", "code[20]", "entry_in_the_middle",
     [](Program& p) {
       p.dispatch.push_back({0, 3, 2, 20});
       p.templates.push_back(p.templates[1]);
       p.templates[2].id = 3;
       p.templates[2].first_node = p.templates[2].end_node;
       p.templates[2].words = 0;
       p.templates[2].root_block = 6;
       p.blocks.push_back({BlockKind::Root, 2, 0, 0, 0});
     }},
    {"jump-behind-end", "code[16]", "group_that_ends_behind_the_end", [](Program& p) { p.code[7].target = 17; }},
    {"node-constant", "nodes[11]", "constant_exponent_too_large", [](Program& p) { p.constants[6].value = 64; }},
    {"constant-out-of-range", "code[18]", "initial_exponent_too_large", [](Program& p) { p.code[18].constant = 7; }},
    {"end-inside-group", "code[16]", "group_left_open", [](Program& p) { p.code[9].control = ControlOp::Next; p.code[7] = nop(); }},
};

class VerifyBad : public testing::TestWithParam<Bad> {};

TEST_P(VerifyBad, is_refused_by_name) {
  Program program = test::sample_program();
  GetParam().change(program);
  const Report report = check(program);
  EXPECT_TRUE(report.costs.empty());
  const bool named = std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.rule == GetParam().rule && finding.where == GetParam().where;
  });
  EXPECT_TRUE(named) << "wanted " << GetParam().rule << " at " << GetParam().where << ", got\n" << text(report);
}

INSTANTIATE_TEST_SUITE_P(, VerifyBad, testing::ValuesIn(kBad), [](const auto& bad) { return bad.param.name; });

TEST(VerifyPage, names_every_rule_that_a_bad_program_breaks) {
  std::set<std::string> broken = {"loop-depth", "presence-map-depth"};  // by VerifyHostile
  for (const Bad& bad : kBad) broken.insert(bad.rule);
  std::ifstream file(STOPBIT_SOURCE_DIR "/microcode/verify/rules.md");
  ASSERT_TRUE(file) << "microcode/verify/rules.md is missing";
  std::set<std::string> on_page;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) on_page.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(on_page, broken);
}

TEST(Verify, accepts_the_sample) {
  const Report report = check(test::sample_program());
  EXPECT_TRUE(report.ok()) << text(report);
}

/// Nothing after the sequence is stored: the block is not in the record, its words are names only.
TEST(Verify, accepts_fields_that_are_not_stored) {
  Program program = test::sample_program();
  program.nodes[12].unstored = program.nodes[13].unstored = program.nodes[0].unstored = true;
  program.blocks[2].words = 0;
  program.templates[0].words = 11;
  const Report report = check(program);
  EXPECT_TRUE(report.ok()) << text(report);
  ASSERT_EQ(report.costs.size(), 2U);
  EXPECT_EQ(report.costs[0].slots, 2U);
  EXPECT_EQ(check(test::sample_program()).costs[0].slots, 3U);
}

TEST(Verify, accepts_a_bit_group) {
  const Report report = check(test::bits_program());
  EXPECT_TRUE(report.ok()) << text(report);
}

TEST(Verify, does_not_care_how_the_pools_are_made) {
  const Report report = check(canonical(test::sample_program()));
  EXPECT_TRUE(report.ok()) << text(report);
}

TEST(Verify, computes_the_cost_of_each_template) {
  const Report report = check(test::sample_program());
  ASSERT_EQ(report.costs.size(), 2U) << text(report);
  const TemplateCost& quote = report.costs[0];
  EXPECT_EQ(quote.template_index, 0);
  EXPECT_EQ(quote.min_bytes, 4U);          // presence map, length, Raw, Naïve
  EXPECT_EQ(quote.slots, 3U);              // 4 + 8 words, 2 words
  EXPECT_EQ(quote.instructions, 13U + 4);  // with one element
  const TemplateCost& session = report.costs[1];
  EXPECT_EQ(session.template_index, 1);
  EXPECT_EQ(session.min_bytes, 10U);  // two maps, six values, two elements
  EXPECT_EQ(session.slots, 3U);
  EXPECT_EQ(session.instructions, 12U + 2);
  // Any call may run the costliest template for a byte; the costliest loop takes 2 instructions a byte.
  EXPECT_EQ(quote.instructions_per_byte, 2U);
  EXPECT_EQ(session.instructions_per_byte, 17U + 2);
}

TEST(Verify, accepts_an_element_of_no_bytes_and_counts_eight_per_byte) {
  Program program = test::sample_program();
  program.code[27].op = DataOp::DefU32Man;  // takes a bit: give the element a map and it takes a byte again
  program.code[27].constant = 4;
  EXPECT_FALSE(check(program).ok());
  program.code[27].op = DataOp::ConU32Opt;
  EXPECT_FALSE(check(program).ok());
  program = test::sample_program();
  program.code[27] = nop(ControlOp::Lend, 26);  // the element is nothing but a constant
  program.nodes[21].constant = true;
  program.nodes[21].constant_index = 4;
  program.nodes[21].block = kNoBlock;
  program.nodes[21].word = isa::kNoWord;
  program.blocks[5].words = 0;
  program.blocks[5].min_bytes = 0;
  program.templates[1].words = 7;
  const Report report = check(program);
  ASSERT_TRUE(report.ok()) << text(report);
  EXPECT_EQ(report.costs[1].instructions_per_byte, 17U + 16);
}

TEST(Verify, joins_blocks_behind_an_optional_group_with_a_sequence) {
  // Quote's sequence becomes part of its optional group: after it no block is open, and one is opened at 15.
  Program program = test::sample_program();
  program.code[7].target = 15;
  program.nodes[5].end = 12;
  const Report report = check(program);
  EXPECT_TRUE(report.ok()) << text(report);
  program.code[15].control = ControlOp::Next;
  program.code[15].target = 0;
  const Report without = check(program);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.findings[0].rule, "block-missing");
}

TEST(Verify, accepts_a_group_whose_witness_is_a_field) {
  Program program = test::sample_program();
  program.code[9].op = DataOp::CopU32Man;
  program.nodes[6].optional = false;
  program.nodes[5].word = 6;
  program.code[7].word = isa::kNoWord;
  program.blocks[0].words = 8;
  const Report report = check(program);
  EXPECT_TRUE(report.ok()) << text(report);
}

TEST(Verify, demands_rising_words_behind_an_optional_group) {
  Program program = test::sample_program();
  program.code[10].word = 6;  // written inside the group that was jumped over
  program.nodes[7].word = 6;
  program.nodes[6].word = 7;
  program.code[9].word = 7;
  const Report report = check(program);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].rule, "word-order");
  EXPECT_EQ(report.findings[0].where, "code[10]");
}

TEST(Verify, stops_after_a_hundred_findings) {
  Program program = test::sample_program();
  program.code.resize(limits::kMaxInstructions, nop(ControlOp::Skip, 0));
  const Report report = check(program);
  EXPECT_EQ(report.findings.size(), 100U);
}

/// Programs that would hurt a verifier which walks paths one by one.
class VerifyHostile : public testing::Test {
 protected:
  static Program with_code(const std::vector<isa::Instruction>& body) {
    Program program = test::sample_program();
    program.code.resize(2);
    program.code[0].slot = 4'095;
    program.code.insert(program.code.end(), body.begin(), body.end());
    program.dispatch = {{0, 1, 0, 2}};
    return program;
  }
  static Report checked_in_time(const Program& program) {
    const auto begin = std::chrono::steady_clock::now();
    Report report = check(program);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    return report;
  }
};

/// A template that is nothing but optional groups, one after another, each with one field.
Program with_groups(std::size_t count) {
  Program program = test::sample_program();
  const Program sample = program;
  program.dispatch = {{0, 1, 0, 2}};
  program.templates.resize(1);
  program.code.resize(2);
  program.code[0].slot = 4'095;
  program.nodes.clear();
  program.blocks.clear();
  const auto block_of = [](std::size_t i) { return static_cast<std::uint16_t>(i / 200); };
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint8_t>(i % 200);
    if (word == 0 && i > 0) program.code.push_back(nop(ControlOp::Block, block_of(i)));
    program.code.push_back(nop(ControlOp::Skip, static_cast<std::uint16_t>(program.code.size() + 2)));
    isa::Instruction in;
    in.op = DataOp::NonU32Man;
    in.word = word;
    program.code.push_back(in);
    SchemaNode group = sample.nodes[5];
    group.block = block_of(i);
    group.word = word;
    group.end = static_cast<std::uint16_t>(2 * i + 2);
    SchemaNode field = sample.nodes[1];
    field.block = group.block;
    field.word = word;
    field.end = group.end;
    program.nodes.push_back(group);
    program.nodes.push_back(field);
  }
  program.code.push_back(nop(ControlOp::End));
  for (std::size_t i = 0; i < count; i += 200) {
    const auto words = static_cast<std::uint8_t>(std::min<std::size_t>(200, count - i));
    const auto kind = i == 0 ? BlockKind::Root : BlockKind::After;
    program.blocks.push_back({kind, 0, words, static_cast<std::uint16_t>(i), 0});
  }
  program.templates[0].words = static_cast<std::uint16_t>(count);
  program.templates[0].end_node = static_cast<std::uint16_t>(2 * count);
  return program;
}

TEST_F(VerifyHostile, many_branches_take_linear_time) {
  const Report report = checked_in_time(with_groups(4'000));
  EXPECT_TRUE(report.ok()) << text(report);
}

TEST_F(VerifyHostile, too_many_branches_exceed_the_presence_map) {
  const Report report = checked_in_time(with_groups(8'000));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].rule, "presence-bits");
}

/// `depth` loops inside each other, each with `bytes` in its innermost element.
std::vector<isa::Instruction> nest(std::size_t depth) {
  std::vector<isa::Instruction> body;
  const auto last = static_cast<std::uint16_t>(2 + depth * 3);
  for (std::size_t i = 0; i < depth; ++i) {
    isa::Instruction length = nop(ControlOp::Seq, static_cast<std::uint16_t>(last + (depth - i)));
    length.op = DataOp::NonU32Man;
    length.word = 0;
    if (i > 0) body.push_back(nop(ControlOp::Block, 1));
    body.push_back(length);
  }
  body.push_back(nop(ControlOp::Block, 1));
  while (body.size() + 2 < last) body.push_back(nop());
  for (std::size_t i = depth; i-- > 0;) body.push_back(nop(ControlOp::Lend, static_cast<std::uint16_t>(3 + i * 2)));
  body.push_back(nop(ControlOp::End));
  return body;
}

TEST_F(VerifyHostile, loops_nested_too_deeply_are_refused) {
  for (const std::size_t depth : {std::size_t{9}, std::size_t{1'000}, std::size_t{4'000}}) {
    const Report report = checked_in_time(with_code(nest(depth)));
    const bool named =
        std::ranges::any_of(report.findings, [](const Finding& finding) { return finding.rule == "loop-depth"; });
    EXPECT_TRUE(named) << depth << '\n' << text(report).substr(0, 2'000);
  }
  const Report report = checked_in_time(with_code(nest(8)));
  const bool named =
      std::ranges::any_of(report.findings, [](const Finding& finding) { return finding.rule == "loop-depth"; });
  EXPECT_FALSE(named);
}

TEST_F(VerifyHostile, presence_maps_nested_too_deeply_are_refused) {
  std::vector<isa::Instruction> body;
  for (int i = 0; i < 24; ++i) {
    isa::Instruction pmap;
    pmap.op = DataOp::Pmap;
    body.push_back(pmap);
  }
  for (int i = 0; i < 24; ++i) body.push_back(nop(ControlOp::Pop));
  body.push_back(nop(ControlOp::End));
  const Report report = checked_in_time(with_code(body));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].rule, "presence-map-depth");
}

TEST(VerifyMutated, decides_about_every_flipped_bit_of_the_code) {
  const Program sample = test::sample_program();
  std::size_t accepted = 0;
  std::set<std::string_view> rules;
  for (std::size_t i = 0; i < sample.code.size(); ++i) {
    for (int bit = 0; bit < 64; ++bit) {
      const auto mutated = isa::decode(isa::encode(sample.code[i]) ^ std::uint64_t{1} << bit);
      if (!mutated) continue;
      Program program = sample;
      program.code[i] = *mutated;
      const Report report = check(program);
      accepted += report.ok();
      for (const Finding& finding : report.findings) rules.insert(finding.rule);
    }
  }
  EXPECT_GT(accepted, 10U) << "another slot or segment is as good";
  EXPECT_GT(rules.size(), 30U);
}

TEST(VerifyMutated, survives_random_instructions) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  const Program sample = test::sample_program();
  for (int round = 0; round < 20'000; ++round) {
    Program program = sample;
    for (int changes = 0; changes < 4; ++changes) {
      isa::Instruction& in = program.code[random() % program.code.size()];
      switch (random() % 6) {
        case 0: in = program.code[random() % program.code.size()]; break;
        case 1: in.control = static_cast<ControlOp>(random() % 10); break;
        case 2: in.target = static_cast<std::uint16_t>(random() % 32); break;
        case 3: in.word = static_cast<std::uint8_t>(random() % 9); break;
        case 4: in.slot = static_cast<std::uint16_t>(random() % 10); break;
        default: in.op = program.code[random() % program.code.size()].op; break;
      }
    }
    const Report report = check(program);
    EXPECT_EQ(report.ok(), !report.costs.empty());
  }
}

}  // namespace stopbit::verify::verify_test
