#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"

namespace stopbit::standby {

/// Records that wait, in any number of queues that share a fixed number of slots. One thread; allocates when it is
/// made.
class RecordPool {
 public:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  struct Queue {
    std::uint32_t head = kNone;  ///< First slot of the first record.
    std::uint32_t last = kNone;  ///< First slot of the last record.
    [[nodiscard]] bool empty() const noexcept { return head == kNone; }
  };
  struct Waiting {
    std::uint32_t message = 0;   ///< Place in its packet.
    std::uint32_t process = 0;   ///< Number of its side's process.
    std::uint32_t hole = 0;      ///< How often records before it were overwritten.
    std::uint64_t since_ns = 0;  ///< When it came.
  };

  RecordPool(std::size_t slots, std::size_t max_record_slots)
      : nodes_(std::min<std::size_t>(std::max<std::size_t>(slots, 1), kNone)),
        scratch_(max_record_slots),
        looked_at_(max_record_slots) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].next = static_cast<std::uint32_t>(i + 1);
    nodes_.back().next = kNone;
    left_ = nodes_.size();
  }

  /// False: no room, or the record is longer than any.
  [[nodiscard]] bool push(Queue& queue, std::span<const record::Slot> record, const Waiting& waiting) noexcept {
    if (record.empty() || record.size() > left_ || record.size() > scratch_.size()) return false;
    const std::uint32_t first = free_;
    std::uint32_t at = first;
    for (std::size_t i = 0; i < record.size(); ++i) {
      Node& node = nodes_[at];
      node.slot = record[i];
      at = node.next;
    }
    free_ = at;
    left_ -= record.size();
    Node& node = nodes_[first];
    node.waiting = waiting;
    node.slots = static_cast<std::uint32_t>(record.size());
    node.after = kNone;
    if (queue.empty()) {
      queue.head = first;
    } else {
      nodes_[queue.last].after = first;
    }
    queue.last = first;
    return true;
  }
  [[nodiscard]] const Waiting& front(const Queue& queue) const noexcept { return nodes_[queue.head].waiting; }
  /// The first record's first slot.
  [[nodiscard]] const record::Slot& front_slot(const Queue& queue) const noexcept { return nodes_[queue.head].slot; }
  /// The same of the last record.
  [[nodiscard]] const Waiting& back(const Queue& queue) const noexcept { return nodes_[queue.last].waiting; }
  [[nodiscard]] const record::Slot& back_slot(const Queue& queue) const noexcept { return nodes_[queue.last].slot; }
  /// Calls look(record, waiting) with the first records, at most `most`, until it returns false.
  template <class Look>
  void look_at_first(const Queue& queue, std::size_t most, Look look) noexcept {
    std::uint32_t head = queue.head;
    for (std::size_t i = 0; i < most && head != kNone; ++i, head = nodes_[head].after) {
      if (!look(copy(head, looked_at_), nodes_[head].waiting)) return;
    }
  }
  /// A copy of the first record, valid until the next call.
  [[nodiscard]] std::span<const record::Slot> copy_front(const Queue& queue) noexcept {
    return copy(queue.head, scratch_);
  }
  void pop(Queue& queue) noexcept {
    const std::uint32_t first = queue.head;
    const Node& node = nodes_[first];
    std::uint32_t end = first;
    for (std::uint32_t i = 1; i < node.slots; ++i) end = nodes_[end].next;
    left_ += node.slots;
    queue.head = node.after;
    if (queue.head == kNone) queue.last = kNone;
    nodes_[end].next = free_;
    free_ = first;
  }

 private:
  struct Node {
    record::Slot slot;
    std::uint32_t next = kNone;  ///< Slot of the record, or free one.
    // Of a record's first slot.
    std::uint32_t slots = 0;
    std::uint32_t after = kNone;  ///< The next record of the queue.
    Waiting waiting;
  };
  [[nodiscard]] std::span<const record::Slot> copy(std::uint32_t first, std::vector<record::Slot>& to) const noexcept {
    std::uint32_t at = first;
    for (std::uint32_t i = 0; i < nodes_[first].slots; ++i, at = nodes_[at].next) to[i] = nodes_[at].slot;
    return {to.data(), nodes_[first].slots};
  }

  std::vector<Node> nodes_;
  std::vector<record::Slot> scratch_;
  std::vector<record::Slot> looked_at_;
  std::uint32_t free_ = 0;
  std::size_t left_ = 0;
};

}  // namespace stopbit::standby
