#include "host/device/filter.hpp"

#include <string>

#include "decoder/record/builder.hpp"
#include "decoder/record/layout.hpp"

namespace stopbit::device {
namespace {

/// The template's index, and the node of the field in its root block.
struct Place {
  std::uint16_t template_index;
  const SchemaNode* node;
};

Result<Place> find(const Program& program, std::string_view template_name, std::string_view field_name) {
  const std::string what = "field '" + std::string(field_name) + "' of template '" + std::string(template_name) + "'";
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    const Template& item = program.templates[i];
    if (program.name(item.name) != template_name) continue;
    for (std::size_t n = item.first_node; n < item.end_node; ++n) {
      const SchemaNode& node = program.nodes[n];
      if (node.kind != NodeKind::Field || program.name(node.name) != field_name) continue;
      if (node.constant || node.unstored) return Failure{what + " has no word in records"};
      const Block& block = program.blocks[node.block];
      if (node.block != item.root_block || block.first_word != 0) {
        return Failure{what + " is not in the template's first block: it is in or after a sequence"};
      }
      return Place{static_cast<std::uint16_t>(i), &node};
    }
    return Failure{"template '" + std::string(template_name) + "' has no field '" + std::string(field_name) + "'"};
  }
  return Failure{"the program has no template '" + std::string(template_name) + "'"};
}

Filter filter_of(const Place& place, std::uint64_t value) {
  return {.template_index = place.template_index, .word = place.node->word, .mask = ~std::uint64_t{0}, .value = value};
}

bool is_text(FieldType type) {
  return type == FieldType::Ascii || type == FieldType::Unicode || type == FieldType::ByteVector;
}

}  // namespace

Result<Filter> filter_by_integer(const Program& program, std::string_view template_name, std::string_view field_name,
                                 std::int64_t value) {
  const Result<Place> place = find(program, template_name, field_name);
  if (!place) return Failure{place.message()};
  const FieldType type = place.value().node->type;
  if (is_text(type) || type == FieldType::Decimal) {
    return Failure{"field '" + std::string(field_name) + "' is not an integer"};
  }
  return filter_of(place.value(), static_cast<std::uint64_t>(value));
}

Result<Filter> filter_by_text(const Program& program, std::string_view template_name, std::string_view field_name,
                              std::string_view value) {
  const Result<Place> place = find(program, template_name, field_name);
  if (!place) return Failure{place.message()};
  if (!is_text(place.value().node->type)) return Failure{"field '" + std::string(field_name) + "' is not a string"};
  const std::optional<std::uint64_t> word = record::word_of(value);
  if (!word) {
    return Failure{"'" + std::string(value) +
                   "' is longer than the eight bytes of 7 bits each that a filter can compare"};
  }
  return filter_of(place.value(), *word);
}

}  // namespace stopbit::device
