#include "templates/lower/layout.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "microcode/base/limits.hpp"
#include "templates/lower/facts.hpp"

namespace stopbit::templates::lower {
namespace {

class Planner {
 public:
  Planner(const ir::Message& message, std::uint16_t template_index, std::vector<Block>& blocks, Report& report)
      : items_(message.items),
        range_(message.of->range),
        template_index_(template_index),
        blocks_(blocks),
        report_(report) {}

  Layout run() {
    layout_.places.resize(items_.size());
    layout_.root_block = add_block(BlockKind::Root, range_);
    check_bits(1 + presence_bits(items_, 0, items_.size()), range_);
    plan(0, items_.size(), 1, 0);
    number_unstored();
    layout_.words = words_;
    return std::move(layout_);
  }

 private:
  // Recursion is bounded by the nesting that the expansion allows.
  void plan(std::size_t begin, std::size_t end, std::size_t map_depth, std::size_t loop_depth) {
    check_depths(begin, map_depth, loop_depth);
    for (std::size_t i = begin; i < end; i = items_[i].end) {
      switch (items_[i].kind) {
        case NodeKind::Field: take_words(i, words_of(*items_[i].field)); break;
        case NodeKind::Group: plan_group(i, map_depth, loop_depth); break;
        case NodeKind::Sequence: plan_sequence(i, map_depth, loop_depth); break;
        case NodeKind::Reference: needs_block_ = true; break;
      }
    }
  }

  void plan_group(std::size_t index, std::size_t map_depth, std::size_t loop_depth) {
    const ir::Item& item = items_[index];
    ItemPlacement& place = layout_.places[index];
    place.inner_bits = check_bits(presence_bits(items_, index + 1, item.end), *item.range);
    std::optional<std::size_t> witness;
    if (item.group->optional) {
      witness = find_witness(index);
      place.own_witness = !witness;
      if (place.own_witness) {
        take_words(index, 1);
      } else {
        open_block(index);
      }
    }
    plan(index + 1, item.end, map_depth + (place.inner_bits != 0 ? 1 : 0), loop_depth);
    if (witness) {
      place.block = layout_.places[*witness].block;
      place.word = layout_.places[*witness].word;
    }
    if (item.group->optional && leaves_block(index + 1, item.end)) needs_block_ = true;
  }

  void plan_sequence(std::size_t index, std::size_t map_depth, std::size_t loop_depth) {
    const ir::Item& item = items_[index];
    ItemPlacement& place = layout_.places[index];
    take_words(index, 1);
    place.inner_bits = check_bits(presence_bits(items_, index + 1, item.end), *item.range);
    place.element_block = add_block(BlockKind::Element, *item.range);
    const std::size_t bytes = (place.inner_bits != 0 ? 1 : 0) + min_bytes(items_, index + 1, item.end);
    blocks_.back().min_bytes = static_cast<std::uint16_t>(std::min<std::size_t>(bytes, UINT16_MAX));
    plan(index + 1, item.end, map_depth + (place.inner_bits != 0 ? 1 : 0), loop_depth + 1);
    needs_block_ = true;
  }

  struct Search {
    std::optional<std::size_t> found;
    bool is_over = false;  ///< Found, or the rest is in another block.
  };

  /// The first item that is always present with the group, is stored if the group is, and is in the block in which the
  /// group begins.
  std::optional<std::size_t> find_witness(std::size_t group) const {
    return search(group + 1, items_[group].end, items_[group].is_stored).found;
  }

  Search search(std::size_t begin, std::size_t end, bool is_stored) const {
    for (std::size_t i = begin; i < end; i = items_[i].end) {
      const ir::Item& item = items_[i];
      if (item.kind == NodeKind::Field) {
        if (!item.field->optional && words_of(*item.field) != 0 && item.is_stored == is_stored) return {i, true};
      } else if (item.kind == NodeKind::Sequence) {
        const bool is_witness = !item.group->optional && item.is_stored == is_stored;
        return {is_witness ? std::optional(i) : std::nullopt, true};
      } else if (item.kind == NodeKind::Group && !item.group->optional) {
        const Search inner = search(i + 1, item.end, is_stored);
        if (inner.is_over) return inner;
      } else if (item.kind == NodeKind::Reference || leaves_block(i + 1, item.end)) {
        return {std::nullopt, true};
      }
    }
    return {};
  }

  /// Whether the items hold a sequence or dynamic reference at any depth.
  bool leaves_block(std::size_t begin, std::size_t end) const {
    return std::any_of(
        items_.begin() + static_cast<std::ptrdiff_t>(begin), items_.begin() + static_cast<std::ptrdiff_t>(end),
        [](const ir::Item& item) { return item.kind == NodeKind::Sequence || item.kind == NodeKind::Reference; });
  }

  void open_block(std::size_t index) {
    if (std::exchange(needs_block_, false))
      layout_.places[index].opens = add_block(BlockKind::After, *items_[index].range);
  }

  void take_words(std::size_t index, std::size_t count) {
    if (count == 0) return;
    open_block(index);
    Block& block = blocks_[current_];
    if (block.words + unstored_words_ + count > limits::kMaxBlockWords) {
      if (!std::exchange(is_too_wide_, true)) {
        report_.error(
            ErrorCode::T1, *items_[index].range,
            "more than " + std::to_string(limits::kMaxBlockWords) + " words between two sequences of a template");
      }
      return;
    }
    layout_.places[index].block = current_;
    if (!items_[index].is_stored) {
      layout_.places[index].word = static_cast<std::uint8_t>(unstored_words_);
      unstored_words_ += count;
      return;
    }
    layout_.places[index].word = block.words;
    block.words = static_cast<std::uint8_t>(block.words + count);
    words_ = static_cast<std::uint16_t>(words_ + count);
  }

  /// Until here they are counted from 0 in each block, whose number of words was not known.
  void number_unstored() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      ItemPlacement& place = layout_.places[i];
      if (items_[i].is_stored || place.block == kNoBlock) continue;
      place.word = static_cast<std::uint8_t>(place.word + blocks_[place.block].words);
    }
  }

  /// Also makes it the current one.
  std::uint16_t add_block(BlockKind kind, const SourceRange& range) {
    needs_block_ = false;
    unstored_words_ = 0;
    if (blocks_.size() == limits::kMaxBlocks) {
      if (!std::exchange(is_full_, true)) {
        report_.error(ErrorCode::T1, range,
                      "the templates need more than " + std::to_string(limits::kMaxBlocks) + " record blocks");
      }
      return current_;
    }
    current_ = static_cast<std::uint16_t>(blocks_.size());
    Block block;
    block.kind = kind;
    block.template_index = template_index_;
    block.first_word = words_;
    blocks_.push_back(block);
    return current_;
  }

  std::uint16_t check_bits(std::size_t bits, const SourceRange& range) {
    if (bits > limits::kMaxPresenceBits) {
      report_.error(ErrorCode::T1, range,
                    "more than " + std::to_string(limits::kMaxPresenceBits) + " presence bits in one segment");
    }
    return static_cast<std::uint16_t>(std::min(bits, limits::kMaxPresenceBits));
  }

  void check_depths(std::size_t begin, std::size_t map_depth, std::size_t loop_depth) {
    const SourceRange& range = begin == 0 ? range_ : *items_[begin - 1].range;
    if (loop_depth > limits::kMaxLoopDepth) {
      report_.error(ErrorCode::T1, range,
                    "sequences are nested more than " + std::to_string(limits::kMaxLoopDepth) + " deep");
    }
    if (map_depth > limits::kMaxPresenceMapDepth) {
      report_.error(ErrorCode::T1, range,
                    "presence maps are nested more than " + std::to_string(limits::kMaxPresenceMapDepth) + " deep");
    }
  }

  const std::vector<ir::Item>& items_;
  const SourceRange& range_;
  std::uint16_t template_index_;
  std::vector<Block>& blocks_;
  Report& report_;
  Layout layout_;
  std::uint16_t current_ = 0;
  std::uint16_t words_ = 0;
  std::size_t unstored_words_ = 0;  ///< Of the current block.
  bool needs_block_ = false;
  bool is_too_wide_ = false;
  bool is_full_ = false;
};

}  // namespace

Layout lay_out(const ir::Message& message, std::uint16_t template_index, std::vector<Block>& blocks, Report& report) {
  return Planner(message, template_index, blocks, report).run();
}

}  // namespace stopbit::templates::lower
