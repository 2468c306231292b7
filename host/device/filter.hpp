#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::device {

/// Sends records to rings, and to subscribers on other nodes. Wants the records of a channel and a template, or of any,
/// one word of whose root block has a value; a field that is absent has none. Event records are of every template and
/// have every value.
struct Filter {
  std::optional<std::uint16_t> channel = {};
  std::optional<std::uint16_t> template_index = {};
  std::uint8_t word = 0;         ///< Of the root block, if mask is not 0.
  std::uint64_t mask = 0;        ///< Bits of the word that are looked at; 0: none.
  std::uint64_t value = 0;       ///< The required value.
  std::uint8_t rings = 0;        ///< A bit for each ring,
  std::uint8_t subscribers = 0;  ///< and for each subscriber of a FarRing.
};

/// A filter that wants messages of a template whose field has the value: an integer (of an enumeration: its place in
/// it), or a string of at most eight bytes (of 7 bits each if there are eight). Fails if the program has no such
/// template or field, if the field is not in the template's root block, or if its type is another one.
[[nodiscard]] Result<Filter> filter_by_integer(const Program& program, std::string_view template_name,
                                               std::string_view field_name, std::int64_t value);
[[nodiscard]] Result<Filter> filter_by_text(const Program& program, std::string_view template_name,
                                            std::string_view field_name, std::string_view value);

}  // namespace stopbit::device
