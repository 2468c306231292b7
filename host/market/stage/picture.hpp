#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// A snapshot that comes in, perhaps in parts: its entries as events. One thread; allocates when it is made only.
class Picture {
 public:
  explicit Picture(std::uint32_t room) : events_(std::make_unique_for_overwrite<Event[]>(room)), room_(room) {}

  void begin(std::uint32_t row) noexcept {
    row_ = row;
    count_ = 0;
    session_ = 0;
    is_whole_ = true;
  }
  /// An event that finds no room spoils the picture.
  void add(const Event& event) noexcept {
    if (count_ == room_) return spoil();
    events_[count_++] = event;
  }
  /// Some of it is missing: it is of no use.
  void spoil() noexcept { is_whole_ = false; }
  void set_session(std::uint64_t session) noexcept { session_ = session; }

  [[nodiscard]] std::uint32_t room() const noexcept { return room_; }
  [[nodiscard]] std::uint32_t row() const noexcept { return row_; }
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  [[nodiscard]] std::uint64_t session() const noexcept { return session_; }  ///< 0: it says none.
  [[nodiscard]] std::span<const Event> events() const noexcept { return {events_.get(), count_}; }

 private:
  std::unique_ptr<Event[]> events_;
  std::uint32_t room_;
  std::uint32_t count_ = 0;
  std::uint32_t row_ = 0;
  std::uint64_t session_ = 0;
  bool is_whole_ = false;
};

/// The book that a picture makes, beside those of the instruments. One thread; allocates when it is made only.
class BookBeside {
 public:
  /// `room`: that of one book, but for `instruments`.
  explicit BookBeside(BookRoom room);

  /// Builds the book, of the same shape as the instrument's. False: the picture contradicts itself, or is too large.
  [[nodiscard]] bool build(const Picture& picture, const InstrumentShape& shape) noexcept;
  /// Whether what is known of the instrument's book is the same, by price: quantities, and numbers of orders where both
  /// know them. Of a side the first kCompared rows.
  [[nodiscard]] bool is_like(const BookSet& books, std::uint32_t row) const noexcept;

  static constexpr std::size_t kCompared = 4'096;

 private:
  [[nodiscard]] bool is_like(const BookSet& books, std::uint32_t row, Side side, BookOf of) const noexcept;

  BookSet books_;
  std::unique_ptr<Row[]> rows_;  ///< kCompared of each.
};

}  // namespace stopbit::market
