#include "tests/lib/view_shape.hpp"

namespace stopbit::cases {
namespace {

view::Form form_of(const SchemaNode& node) {
  if (node.constant || node.unstored) return view::Form::Constant;
  if (node.kind != NodeKind::Field) return view::Form::Plain;
  switch (node.type) {
    case FieldType::Decimal: return view::Form::Decimal;
    case FieldType::Ascii:
    case FieldType::Unicode:
    case FieldType::ByteVector: return view::Form::String;
    case FieldType::Enum: return view::Form::Enum;
    case FieldType::Set: return view::Form::Set;
    case FieldType::Boolean: return view::Form::Boolean;
    default: return view::Form::Plain;
  }
}

}  // namespace

ViewShape::ViewShape(const Program& program) {
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const SchemaNode& node = program.nodes[i];
    bool is_flat = true;
    for (std::size_t inner = i + 1; inner < node.end; ++inner) {
      const NodeKind kind = program.nodes[inner].kind;
      is_flat &= kind != NodeKind::Sequence && kind != NodeKind::Reference;
    }
    const std::uint32_t elements =
        node.type_info < program.type_infos.size() ? program.type_infos[node.type_info].element_count : 0;
    const auto kind = node.unstored ? view::Kind::Field : static_cast<view::Kind>(node.kind);
    nodes_.push_back(
        {kind, form_of(node), node.optional, is_flat, node.word, node.block, node.element_block, node.end, elements});
  }
  for (const Block& block : program.blocks) blocks_.push_back({block.words, block.first_word});
  for (const Template& item : program.templates) {
    templates_.push_back({item.first_node, item.end_node, item.root_block});
  }
}

}  // namespace stopbit::cases
