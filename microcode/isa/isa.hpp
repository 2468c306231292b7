#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// The instruction set of the decode engine: 64-bit words, each a data-op that takes one field and a control-op.
/// The list is opcodes.def; the page made from it is isa.md.
namespace stopbit::isa {

enum class Operator : std::uint8_t {
  Non = 0,
  Con = 1,
  Def = 2,
  Cop = 3,
  Inc = 4,
  Del = 5,
  Tai = 6,
  Bit = 7,        ///< Takes a field out of a bit group. Types U64 and S64 only.
  Special = Bit,  ///< The codes of the types below U64: NOP, PMAP, TID.
};

/// Type of the entity that an instruction takes. The meaning of a value to a reader (enumeration, set, boolean, time)
/// is schema.
enum class Type : std::uint8_t {
  U32 = 0,
  S32 = 1,
  U64 = 2,
  S64 = 3,
  Iexp = 4,  ///< Exponent (int32) of a decimal whose exponent and mantissa have operators of their own.
  Iman = 5,  ///< Its mantissa (int64); acts only if the exponent is present.
  Dexp = 6,  ///< Exponent of a decimal with one operator or none.
  Dman = 7,  ///< Its mantissa; takes no presence bit, follows the exponent in everything.
  Ascii = 8,
  Uni = 9,
  Bytes = 10,
  Bits = 11,  ///< A bit group: one entity of which BIT instructions take the fields.
};

enum class Presence : std::uint8_t { Man = 0, Opt = 1 };

/// How an instruction takes a bit from the presence map.
enum class BitUse : std::uint8_t { None, Own, IfExponent };

/// Allowed content of the constant column.
enum class ConstantUse : std::uint8_t { Never, LimitOnly, Initial, Value };

/// Reason for which the next instruction waits in hardware.
enum class Wait : std::uint8_t {
  Nothing,
  ExponentState,
  StringLength,
  StringCopy,
  VectorLength,
  PresenceMap,
  Dispatch
};

constexpr std::uint8_t encode_op(Operator op, Type type, Presence presence) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(op) << 5 | static_cast<unsigned>(type) << 1 |
                                   static_cast<unsigned>(presence));
}

/// Operator in bits 7..5, type in 4..1, presence in 0. Special ops have operator 7 and their code, below 4, in
/// bits 4..0.
enum class DataOp : std::uint8_t {
#define STOPBIT_DATA_OP(enumerator, mnemonic, op, type, presence, ...) \
  enumerator = encode_op(Operator::op, Type::type, Presence::presence),
#define STOPBIT_SPECIAL_OP(enumerator, mnemonic, code, ...) enumerator = 7U << 5 | (code),
#include "microcode/isa/opcodes.def"
};

enum class ControlOp : std::uint8_t {
#define STOPBIT_CONTROL_OP(enumerator, mnemonic, value, ...) enumerator = (value),
#include "microcode/isa/opcodes.def"
};

enum class TargetUse : std::uint8_t { None, Address, Block, Table };

/// Whether the presence bit that an instruction takes is known before the map is read.
enum class KnownBit : std::uint8_t {
  No = 0,  ///< It is taken from the map.
  Clear = 1,
  Set = 2,
};

/// A row of the list, as the tools need it.
struct DataOpInfo {
  DataOp op;
  std::string_view mnemonic;
  Operator op_class;
  Type type;          ///< Meaningless for special ops.
  Presence presence;  ///< Meaningless for special ops.
  BitUse bit;
  ConstantUse constant;
  bool uses_slot;
  std::uint8_t window_bytes;
  std::uint8_t dictionary_reads;
  std::uint8_t dictionary_writes;
  std::uint8_t string_reads;
  std::uint8_t string_writes;
  Wait wait;
  std::string_view cycles;
  std::string_view meaning;
};

struct ControlOpInfo {
  ControlOp op;
  std::string_view mnemonic;
  TargetUse target;
  std::string_view cycles;
  std::string_view meaning;
};

/// Null if `code` is not an instruction.
[[nodiscard]] const DataOpInfo* info(DataOp op) noexcept;
[[nodiscard]] const ControlOpInfo* info(ControlOp op) noexcept;
[[nodiscard]] std::optional<DataOp> data_op_from_mnemonic(std::string_view mnemonic) noexcept;
[[nodiscard]] std::optional<ControlOp> control_op_from_mnemonic(std::string_view mnemonic) noexcept;

constexpr Operator operator_of(DataOp op) {
  return static_cast<Operator>(static_cast<unsigned>(op) >> 5);
}
constexpr Type type_of(DataOp op) {
  return static_cast<Type>(static_cast<unsigned>(op) >> 1 & 0xF);
}
constexpr bool is_optional(DataOp op) {
  return (static_cast<unsigned>(op) & 1) != 0;
}
constexpr bool is_special(DataOp op) {
  return operator_of(op) == Operator::Special && type_of(op) < Type::U64;
}
constexpr bool is_string(Type type) {
  return type >= Type::Ascii && type <= Type::Bytes;
}
constexpr bool is_exponent(Type type) {
  return type == Type::Iexp || type == Type::Dexp;
}
constexpr bool is_mantissa(Type type) {
  return type == Type::Iman || type == Type::Dman;
}

/// Takes the entity of a bit group.
constexpr bool is_bits(DataOp op) {
  return !is_special(op) && type_of(op) == Type::Bits;
}
/// Takes a field out of the bit group before.
constexpr bool is_bit(DataOp op) {
  return operator_of(op) == Operator::Bit && !is_special(op);
}

inline constexpr std::uint8_t kNoWord = 255;         ///< The instruction stores nothing.
inline constexpr std::uint16_t kNoConstant = 0;      ///< Entry 0 of the constant table is empty.
inline constexpr std::uint16_t kTemplateIdSlot = 0;  ///< Dictionary slot of the template identifier.

/// One instruction. Columns an instruction does not use are zero (word: kNoWord).
struct Instruction {
  DataOp op = DataOp::Nop;
  std::uint8_t word = kNoWord;  ///< Word in the current block.
  std::uint16_t slot = 0;       ///< Dictionary slot; PMAP: bit bound; BIT: BitField::column.
  std::uint16_t constant = 0;   ///< Index of the constant table; PMAP: segment number.
  ControlOp control = ControlOp::Next;
  std::uint16_t target = 0;       ///< Address, block or table, as the control-op says.
  bool pair = false;              ///< May issue together with the next instruction. Software ignores it.
  KnownBit known = KnownBit::No;  ///< In profile programs: the bit, which is then not taken from the map.
  bool predicate = false;         ///< A hint: the bit is hard to predict.

  bool operator==(const Instruction&) const = default;
};

/// Whether hardware may issue both in one cycle: integers and decimals whose slots have different parity.
[[nodiscard]] bool may_pair(const Instruction& first, const Instruction& second) noexcept;

/// Position of a field in its bit group: the content of the slot column of BIT.
struct BitField {
  std::uint8_t position = 0;  ///< Bits before it, from the highest data bit of the first byte.
  std::uint8_t width = 0;     ///< Bits, 1 to kMaxGroupBits.

  static constexpr BitField of(std::uint16_t column) {
    return {static_cast<std::uint8_t>(column >> 6), static_cast<std::uint8_t>(column & 63)};
  }
  [[nodiscard]] constexpr std::uint16_t column() const { return static_cast<std::uint16_t>(position << 6 | width); }
};

/// Most bits of the fields of a bit group, which are an entity of at most nine bytes.
inline constexpr unsigned kMaxGroupBits = 63;
/// Bytes of the entity of a bit group.
constexpr unsigned group_bytes(unsigned bits) {
  return (bits + 6) / 7;
}
/// Low bits of the entity that no field uses.
constexpr unsigned unused_bits(unsigned bits) {
  return group_bytes(bits) * 7 - bits;
}

/// Bits 0..7 data-op, 8..15 word, 16..27 slot, 28..39 constant, 40..43 control-op, 44..57 target, 58 pair,
/// 59..60 known bit, 61 predicate, 62..63 zero.
[[nodiscard]] std::uint64_t encode(const Instruction& instruction) noexcept;

/// Nothing if the data-op, the control-op or the known bit is no enumerator, or a spare bit is set.
[[nodiscard]] std::optional<Instruction> decode(std::uint64_t word) noexcept;

/// Abilities that a device needs to run an image; a device publishes the same bits.
/// capabilities.def says what each covers.
enum class Capability : std::uint64_t {
#define STOPBIT_CAPABILITY(enumerator, bit, name, what) enumerator = 1U << (bit),
#include "microcode/isa/capabilities.def"
};

/// The bit this instruction needs; 0 for those every device has.
[[nodiscard]] std::uint64_t capability(DataOp op, ControlOp control) noexcept;
/// "integers", "decimals", ... for one bit; empty for an unknown one.
[[nodiscard]] std::string_view capability_name(std::uint64_t bit) noexcept;

}  // namespace stopbit::isa
