#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "host/nic/netvm/page_protocol.hpp"

namespace stopbit::nic {

/// The words of PageTableLayout in memory.
class PageWords {
 public:
  explicit PageWords(std::size_t words) : words_(new std::atomic<std::uint64_t>[words]()) {}
  [[nodiscard]] std::uint64_t load(std::size_t word) const noexcept { return words_[word].load(); }
  void store(std::size_t word, std::uint64_t value) noexcept { words_[word].store(value); }
  void publish(std::size_t word, std::uint64_t value) noexcept { words_[word].store(value, std::memory_order_release); }

 private:
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

/// The set of resident pages: sized by the memory they may take, not by what they are pages of. The interface's side
/// (lock, unlock) and the pager's side (all else) belong to one thread each. The pager's side allocates, within the
/// number of frames.
class PageTable {
 public:
  explicit PageTable(std::size_t frames);

  // The interface.

  /// Nothing: it is not here, or it is about to go. `restarts` counts the latter.
  [[nodiscard]] std::optional<std::size_t> lock(std::uint64_t page, std::uint64_t& restarts) noexcept {
    const auto frame = lock_page(words_, layout_, page, restarts);
    if (frame) is_recent_[*frame].store(true, std::memory_order_relaxed);
    return frame;
  }
  void unlock(std::size_t frame) noexcept { unlock_page(words_, layout_, frame); }
  void unlock_dirty(std::size_t frame) noexcept { unlock_page_dirty(words_, layout_, frame); }

  // The pager.

  [[nodiscard]] std::size_t frames() const noexcept { return layout_.frames; }
  [[nodiscard]] std::size_t used() const noexcept { return frame_of_.size(); }
  /// The frame that the page lies in, found or not by the interface.
  [[nodiscard]] std::optional<std::size_t> frame_of(std::uint64_t page) const noexcept;
  /// Of a frame that is in use.
  [[nodiscard]] std::uint64_t page_in(std::size_t frame) const noexcept { return page_of_[frame]; }
  [[nodiscard]] bool is_used(std::size_t frame) const noexcept { return is_used_[frame]; }
  /// A frame for the page, which the interface does not find yet. Nothing: all are in use.
  [[nodiscard]] std::optional<std::size_t> take_frame(std::uint64_t page);
  /// Lets the interface find it. If its row is full, another page of the row is not found any more, until it is mapped
  /// again.
  void map(std::size_t frame) noexcept;
  /// False, and nothing changes, if the interface is using it.
  [[nodiscard]] bool unmap(std::size_t frame) noexcept { return unmap_page(words_, layout_, frame); }
  /// Whether the interface uses it or not: it finds it no more, but may be in the middle of it.
  void hide(std::size_t frame) noexcept { words_.store(layout_.page(frame), 0); }
  [[nodiscard]] bool take_dirty(std::size_t frame) noexcept { return nic::take_dirty(words_, layout_, frame); }
  /// Of a frame that was unmapped.
  void give_back(std::size_t frame);
  /// The next frame in use that was not used lately: second chance, around and around. Nothing: none is in use.
  [[nodiscard]] std::optional<std::size_t> next_victim() noexcept;
  /// How often a page lost its place in a full row, and got one again.
  [[nodiscard]] std::uint64_t crowded() const noexcept { return crowded_; }
  [[nodiscard]] std::uint64_t restored() const noexcept { return restored_; }

 private:
  PageTableLayout layout_;
  PageWords words_;
  std::unique_ptr<std::atomic<bool>[]> is_recent_;
  std::unordered_map<std::uint64_t, std::size_t> frame_of_;
  std::vector<std::uint64_t> page_of_;
  std::vector<bool> is_used_;
  std::vector<bool> is_crowded_out_;
  std::vector<std::size_t> free_;
  std::vector<std::uint8_t> row_counts_;
  std::size_t hand_ = 0;
  std::size_t next_slot_ = 0;
  std::uint64_t crowded_ = 0;
  std::uint64_t restored_ = 0;
};

}  // namespace stopbit::nic
