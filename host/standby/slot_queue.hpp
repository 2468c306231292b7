#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"

namespace stopbit::standby {

/// Records that wait, each with the time at which it came, in a ring of slots. One thread; allocates when it is made.
class SlotQueue {
 public:
  explicit SlotQueue(std::size_t slots) : slots_(std::max<std::size_t>(slots, 2)) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// A record of this length can be pushed now.
  [[nodiscard]] bool has_room(std::size_t slots) const noexcept {
    const std::size_t to_end = slots_.size() - tail_;
    const std::size_t skipped = to_end < slots + 1 ? to_end : 0;
    return slots + 1 + skipped <= slots_.size() - used_;
  }
  /// With room for it.
  void push(std::span<const record::Slot> record, std::uint64_t now_ns) noexcept {
    const std::size_t need = record.size() + 1;
    const std::size_t to_end = slots_.size() - tail_;
    if (to_end < need) {
      slots_[tail_].words[0] = 0;  // the rest of the ring is unused
      used_ += to_end;
      tail_ = 0;
    }
    slots_[tail_].words[0] = record.size();
    slots_[tail_].words[1] = now_ns;
    std::copy(record.begin(), record.end(), slots_.begin() + static_cast<std::ptrdiff_t>(tail_) + 1);
    tail_ = (tail_ + need) % slots_.size();
    used_ += need;
    ++count_;
  }
  [[nodiscard]] std::span<record::Slot> front() noexcept {
    skip();
    return {slots_.data() + head_ + 1, static_cast<std::size_t>(slots_[head_].words[0])};
  }
  [[nodiscard]] std::uint64_t front_ns() noexcept {
    skip();
    return slots_[head_].words[1];
  }
  void pop() noexcept {
    const std::size_t need = front().size() + 1;
    head_ = (head_ + need) % slots_.size();
    used_ -= need;
    --count_;
  }
  void clear() noexcept { head_ = tail_ = used_ = count_ = 0; }

 private:
  void skip() noexcept {
    if (slots_[head_].words[0] != 0) return;
    used_ -= slots_.size() - head_;
    head_ = 0;
  }

  std::vector<record::Slot> slots_;  ///< A slot before each record has its length and time; length 0: go on at 0.
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::size_t used_ = 0;
  std::size_t count_ = 0;
};

}  // namespace stopbit::standby
