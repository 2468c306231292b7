#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/data/sample/generator/fast_writer.hpp"

namespace stopbit::sample {

/// Random numbers that are the same on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 to bound - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }
  /// 0 with one half, 1 with one quarter, ..., at most `most`.
  std::uint64_t falling(std::uint64_t most);

 private:
  std::uint64_t state_;
};

struct Level {
  std::int64_t price = 0;  ///< Mantissa; the exponent is the instrument's.
  std::uint32_t size = 0;
  std::uint32_t orders = 0;
};

enum class Side : std::uint8_t { Bid = 0, Offer = 1 };
enum class Action : std::uint8_t { New = 0, Change = 1, Delete = 2 };

/// A change of one level of a book.
struct BookChange {
  Action action = Action::Change;
  Side side = Side::Bid;
  std::uint32_t level = 1;  ///< From 1, the best.
  Level after;              ///< Deleted: as it was.
  std::uint32_t rpt_seq = 0;
};

struct Execution {
  std::int64_t price = 0;
  std::uint32_t size = 0;
  Side aggressor = Side::Bid;
  std::int64_t net_change = 0;  ///< Against the first price of the day.
  BookChange change;            ///< What it does to the book.
};

struct Leg {
  std::string symbol;
  std::int32_t ratio = 1;
};

/// An instrument and its book: at most ten levels a side, best first, never crossed.
struct Instrument {
  std::string symbol;
  std::string description;
  std::string currency;
  std::uint32_t id = 0;
  std::int32_t exponent = -2;
  std::int64_t tick = 1;
  std::uint32_t lot = 1;
  std::optional<std::uint32_t> maturity;
  bool limited = false;
  std::vector<Leg> legs;
  std::int64_t opening = 0;  ///< Price the day began with.

  std::vector<Level> sides[2];
  std::uint32_t rpt_seq = 0;

  [[nodiscard]] Decimal price(std::int64_t mantissa) const { return {mantissa, exponent}; }
};

/// The twenty instruments with their opening books.
[[nodiscard]] std::vector<Instrument> open_market(Random& random);

/// Someone adds, reduces or cancels an order.
[[nodiscard]] BookChange change_book(Instrument& instrument, Random& random);
/// Someone takes from the best level of a side.
[[nodiscard]] Execution trade(Instrument& instrument, Random& random);

}  // namespace stopbit::sample
