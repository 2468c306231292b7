#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "microcode/program.hpp"

/// The words of the language that stand for enumerators; a word's place is the enumerator's value.
namespace stopbit::assembler {

inline constexpr auto kBlockKinds = std::to_array<std::string_view>({
#define STOPBIT_BLOCK_KIND(enumerator, word) word,
#include "microcode/field_types.def"
});
inline constexpr auto kFieldTypes = std::to_array<std::string_view>({
#define STOPBIT_FIELD_TYPE(enumerator, assembly, ...) assembly,
#include "microcode/field_types.def"
});
inline constexpr auto kTimeUnits = std::to_array<std::string_view>({
#define STOPBIT_TIME_UNIT(enumerator, word) word,
#include "microcode/field_types.def"
});
inline constexpr std::array<std::string_view, 6> kLimitKinds = {"limit", "unsigned", "signed", "enum", "set", "bits"};

/// Directives of the nodes, by NodeKind.
inline constexpr std::array<std::string_view, 4> kNodeDirectives = {".field", ".group", ".sequence", ".reference"};

template <class E, std::size_t N>
constexpr std::string_view word_of(const std::array<std::string_view, N>& words, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : std::string_view{};
}

template <class E, std::size_t N>
constexpr std::optional<E> value_of(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace stopbit::assembler
