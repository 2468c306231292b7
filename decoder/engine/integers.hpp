#pragma once

#include <cstdint>
#include <limits>

#include "decoder/wire/stop_bit.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/isa/isa.hpp"
#include "microcode/program.hpp"

/// Common to all executors, for the integers of the instruction set: ranges, limits, increments.
namespace stopbit::engine {

using wire::Int128;

constexpr bool is_signed(isa::Type type) {
  return type != isa::Type::U32 && type != isa::Type::U64 && type != isa::Type::Bits;
}
constexpr bool is_narrow(isa::Type type) {
  return type == isa::Type::U32 || type == isa::Type::S32 || type == isa::Type::Iexp || type == isa::Type::Dexp;
}

/// Whether an operator has a previous value.
constexpr bool remembers(isa::Operator op) {
  return op >= isa::Operator::Cop && op <= isa::Operator::Tai;
}

/// Bounds of a type, for D2 and R4.
template <isa::Type T>
constexpr Int128 kMin = !is_signed(T)  ? 0
                        : is_narrow(T) ? std::numeric_limits<std::int32_t>::min()
                                       : static_cast<Int128>(std::numeric_limits<std::int64_t>::min());
template <isa::Type T>
constexpr Int128 kMax = !is_signed(T) ? (is_narrow(T) ? std::numeric_limits<std::uint32_t>::max()
                                                      : static_cast<Int128>(std::numeric_limits<std::uint64_t>::max()))
                                      : (is_narrow(T) ? std::numeric_limits<std::int32_t>::max()
                                                      : static_cast<Int128>(std::numeric_limits<std::int64_t>::max()));

inline constexpr std::int64_t kMaxExponent = 63;
constexpr bool is_exponent_in_range(std::uint64_t value) {
  const auto exponent = static_cast<std::int64_t>(value);
  return exponent >= -kMaxExponent && exponent <= kMaxExponent;
}

/// A stored value as the number it stands for.
template <isa::Type T>
constexpr Int128 number(std::uint64_t value) {
  if constexpr (is_signed(T)) return static_cast<std::int64_t>(value);
  return value;
}

/// The largest number that the entity of a bit group can be.
constexpr std::uint64_t max_of_bits(const Constant& constant) {
  return (std::uint64_t{1} << isa::group_bytes(constant.limit) * 7) - 1;
}
/// The bits of a bit group's entity that no field uses.
constexpr std::uint64_t unused_of_bits(const Constant& constant) {
  return (std::uint64_t{1} << isa::unused_bits(constant.limit)) - 1;
}

/// None if the value keeps the limit of its constant entry; `range_code` if it is a number out of range.
template <isa::Type T>
constexpr ErrorCode limit_error(const Constant& constant, std::uint64_t value, ErrorCode range_code) {
  const auto unless = [](bool holds, ErrorCode code) { return holds ? ErrorCode::None : code; };
  if constexpr (T == isa::Type::Iexp) return unless(is_exponent_in_range(value), ErrorCode::R1);
  switch (constant.limit_kind) {
    case LimitKind::None: return ErrorCode::None;
    case LimitKind::Unsigned: return unless(value <= constant.limit, range_code);
    case LimitKind::Signed: {
      const auto bound = std::int64_t{1} << (constant.limit - 1);
      const auto signed_value = static_cast<std::int64_t>(value);
      return unless(signed_value >= -bound && signed_value < bound, range_code);
    }
    case LimitKind::Enum: return unless(value < constant.limit, ErrorCode::X5);
    case LimitKind::Set: return unless(constant.limit >= 64 || value >> constant.limit == 0, ErrorCode::X6);
    case LimitKind::Bits: return ErrorCode::None;  // of the entity: checked where it is read
  }
  return ErrorCode::None;
}

/// The next value; the largest of the type is followed by the smallest.
template <isa::Type T>
constexpr std::uint64_t incremented(std::uint64_t value, const Constant& constant) {
  if constexpr (T == isa::Type::Bits) return (value + 1) & max_of_bits(constant);
  if (constant.limit_kind == LimitKind::Unsigned && value == constant.limit) return 0;
  if (constant.limit_kind == LimitKind::Signed && value == (std::uint64_t{1} << (constant.limit - 1)) - 1)
    return ~value;
  if (number<T>(value) == kMax<T>) return static_cast<std::uint64_t>(kMin<T>);
  return value + 1;
}

}  // namespace stopbit::engine
