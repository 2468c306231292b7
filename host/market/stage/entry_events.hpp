#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "host/market/event/event.hpp"

namespace stopbit::market {

/// The events of one entry. Those for the book may have to wait for what is missing before them; a trade does not.
class EntryEvents {
 public:
  void clear() noexcept { books_ = plain_ = sessions_ = 0; }
  /// The book ends with its session: before all else.
  void end_session(const Event& event) noexcept {
    for (std::size_t i = books_++; i > 0; --i) for_book_[i] = for_book_[i - 1];
    for_book_[0] = event;
    sessions_ = 1;
  }
  /// Its content is undefined.
  [[nodiscard]] Event& add_book() noexcept { return for_book_[books_++]; }
  void add_plain(const Event& event) noexcept { others_[plain_++] = event; }

  [[nodiscard]] std::span<const Event> for_book() const noexcept { return {for_book_.data(), books_}; }
  [[nodiscard]] std::span<const Event> others() const noexcept { return {others_.data(), plain_}; }
  /// Calls emit(event) for all, in order.
  template <class Emit>
  [[gnu::always_inline]] void for_each(const Emit& emit) const noexcept {
    if (books_ == 1 && (plain_ | sessions_) == 0) [[likely]]
      return emit(for_book_[0]);
    for (std::size_t i = 0; i < sessions_; ++i) emit(for_book_[i]);
    for (std::size_t i = 0; i < plain_; ++i) emit(others_[i]);
    for (std::size_t i = sessions_; i < books_; ++i) emit(for_book_[i]);
  }

 private:
  // An entry is at most the end of a session, a trade, and what rests of its order.
  std::array<Event, 2> for_book_{};
  std::array<Event, 2> others_{};
  std::size_t books_ = 0;
  std::size_t plain_ = 0;
  std::size_t sessions_ = 0;
};

}  // namespace stopbit::market
