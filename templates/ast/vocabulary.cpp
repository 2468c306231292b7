#include "templates/ast/vocabulary.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace stopbit::templates::ast {
namespace {

using Operator_ = isa::Operator;

constexpr std::pair<std::string_view, Operator_> kOperators[] = {
    {"constant", Operator_::Con},  {"default", Operator_::Def}, {"copy", Operator_::Cop},
    {"increment", Operator_::Inc}, {"delta", Operator_::Del},   {"tail", Operator_::Tai},
};

constexpr std::pair<std::string_view, FieldType> kTypes[] = {
#define STOPBIT_TEMPLATE_TYPE(element, enumerator) {element, FieldType::enumerator},
#include "microcode/field_types.def"
};

constexpr std::pair<std::string_view, FieldType> kVectors[] = {
    {"int32Vector", FieldType::Int32},
    {"uInt32Vector", FieldType::UInt32},
    {"int64Vector", FieldType::Int64},
    {"uInt64Vector", FieldType::UInt64},
};

constexpr std::pair<std::string_view, std::uint8_t> kSmallIntegers[] = {
    {"int2", 2},  {"int3", 3},  {"int4", 4},  {"int5", 5},  {"int6", 6},  {"int7", 7},  {"uInt1", 1},
    {"uInt2", 2}, {"uInt3", 3}, {"uInt4", 4}, {"uInt5", 5}, {"uInt6", 6}, {"uInt7", 7},
};

constexpr std::pair<std::string_view, TimeUnit> kUnits[] = {
#define STOPBIT_TIME_UNIT(enumerator, word) {word, TimeUnit::enumerator},
#include "microcode/field_types.def"
};

template <class Table, class Value = decltype(std::begin(std::declval<const Table&>())->second)>
std::optional<std::remove_const_t<Value>> look_up(const Table& table, std::string_view text) {
  for (const auto& [name, value] : table) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

bool is_fast(const xml::Element& element) {
  if (element.name_space.empty()) return true;
  const std::string uri = lower(element.name_space);
  return uri.find("fixprotoc") != std::string::npos && (uri.find("/td/") != std::string::npos || uri.ends_with("/td") ||
                                                        uri.find("template-definition") != std::string::npos);
}

bool is_reset(const xml::Attribute& attribute) {
  if (attribute.name != "reset") return false;
  return attribute.name_space.empty() || lower(attribute.name_space).find("scp") != std::string::npos;
}

std::optional<isa::Operator> operator_from(std::string_view element) {
  return look_up(kOperators, element);
}
std::optional<FieldType> type_from(std::string_view element) {
  if (small_bits_from(element)) return element.starts_with('u') ? FieldType::UInt8 : FieldType::Int8;
  return look_up(kTypes, element);
}
std::optional<std::uint8_t> small_bits_from(std::string_view element) {
  return look_up(kSmallIntegers, element);
}
std::optional<FieldType> vector_from(std::string_view element) {
  return look_up(kVectors, element);
}
bool is_compound(std::string_view element) {
  return one_of(element, {"group", "sequence", "bitGroup"});
}
bool is_type(std::string_view element) {
  return type_from(element) || vector_from(element) || is_compound(element);
}
std::optional<TimeUnit> unit_from(std::string_view text) {
  const std::optional<TimeUnit> unit = look_up(kUnits, text);
  return unit == TimeUnit::None ? std::nullopt : unit;  // a file that wants none names none
}

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string word = lower(trim(text));
  if (one_of(word, {"yes", "y", "true", "1"})) return true;
  if (one_of(word, {"no", "n", "false", "0"})) return false;
  return std::nullopt;
}

std::optional<std::uint32_t> number_from(std::string_view text) {
  text = trim(text);
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view type_name(FieldType type) {
  if (type == FieldType::Unicode) return "Unicode string";
  for (const auto& [name, value] : kTypes) {
    if (value == type) return name;
  }
  return "field";
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::span<const std::string> element_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"template", "templateRef", "typeRef",  "group",    "sequence",
                                    "bitGroup", "length",      "exponent", "mantissa", "define"};
    for (const auto& [name, value] : kOperators) all.emplace_back(name);
    for (const auto& [name, value] : kTypes) all.emplace_back(name);
    for (const auto& [name, value] : kVectors) all.emplace_back(name);
    return all;
  }();
  return names;
}

bool knows_attribute(std::string_view element, std::string_view attribute) {
  if (element == "templates") return one_of(attribute, {"ns", "templateNs", "dictionary"});
  if (element == "template") return one_of(attribute, {"name", "id", "ns", "templateNs", "dictionary", "reset"});
  if (is_compound(element)) return one_of(attribute, {"name", "id", "ns", "presence", "dictionary"});
  if (element == "length") return one_of(attribute, {"name", "id", "ns"});
  if (element == "typeRef") return one_of(attribute, {"name", "ns"});
  if (element == "templateRef") return one_of(attribute, {"name", "templateNs", "ns"});
  if (element == "define") return one_of(attribute, {"name", "ns", "templateNs", "id"});
  if (element == "element") return one_of(attribute, {"name", "id"});
  if (element == "exponent" || element == "mantissa") return false;
  if (operator_from(element)) return one_of(attribute, {"value", "dictionary", "key", "ns"});
  if (element == "string" && attribute == "charset") return true;
  if (one_of(element, {"timestamp", "time"}) && attribute == "unit") return true;
  if (one_of(element, {"timestamp", "date"}) && attribute == "epoch") return true;
  return one_of(attribute, {"name", "id", "ns", "presence"});
}

}  // namespace stopbit::templates::ast
