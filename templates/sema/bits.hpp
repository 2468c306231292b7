#pragma once

#include <cstdint>
#include <string_view>

#include "microcode/base/result.hpp"
#include "templates/ast/ast.hpp"

/// How fields are packed into a bit group.
namespace stopbit::templates::sema {

/// Bits the field takes: the fewest that hold its values and, if it is optional, NULL; saturates.
[[nodiscard]] std::uint8_t bits_of(const ast::Field& field, const ast::TemplateSet& set);

/// Whether the value, in two's complement, is one of an int2 to uInt7.
[[nodiscard]] bool fits_small(const ast::Field& field, std::uint64_t value);

/// The value of a bit group as its entity has it, with zeros below its fields. `text` is the unsigned integer that its
/// fields make; each must hold a value. Group::bits and Field::bits must be known.
[[nodiscard]] Result<ast::Value> convert_bits(std::string_view text, const ast::Group& group,
                                              const ast::TemplateSet& set);

}  // namespace stopbit::templates::sema
