#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "host/market/book/level_book.hpp"
#include "host/market/book/order_book.hpp"
#include "host/market/book/position_book.hpp"
#include "host/market/book/price_book.hpp"

namespace stopbit::market {

/// What the entries of a book name.
enum class BookKind : std::uint8_t {
  None = 0,
  Level = 1,     ///< A position among the prices.
  Price = 2,     ///< A price.
  Order = 3,     ///< An order's identifier.
  Position = 4,  ///< A position among the orders.
};

/// As feed maps have it; empty for an unknown value.
[[nodiscard]] constexpr std::string_view name_of(BookKind kind) noexcept {
  switch (kind) {
    case BookKind::None: return "none";
    case BookKind::Level: return "level";
    case BookKind::Price: return "price";
    case BookKind::Order: return "order";
    case BookKind::Position: return "position";
  }
  return {};
}

struct BookShape {
  BookKind kind = BookKind::None;
  std::uint16_t depth = 0;  ///< Of books by level or price; 0: not known, or without end.
  std::int64_t tick = 0;    ///< Of books by order, units of 1e-9; 0: not known.

  [[nodiscard]] friend constexpr bool operator==(const BookShape&, const BookShape&) = default;
};

/// Room for all books together, taken at the start. What does not fit makes an instrument stale with cause `room`.
struct BookRoom {
  std::uint32_t instruments = 1'024;  ///< Rows 1 to this of the instrument table; at most kMaxInstrument.
  std::uint32_t implied = 0;          ///< Instruments that have a book of implied prices beside the direct one.
  std::uint32_t rows = 65'536;        ///< Of 32 bytes, in books by level or price.
  std::uint32_t orders = 0;           ///< In books by order: 64 to 128 bytes; at most OrderTable::kMostOrders.
  std::uint32_t levels = 0;           ///< Prices in books by order, 32 bytes each; never more in use than orders.
  std::uint32_t listed = 0;           ///< Prices outside ladders in books by order, 16 bytes.
  std::uint32_t ladders = 0;          ///< Sides of books by order with more than a few prices, 34 KiB.
  std::uint32_t placed = 0;           ///< Orders in books by position, 32 bytes.
  std::uint32_t positions = 0;        ///< Positions in them, 4 bytes.
  std::uint64_t salt = 0;             ///< Any number that senders do not know.

  /// Makes room for books of this kind of all instruments, with at most `most_orders` orders together.
  constexpr void add(BookKind kind, std::uint32_t most_orders) noexcept {
    constexpr std::uint32_t kRowsOfBook = 64;
    switch (kind) {
      case BookKind::None: break;
      case BookKind::Level:
      case BookKind::Price: rows = std::max(rows, instruments * kRowsOfBook); break;
      case BookKind::Order:
        orders = levels = most_orders;
        listed = most_orders / 2;
        ladders = 256;
        break;
      case BookKind::Position:
        placed = most_orders;
        positions = most_orders * 2;
        break;
    }
  }
};

struct BookPools {
  explicit BookPools(const BookRoom& room)
      : rows(room.rows),
        orders(room.orders, room.levels, room.listed, room.ladders, room.salt),
        placed(room.placed, room.positions) {}
  BlockPool<Row> rows;
  OrderPools orders;
  PositionPools placed;
  [[nodiscard]] std::size_t bytes() const noexcept { return rows.bytes() + orders.bytes() + placed.bytes(); }
};

/// A book of any kind. Its memory is in the pools, to which release() gives it back. Trivially copyable.
class AnyBook {
 public:
  AnyBook() noexcept : level_() {}

  [[nodiscard]] BookKind kind() const noexcept { return kind_; }

  /// Nothing is known of the book. What it had before must have been released.
  void begin(const BookShape& shape, std::uint32_t instrument, BookPools& pools) noexcept {
    kind_ = shape.kind;
    switch (kind_) {
      case BookKind::None: return;
      case BookKind::Level:
        level_ = LevelBook();
        level_.begin(shape.depth);
        break;
      case BookKind::Price:
        price_ = PriceBook();
        price_.begin(shape.depth);
        break;
      case BookKind::Order:
        order_ = OrderBook();
        order_.begin(instrument, shape.tick);
        break;
      case BookKind::Position: position_ = PositionBook(); break;
    }
    lose(pools);
  }
  void release(BookPools& pools) noexcept {
    switch (kind_) {
      case BookKind::None: break;
      case BookKind::Level: level_.release(pools.rows); break;
      case BookKind::Price: price_.release(pools.rows); break;
      case BookKind::Order: order_.release(pools.orders); break;
      case BookKind::Position: position_.release(pools.placed); break;
    }
    kind_ = BookKind::None;
  }
  /// Both sides are empty, and known to be.
  void clear(BookPools& pools) noexcept {
    switch (kind_) {
      case BookKind::None: break;
      case BookKind::Level: level_.clear(); break;
      case BookKind::Price: price_.clear(); break;
      case BookKind::Order: order_.clear(pools.orders); break;
      case BookKind::Position: position_.clear(pools.placed); break;
    }
  }
  /// Nothing is known any more.
  void lose(BookPools& pools) noexcept {
    switch (kind_) {
      case BookKind::None: break;
      case BookKind::Level: level_.lose(); break;
      case BookKind::Price: price_.lose(); break;
      case BookKind::Order: order_.lose(pools.orders); break;
      case BookKind::Position: position_.lose(pools.placed); break;
    }
  }

  /// An event of kind new to delete_side. `sets`: part of a snapshot. After a fault the book must be lost.
  [[nodiscard]] Fault apply(const Event& event, bool sets, BookPools& pools) noexcept {
    switch (kind_) {
      case BookKind::None: return Fault::NoBook;
      case BookKind::Level: return level_.apply(event, sets, pools.rows);
      case BookKind::Price: return price_.apply(event, sets, pools.rows);
      case BookKind::Order: return order_.apply(event, pools.orders);
      case BookKind::Position: return position_.apply(event, sets, pools.placed);
    }
    return Fault::NoBook;
  }

  /// The same for an entry that is not of a snapshot, where there is a short way for it.
  [[nodiscard, gnu::always_inline]] LevelBook::Moved move(const Event& event, BookPools& pools) noexcept {
    return kind_ == BookKind::Level ? level_.move(event, pools.rows) : LevelBook::Moved();
  }

  /// apply() for an entry that may change the best row. Once for each kind: a call for each best row would cost more
  /// than the entry.
  [[nodiscard]] Applied apply_to_best(const Event& event, bool sets, BookPools& pools) noexcept {
    switch (kind_) {
      case BookKind::None: break;
      case BookKind::Level:
        return compared(
            event, [&](Side side) { return level_.row(side, 0, pools.rows); },
            [&](Side side) { return level_.extent(side).is_whole; },
            [&] { return level_.apply(event, sets, pools.rows); });
      case BookKind::Price:
        return compared(
            event, [&](Side side) { return price_.best(side, pools.rows); },
            [&](Side side) { return !price_.is_open(side); }, [&] { return price_.apply(event, sets, pools.rows); });
      case BookKind::Order:
        return compared(
            event, [&](Side side) { return order_.best(side, pools.orders); }, [&](Side) { return !order_.is_open(); },
            [&] { return order_.apply(event, pools.orders); });
      case BookKind::Position:
        return compared(
            event, [&](Side side) { return position_.best(side, pools.placed); },
            [&](Side side) { return !position_.is_open(side) && position_.unknown(side) == 0; },
            [&] { return position_.apply(event, sets, pools.placed); });
    }
    return Applied{.fault = Fault::NoBook}.as_word();
  }

  /// Whether the entry can change the best row of a side.
  [[nodiscard]] bool may_be_best(const Event& event) const noexcept {
    return kind_ != BookKind::Level || LevelBook::may_be_best(event);
  }
  [[nodiscard]] Row best(Side side, const BookPools& pools) const noexcept {
    switch (kind_) {
      case BookKind::None: return {};
      case BookKind::Level: return level_.row(side, 0, pools.rows);
      case BookKind::Price: return price_.best(side, pools.rows);
      case BookKind::Order: return order_.best(side, pools.orders);
      case BookKind::Position: return position_.best(side, pools.placed);
    }
    return {};
  }

  /// The best of the known rows; an unknown one may be better.
  [[nodiscard]] Row first(Side side, const BookPools& pools) const noexcept {
    switch (kind_) {
      case BookKind::Price: return price_.row(side, 0, pools.rows);
      case BookKind::Order: return order_.first(side, pools.orders);
      default: return best(side, pools);
    }
  }

  /// Writes the first rows of a side, best first, and returns how many; unknown ones have `is_known` 0. Books of orders
  /// give one row for each price, books by position up to the first unknown order. Books by price and by order have an
  /// unknown row where any number of them may be: after what extent() knows, and before the other rows.
  std::size_t rows(Side side, std::span<Row> out, const BookPools& pools) const noexcept {
    std::size_t count = 0;
    switch (kind_) {
      case BookKind::None: return 0;
      case BookKind::Level:
        for (; count < std::min<std::size_t>(out.size(), level_.listed(side)); ++count) {
          out[count] = level_.row(side, static_cast<unsigned>(count), pools.rows);
        }
        return count;
      case BookKind::Price: {
        const unsigned known = price_.known_to(side, pools.rows);
        for (unsigned i = 0; i < price_.listed(side) && count < out.size(); ++i) {
          if (i == known) out[count++] = Row();
          if (count < out.size()) out[count++] = price_.row(side, i, pools.rows);
        }
        return count;
      }
      case BookKind::Order:
        if (order_.is_open() && order_.orders(side) != 0 && !out.empty()) out[count++] = Row();
        order_.for_each_level(side, pools.orders, [&](const PriceLevel& level) {
          if (count == out.size()) return false;
          out[count++] = OrderBook::row_of_level(side, level);
          return true;
        });
        return count;
      case BookKind::Position: {
        bool is_full = false;
        const bool is_all = position_.for_each_price(side, pools.placed, [&](const Row& row) {
          is_full = count == out.size();
          if (!is_full) out[count++] = row;
          return !is_full;
        });
        if (!is_all && !is_full && count < out.size()) out[count++] = Row();
        return count;
      }
    }
    return count;
  }

  [[nodiscard]] Extent extent(Side side, const BookPools& pools) const noexcept {
    switch (kind_) {
      case BookKind::None: return {};
      case BookKind::Level: return level_.extent(side);
      case BookKind::Price: return {price_.known_to(side, pools.rows), !price_.is_open(side)};
      case BookKind::Order: {
        if (order_.is_open()) return {};
        return {kMany, true};
      }
      case BookKind::Position: {
        const bool is_open = position_.is_open(side);
        if (!is_open && position_.unknown(side) == 0) return {kMany, true};
        return {position_.best(side, pools.placed).is_known != 0 ? 1U : 0U, false};
      }
    }
    return {};
  }

  /// Whether a side may have rows beyond those that rows() gives.
  [[nodiscard]] bool is_open(Side side) const noexcept {
    switch (kind_) {
      case BookKind::None: break;
      case BookKind::Level: return level_.is_open(side);
      case BookKind::Price: return price_.is_open(side);
      case BookKind::Order: return order_.is_open();
      case BookKind::Position: return position_.is_open(side) || position_.unknown(side) != 0;
    }
    return true;
  }

  void prefetch(const Event& event, const BookPools& pools) const noexcept {
    if (kind_ == BookKind::Order) order_.prefetch(event, pools.orders);
    if (kind_ == BookKind::Level) level_.prefetch(event.side(), pools.rows);
  }
  void prefetch_order(const Event& event, const BookPools& pools) const noexcept {
    if (kind_ == BookKind::Order) order_.prefetch_order(event, pools.orders);
  }

  [[nodiscard]] const LevelBook* as_level() const noexcept { return kind_ == BookKind::Level ? &level_ : nullptr; }
  [[nodiscard]] const PriceBook* as_price() const noexcept { return kind_ == BookKind::Price ? &price_ : nullptr; }
  [[nodiscard]] const OrderBook* as_order() const noexcept { return kind_ == BookKind::Order ? &order_ : nullptr; }
  [[nodiscard]] const PositionBook* as_position() const noexcept {
    return kind_ == BookKind::Position ? &position_ : nullptr;
  }

  static constexpr std::uint32_t kMany = 0xFFFF'FFFF;  ///< `known_to` of sides whose prices are not counted.

 private:
  template <class Best, class IsWhole, class Apply>
  [[nodiscard, gnu::always_inline]] static Applied compared(const Event& event, const Best& best,
                                                            const IsWhole& is_whole, const Apply& apply) noexcept {
    // An entry with a side changes no other; one without may be about an order of either.
    const Side side = event.side() == Side::Ask ? Side::Ask : Side::Bid;
    const bool is_of_both = event.side() != side;
    const auto are_whole = [&] { return is_whole(side) && (!is_of_both || is_whole(Side::Ask)); };
    const bool were_whole = are_whole();
    const Row before = best(side);
    const Row other_before = is_of_both ? best(Side::Ask) : Row();
    if (const Fault fault = apply(); fault != Fault::None) [[unlikely]]
      return Applied{.fault = fault}.as_word();
    const bool is_same = same_best(best(side), before) && (!is_of_both || same_best(best(Side::Ask), other_before));
    return Applied{.best_changed = !is_same, .is_quiet = is_same && were_whole && are_whole()}.as_word();
  }

  BookKind kind_ = BookKind::None;
  union {
    LevelBook level_;
    PriceBook price_;
    OrderBook order_;
    PositionBook position_;
  };
};

}  // namespace stopbit::market
