#include <limits>

#include "microcode/verify/findings.hpp"

namespace stopbit::verify {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;
using isa::Type;

constexpr std::int64_t kMaxExponent = 63;

/// True if the value is one of the op's wire type, stored as 64-bit two's complement.
bool fits(Type type, std::uint64_t value) {
  const auto is_signed = static_cast<std::int64_t>(value);
  switch (type) {
    case Type::U32: return value <= std::numeric_limits<std::uint32_t>::max();
    case Type::S32:
      return is_signed >= std::numeric_limits<std::int32_t>::min() &&
             is_signed <= std::numeric_limits<std::int32_t>::max();
    case Type::Iexp:
    case Type::Dexp: return is_signed >= -kMaxExponent && is_signed <= kMaxExponent;
    default: return true;
  }
}

bool within_limit(const Constant& constant) {
  switch (constant.limit_kind) {
    case LimitKind::None: return true;
    case LimitKind::Unsigned: return constant.value <= constant.limit;
    case LimitKind::Signed: {
      const auto value = static_cast<std::int64_t>(constant.value);
      const std::int64_t bound = std::int64_t{1} << (constant.limit - 1);
      return value >= -bound && value < bound;
    }
    case LimitKind::Enum: return constant.value < constant.limit;
    case LimitKind::Set: return constant.limit >= 64 || constant.value >> constant.limit == 0;
    case LimitKind::Bits: {
      const std::uint64_t unused = (std::uint64_t{1} << isa::unused_bits(constant.limit)) - 1;
      return constant.value >> isa::group_bytes(constant.limit) * 7 == 0 && (constant.value & unused) == 0;
    }
  }
  return false;
}

bool may_limit(LimitKind kind, DataOp op) {
  const Type type = isa::type_of(op);
  if (isa::is_bit(op) && kind != LimitKind::None) {
    return type == Type::S64 ? kind == LimitKind::Signed : kind != LimitKind::Signed && kind != LimitKind::Bits;
  }
  switch (kind) {
    case LimitKind::None: return true;
    case LimitKind::Unsigned: return type == Type::U32;
    case LimitKind::Signed: return type == Type::S32;
    case LimitKind::Enum: return type == Type::U32;
    case LimitKind::Set: return type == Type::U32 || type == Type::U64;
    case LimitKind::Bits: return type == Type::Bits;
  }
  return false;
}

class OperandCheck {
 public:
  OperandCheck(const Program& program, Findings& findings)
      : program_(program), code_(program.code), findings_(findings), is_target_(program.code.size(), false) {}

  void run() {
    if (!check_start()) return;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      at_ = i;
      const isa::DataOpInfo* op = isa::info(code_[i].op);
      const isa::ControlOpInfo* control = isa::info(code_[i].control);
      if (!require(op != nullptr && control != nullptr, "instruction-unknown", "unknown instruction")) continue;
      check_slot(code_[i], *op);
      check_constant(code_[i], *op);
      check_word(code_[i]);
      check_target(code_[i], *control);
      check_control(code_[i]);
      check_hints(code_[i], *op);
    }
    if (!findings_.empty()) return;  // neighbours are only looked at if all are instructions
    for (const DispatchEntry& entry : program_.dispatch) is_target_[entry.entry] = true;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      at_ = i;
      check_neighbours(code_[i]);
      if (code_[i].pair) check_pair(code_[i]);
    }
  }

 private:
  bool require(bool holds, std::string_view rule, std::string_view message) {
    return findings_.require(holds, rule, "code", at_, message);
  }

  bool check_start() {
    const bool good = code_.size() >= 2 && code_[0].op == DataOp::Pmap && code_[0].control == ControlOp::Next &&
                      code_[1].op == DataOp::Tid && code_[1].control == ControlOp::Disp && code_[1].target == 0;
    if (!good) findings_.add("start", "code[0]", "the code must begin with PMAP and TID with DISP 0");
    return good;
  }

  void check_slot(const Instruction& in, const isa::DataOpInfo& op) {
    if (in.op == DataOp::Pmap) {
      require(in.slot <= limits::kMaxPresenceBits, "presence-bits", "the bound of presence bits exceeds the limit");
      return;
    }
    if (in.op == DataOp::Tid) {
      require(in.slot == isa::kTemplateIdSlot, "slot-of-template-id", "TID must have slot 0");
      return;
    }
    if (isa::is_bit(in.op)) {
      const isa::BitField field = isa::BitField::of(in.slot);
      require(field.width > 0 && field.position + field.width <= isa::kMaxGroupBits, "bit-field",
              "this field is not possible in a bit group");
      return;
    }
    if (!op.uses_slot) {
      require(in.slot == 0, "slot-unused", "the instruction uses no slot; the column must be 0");
      return;
    }
    if (!require(in.slot < program_.slots.size(), "slot-outside-table", "no such slot")) return;
    require(in.slot != isa::kTemplateIdSlot, "slot-of-template-id", "slot 0 belongs to the template identifier");
    if (isa::is_string(op.type)) {
      require(program_.slots[in.slot].string_capacity > 0, "slot-without-capacity", "the slot holds no strings");
    }
  }

  void check_constant(const Instruction& in, const isa::DataOpInfo& op) {
    if (in.op == DataOp::Pmap) {
      require(in.constant < limits::kMaxSegments, "segment-number", "the segment number exceeds the limit");
      return;
    }
    if (op.constant == isa::ConstantUse::Never) {
      require(in.constant == isa::kNoConstant, "constant-unused",
              "the instruction uses no constant; the column must be 0");
      return;
    }
    if (isa::is_bits(in.op)) {
      const bool sized =
          in.constant < program_.constants.size() && program_.constants[in.constant].limit_kind == LimitKind::Bits;
      if (!require(sized, "bits-limit", "a bit group needs the number of its bits")) return;
    }
    if (in.constant == isa::kNoConstant) {
      require(op.constant != isa::ConstantUse::Value, "constant-missing", "the instruction needs a value");
      return;
    }
    if (!require(in.constant < program_.constants.size(), "constant-outside-table", "no such constant")) return;
    const Constant& constant = program_.constants[in.constant];
    require(may_limit(constant.limit_kind, in.op), "constant-limit-type", "the limit does not apply to the type");
    if (constant.kind == ValueKind::None) {
      require(op.constant != isa::ConstantUse::Value, "constant-missing", "the instruction needs a value");
      return;
    }
    require(op.constant != isa::ConstantUse::LimitOnly, "constant-value-unused",
            "the instruction can only have a "
            "limit");
    if (isa::is_string(op.type)) {
      if (!require(constant.kind == ValueKind::Bytes, "constant-wrong-kind", "the value is not a string")) return;
      const bool kept = op.uses_slot && in.slot < program_.slots.size();
      const std::size_t room = kept ? program_.slots[in.slot].string_capacity : limits::kMaxStringBytes;
      require(constant.bytes().length <= room, "constant-too-long",
              "the value is longer than its slot or a record allows");
      return;
    }
    if (!require(constant.kind == ValueKind::Integer, "constant-wrong-kind", "the value is not an integer")) return;
    require(fits(op.type, constant.value) && within_limit(constant), "constant-out-of-range",
            "the value does not fit the type or its limit");
  }

  void check_word(const Instruction& in) {
    if (in.op == DataOp::Nop) {
      require(in.word == isa::kNoWord || in.control == ControlOp::Skip, "word-unused", "NOP has a word only with SKIP");
    } else if (isa::is_special(in.op)) {
      require(in.word == isa::kNoWord, "word-unused", "the instruction stores nothing");
    } else {
      require(in.word != isa::kNoWord, "word-missing", "the value needs a word");
    }
  }

  void check_target(const Instruction& in, const isa::ControlOpInfo& control) {
    switch (control.target) {
      case isa::TargetUse::None:
        require(in.target == 0, "target-unused", "the control-op has no target; the column must be 0");
        return;
      case isa::TargetUse::Block:
        require(in.target < program_.blocks.size(), "target-outside-blocks", "no such block");
        return;
      case isa::TargetUse::Table: {
        const std::size_t tables = program_.dispatch.empty() ? 0 : program_.dispatch.back().table + std::size_t{1};
        require(in.target < tables, "target-outside-tables", "no such dispatch table");
        return;
      }
      case isa::TargetUse::Address: break;
    }
    if (!require(in.target < code_.size(), "target-outside-code", "the target is beyond the end of the code")) return;
    if (in.control == ControlOp::Lend || in.control == ControlOp::Join) {
      require(in.target < at_, "target-not-backward",
              "LEND must jump back to the first instruction of the element, JOIN to the general program");
    } else {
      require(in.target > at_, "target-not-forward", "only LEND and JOIN may jump back");
      is_target_[in.target] = true;
    }
  }

  /// Checks which control-op is next to which data-op.
  void check_control(const Instruction& in) {
    const bool tid = in.op == DataOp::Tid;
    const bool calls = in.control == ControlOp::Disp || in.control == ControlOp::Call;
    require(tid == calls, "tid-control", "TID must have DISP or CALL, and only TID may have them");
    require(in.control != ControlOp::Disp || at_ == 1, "disp-not-at-start", "DISP is allowed at address 1 only");
    if (in.control == ControlOp::Seq) {
      require(!isa::is_special(in.op) && isa::type_of(in.op) == Type::U32, "seq-length",
              "a sequence length must be a uInt32");
    }
    require(in.op != DataOp::ConU32Man || in.control == ControlOp::Seq, "constant-length",
            "CON_U32_MAN is allowed for the constant length of a sequence only");
    if (!isa::is_special(in.op) && isa::is_exponent(isa::type_of(in.op))) {
      require(in.control == ControlOp::Next || in.control == ControlOp::Block, "decimal-control",
              "nothing may happen between exponent and mantissa");
    }
    if (isa::is_bits(in.op)) {
      require(in.control == ControlOp::Next || in.control == ControlOp::Block, "bits-control",
              "nothing may happen between a bit group and its fields");
    }
    if (isa::is_bit(in.op)) {
      require(in.control != ControlOp::Block, "bits-control", "nothing may happen between a bit group and its fields");
    }
    if (!isa::is_special(in.op) && isa::is_mantissa(isa::type_of(in.op))) {
      require(in.control != ControlOp::Block, "decimal-control", "nothing may happen between exponent and mantissa");
    }
  }

  void check_hints(const Instruction& in, const isa::DataOpInfo& op) {
    const bool witness = in.op == DataOp::Nop && in.word != isa::kNoWord && in.control == ControlOp::Skip;
    const bool may_know = op.bit != isa::BitUse::None || (witness && in.known == isa::KnownBit::Set);
    require(in.known == isa::KnownBit::No || (may_know && in.known <= isa::KnownBit::Set), "known-bit",
            "the instruction takes no presence bit that could be known");
    const bool branches = op.bit != isa::BitUse::None && in.known == isa::KnownBit::No;
    require(!in.predicate || branches, "predicate-bit", "the instruction takes no presence bit from the map");
  }

  void check_neighbours(const Instruction& in) {
    const Instruction* before = at_ == 0 ? nullptr : &code_[at_ - 1];
    const Instruction* after = at_ + 1 == code_.size() ? nullptr : &code_[at_ + 1];
    if (in.op == DataOp::Tid) {
      require(before != nullptr && before->op == DataOp::Pmap &&
                  (before->control == ControlOp::Next || before->control == ControlOp::Block),
              "tid-without-pmap", "TID must follow PMAP");
      require(!is_target_[at_], "jump-to-tid", "a jump leads between PMAP and TID");
    }
    check_bits(in, before, after);
    if (isa::is_special(in.op)) return;
    const Type type = isa::type_of(in.op);
    if (isa::is_exponent(type)) {
      const Type wanted = type == Type::Dexp ? Type::Dman : Type::Iman;
      require(after != nullptr && !isa::is_special(after->op) && isa::type_of(after->op) == wanted,
              "exponent-without-mantissa", "the mantissa must follow its exponent");
    }
    if (!isa::is_mantissa(type)) return;
    const Type wanted = type == Type::Dman ? Type::Dexp : Type::Iexp;
    if (!require(before != nullptr && !isa::is_special(before->op) && isa::type_of(before->op) == wanted,
                 "mantissa-without-exponent", "the mantissa must follow its exponent")) {
      return;
    }
    require(!is_target_[at_], "jump-into-decimal", "a jump leads between exponent and mantissa");
    require(in.word == before->word + 1, "decimal-word", "the mantissa's word must be the one after its exponent's");
    if (type == Type::Dman) {
      require(isa::operator_of(in.op) == isa::operator_of(before->op), "decimal-operator",
              "exponent and mantissa of a whole decimal must have the same operator");
    }
  }

  /// A bit group and its fields are contiguous.
  void check_bits(const Instruction& in, const Instruction* before, const Instruction* after) {
    if (isa::is_bits(in.op)) {
      group_bits_ = program_.constants[in.constant].limit;
      if (require(after != nullptr && isa::is_bit(after->op), "bits-without-field", "the fields must follow")) {
        require(in.word == after->word, "bits-word", "the word of a bit group must be that of its first field");
      }
      return;
    }
    if (!isa::is_bit(in.op)) return;
    const bool follows = before != nullptr && (isa::is_bits(before->op) || isa::is_bit(before->op));
    if (!require(follows, "bit-without-group", "BIT must follow a bit group or another BIT")) return;
    require(!is_target_[at_], "jump-into-bits", "a jump leads between a bit group and its fields");
    require(isa::is_bits(before->op) || before->control == ControlOp::Next, "bits-control",
            "nothing may happen between a bit group and its fields");
    const isa::BitField field = isa::BitField::of(in.slot);
    require(static_cast<unsigned>(field.position) + field.width <= group_bits_, "bit-field",
            "the field reaches outside its bit group");
  }

  void check_pair(const Instruction& in) {
    require(in.control == ControlOp::Next, "pair-control", "the first of a pair must have no control-op");
    if (!require(at_ + 1 < code_.size(), "pair-end", "the last instruction cannot begin a pair")) return;
    const Instruction& next = code_[at_ + 1];
    require(!next.pair, "pair-chain", "the second of a pair must not begin another");
    const auto single = [](const Instruction& instruction) {
      return !isa::is_special(instruction.op) && !isa::is_string(isa::type_of(instruction.op)) &&
             !isa::is_bits(instruction.op) && !isa::is_bit(instruction.op);
    };
    if (!require(single(in) && single(next), "pair-op", "only integers and decimals can be paired")) return;
    const bool both = isa::info(in.op)->uses_slot && isa::info(next.op)->uses_slot;
    require(!both || (in.slot & 1) != (next.slot & 1), "pair-slot", "the slots of a pair must differ in parity");
  }

  const Program& program_;
  const std::vector<Instruction>& code_;
  Findings& findings_;
  std::vector<bool> is_target_;
  std::size_t at_ = 0;
  unsigned group_bits_ = 0;  ///< Of the bit group last met.
};

}  // namespace

void check_operands(const Program& program, Findings& findings) {
  OperandCheck(program, findings).run();
}

}  // namespace stopbit::verify
