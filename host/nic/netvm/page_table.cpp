#include "host/nic/netvm/page_table.hpp"

namespace stopbit::nic {

PageTable::PageTable(std::size_t frames)
    : layout_{frames},
      words_(layout_.words()),
      is_recent_(new std::atomic<bool>[frames]()),
      page_of_(frames),
      is_used_(frames),
      is_crowded_out_(frames),
      row_counts_(frames) {
  frame_of_.reserve(frames);
  free_.reserve(frames);
  for (std::size_t frame = frames; frame-- > 0;) {
    words_.publish(layout_.host_dirty(frame), 1);  // all clean
    free_.push_back(frame);
  }
}

std::optional<std::size_t> PageTable::frame_of(std::uint64_t page) const noexcept {
  const auto found = frame_of_.find(page);
  return found == frame_of_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> PageTable::take_frame(std::uint64_t page) {
  if (free_.empty()) return std::nullopt;
  const std::size_t frame = free_.back();
  free_.pop_back();
  frame_of_[page] = frame;
  page_of_[frame] = page;
  is_used_[frame] = true;
  is_recent_[frame].store(true, std::memory_order_relaxed);
  return frame;
}

void PageTable::map(std::size_t frame) noexcept {
  const std::size_t row = layout_.row_of(page_of_[frame]);
  leave_row(words_, layout_, row, row_counts_[row], frame);  // it may already be in the row
  if (is_crowded_out_[frame]) ++restored_;
  is_crowded_out_[frame] = false;
  map_page(words_, layout_, frame, page_of_[frame]);
  const std::size_t victim = next_slot_++ % PageTableLayout::kDepth;
  const auto loser = static_cast<std::size_t>(words_.load(layout_.slot(row, victim)) - 1);
  if (enter_row(words_, layout_, row, row_counts_[row], frame, victim)) return;
  is_crowded_out_[loser] = true;
  ++crowded_;
}

void PageTable::give_back(std::size_t frame) {
  const std::size_t row = layout_.row_of(page_of_[frame]);
  leave_row(words_, layout_, row, row_counts_[row], frame);
  frame_of_.erase(page_of_[frame]);
  is_used_[frame] = is_crowded_out_[frame] = false;
  free_.push_back(frame);
}

std::optional<std::size_t> PageTable::next_victim() noexcept {
  if (frame_of_.empty()) return std::nullopt;
  for (;;) {
    const std::size_t frame = hand_;
    hand_ = (hand_ + 1) % layout_.frames;
    if (is_used_[frame] && !is_recent_[frame].exchange(false, std::memory_order_relaxed)) return frame;
  }
}

}  // namespace stopbit::nic
