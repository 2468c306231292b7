#include "templates/ast/content.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/nearest.hpp"
#include "templates/ast/vocabulary.hpp"

namespace stopbit::templates::ast {
namespace {

bool is_typed_name(std::string_view name) {
  return name == "type" || is_type(name);
}
bool is_typed(const xml::Element& element) {
  return is_typed_name(element.name);
}

/// A length only names the preamble of these; nothing changes on the wire.
bool has_length(const xml::Element& element) {
  const xml::Attribute* charset = element.find("charset");
  return element.name == "byteVector" || (element.name == "string" && charset && charset->value == "unicode");
}

/// Whether it is an element of the language, somewhere.
bool is_word(std::string_view name) {
  const std::span<const std::string> names = element_names();
  return is_typed_name(name) || std::find(names.begin(), names.end(), name) != names.end();
}

bool takes_operator(const xml::Element& element) {
  return element.name != "define" && !operator_from(element.name);
}

}  // namespace

const Content& ContentReader::content_of(const xml::Element& element) {
  const auto [place, is_new] = contents_.try_emplace(&element);
  if (is_new) read(element, place->second);
  return place->second;
}

void ContentReader::read(const xml::Element& element, Content& content) {
  check(element);
  for (const xml::Element& child : element.children) {
    if (!is_fast(child)) continue;
    if (operator_from(child.name) && takes_operator(element)) {
      keep(content.op, child, "a second operator; a field has at most one");
      check_leaf(child);
    } else if ((element.name == "field" || element.name == "define") && is_typed(child)) {
      keep(content.type, child, "a second type");
    } else if (element.name == "decimal" && child.name == "exponent") {
      if (content.mantissa) report_.error(ErrorCode::S1, child.range, "the exponent must come before the mantissa");
      keep(content.exponent, child, "a second exponent");
    } else if (element.name == "decimal" && child.name == "mantissa") {
      keep(content.mantissa, child, "a second mantissa");
    } else if ((has_length(element) && child.name == "length") ||
               ((element.name == "enum" || element.name == "set") && child.name == "element")) {
      check_leaf(child);
    } else {
      unexpected(child, element);
    }
  }
  if (content.op && (content.exponent || content.mantissa)) {
    report_.error(ErrorCode::S1, content.op->range,
                  "a decimal can have either one operator or operators for exponent and mantissa");
  }
}

void ContentReader::keep(const xml::Element*& place, const xml::Element& child, const char* second) {
  if (place) {
    report_.error(ErrorCode::S1, child.range, second);
  } else {
    place = &child;
  }
}

void ContentReader::check(const xml::Element& element) {
  if (element.text) {
    report_.error(ErrorCode::S1, *element.text, "text is not allowed in element " + quoted(element.name));
  }
  for (const xml::Attribute& attribute : element.attributes) {
    if (attribute.name != "value" && attribute.value.size() > kMaxNameBytes) {
      report_.error(ErrorCode::T1, attribute.range,
                    "the value of attribute " + quoted(attribute.name) + " has more than " +
                        std::to_string(kMaxNameBytes) + " bytes");
    }
    if (!attribute.name_space.empty() || knows_attribute(element.name, attribute.name)) continue;
    if (!warned_.emplace(element.range.source.get(), attribute.name).second) continue;
    static const std::vector<std::string> kAttributes = {"name",    "id",    "presence",   "dictionary",
                                                         "key",     "value", "templateNs", "reset",
                                                         "charset", "ns",    "unit",       "epoch"};
    report_.warning(attribute.range, "attribute " + quoted(attribute.name) + " is not part of FAST and is ignored" +
                                         did_you_mean(attribute.name, kAttributes));
  }
  for (const char* name : {"dictionary", "key"}) {
    const xml::Attribute* attribute = element.find(name);
    if (attribute && attribute->value.empty()) {
      report_.error(ErrorCode::S1, attribute->range, "attribute " + quoted(name) + " is empty");
    }
  }
}

void ContentReader::check_leaf(const xml::Element& element) {
  check(element);
  for (const xml::Element& child : element.children) {
    if (is_fast(child)) unexpected(child, element);
  }
}

void ContentReader::unexpected(const xml::Element& child, const xml::Element& parent) {
  report_.error(ErrorCode::S1, child.range,
                "element " + quoted(child.name) + " is not allowed in element " + quoted(parent.name) +
                    (is_word(child.name) ? "" : did_you_mean(child.name, element_names())));
}

}  // namespace stopbit::templates::ast
