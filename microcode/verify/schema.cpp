#include "microcode/verify/findings.hpp"

namespace stopbit::verify {
namespace {

constexpr std::size_t kNoParent = 0xFFFFFFFF;

/// Walks the tree of each template once, in pre-order, without recursion.
class SchemaCheck {
 public:
  SchemaCheck(const Program& program, WordClaims& claims, Findings& findings)
      : program_(program), claims_(claims), findings_(findings), parents_(program.nodes.size(), kNoParent) {}

  void run() {
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      template_ = i;
      walk(program_.templates[i].first_node, program_.templates[i].end_node);
    }
    if (!findings_.empty()) return;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (program_.nodes[i].kind == NodeKind::Group && program_.nodes[i].optional) claim_witness(i);
    }
  }

 private:
  bool require(bool holds, std::size_t node, std::string_view rule, std::string_view message) {
    return findings_.require(holds, rule, "nodes", node, message);
  }

  void walk(std::size_t first, std::size_t end) {
    std::vector<std::size_t> open;  // groups and sequences around the node
    for (std::size_t i = first; i < end; ++i) {
      while (!open.empty() && program_.nodes[open.back()].end == i) open.pop_back();
      const SchemaNode& node = program_.nodes[i];
      const std::size_t outer_end = open.empty() ? end : program_.nodes[open.back()].end;
      if (!require(node.end > i && node.end <= outer_end, i, "node-end", "the node does not end inside its parent"))
        return;
      parents_[i] = open.empty() ? kNoParent : open.back();
      check_node(i, node);
      if (node.kind != NodeKind::Group && node.kind != NodeKind::Sequence) {
        require(node.end == i + 1, i, "node-end", "only groups and sequences can contain nodes");
        continue;
      }
      open.push_back(i);
      if (!require(open.size() <= limits::kMaxNodeDepth, i, "node-depth",
                   "groups and sequences are nested too deeply")) {
        return;
      }
    }
  }

  void check_node(std::size_t i, const SchemaNode& node) {
    require(node.source < program_.sources.size() || program_.templates[template_].supplied, i, "node-source",
            "no such source");
    require(node.unstored || parents_[i] == kNoParent || !program_.nodes[parents_[i]].unstored, i, "node-unstored",
            "a node inside one that is not stored must not be stored");
    switch (node.kind) {
      case NodeKind::Field: return check_field(i, node);
      case NodeKind::Group: return check_group(i, node);
      case NodeKind::Sequence: return check_sequence(i, node);
      case NodeKind::Reference:
        require(node.block == kNoBlock && node.word == isa::kNoWord && !node.optional, i, "node-unused-column",
                "a reference must have no word and be mandatory");
        require(!node.unstored, i, "node-unstored", "a reference must be stored");
        return check_unused(i, node, false);
    }
    require(false, i, "node-kind", "the kind of node is unknown");
  }

  /// Columns of other kinds of nodes must have their defaults.
  void check_unused(std::size_t i, const SchemaNode& node, bool is_sequence) {
    const SchemaNode defaults;
    const bool field = node.kind == NodeKind::Field;
    const bool timestamp = field && node.type == FieldType::Timestamp;
    const bool named = field && (node.type == FieldType::Enum || node.type == FieldType::Set);
    require(
        (field || (node.type == defaults.type && !node.constant)) &&
            (field && node.constant ? node.constant_index != 0 : node.constant_index == 0) &&
            (is_sequence || (node.element_block == kNoBlock && node.length_name == TextRef{} && node.length_id == 0)) &&
            (timestamp || (node.unit == TimeUnit::None && node.epoch == TextRef{})) &&
            (named || node.type_info == kNoTypeInfo),
        i, "node-unused-column", "a column that this kind of node does not use is set");
  }

  bool check_word(std::size_t i, const SchemaNode& node, std::size_t words) {
    if (!require(node.block < program_.blocks.size() && program_.blocks[node.block].template_index == template_, i,
                 "node-block", "the template has no such block")) {
      return false;
    }
    const std::size_t stored = program_.blocks[node.block].words;
    if (!node.unstored) {
      return require(node.word + words <= stored, i, "node-word", "the block has no such word");
    }
    return require(node.word >= stored, i, "node-word", "the node is not stored, but its word is in the block") &&
           require(node.word + words <= limits::kMaxBlockWords, i, "node-word", "the block has too many words");
  }

  void claim(std::size_t i, std::size_t block, std::size_t word, WordUse use) {
    WordClaim& claim = claims_.at(block, word);
    if (require(claim.use == WordUse::Free, i, "word-claimed-twice", "the word belongs to another node")) {
      claim = {use, static_cast<std::uint16_t>(i)};
    }
  }

  void check_field(std::size_t i, const SchemaNode& node) {
    if (!require(node.type <= FieldType::Timestamp, i, "node-type", "the type is unknown")) return;
    check_unused(i, node, false);
    if (node.type == FieldType::Timestamp) {
      require(node.unit != TimeUnit::None && node.unit <= TimeUnit::Nanosecond, i, "node-unit", "the time has no unit");
    }
    if (node.type == FieldType::Enum || node.type == FieldType::Set) {
      if (!require(node.type_info < program_.type_infos.size(), i, "node-type-info", "no such list of elements")) {
        return;
      }
      require(node.type == FieldType::Enum || program_.type_infos[node.type_info].element_count <= 64, i,
              "node-type-info", "a set has more than 64 elements");
    }
    if (node.constant) return check_constant(i, node);
    const bool decimal = node.type == FieldType::Decimal;
    if (!check_word(i, node, decimal ? 2 : 1)) return;
    claim(i, node.block, node.word, WordUse::Field);
    if (decimal) claim(i, node.block, node.word + 1U, WordUse::Mantissa);
  }

  void check_constant(std::size_t i, const SchemaNode& node) {
    require(node.block == kNoBlock && node.word == isa::kNoWord && !node.optional, i, "node-unused-column",
            "a mandatory constant has no word");
    const bool decimal = node.type == FieldType::Decimal;
    const std::size_t last = node.constant_index + (decimal ? 1U : 0U);
    if (!require(last < program_.constants.size(), i, "node-constant", "no such constant")) return;
    const bool bytes =
        node.type == FieldType::Ascii || node.type == FieldType::Unicode || node.type == FieldType::ByteVector;
    const ValueKind kind = bytes ? ValueKind::Bytes : ValueKind::Integer;
    const Constant& constant = program_.constants[node.constant_index];
    require(constant.kind == kind && program_.constants[last].kind == kind, i, "node-constant",
            "the constant is not of the field's type");
    if (decimal) {
      const auto exponent = static_cast<std::int64_t>(constant.value);
      require(exponent >= -63 && exponent <= 63, i, "node-constant", "the constant's exponent is outside -63 to 63");
    }
    require(node.type != FieldType::Boolean || constant.value <= 1, i, "node-constant",
            "the constant is not a boolean");
    if (node.type == FieldType::Enum) {
      require(constant.value < program_.type_infos[node.type_info].element_count, i, "node-constant",
              "the constant is not an element");
    }
    if (node.type == FieldType::Set) {
      const std::uint32_t count = program_.type_infos[node.type_info].element_count;
      require(count >= 64 || constant.value >> count == 0, i, "node-constant", "the constant has bits outside the set");
    }
  }

  void check_group(std::size_t i, const SchemaNode& node) {
    check_unused(i, node, false);
    if (node.optional) {
      check_word(i, node, 1);
    } else {
      require(node.block == kNoBlock && node.word == isa::kNoWord, i, "node-unused-column",
              "a mandatory group has no word");
    }
  }

  void check_sequence(std::size_t i, const SchemaNode& node) {
    check_unused(i, node, true);
    if (!check_word(i, node, 1)) return;
    claim(i, node.block, node.word, WordUse::Length);
    const bool has_block = require(node.element_block < program_.blocks.size() &&
                                       program_.blocks[node.element_block].kind == BlockKind::Element &&
                                       program_.blocks[node.element_block].template_index == template_,
                                   i, "node-element-block", "the template has no such element block");
    require(!has_block || !node.unstored || program_.blocks[node.element_block].words == 0, i, "node-unstored",
            "the sequence is not stored, but its elements are");
  }

  /// The word that shows whether an optional group is present: its own, or that of an item always present with it.
  void claim_witness(std::size_t i) {
    const SchemaNode& group = program_.nodes[i];
    WordClaim& claim = claims_.at(group.block, group.word);
    if (claim.use == WordUse::Free) {
      claim = {WordUse::Witness, static_cast<std::uint16_t>(i)};
      return;
    }
    const SchemaNode& owner = program_.nodes[claim.node];
    bool good = claim.use != WordUse::Witness && claim.node > i && claim.node < group.end && !owner.optional;
    for (std::size_t at = claim.node; good && parents_[at] != i; at = parents_[at]) {
      const SchemaNode& parent = program_.nodes[parents_[at]];
      good = parent.kind == NodeKind::Group && !parent.optional;
    }
    require(good, i, "group-witness", "the word does not belong to a node that is always present with the group");
  }

  const Program& program_;
  WordClaims& claims_;
  Findings& findings_;
  std::vector<std::size_t> parents_;
  std::size_t template_ = 0;
};

}  // namespace

void check_schema(const Program& program, WordClaims& claims, Findings& findings) {
  SchemaCheck(program, claims, findings).run();
}

}  // namespace stopbit::verify
