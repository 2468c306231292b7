#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "microcode/program.hpp"

/// The words of the language that stand for enumerators; a word's place is the enumerator's value.
namespace stopbit::assembler {

inline constexpr std::array<std::string_view, 3> kBlockKinds = {"root", "element", "after"};
inline constexpr std::array<std::string_view, 16> kFieldTypes = {
    "int8",    "uInt8", "int16",   "uInt16",     "int32", "uInt32", "int64",   "uInt64",
    "decimal", "ascii", "unicode", "byteVector", "enum",  "set",    "boolean", "timestamp"};
inline constexpr std::array<std::string_view, 6> kTimeUnits = {"none",        "day",         "second",
                                                               "millisecond", "microsecond", "nanosecond"};
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
