#include <algorithm>
#include <array>
#include <utility>

#include "decoder/jit/emit/emitter_class.hpp"

namespace stopbit::jit {

void Emitter::find_openings() {
  // A block has several copies of its code where dictionaries of types make a difference: a word is sure if it is in
  // all of them.
  enum class Kind : std::uint8_t { None, Sure, Unsure };
  constexpr std::size_t kWords = 256;
  std::array<std::vector<std::vector<Kind>>, 2> kinds;  // of fields and exponents; of mantissas
  for (auto& of_blocks : kinds) of_blocks.assign(program_.blocks.size(), std::vector<Kind>(kWords));
  std::vector<std::vector<std::size_t>> tagged(program_.blocks.size(), std::vector<std::size_t>(kWords));
  // Groups that may be absent, by the addresses of their SKIP and of what follows them, and the one around each open
  // block.
  struct Group {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> around(program_.blocks.size());
  std::vector<std::uint16_t> roots(steps_.size(), kNoBlock);
  for (const DispatchEntry& entry : program_.dispatch) {
    roots[entry.entry] = program_.templates[entry.template_index].root_block;
  }
  for (std::size_t i = kFirstTemplate; i < general_size_; ++i) {
    const Place in = place(i);
    while (!groups.empty() && groups.back().end <= i) groups.pop_back();
    const std::size_t group = groups.empty() ? 0 : groups.back().begin;
    if (roots[i] != kNoBlock) around[roots[i]] = group;
    if (in->control == ControlOp::Block) around[in->target] = group;
    if (in->block != kNoBlock && in->word != isa::kNoWord) {
      const bool is_sure = around[in->block] == group && is_all_but_sure(in);
      std::vector<Kind>& words = kinds[isa::is_mantissa(isa::type_of(in->op)) ? 1 : 0][in->block];
      Kind& kind = words[in->word];
      kind = is_sure && kind != Kind::Unsure ? Kind::Sure : Kind::Unsure;
      if (in->place.tag != 0) tagged[in->block][in->word] = in.address;
    }
    if (in->control == ControlOp::Skip) groups.push_back({i, in->target});
  }

  openings_.clear();
  for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
    const Block& block = program_.blocks[b];
    const std::size_t base = block.kind == BlockKind::Root ? record::kHeaderWords : 0;
    Opening opening{std::vector<std::uint64_t>(record::block_slots(base, block.words)), std::vector<bool>(kWords), 0};
    for (std::size_t w = 0; w < kWords; ++w) {
      const bool is_field = kinds[0][b][w] == Kind::Sure;
      if (!is_field && kinds[1][b][w] != Kind::Sure) continue;
      opening.words[w] = true;
      if (is_field) ++opening.fields;
      if (tagged[b][w] == 0) continue;
      const Place in = place(tagged[b][w]);
      const std::size_t slot = in->place.tag_offset / record::kSlotBytes;
      const std::size_t bits = 8 * (in->place.tag_offset % record::kSlotBytes - record::kTagWord * 8);
      opening.tags[slot] |= std::uint64_t{in->place.tag} << bits;
    }
    openings_.push_back(std::move(opening));
  }
  // Those that the interpreter opens.
  for (const DispatchEntry& entry : program_.dispatch) {
    if (entry.table != 0 || entry.id < dispatch_.size()) continue;
    Opening& opening = openings_[program_.templates[entry.template_index].root_block];
    opening = {std::vector<std::uint64_t>(opening.tags.size()), std::vector<bool>(opening.words.size()), 0};
  }
}

bool Emitter::is_all_but_sure(Place in) const {
  const Type type = isa::type_of(in->op);
  const Operator op = isa::operator_of(in->op);
  if (isa::is_special(in->op) || in->word == isa::kNoWord) return false;
  if (op > Operator::Del || (op == Operator::Def && !has_initial(in))) return false;
  const bool is_mandatory = !isa::is_optional(in->op);
  if (type <= Type::S64) return is_mandatory || op == Operator::Del || op == Operator::Def;
  if (type == Type::Ascii) {
    if (options_.limits.string_bytes < kMaxInlineText) return false;
    switch (op) {
      case Operator::Non: return is_mandatory;
      case Operator::Def: return short_constant(in).has_value();
      case Operator::Cop: return is_mandatory && program_.slots[in->slot].string_capacity >= kMaxInlineText;
      default: return false;
    }
  }
  const auto is_native = [&](Place exponent) {
    const Place mantissa = place(exponent.address + 1);
    if (exponent->control > ControlOp::Block || mantissa->control == ControlOp::Block) return false;
    if (isa::type_of(exponent->op) == Type::Iexp) return true;
    const Operator both = isa::operator_of(exponent->op);
    return both == Operator::Non || both == Operator::Def || both == Operator::Cop || both == Operator::Del;
  };
  if (isa::is_exponent(type)) return is_mandatory && is_native(in);
  if (!isa::is_mantissa(type)) return false;
  const Place exponent = place(in.address - 1);
  return isa::is_exponent(isa::type_of(exponent->op)) && is_all_but_sure(exponent);
}

bool Emitter::is_in_opening(Place in) const {
  if (in->block == kNoBlock || in->word == isa::kNoWord || isa::is_special(in->op)) return false;
  if (!is_message_ && program_.blocks[in->block].kind == BlockKind::Root) return false;
  return openings_[in->block].words[in->word];
}

void Emitter::undo(Place in) {
  if (!expected_[in.address]) return;
  const Reg base = in->place.in_first_slot ? record_ : block_;
  if (in->place.tag != 0) mov(byte[base + in->place.tag_offset], 0);
  if (!isa::is_mantissa(isa::type_of(in->op))) dec(fields_.cvt32());
}

auto Emitter::when_absent(Place in, Label& absent) -> Label& {
  const bool is_sequence = in->control == ControlOp::Seq;
  if (!isa::is_optional(in->op) || (!is_sequence && !expected_[in.address])) return absent;
  Label& label = new_label();
  rare([this, in, &label, &absent, is_sequence] {
    L(label);
    undo(in);
    if (is_sequence) xor_(eax, eax);
    jmp(absent);
  });
  return label;
}

}  // namespace stopbit::jit
