#include "host/market/stage/explain.hpp"

#include <algorithm>
#include <array>

#include "host/market/stage/condition.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::market {
namespace {

std::string value_text(const Map& map, const Program& program, const TypedRules& typed, const Values& values,
                       std::uint8_t slot) {
  const std::string name = map.slot_names[slot] + " is ";
  if (!values.has(slot)) return name + "absent";
  const std::uint64_t bits = values.bits(slot);
  const FieldType type = values.type(slot);
  if (record::is_text(type)) {
    std::array<char, 8> room;
    return name + "'" + printable(values.text(slot, room)) + "'";
  }
  if (type == FieldType::Enum && typed.type_infos[slot] != kNoTypeInfo) {
    const TypeInfo& info = program.type_infos[typed.type_infos[slot]];
    if (bits < info.element_count) {
      const Element& element = program.elements[info.first_element + bits];
      const std::string_view label = program.name(element.label);
      return name + "'" + printable(program.name(element.name)) + "'" +
             (label.empty() ? "" : " (" + printable(label) + ")");
    }
  }
  if (type == FieldType::Decimal)
    return name + std::to_string(static_cast<std::int64_t>(bits)) + "e" + std::to_string(values.exponent(slot));
  return name + (record::is_signed(type) ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits));
}

std::string wanted_text(const Test& test) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " or ") + word; };
  for (const Literal& literal : test.is) add("'" + printable(literal.text) + "'");
  if (test.absent) add("nothing");
  if (test.any_of) add("a bit of " + std::to_string(*test.any_of));
  if (test.none_of) add("no bit of " + std::to_string(*test.none_of));
  if (test.above) add("more than " + std::to_string(*test.above));
  return text;
}

}  // namespace

std::string place_text(const SourceRange& range) {
  if (!range.source) return "?";
  return range.source->name() + ":" + std::to_string(range.source->position(range.offset).line);
}

std::string explain_entry(const Map& map, const Program& program, const TemplatePlan& plan, const Values& values,
                          int rule) {
  const TypedRules& typed = map.typed[plan.typed];
  std::string text;
  for (int i = 0; i < static_cast<int>(map.source.entries.size()) && (rule < 0 || i <= rule); ++i) {
    const EntryRule& source = map.source.entries[static_cast<std::size_t>(i)];
    const CompiledCondition& when = typed.entries[static_cast<std::size_t>(i)].when;
    text +=
        "    " + place_text(source.range) + " " + std::string(name_of(source.role)) + (i == rule ? ": fits" : ": no");
    std::uint32_t at = when.tests.first;
    for (const Test& test : source.when) {
      const auto slot = static_cast<std::uint8_t>(
          std::find(map.slot_names.begin(), map.slot_names.end(), test.field.text) - map.slot_names.begin());
      const bool is_compiled = at < when.tests.first + when.tests.count && map.tests[at].slot == slot;
      const bool is_true = is_compiled ? holds(map, map.tests[at++], values) : test.absent;
      if (i == rule || !is_true) text += ", " + value_text(map, program, typed, values, slot);
      if (i != rule && !is_true) {
        text += ", not " + wanted_text(test);
        break;
      }
    }
    text += '\n';
  }
  if (rule < 0) text += "    no rule fits\n";
  return text;
}

}  // namespace stopbit::market
