#include "decoder/engine/steps.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::engine {

std::vector<Step> make_steps(const Program& program, std::size_t root_base) {
  std::vector<std::uint16_t> roots(program.code.size(), kNoBlock);
  for (const DispatchEntry& entry : program.dispatch) {
    roots[entry.entry] = program.templates[entry.template_index].root_block;
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
    Step step{in.op, in.control, in.word, {}, in.slot, in.target, nullptr};
    if (in.op != isa::DataOp::Pmap) step.constant = &program.constants[in.constant];
    if (in.word != isa::kNoWord) {
      const Block& block = program.blocks[open];
      step.place = record::WordPlace::of(block, block.kind == BlockKind::Root ? root_base : 0, in.word);
    }
    out.push_back(step);
  }
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
