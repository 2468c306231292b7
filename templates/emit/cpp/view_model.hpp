#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "microcode/program.hpp"

/// Where the parts of a record are, as views in any language see it.
namespace stopbit::emit {

/// Base of the block that begins a record; of all others but those of dynamic references it is 0.
inline constexpr std::size_t kRecordBase = 4;
inline constexpr std::size_t kSlotValues = 7;

/// Nodes of one body (of a template, an element or a group) in one block, up to and with the one after which another
/// block begins. Nodes that are not stored are in no part.
struct Part {
  std::uint16_t block = kNoBlock;  ///< None if nothing of it has a word.
  std::vector<std::size_t> nodes;
  bool goes_on = false;  ///< Another part follows.
  /// The node that left the block at the end of the part; it is not one of `nodes` if it is not stored.
  std::optional<std::size_t> leaver = {};
};

/// A list of elements that enumerations or sets have.
struct ElementList {
  std::string_view name;                ///< One declared in place has no name of its own: that of the first field.
  const TypeInfo* info = nullptr;       ///< The first of
  std::vector<std::size_t> type_infos;  ///< those with the same name and elements.
};

/// The schema of a program, which must outlive it.
class ViewModel {
 public:
  explicit ViewModel(const Program& program);

  [[nodiscard]] std::string_view text(TextRef ref) const { return program_.name(ref); }
  [[nodiscard]] const SchemaNode& node(std::size_t index) const { return program_.nodes[index]; }
  [[nodiscard]] const Block& block(std::size_t index) const { return program_.blocks[index]; }
  [[nodiscard]] bool is_root(std::uint16_t index) const { return block(index).kind == BlockKind::Root; }

  /// A sequence of plain values: its one field has no name.
  [[nodiscard]] bool is_vector(std::size_t index) const;
  /// Whether the nodes contain a sequence or reference: it ends the block.
  [[nodiscard]] bool leaves_block(std::size_t first, std::size_t end) const;
  [[nodiscard]] bool is_flat(std::size_t index) const { return !leaves_block(index + 1, node(index).end); }
  /// The block of the first word among the nodes; none if a reference comes before it.
  [[nodiscard]] std::optional<std::uint16_t> first_block(std::size_t first, std::size_t end) const;
  [[nodiscard]] std::vector<Part> split(std::size_t first, std::size_t end, std::uint16_t open_block) const;
  /// In the order of their first use.
  [[nodiscard]] std::vector<ElementList> element_lists() const;
  /// Slots of each element, if that is constant.
  [[nodiscard]] std::size_t stride(const SchemaNode& item) const {
    return (block(item.element_block).words + kSlotValues - 1) / kSlotValues;
  }

 protected:
  const Program& program_;
  bool has_references_;
};

}  // namespace stopbit::emit
