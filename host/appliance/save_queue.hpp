#pragma once

#include <atomic>
#include <cstddef>

#include "decoder/record/layout.hpp"
#include "host/os/spsc_queue.hpp"

namespace stopbit::appliance {

/// Instruments and books on their way from the thread that decodes to the one that writes files: slots of
/// host/market/saved. A place to put them, too (market::BookSaver).
class SaveQueue {
 public:
  static constexpr std::size_t kSlots = 8'192;
  /// Entries of a book that is copied between two datagrams. Larger ones are saved at the end only.
  static constexpr std::uint32_t kMostEntries = 1'024;
  /// Slots that are copied in a turn without datagrams.
  static constexpr std::uint32_t kIdleSlots = 256;

  // Of the thread that writes files.
  void want() noexcept { is_wanted_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_wanted() const noexcept { return is_wanted_.load(std::memory_order_acquire); }
  [[nodiscard]] bool take(record::Slot& slot) noexcept { return slots_.pop(slot); }

  // Of the thread that decodes.
  void done() noexcept { is_wanted_.store(false, std::memory_order_release); }
  [[nodiscard]] std::size_t room() const noexcept { return slots_.room(); }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return kSlots; }
  void put(const record::Slot& slot) noexcept { (void)slots_.push(slot); }

 private:
  std::atomic<bool> is_wanted_ = false;
  os::SpscQueue<record::Slot> slots_{kSlots};
};

}  // namespace stopbit::appliance
