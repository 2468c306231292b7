#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/instrument/table.hpp"

namespace stopbit::market {

/// Room for the books of a ring of market events.
struct FollowedRoom {
  std::uint32_t instruments = 16'384;
  std::uint32_t orders = 1'048'576;  ///< In all books by order or position together.
};

/// The books of a ring of market events as the events up to now make them, for readers that come late: they get events
/// that make the same books from nothing, and then the ring's next events.
///
/// A book is right for such a reader if its events were followed from the ring's first one, or from one that makes it
/// anew (snapshot_begin, clear). Of others the reader learns that they are stale.
///
/// One thread. Allocates all its room with the first instrument of a ring, so a ring of records costs nothing.
class FollowedBooks {
 public:
  explicit FollowedBooks(const FollowedRoom& room) : room_(room) {}

  /// Another ring. `instruments` must live until the next call; null: it has no books. `has_all`: its first event is
  /// taken next.
  void begin(const InstrumentView* instruments, bool has_all) noexcept;
  /// Events are missing here, so what is known of the books is not right any more.
  void lose() noexcept { forget(false); }
  void take(const Event& event);

  /// Calls `take` with events that make the present books from nothing, instrument by instrument: stale or suspect if
  /// it is, state, snapshot_begin, its rows or orders, snapshot_end, latest if it is. All have the flag `snapshot`;
  /// none ends an event, as the last one taken may not have.
  void for_each_event(const std::function<void(const Event&)>& take) const;

 private:
  static constexpr std::uint8_t kDefined = 1, kRight = 2;

  void forget(bool has_all) noexcept;
  void look(std::uint32_t row);
  void follow_from(const Event& event) noexcept;
  [[nodiscard]] bool is_pictured(std::uint32_t row) const noexcept;
  void picture(std::uint32_t row, const std::function<void(const Event&)>& take) const;
  template <class Put>
  void put_book(std::uint32_t row, const Put& put) const;

  FollowedRoom room_;
  const InstrumentView* instruments_ = nullptr;
  std::unique_ptr<BookSet> books_;
  std::vector<std::uint8_t> rows_;  ///< kDefined, kRight.
  bool has_all_ = false;            ///< Since the ring's first event.
  std::uint64_t arrival_ns_ = 0;    ///< Of the last event.
};

}  // namespace stopbit::market
