#include "microcode/profile/straight_line.hpp"

#include <set>

namespace stopbit::profile {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;
using isa::KnownBit;
using isa::Operator;

class Follower {
 public:
  Follower(const Program& program, std::uint64_t map, std::size_t address, std::size_t most)
      : program_(program), map_(map), address_(address), most_(most) {}

  std::optional<StraightLine> run(std::size_t begin) {
    std::size_t tail = 0;  // after the end, executed once and not per element
    for (std::size_t at = begin; out_.code.size() <= most_;) {
      if (ends_before(at)) {
        attach(ControlOp::Join, at);
        break;
      }
      const Instruction& in = program_.code[at];
      ++out_.general;
      take(in);
      if (in.control == ControlOp::End) {
        attach(ControlOp::End, 0);
        break;
      }
      if (in.control == ControlOp::Lend) {
        attach(ControlOp::Lend, in.target);
        out_.code.push_back(nop(ControlOp::Join, at + 1));
        tail = 1;
        break;
      }
      at = in.control == ControlOp::Skip ? skip(in, at) : at + 1;
    }
    out_.steps = static_cast<std::uint32_t>(out_.code.size() - tail);
    const bool is_better = out_.steps < out_.general || (out_.steps == out_.general && out_.taken > 0);
    if (out_.code.size() > most_ || !is_better) return std::nullopt;
    pair();
    return std::move(out_);
  }

 private:
  /// Whether an exponent is present, as far as the map says.
  enum class Exponent : std::uint8_t { Present, Absent, Unknown };

  [[nodiscard]] std::size_t here() const { return address_ + out_.code.size(); }

  static Instruction nop(ControlOp control, std::size_t target) {
    Instruction in;
    in.control = control;
    in.target = static_cast<std::uint16_t>(target);
    return in;
  }

  [[nodiscard]] bool peek(unsigned behind) const { return (map_ << (out_.taken + behind) >> 63) != 0; }
  bool take_bit() {
    const bool bit = peek(0);
    ++out_.taken;
    return bit;
  }

  [[nodiscard]] bool has_initial(const Instruction& in) const {
    return program_.constants[in.constant].kind != ValueKind::None;
  }

  /// Whether the instruction does nothing if its bit is clear.
  [[nodiscard]] bool is_idle_if_clear(const Instruction& in) const {
    if (isa::is_special(in.op) || !isa::is_optional(in.op)) return false;
    const Operator op = isa::operator_of(in.op);
    return op == Operator::Con || (op == Operator::Def && !has_initial(in));
  }

  /// Before its bit is taken.
  [[nodiscard]] Exponent exponent(const Instruction& in) const {
    if (!isa::is_optional(in.op)) return Exponent::Present;
    const bool has_bit = isa::info(in.op)->bit != isa::BitUse::None;
    const bool bit = has_bit && peek(0);
    switch (isa::operator_of(in.op)) {
      case Operator::Con: return bit ? Exponent::Present : Exponent::Absent;
      case Operator::Def: return bit ? Exponent::Unknown : has_initial(in) ? Exponent::Present : Exponent::Absent;
      default: return Exponent::Unknown;
    }
  }

  /// Bits the instruction takes, including those of the mantissa after an exponent and of a bit group's fields.
  [[nodiscard]] unsigned bits_of(std::size_t at) const {
    const Instruction& in = program_.code[at];
    unsigned bits = in.control == ControlOp::Skip ? 1 : 0;
    if (isa::info(in.op)->bit != isa::BitUse::None) ++bits;
    if (!isa::is_special(in.op) && isa::is_exponent(isa::type_of(in.op))) bits += bits_of(at + 1);
    if (isa::is_bits(in.op)) bits += bits_of(last_field(at));
    return bits;
  }

  /// Last field of the bit group that begins at the address. Only after it may a control-op act.
  [[nodiscard]] std::size_t last_field(std::size_t at) const {
    std::size_t last = at + 1;
    while (program_.code[last].control == ControlOp::Next && last + 1 < program_.code.size() &&
           isa::is_bit(program_.code[last + 1].op)) {
      ++last;
    }
    return last;
  }

  [[nodiscard]] bool ends_before(std::size_t at) const {
    const Instruction& in = program_.code[at];
    if (in.op == DataOp::Pmap || in.control == ControlOp::Seq || in.control == ControlOp::Pop) return true;
    if (in.op == DataOp::Nop && in.control == ControlOp::Skip && peek(0) && program_.code[at + 1].op == DataOp::Pmap) {
      return true;  // the group has a map of its own: nothing is left to do but what the general program does as well
    }
    const bool is_exponent = !isa::is_special(in.op) && isa::is_exponent(isa::type_of(in.op));
    if (is_exponent) {
      const Instruction& mantissa = program_.code[at + 1];
      if (mantissa.control == ControlOp::Pop) return true;
      const bool may_take = isa::info(mantissa.op)->bit == isa::BitUse::IfExponent;
      if (may_take && exponent(in) == Exponent::Unknown) return true;
    }
    if (isa::is_bits(in.op)) {  // the end of a group must not come between the fields of a bit group
      if (program_.code[last_field(at)].control == ControlOp::Pop) return true;
    }
    return out_.taken + bits_of(at) > ProfileEntry::kMaxBits;
  }

  /// The data-op, and the block that is opened before it.
  void take(const Instruction& in) {
    Instruction made = in;
    if (in.control != ControlOp::Block) made.control = ControlOp::Next;
    if (in.control != ControlOp::Block) made.target = 0;
    made.pair = false;
    made.predicate = false;

    if (isa::is_special(in.op)) {
      const bool does_something = in.control == ControlOp::Block || in.control == ControlOp::Next;
      if (does_something) out_.code.push_back(made);
      return;
    }
    const bool follows_absent = isa::is_mantissa(isa::type_of(in.op)) && exponent_ == Exponent::Absent;
    if (isa::is_exponent(isa::type_of(in.op))) exponent_ = exponent(in);
    bool is_idle = follows_absent;
    if (!follows_absent && isa::info(in.op)->bit != isa::BitUse::None) {
      const bool bit = take_bit();
      made.known = bit ? KnownBit::Set : KnownBit::Clear;
      is_idle = !bit && is_idle_if_clear(in);
    }
    if (!is_idle) {
      out_.code.push_back(made);
    } else if (in.control == ControlOp::Block) {
      out_.code.push_back(nop(ControlOp::Block, in.target));
    }
  }

  /// @returns the address that comes next.
  std::size_t skip(const Instruction& in, std::size_t at) {
    if (!take_bit()) return in.target;
    if (in.op == DataOp::Nop && in.word != isa::kNoWord) {
      Instruction witness = nop(ControlOp::Skip, here() + 1);
      witness.word = in.word;
      witness.known = KnownBit::Set;
      out_.code.push_back(witness);
    }
    return at + 1;
  }

  /// Puts the control-op into the last instruction, or into a NOP.
  void attach(ControlOp control, std::size_t target) {
    if (out_.code.empty() || out_.code.back().control != ControlOp::Next) {
      out_.code.push_back(nop(control, target));
      return;
    }
    out_.code.back().control = control;
    out_.code.back().target = static_cast<std::uint16_t>(target);
  }

  void pair() {
    std::vector<Instruction>& code = out_.code;
    for (std::size_t i = 0; i + 1 < code.size(); ++i) {
      code[i].pair = (i == 0 || !code[i - 1].pair) && isa::may_pair(code[i], code[i + 1]);
    }
  }

  const Program& program_;
  const std::uint64_t map_;
  const std::size_t address_;
  const std::size_t most_;
  StraightLine out_;
  Exponent exponent_ = Exponent::Unknown;  ///< The last one met.
};

/// A map followed by its segment, without an identifier.
bool may_have_profiles(const Program& program, std::size_t pmap) {
  const Instruction& in = program.code[pmap];
  const bool goes_on = in.control == ControlOp::Next || in.control == ControlOp::Block;
  return goes_on && program.code[pmap + 1].op != DataOp::Tid;
}

}  // namespace

std::optional<StraightLine> straight_line(const Program& program, std::size_t begin, std::uint64_t map,
                                          std::size_t address, std::size_t most) {
  return Follower(program, map, address, most).run(begin);
}

std::map<std::uint16_t, std::size_t> segment_begins(const Program& program) {
  std::map<std::uint16_t, std::size_t> begins;
  std::set<std::uint16_t> refused;
  for (std::size_t at = 0, size = general_size(program); at < size; ++at) {
    const Instruction& in = program.code[at];
    if (in.op != DataOp::Pmap) continue;
    const bool is_new = begins.emplace(in.constant, at + 1).second;
    if (!is_new || !may_have_profiles(program, at)) refused.insert(in.constant);
  }
  for (const std::uint16_t segment : refused) begins.erase(segment);
  for (const DispatchEntry& entry : program.dispatch) {
    if (entry.table == 0) begins.emplace(ProfileEntry::kBody | entry.template_index, entry.entry);
  }
  return begins;
}

}  // namespace stopbit::profile
