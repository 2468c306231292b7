#include "microcode/isa/isa.hpp"

#include <array>
#include <utility>

namespace stopbit::isa {
namespace {

constexpr DataOpInfo kDataOps[] = {
#define STOPBIT_DATA_OP(enumerator, mnemonic, op, type, presence, bit, constant, slot, window, dr, dw, sr, sw, wait, \
                        cycles, meaning)                                                                             \
  {DataOp::enumerator,                                                                                               \
   mnemonic,                                                                                                         \
   Operator::op,                                                                                                     \
   Type::type,                                                                                                       \
   Presence::presence,                                                                                               \
   BitUse::bit,                                                                                                      \
   ConstantUse::constant,                                                                                            \
   slot,                                                                                                             \
   window,                                                                                                           \
   dr,                                                                                                               \
   dw,                                                                                                               \
   sr,                                                                                                               \
   sw,                                                                                                               \
   Wait::wait,                                                                                                       \
   cycles,                                                                                                           \
   meaning},
#define STOPBIT_SPECIAL_OP(enumerator, mnemonic, code, window, wait, cycles, meaning) \
  {DataOp::enumerator,                                                                \
   mnemonic,                                                                          \
   Operator::Special,                                                                 \
   Type::U32,                                                                         \
   Presence::Man,                                                                     \
   BitUse::None,                                                                      \
   ConstantUse::Never,                                                                \
   false,                                                                             \
   window,                                                                            \
   0,                                                                                 \
   0,                                                                                 \
   0,                                                                                 \
   0,                                                                                 \
   Wait::wait,                                                                        \
   cycles,                                                                            \
   meaning},
#include "microcode/isa/opcodes.def"
};

constexpr ControlOpInfo kControlOps[] = {
#define STOPBIT_CONTROL_OP(enumerator, mnemonic, value, target, cycles, meaning) \
  {ControlOp::enumerator, mnemonic, TargetUse::target, cycles, meaning},
#include "microcode/isa/opcodes.def"
};

/// Position in kDataOps by opcode, plus one; 0 = no such instruction.
constexpr auto kDataOpIndex = [] {
  std::array<std::uint8_t, 256> index{};
  for (std::size_t i = 0; i < std::size(kDataOps); ++i) {
    index[static_cast<std::size_t>(kDataOps[i].op)] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}();
static_assert(std::size(kDataOps) < 255);

}  // namespace

const DataOpInfo* info(DataOp op) noexcept {
  const std::uint8_t index = kDataOpIndex[static_cast<std::size_t>(op)];
  return index == 0 ? nullptr : &kDataOps[index - 1];
}

const ControlOpInfo* info(ControlOp op) noexcept {
  const auto index = static_cast<std::size_t>(op);
  return index < std::size(kControlOps) ? &kControlOps[index] : nullptr;
}

std::optional<DataOp> data_op_from_mnemonic(std::string_view mnemonic) noexcept {
  for (const DataOpInfo& row : kDataOps) {
    if (row.mnemonic == mnemonic) return row.op;
  }
  return std::nullopt;
}

std::optional<ControlOp> control_op_from_mnemonic(std::string_view mnemonic) noexcept {
  for (const ControlOpInfo& row : kControlOps) {
    if (row.mnemonic == mnemonic) return row.op;
  }
  return std::nullopt;
}

bool may_pair(const Instruction& first, const Instruction& second) noexcept {
  const auto is_single_cycle = [](const Instruction& in) {
    return !is_special(in.op) && !is_string(type_of(in.op)) && !is_bits(in.op) && !is_bit(in.op);
  };
  if (!is_single_cycle(first) || !is_single_cycle(second)) return false;
  if (first.control != ControlOp::Next || second.control == ControlOp::Block) return false;
  const bool both = info(first.op)->uses_slot && info(second.op)->uses_slot;
  return !both || (first.slot + second.slot) % 2 == 1;
}

std::uint64_t encode(const Instruction& in) noexcept {
  return static_cast<std::uint64_t>(in.op) | static_cast<std::uint64_t>(in.word) << 8 |
         static_cast<std::uint64_t>(in.slot & 0xFFFU) << 16 | static_cast<std::uint64_t>(in.constant & 0xFFFU) << 28 |
         static_cast<std::uint64_t>(static_cast<unsigned>(in.control) & 0xFU) << 40 |
         static_cast<std::uint64_t>(in.target & 0x3FFFU) << 44 | static_cast<std::uint64_t>(in.pair) << 58 |
         static_cast<std::uint64_t>(static_cast<unsigned>(in.known) & 3U) << 59 |
         static_cast<std::uint64_t>(in.predicate) << 61;
}

std::optional<Instruction> decode(std::uint64_t word) noexcept {
  const auto op = static_cast<DataOp>(word & 0xFF);
  const auto control = static_cast<ControlOp>(word >> 40 & 0xF);
  const auto known = static_cast<KnownBit>(word >> 59 & 3);
  if (info(op) == nullptr || info(control) == nullptr || known > KnownBit::Set || word >> 62 != 0) return std::nullopt;
  Instruction out;
  out.op = op;
  out.word = static_cast<std::uint8_t>(word >> 8);
  out.slot = static_cast<std::uint16_t>(word >> 16 & 0xFFF);
  out.constant = static_cast<std::uint16_t>(word >> 28 & 0xFFF);
  out.control = control;
  out.target = static_cast<std::uint16_t>(word >> 44 & 0x3FFF);
  out.pair = (word >> 58 & 1) != 0;
  out.known = known;
  out.predicate = (word >> 61 & 1) != 0;
  return out;
}

std::uint64_t capability(DataOp op, ControlOp control) noexcept {
  if (control == ControlOp::Call) return static_cast<std::uint64_t>(Capability::References);
  if (is_special(op)) return 0;
  if (is_bits(op) || is_bit(op)) return static_cast<std::uint64_t>(Capability::BitGroups);
  const Type type = type_of(op);
  if (!is_string(type)) {
    const bool decimal = is_exponent(type) || is_mantissa(type);
    return static_cast<std::uint64_t>(decimal ? Capability::Decimals : Capability::Integers);
  }
  switch (operator_of(op)) {
    case Operator::Del: return static_cast<std::uint64_t>(Capability::StringDeltas);
    case Operator::Tai: return static_cast<std::uint64_t>(Capability::StringTails);
    case Operator::Cop:
      return static_cast<std::uint64_t>(type == Type::Ascii ? Capability::StringCopies : Capability::VectorCopies);
    default: return static_cast<std::uint64_t>(type == Type::Ascii ? Capability::Strings : Capability::Vectors);
  }
}

std::string_view capability_name(std::uint64_t bit) noexcept {
  constexpr std::pair<Capability, std::string_view> kNames[] = {
#define STOPBIT_CAPABILITY(enumerator, bit, name, what) {Capability::enumerator, name},
#include "microcode/isa/capabilities.def"
  };
  for (const auto& [capability, name] : kNames) {
    if (static_cast<std::uint64_t>(capability) == bit) return name;
  }
  return {};
}

}  // namespace stopbit::isa
