#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "host/market/saved/layout.hpp"
#include "host/market/stage/translator.hpp"

namespace stopbit::market {

/// Copies what a translator knows for a file (host/market/saved), a few rows at a time, between datagrams. A row is
/// copied whole, with the number that its book has reached: rows of one file may be of different moments, as the
/// snapshots of a carousel are. No memory, no system call. One thread, that of the translator.
///
/// `Out` has room(), the slots that put(slot) takes now, and capacity(), those it could take ever.
class BookSaver {
 public:
  /// The head is the first slot.
  void begin() noexcept {
    *this = BookSaver();
    is_running_ = true;
  }
  [[nodiscard]] bool is_running() const noexcept { return is_running_; }

  /// Copies rows until `budget` slots were put or there is no room. A book of more than `most` entries is left out.
  template <class Out>
  void step(const Translator& from, std::uint32_t rows, const SavedHead& head, std::uint32_t budget, std::uint32_t most,
            Out& out) noexcept {
    if (!from.is_settled()) return;
    if (row_ == 0) {
      if (out.room() == 0) return;
      put(std::bit_cast<record::Slot>(head), out);
      row_ = 1;
    }
    for (std::uint32_t used = 0; row_ <= rows && used < budget; ++row_) {
      SavedRow row = from.saved(row_);
      if (row.entries > most || row.entries + kSavedRowSlots > out.capacity()) {
        ++left_out_;
        row.entries = 0;
        row.has = static_cast<std::uint8_t>(row.has & ~kSavedBook);
      }
      if (out.room() < row.entries + kSavedRowSlots) return;
      put(row, out);
      if (row.entries != 0) put_book(from, out);
      used += row.entries + kSavedRowSlots;
    }
    if (row_ <= rows || out.room() == 0) return;
    put_end(out);
  }
  /// Nothing more follows, and what there is is of no use: the end says so by its sum.
  template <class Out>
  void abandon(Out& out) noexcept {
    if (!is_running_ || out.room() == 0) return;
    ++slots_;  // that is not there
    put_end(out);
  }

 private:
  template <class Out>
  void put(const record::Slot& slot, Out& out) noexcept {
    sum_.add(slot);
    ++slots_;
    out.put(slot);
  }
  template <class Out>
  void put(const SavedRow& row, Out& out) noexcept {
    record::Slot slots[kSavedRowSlots];
    std::memcpy(static_cast<void*>(slots), &row, sizeof(row));
    for (const record::Slot& slot : slots) put(slot, out);
    ++rows_;
  }
  template <class Out>
  void put_book(const Translator& from, Out& out) noexcept {
    from.for_each_entry(row_, [&](const Event& event) { put(std::bit_cast<record::Slot>(event), out); });
  }
  template <class Out>
  void put_end(Out& out) noexcept {
    SavedEnd end{.rows = rows_, .slots = slots_ + 1, .left_out = left_out_};
    end.check = sum_.with(end);
    out.put(std::bit_cast<record::Slot>(end));
    is_running_ = false;
  }

  bool is_running_ = false;
  std::uint32_t row_ = 0;  ///< The next one; 0: the head.
  std::uint32_t rows_ = 0;
  std::uint64_t slots_ = 0;
  std::uint64_t left_out_ = 0;
  SavedSum sum_;
};

}  // namespace stopbit::market
