#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// How the interface and the pager agree about a page, so that no page is taken away while the interface uses it, and
/// no change of it is lost. Templates over the memory, so that a test can run them under every interleaving.
namespace stopbit::nic {

/// The words that both share. A frame is a slot for one resident page; a row has the frames of the pages whose numbers
/// fall on it, from its first slot on, and ends with an empty slot or when it is full.
///
/// Each word has one writer, so neither side needs an atomic change: the pager writes pages, rows and `host_dirty`, the
/// interface writes `lock` and `nic_dirty`.
struct PageTableLayout {
  static constexpr std::size_t kDepth = 8;  ///< Slots of a row: of full rows, 1 page in 10,000 finds no room.

  std::size_t frames = 0;  ///< And as many rows.

  [[nodiscard]] constexpr std::size_t words() const noexcept { return (4 + kDepth) * frames; }
  /// The page in the frame, plus 1; 0: none.
  [[nodiscard]] constexpr std::size_t page(std::size_t frame) const noexcept { return frame; }
  [[nodiscard]] constexpr std::size_t lock(std::size_t frame) const noexcept { return frames + frame; }
  /// Equal: the interface has changed the page. Different: it has not.
  [[nodiscard]] constexpr std::size_t host_dirty(std::size_t frame) const noexcept { return 2 * frames + frame; }
  [[nodiscard]] constexpr std::size_t nic_dirty(std::size_t frame) const noexcept { return 3 * frames + frame; }
  /// A frame, plus 1; 0: the end of the row.
  [[nodiscard]] constexpr std::size_t slot(std::size_t row, std::size_t index) const noexcept {
    return 4 * frames + row * kDepth + index;
  }
  [[nodiscard]] constexpr std::size_t row_of(std::uint64_t page_number) const noexcept {
    return static_cast<std::size_t>((page_number * 0x9E37'79B9'7F4A'7C15U >> 32U) * frames >> 32U);
  }
};

// `Memory` has load and store (sequentially consistent: nothing after a store is done before all threads see it and all
// earlier stores) and publish (release).
//
// Lock and unmap are Dekker's exclusion: each stores its own word first and looks at the other's then. So never both
// succeed; it may be that neither does, and then both try again.

/// The interface: takes the page's frame, so that it stays. Nothing: it is not here, or about to go.
template <class Memory>
std::optional<std::size_t> lock_page(Memory& memory, const PageTableLayout& layout, std::uint64_t page_number,
                                     std::uint64_t& restarts) {
  const std::size_t row = layout.row_of(page_number);
  for (std::size_t index = 0; index < PageTableLayout::kDepth; ++index) {
    const std::uint64_t entry = memory.load(layout.slot(row, index));
    if (entry == 0) break;
    const auto frame = static_cast<std::size_t>(entry - 1);
    if (memory.load(layout.page(frame)) != page_number + 1) continue;  // another page's, or it has gone
    memory.store(layout.lock(frame), 1);
    if (memory.load(layout.page(frame)) == page_number + 1) return frame;
    memory.publish(layout.lock(frame), 0);
    ++restarts;
  }
  return std::nullopt;
}

/// The interface, having changed nothing.
template <class Memory>
void unlock_page(Memory& memory, const PageTableLayout& layout, std::size_t frame) {
  memory.publish(layout.lock(frame), 0);
}

/// The interface, having written to the page. What it wrote must be out before it looks at the pager's word: otherwise
/// the pager may write back the old bytes and take this change for the one that it knows of.
template <class Memory>
void unlock_page_dirty(Memory& memory, const PageTableLayout& layout, std::size_t frame) {
  memory.store(layout.lock(frame), 1);  // again, for its order
  memory.publish(layout.nic_dirty(frame), memory.load(layout.host_dirty(frame)));
  memory.publish(layout.lock(frame), 0);
}

/// The pager: whether the interface has changed the page since the last call. A read of the page after this call sees
/// every change reported; a later change is reported next time.
template <class Memory>
bool take_dirty(Memory& memory, const PageTableLayout& layout, std::size_t frame) {
  const std::uint64_t seen = memory.load(layout.nic_dirty(frame));
  const bool is_dirty = seen == memory.load(layout.host_dirty(frame));
  memory.store(layout.host_dirty(frame), seen ^ 1U);
  return is_dirty;
}

/// The pager: from now on the interface does not find the page. False, and nothing changes, if it is using it.
template <class Memory>
bool unmap_page(Memory& memory, const PageTableLayout& layout, std::size_t frame) {
  const std::uint64_t was = memory.load(layout.page(frame));
  memory.store(layout.page(frame), 0);
  if (memory.load(layout.lock(frame)) == 0) return true;
  memory.publish(layout.page(frame), was);
  return false;
}

/// The pager: the page, whose bytes have arrived, is in the frame. It is found once it is in its row, too.
template <class Memory>
void map_page(Memory& memory, const PageTableLayout& layout, std::size_t frame, std::uint64_t page_number) {
  memory.publish(layout.page(frame), page_number + 1);
}

/// The pager: puts the frame into a row that has `count` frames. False: the row is full, and the frame in slot
/// `victim`, which is not found any more, has made room.
template <class Memory>
bool enter_row(Memory& memory, const PageTableLayout& layout, std::size_t row, std::uint8_t& count, std::size_t frame,
               std::size_t victim) {
  const bool has_room = count < PageTableLayout::kDepth;
  memory.publish(layout.slot(row, has_room ? count : victim), frame + 1);
  if (has_room) ++count;
  return has_room;
}

/// The pager: removes it again, if present. A reader of the row may meanwhile miss the frame that moves up, but never
/// finds a wrong one: the page's word decides.
template <class Memory>
void leave_row(Memory& memory, const PageTableLayout& layout, std::size_t row, std::uint8_t& count, std::size_t frame) {
  for (std::size_t index = 0; index < count; ++index) {
    if (memory.load(layout.slot(row, index)) != frame + 1) continue;
    --count;
    memory.publish(layout.slot(row, index), memory.load(layout.slot(row, count)));
    memory.publish(layout.slot(row, count), 0);
    return;
  }
}

}  // namespace stopbit::nic
