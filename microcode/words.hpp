#pragma once

#include <string_view>

#include "microcode/isa/isa.hpp"
#include "microcode/program.hpp"

/// What template files call the things of a program.
namespace stopbit {

/// Empty for no operator, and for what is none.
[[nodiscard]] constexpr std::string_view operator_name(isa::Operator op) noexcept {
  switch (op) {
    case isa::Operator::Con: return "constant";
    case isa::Operator::Def: return "default";
    case isa::Operator::Cop: return "copy";
    case isa::Operator::Inc: return "increment";
    case isa::Operator::Del: return "delta";
    case isa::Operator::Tai: return "tail";
    default: return {};
  }
}

/// Empty for no unit.
[[nodiscard]] constexpr std::string_view unit_name(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::None: break;
    case TimeUnit::Day: return "day";
    case TimeUnit::Second: return "second";
    case TimeUnit::Millisecond: return "millisecond";
    case TimeUnit::Microsecond: return "microsecond";
    case TimeUnit::Nanosecond: return "nanosecond";
  }
  return {};
}

}  // namespace stopbit
