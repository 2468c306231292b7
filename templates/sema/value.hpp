#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "microcode/base/result.hpp"
#include "templates/ast/ast.hpp"

namespace stopbit::templates::sema {

/// Finds elements of an enumeration or set by name, or by label where no element has the name. Refers to its texts.
class ElementIndex {
 public:
  explicit ElementIndex(const ast::Enumeration& enumeration);

  [[nodiscard]] std::optional<std::size_t> find(std::string_view text) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view name() const { return name_; }

 private:
  std::string_view name_;
  std::size_t size_;
  std::map<std::string_view, std::size_t> index_;
};

/// The value that `text`, the value attribute of an operator, stands for in a field of this type. `elements` are those
/// of an enum or set, else null. The failure says why it does not convert.
///
/// Decimals are normalised: 12000 is 12*10^3, 0.50 is 5*10^-1, zero is 0*10^0.
/// Enumerations: exchanges write the number that is on the wire, the proposal of FAST 1.2 wants the element's name. A
/// number below the count of elements is the former, anything else a name or, failing that, a label. The same for sets,
/// where several names may occur with blanks between them.
[[nodiscard]] Result<ast::Value> convert(std::string_view text, FieldType type, const ElementIndex* elements);

/// Whether `text` is the number of one element and the name of another.
[[nodiscard]] bool is_ambiguous(std::string_view text, const ElementIndex& elements);

/// For an exponent with an operator of its own: an int32 from -63 to 63.
[[nodiscard]] Result<ast::Value> convert_exponent(std::string_view text);

}  // namespace stopbit::templates::sema
