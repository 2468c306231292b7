#include "microcode/verify/schema_walk.hpp"

namespace stopbit::verify {

using Kind = SchemaStep::Kind;

SchemaWalk::SchemaWalk(const Program& program, const WordClaims& claims) {
  first_.reserve(program.templates.size() + 1);
  for (const Template& item : program.templates) {
    first_.push_back(steps_.size());
    add_template(program, claims, item);
  }
  first_.push_back(steps_.size());
  next_stored_.resize(steps_.size());
  for (std::size_t i = steps_.size(), next = i; i-- > 0;) {
    if (!program.nodes[steps_[i].node].unstored) next = i;
    next_stored_[i] = next;
  }
}

void SchemaWalk::add_template(const Program& program, const WordClaims& claims, const Template& item) {
  std::vector<std::uint16_t> open;  // optional groups and sequences around the node
  const auto close = [&](std::size_t at) {
    for (; !open.empty() && program.nodes[open.back()].end == at; open.pop_back()) {
      const bool loop = program.nodes[open.back()].kind == NodeKind::Sequence;
      steps_.push_back({loop ? Kind::LoopEnd : Kind::GroupEnd, open.back()});
    }
  };
  for (std::uint16_t i = item.first_node; i < item.end_node; ++i) {
    const SchemaNode& node = program.nodes[i];
    switch (node.kind) {
      case NodeKind::Field:
        if (node.constant) break;
        steps_.push_back({Kind::Value, i});
        if (node.type == FieldType::Decimal) steps_.push_back({Kind::Mantissa, i});
        break;
      case NodeKind::Group: {
        if (!node.optional) break;
        const WordClaim& claim = claims.at(node.block, node.word);
        steps_.push_back({claim.use == WordUse::Witness ? Kind::Witness : Kind::Group, i});
        open.push_back(i);
        break;
      }
      case NodeKind::Sequence:
        steps_.push_back({Kind::Length, i});
        open.push_back(i);
        break;
      case NodeKind::Reference: steps_.push_back({Kind::Reference, i}); break;
    }
    close(i + std::size_t{1});
  }
}

}  // namespace stopbit::verify
