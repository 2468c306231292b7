#pragma once

#include <cstdint>

#include "host/feed/arbitrate/number_table.hpp"
#include "host/feed/arbitrate/slots.hpp"

namespace stopbit::arbitrate {

/// Packets of the run that wait for missing numbers, or for the other chunks of their own: by arrival, and by number.
/// Beside them, second copies that differ from the first, in case that one does not decode.
class Held {
 public:
  /// Copies that can wait at once: they are rare, and all come from one faulty line or sender.
  static constexpr std::uint32_t kMostCopies = 64;

  Held(Slots& slots, NumberTable& table) noexcept : slots_(slots), table_(table) {}

  [[nodiscard]] bool empty() const noexcept { return oldest_ == kNone; }
  /// Without copies.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t copies() const noexcept { return copies_; }
  [[nodiscard]] const Slot& oldest() const noexcept { return slots_[oldest_]; }
  [[nodiscard]] const Slot& newest() const noexcept { return slots_[newest_]; }
  /// Whether packets of the number wait.
  [[nodiscard]] bool has(std::uint64_t number) const noexcept { return table_[number].held != 0; }

  void hold(const Packet& packet, std::uint64_t number) noexcept;
  /// Keeps another copy of the number, which waits and is not in chunks. @returns false if that is of no use, because
  /// it has the same bytes or another one is kept, or if there is no room.
  [[nodiscard]] bool keep_copy(const Packet& packet, std::uint64_t number) noexcept;
  /// Takes the first chunk of the number, which has one, out of all lists; after the last one its copy. It stays valid
  /// until it is freed.
  [[nodiscard]] std::uint32_t take_first(std::uint64_t number) noexcept;

 private:
  void link_by_arrival(std::uint32_t slot) noexcept;
  void link_by_chunk(std::uint32_t slot) noexcept;

  Slots& slots_;
  NumberTable& table_;
  std::uint32_t oldest_ = kNone;  ///< By arrival.
  std::uint32_t newest_ = kNone;
  std::uint32_t count_ = 0;
  std::uint32_t copies_ = 0;
};

}  // namespace stopbit::arbitrate
