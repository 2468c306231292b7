#include "decoder/engine/steps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "decoder/record/builder.hpp"

namespace stopbit::engine {

namespace {

void add_constant(const Program& program, const isa::Instruction& in, Step& step) {
  const Constant& constant = program.constants[in.constant];
  step.constant = &constant;
  step.is_limited = constant.limit_kind != LimitKind::None;
  if (constant.kind == ValueKind::Integer) {
    step.initial_word = constant.value;
    step.has_initial_word = true;
  } else if (constant.kind == ValueKind::Bytes) {
    const std::optional<std::uint64_t> word = record::word_of(program.constant_bytes(constant.bytes()));
    step.initial_word = word.value_or(0);
    step.has_initial_word = word.has_value();
  }
}

/// All jumps but those to the begin of a loop go forward, so one pass is enough.
class Depths {
 public:
  explicit Depths(std::vector<Step>& steps) : steps_(steps), is_known_(steps.size() + 1) {}

  /// In time that grows with the program alone, whatever the number of its profiles: anyone may have written them.
  void find(const Program& program) {
    const std::size_t size = general_size(program);
    std::map<std::uint16_t, Depth> in_segment;
    lead(0, {});
    for (const DispatchEntry& entry : program.dispatch) lead(entry.entry, {.maps = 1});
    for (std::size_t at = 0; at < size; ++at) {
      if (is_known_[at]) pass(at);
      if (steps_[at].op == isa::DataOp::Pmap) in_segment[program.code[at].constant] = inside(steps_[at].depth);
    }
    for (const ProfileEntry& entry : program.profiles) {
      const auto at = entry.segment < ProfileEntry::kBody ? in_segment.find(entry.segment) : in_segment.end();
      lead(entry.entry, at == in_segment.end() ? Depth{.maps = 1} : at->second);
    }
    for (std::size_t at = size; at < steps_.size(); ++at) lead(at + 1, steps_[at].depth);
  }

 private:
  void lead(std::size_t address, Depth depth) {
    if (is_known_[address]) return;
    is_known_[address] = true;
    if (address < steps_.size()) steps_[address].depth = depth;
  }

  void pass(std::size_t at) {
    const Step& in = steps_[at];
    Depth after = in.depth;
    if (in.op == isa::DataOp::Pmap) ++after.maps;
    switch (in.control) {
      case isa::ControlOp::Seq:
        lead(in.target, after);
        ++after.loops;
        break;
      case isa::ControlOp::Lend:
        after = steps_[in.target].depth;
        --after.loops;
        break;
      case isa::ControlOp::Skip: lead(in.target, after); break;
      case isa::ControlOp::Pop:
      case isa::ControlOp::Call: --after.maps; break;
      case isa::ControlOp::End:
      case isa::ControlOp::Disp: return;
      default: break;
    }
    lead(at + 1, after);
  }

  /// In the profile programs of a map, which have neither maps nor loops of their own.
  [[nodiscard]] static Depth inside(Depth depth) {
    ++depth.maps;
    return depth;
  }

  std::vector<Step>& steps_;
  std::vector<bool> is_known_;
};

}  // namespace

std::vector<Step> make_steps(const Program& program, std::size_t root_base, const Profiles& profiles) {
  std::vector<std::uint16_t> roots(program.code.size(), kNoBlock);
  for (const DispatchEntry& entry : program.dispatch) {
    roots[entry.entry] = program.templates[entry.template_index].root_block;
  }
  std::multimap<std::uint16_t, std::uint16_t> entries;  // of profile programs, by segment
  for (const ProfileEntry& profile : program.profiles) {
    entries.emplace(profile.segment, profile.entry);
    if (profile.segment < ProfileEntry::kBody) continue;
    roots[profile.entry] = program.templates[profile.segment - ProfileEntry::kBody].root_block;
  }
  std::vector<Step> out;
  out.reserve(program.code.size());
  // The open block of an instruction is known: the last one that was opened before it in the order of addresses. The
  // verifier has shown that the other ways to an instruction with a word have the same block open.
  std::uint16_t open = kNoBlock;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const isa::Instruction& in = program.code[i];
    if (roots[i] != kNoBlock) open = roots[i];
    if (in.control == isa::ControlOp::Block) open = in.target;
    Step step{in.op, in.control, in.word, in.known, {}, in.slot, in.target, open, {}};
    if (in.op == isa::DataOp::Pmap) {
      if (profiles.has(in.constant)) step.profiles = static_cast<std::uint16_t>(in.constant + 1);
      const auto [first, last] = entries.equal_range(in.constant);
      for (auto entry = first; entry != last; ++entry) roots[entry->second] = open;
    } else {
      add_constant(program, in, step);
    }
    if (in.control == isa::ControlOp::Block) {
      step.block_slots = static_cast<std::uint8_t>(record::block_slots(0, program.blocks[in.target].words));
    }
    if (in.word != isa::kNoWord) {
      const Block& block = program.blocks[open];
      step.place = record::WordPlace::of(block, block.kind == BlockKind::Root ? root_base : 0, in.word);
    }
    out.push_back(step);
  }
  Depths(out).find(program);
  return out;
}

const DispatchEntry* find_dispatch(const Program& program, std::uint16_t table, std::uint32_t id) noexcept {
  const auto at = std::lower_bound(program.dispatch.begin(), program.dispatch.end(), std::pair(table, id),
                                   [](const DispatchEntry& entry, const std::pair<std::uint16_t, std::uint32_t>& key) {
                                     return std::pair(entry.table, entry.id) < key;
                                   });
  return at != program.dispatch.end() && at->table == table && at->id == id ? &*at : nullptr;
}

}  // namespace stopbit::engine
