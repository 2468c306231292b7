// A good program with a few numbers changed anywhere in it, as by an image whose checksums were mended: what the
// verifier still accepts must be safe to run on any datagram, and to encode by.
//
// Input: template set, options, number of changes (with 128 added: of the program with profiles), each change as table,
// entry (2), field, value (8); then datagrams.

#include "decoder/encode/encoder.hpp"
#include "microcode/profile/add.hpp"
#include "microcode/profile/straight_line.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

namespace {

using namespace stopbit;

template <class T, class F>
void change_entry(std::vector<T>& table, std::uint16_t index, F change) {
  if (!table.empty()) change(table[index % table.size()]);
}

void change_instruction(isa::Instruction& in, std::uint8_t field, std::uint64_t value) {
  const auto number = static_cast<std::uint16_t>(value);
  switch (field % 8) {
    case 0: in.op = static_cast<isa::DataOp>(value); break;
    case 1: in.word = static_cast<std::uint8_t>(value); break;
    case 2: in.slot = number % limits::kMaxSlots; break;
    case 3: in.constant = number % limits::kMaxConstants; break;
    case 4: in.control = static_cast<isa::ControlOp>(value % 16); break;
    case 5: in.target = number % limits::kMaxInstructions; break;
    case 6:
      in.pair = !in.pair;
      in.predicate = (value & 1) != 0;
      in.known = static_cast<isa::KnownBit>(value >> 1 & 3);
      break;
    default:
      if (const auto decoded = isa::decode(value)) in = *decoded;
  }
}

void change_node(SchemaNode& node, std::uint8_t field, std::uint64_t value) {
  const auto number = static_cast<std::uint16_t>(value);
  switch (field % 13) {
    case 0: node.kind = static_cast<NodeKind>(value % 5); break;
    case 1: node.type = static_cast<FieldType>(value % 18); break;
    case 2: node.optional = !node.optional; break;
    case 3: node.constant = !node.constant; break;
    case 4: node.block = number; break;
    case 5: node.word = static_cast<std::uint8_t>(value); break;
    case 6: node.element_block = number; break;
    case 7: node.constant_index = number; break;
    case 8: node.type_info = number; break;
    case 9: node.end = number; break;
    case 10: node.name = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)}; break;
    case 11: node.unit = static_cast<TimeUnit>(value % 7); break;
    default: node.unstored = !node.unstored;
  }
}

void change(Program& program, fuzz::Input& input) {
  const std::uint8_t table = input.byte();
  const std::uint16_t index = input.half();
  const std::uint8_t field = input.byte();
  const std::uint64_t value = input.word();
  const auto number = static_cast<std::uint16_t>(value);
  switch (table % 12) {
    case 0:
    case 1:
    case 2:
    case 3: return change_entry(program.code, index, [&](auto& in) { change_instruction(in, field, value); });
    case 4:
      return change_entry(program.constants, index, [&](Constant& constant) {
        if (field % 4 == 0) constant.value = value;
        if (field % 4 == 1) constant.kind = static_cast<ValueKind>(value % 4);
        if (field % 4 == 2) constant.limit_kind = static_cast<LimitKind>(value % 6);
        if (field % 4 == 3) constant.limit = static_cast<std::uint32_t>(value);
      });
    case 5: return change_entry(program.slots, index, [&](Slot& slot) { slot.string_capacity = number; });
    case 6:
      return change_entry(program.blocks, index, [&](Block& block) {
        if (field % 5 == 0) block.kind = static_cast<BlockKind>(value % 4);
        if (field % 5 == 1) block.template_index = number;
        if (field % 5 == 2) block.words = static_cast<std::uint8_t>(value);
        if (field % 5 == 3) block.first_word = number;
        if (field % 5 == 4) block.min_bytes = number;
      });
    case 7:
      if (field >= 128) {
        return change_entry(program.profiles, index, [&](ProfileEntry& entry) {
          if (field % 4 == 0) entry.segment = number;
          if (field % 4 == 1) entry.entry = number;
          if (field % 4 == 2) entry.presence_bits = value;
          if (field % 4 == 3) entry.taken = static_cast<std::uint8_t>(value);
        });
      }
      return change_entry(program.dispatch, index, [&](DispatchEntry& entry) {
        if (field % 4 == 0) entry.table = number;
        if (field % 4 == 1) entry.id = static_cast<std::uint32_t>(value);
        if (field % 4 == 2) entry.template_index = number;
        if (field % 4 == 3) entry.entry = number;
      });
    case 8: return change_entry(program.nodes, index, [&](SchemaNode& node) { change_node(node, field, value); });
    case 9:
      return change_entry(program.templates, index, [&](Template& item) {
        if (field % 5 == 0) item.root_block = number;
        if (field % 5 == 1) item.words = number;
        if (field % 5 == 2) item.first_node = number;
        if (field % 5 == 3) item.end_node = number;
        if (field % 5 == 4) item.reset = !item.reset;
      });
    case 10:
      return change_entry(program.type_infos, index, [&](TypeInfo& info) {
        if (field % 2 == 0) info.first_element = static_cast<std::uint32_t>(value);
        if (field % 2 == 1) info.element_count = static_cast<std::uint32_t>(value);
      });
    default: program.max_record_slots = static_cast<std::uint32_t>(value % (2 * limits::kMaxRecordSlots));
  }
}

/// Programs for some maps of every segment.
void add_profiles(Program& program) {
  profile::Counts counts;
  for (const auto& [segment, begin] : profile::segment_begins(program)) {
    for (const std::uint64_t map : {std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0xFE} << 56}) {
      counts[segment].maps.push_back({map, 1});
    }
  }
  (void)profile::add_profiles(program, counts, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr unsigned kMaxChanges = 8;
  fuzz::Input input({data, size});
  Program program = fuzz::fixed_program(input.byte());
  const EngineOptions options = fuzz::engine_options(input.byte());
  const std::uint8_t choice = input.byte();
  if (choice >= 128) add_profiles(program);
  const unsigned changes = choice % 128 % (kMaxChanges + 1);
  for (unsigned i = 0; i < changes; ++i) change(program, input);
  if (!verify::check(program).ok()) return 0;
  const fuzz::Run run = fuzz::run_datagrams(program, options, fuzz::take_datagrams(input));
  encode::Encoder encoder(program, {options.reset, options.strict, options.limits});
  const record::Schema schema = record::Schema::make(program).value();
  for (const cases::Record& record : run.records) {
    const encode::Outcome outcome = encoder.encode(record);
    fuzz::require(outcome.ok() == encode::error_text(schema, outcome).empty(), "a message or an error");
  }
  return 0;
}
