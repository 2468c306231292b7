#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "microcode/isa/isa.hpp"
#include "microcode/program.hpp"

/// Terms of template files for the parts of a program.
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

inline constexpr std::string_view kBlockKindNames[] = {
#define STOPBIT_BLOCK_KIND(enumerator, word) word,
#include "microcode/field_types.def"
};

[[nodiscard]] constexpr std::string_view block_kind_name(BlockKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kBlockKindNames) ? kBlockKindNames[index] : "?";
}

/// Empty for no unit.
[[nodiscard]] constexpr std::string_view unit_name(TimeUnit unit) noexcept {
  switch (unit) {
#define STOPBIT_TIME_UNIT(enumerator, word) \
  case TimeUnit::enumerator:                \
    return TimeUnit::enumerator == TimeUnit::None ? std::string_view() : word;
#include "microcode/field_types.def"
  }
  return {};
}

}  // namespace stopbit
