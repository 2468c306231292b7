#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "templates/ast/ast.hpp"
#include "templates/xml/document.hpp"

/// The words of the template language.
namespace stopbit::templates::ast {

/// Whether the element belongs to the language. Real files write its namespace in many ways, or not at all.
[[nodiscard]] bool is_fast(const xml::Element& element);

/// Whether the attribute asks for a reset of the dictionary: reset, or reset of the session control protocol.
[[nodiscard]] bool is_reset(const xml::Attribute& attribute);

[[nodiscard]] std::optional<isa::Operator> operator_from(std::string_view element);
/// Types of single fields. "string" is Ascii here: its charset decides; date and time are time stamps.
[[nodiscard]] std::optional<FieldType> type_from(std::string_view element);
/// Bits of int2 to int7 and uInt1 to uInt7, which occur in bit groups only; type_from says which they are.
[[nodiscard]] std::optional<std::uint8_t> small_bits_from(std::string_view element);
/// Type of the elements of int32Vector, uInt32Vector, int64Vector, uInt64Vector.
[[nodiscard]] std::optional<FieldType> vector_from(std::string_view element);
/// group, sequence, bitGroup.
[[nodiscard]] bool is_compound(std::string_view element);
/// All of these: what a field, a definition or a template may hold.
[[nodiscard]] bool is_type(std::string_view element);
[[nodiscard]] std::optional<TimeUnit> unit_from(std::string_view text);
/// yes, y, true, 1, no, n, false, 0 in either case.
[[nodiscard]] std::optional<bool> yes_or_no(std::string_view text);
/// Digits only, blanks around them allowed.
[[nodiscard]] std::optional<std::uint32_t> number_from(std::string_view text);

[[nodiscard]] std::string_view type_name(FieldType type);

[[nodiscard]] std::string_view trim(std::string_view text);

/// Names of the elements that templates contain, for messages.
[[nodiscard]] std::span<const std::string> element_names();

/// Whether the element may carry the attribute.
[[nodiscard]] bool knows_attribute(std::string_view element, std::string_view attribute);

}  // namespace stopbit::templates::ast
