#include "host/cli/common/record_slots.hpp"

#include "decoder/record/layout.hpp"

namespace stopbit::tools {
namespace {

/// Walks the nodes as a reader of records does, and counts the blocks it opens.
class Count {
 public:
  Count(const record::Schema& schema, RecordSlots& out) : schema_(schema), out_(out) {}

  /// Nesting is bounded: limits::kMaxNodeDepth.
  void nodes(std::size_t first, std::size_t end, std::uint16_t open, SlotRange& slots) {
    open_ = open;
    for (std::size_t i = first; i < end; i = schema_.node(i).end) {
      const SchemaNode& node = schema_.node(i);
      if (node.unstored) continue;
      switch (node.kind) {
        case NodeKind::Field:
          if (!node.constant) touch(node, slots);
          break;
        case NodeKind::Group: group(node, i, slots); break;
        case NodeKind::Sequence: sequence(node, i, slots); break;
        case NodeKind::Reference:
          ++out_.references;
          open_ = kNoBlock;
          break;
      }
    }
  }

 private:
  void touch(const SchemaNode& node, SlotRange& slots) {
    if (node.block == open_) return;
    open_ = node.block;
    const std::size_t count = record::block_slots(0, schema_.block(node.block).words);
    slots.least += count;
    slots.most += count;
  }

  void group(const SchemaNode& node, std::size_t index, SlotRange& slots) {
    if (node.optional) touch(node, slots);
    SlotRange inside;
    nodes(index + 1, node.end, open_, inside);
    if (!node.optional) slots.least += inside.least;
    slots.most += inside.most;
  }

  void sequence(const SchemaNode& node, std::size_t index, SlotRange& slots) {
    touch(node, slots);
    const std::size_t place = out_.elements.size();
    const std::size_t count = record::block_slots(0, schema_.block(node.element_block).words);
    out_.elements.push_back({&node, {}});
    SlotRange element{count, count};
    nodes(index + 1, node.end, node.element_block, element);
    out_.elements[place].slots = element;
    open_ = kNoBlock;
  }

  const record::Schema& schema_;
  RecordSlots& out_;
  std::uint16_t open_ = kNoBlock;
};

}  // namespace

RecordSlots slots_of(const record::Schema& schema, const Template& item) {
  RecordSlots out;
  const std::size_t root = record::block_slots(record::kHeaderWords, schema.block(item.root_block).words);
  out.fixed = {root, root};
  Count(schema, out).nodes(item.first_node, item.end_node, item.root_block, out.fixed);
  return out;
}

}  // namespace stopbit::tools
