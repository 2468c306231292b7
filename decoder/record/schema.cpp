#include "decoder/record/schema.hpp"

#include <array>
#include <string>

#include "decoder/record/reader.hpp"

namespace stopbit::record {
namespace {

/// Walks every template's tree once, in pre-order.
class Check {
 public:
  explicit Check(const Program& program) : program_(program) {}

  Status run() {
    if (program_.templates.size() > limits::kMaxTemplates || program_.nodes.size() > limits::kMaxFields) {
      return Failure{"the schema has more templates or nodes than allowed"};
    }
    if (schema_work(program_) > limits::kMaxImageBytes)
      return Failure{"the schema's texts and types are larger than allowed"};
    std::size_t first = 0;
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const Template& item = program_.templates[i];
      if (item.first_node != first || item.end_node < first || item.end_node > program_.nodes.size()) {
        return Failure{"the nodes of template " + std::to_string(i) + " are out of order"};
      }
      first = item.end_node;
      if (item.root_block >= program_.blocks.size()) {
        return Failure{"template " + std::to_string(i) + " has no root block"};
      }
      const std::string_view problem = tree(item.first_node, item.end_node);
      if (!problem.empty()) return Failure{"node " + std::to_string(at_) + ": " + std::string(problem)};
    }
    return Done{};
  }

 private:
  std::string_view tree(std::size_t first, std::size_t end) {
    std::array<std::size_t, limits::kMaxNodeDepth> ends{};
    std::size_t depth = 0;
    for (at_ = first; at_ < end; ++at_) {
      while (depth > 0 && ends[depth - 1] == at_) --depth;
      const SchemaNode& node = program_.nodes[at_];
      const std::size_t outer_end = depth > 0 ? ends[depth - 1] : end;
      if (node.end <= at_ || node.end > outer_end) return "it does not end inside its parent";
      if (const std::string_view problem = check(node); !problem.empty()) return problem;
      if (node.kind == NodeKind::Group || node.kind == NodeKind::Sequence) {
        if (depth == ends.size()) return "it is nested too deeply";
        ends[depth++] = node.end;
      } else if (node.end != at_ + 1) {
        return "only groups and sequences have nodes inside";
      }
    }
    return {};
  }

  std::string_view check(const SchemaNode& node) {
    switch (node.kind) {
      case NodeKind::Field: return field(node);
      case NodeKind::Group: return node.optional ? word(node, 1) : std::string_view{};
      case NodeKind::Sequence:
        if (node.element_block >= program_.blocks.size()) return "it has no element block";
        return word(node, 1);
      case NodeKind::Reference: return {};
    }
    return "its kind is unknown";
  }

  std::string_view field(const SchemaNode& node) {
    if (node.type > FieldType::Timestamp) return "its type is unknown";
    if (node.type == FieldType::Enum || node.type == FieldType::Set) {
      if (node.type_info >= program_.type_infos.size()) return "it has no list of elements";
      const TypeInfo& type = program_.type_infos[node.type_info];
      const std::size_t count = program_.elements.size();
      if (type.first_element > count || type.element_count > count - type.first_element) {
        return "its list of elements leaves the table";
      }
      if (node.type == FieldType::Set && type.element_count > 64) return "its set has more than 64 elements";
    }
    return node.constant ? constant(node) : word(node, node.type == FieldType::Decimal ? 2 : 1);
  }

  std::string_view word(const SchemaNode& node, std::size_t words) {
    if (node.unstored) return {};  // readers pass over it
    if (node.block >= program_.blocks.size()) return "it has no block";
    if (node.word + words > program_.blocks[node.block].words) return "its block has no such word";
    return {};
  }

  std::string_view constant(const SchemaNode& node) {
    const std::size_t last = node.constant_index + (node.type == FieldType::Decimal ? std::size_t{1} : 0);
    if (last >= program_.constants.size()) return "its constant is missing";
    const Constant& first = program_.constants[node.constant_index];
    if (is_text(node.type)) return first.kind == ValueKind::Bytes ? std::string_view{} : "its constant is not a text";
    if (first.kind != ValueKind::Integer || program_.constants[last].kind != ValueKind::Integer) {
      return "its constant is not a number";
    }
    const std::uint32_t elements =
        node.type_info < program_.type_infos.size() ? program_.type_infos[node.type_info].element_count : 0;
    return is_in_range(node.type, elements, first.value) ? std::string_view{} : "its constant is out of range";
  }

  const Program& program_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Schema> Schema::make(const Program& program) {
  if (const Status good = Check(program).run(); !good) {
    return Failure{"the records of this program cannot be read: " + good.message()};
  }
  return Schema(program);
}

const SchemaNode* Schema::owner(std::uint16_t template_index, std::uint16_t block, std::uint8_t word) const noexcept {
  const Template* item = find(template_index);
  if (item == nullptr || block == kNoBlock || word == isa::kNoWord) return nullptr;
  for (std::size_t i = item->first_node; i < item->end_node; ++i) {
    const SchemaNode& node = program_->nodes[i];
    if (node.block != block) continue;
    const bool is_decimal = node.kind == NodeKind::Field && node.type == FieldType::Decimal;
    const bool owns = node.word == word || (is_decimal && node.word + 1 == word);
    if (owns && node.kind != NodeKind::Group) return &node;
  }
  return nullptr;
}

std::string_view Schema::owner_name(const SchemaNode& node) const {
  if (node.kind == NodeKind::Field && node.name.length == 0 && index_of(node) > 0) {
    const SchemaNode& before = program_->nodes[index_of(node) - 1];
    if (before.kind == NodeKind::Sequence && before.end == index_of(node) + 1) return name(before.name);
  }
  return node.kind == NodeKind::Sequence && node.length_name.length != 0 ? name(node.length_name) : name(node.name);
}

}  // namespace stopbit::record
