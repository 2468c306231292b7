#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "microcode/isa/isa.hpp"
#include "microcode/program.hpp"

/// Content of template files: one struct per element, each with its place. Inherited attributes (ns, templateNs,
/// dictionary) and type definitions are resolved; template references are not.
namespace stopbit::templates::ast {

struct Name {
  std::string text;
  std::string name_space;
  auto operator<=>(const Name&) const = default;
};

/// A converted initial value. The type of the field says which members count.
struct Value {
  std::uint64_t integer =
      0;  ///< Two's complement; mantissa of a decimal; index of an enumeration element; bits of a set.
  std::int64_t exponent = 0;  ///< Whole decimals only.
  std::string bytes;          ///< Strings and byte vectors.
};

/// A field operator; Operator::Non if the field has none.
struct Operator {
  isa::Operator kind = isa::Operator::Non;
  std::optional<std::string> text;  ///< The value attribute.
  std::optional<Value> initial;     ///< `text`, converted by sema.
  std::string dictionary;
  std::optional<Name> key;  ///< The key attribute.
  SourceRange range;
  SourceRange text_range;
};

/// Exponent and mantissa with operators of their own.
struct DecimalParts {
  Operator exponent;
  Operator mantissa;
};

inline constexpr std::size_t kNoEnumeration = SIZE_MAX;

struct Field {
  Name name;
  std::uint32_t id = 0;  ///< 0 = none, or not a number.
  FieldType type = FieldType::UInt32;
  bool optional = false;
  Operator op;
  std::optional<DecimalParts> parts;
  TimeUnit unit = TimeUnit::None;
  std::string epoch;
  std::size_t enumeration = kNoEnumeration;  ///< Enum and Set: index into TemplateSet::enumerations.
  std::uint8_t small_bits = 0;               ///< int2 to uInt7: bits of the type; 0 = another type.
  std::uint8_t bits = 0;                     ///< Of a bit group: bits it takes there; found by sema.
  SourceRange range;
};

struct Instruction;

/// A group or a bit group, whose fields are packed into one entity.
struct Group {
  Name name;
  std::uint32_t id = 0;
  bool optional = false;
  std::optional<Name> type;  ///< typeRef: the application type inside.
  std::vector<Instruction> body;
  bool is_bits = false;
  Operator op;            ///< Bit group.
  std::uint8_t bits = 0;  ///< Bit group: bits of its fields; found by sema.
  SourceRange range;
};

/// The length of a sequence. It may have neither name nor operator.
struct Length {
  std::optional<Name> name;
  std::uint32_t id = 0;
  Operator op;
};

struct Sequence {
  Group group;
  Length length;
};

inline constexpr std::size_t kUnresolved = SIZE_MAX;

struct TemplateRef {
  std::optional<Name> name;          ///< Static; without a name, the stream names the template.
  std::size_t target = kUnresolved;  ///< Static: index into TemplateSet::templates, found by sema.
  SourceRange range;
};

struct Instruction {
  std::variant<Field, Group, Sequence, TemplateRef> of;
};

struct Template {
  Name name;  ///< In the namespace of templateNs.
  std::optional<std::uint32_t> id;
  bool reset = false;
  std::optional<Name> type;
  std::vector<Instruction> body;
  std::uint16_t source = 0;
  SourceRange range;
  SourceRange id_range;
};

struct EnumerationElement {
  std::string name;
  std::string label;
};

/// Elements of an enumeration or a set.
struct Enumeration {
  std::string name;  ///< Empty if declared in place.
  std::vector<EnumerationElement> elements;
};

struct TemplateSet {
  std::vector<Template> templates;
  std::vector<Enumeration> enumerations;
};

}  // namespace stopbit::templates::ast
