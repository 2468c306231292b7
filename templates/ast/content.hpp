#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "microcode/name_references.hpp"
#include "templates/report.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates::ast {

using stopbit::kMaxNameBytes;  ///< Names, keys, namespaces: fields carry copies.

/// Content of a field, its type, an operator, exponent, mantissa or length. Null where there is none.
struct Content {
  const xml::Element* op = nullptr;
  const xml::Element* type = nullptr;  ///< In <field> and <define>: <type> or a type.
  const xml::Element* exponent = nullptr;
  const xml::Element* mantissa = nullptr;
};

/// Checks elements against the schema of the language (S1). Each element is looked at once, however often a type
/// definition is used.
class ContentReader {
 public:
  explicit ContentReader(Report& report) : report_(report) {}

  /// The content of an element that holds no other fields. Reports what else is in it.
  const Content& content_of(const xml::Element& element);
  /// Attributes and text of any element.
  void check(const xml::Element& element);
  /// An element without children of its own: typeRef, templateRef, operators.
  void check_leaf(const xml::Element& element);
  void unexpected(const xml::Element& child, const xml::Element& parent);

 private:
  void read(const xml::Element& element, Content& content);
  void keep(const xml::Element*& place, const xml::Element& child, const char* second);

  Report& report_;
  std::map<const xml::Element*, Content> contents_;
  std::set<std::pair<const SourceBuffer*, std::string>> warned_;
};

}  // namespace stopbit::templates::ast
