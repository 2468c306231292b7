#pragma once

#include <cstdint>
#include <vector>

#include "host/lab/impair/random.hpp"
#include "host/lab/venue/true_book.hpp"

namespace stopbit::venue {

/// A change of a book. Each exchange says it in its own way.
struct Deed {
  enum class Kind : std::uint8_t {
    Add,     ///< `order` at `place`.
    Resize,  ///< The order at `place` has the size of `order`, and keeps its place.
    Move,    ///< The order at `place` becomes `order`, at place `to`, which counts after it has been taken away.
    Remove,  ///< The order at `place`, and `count` in all.
    Trade,   ///< `fills` of the best orders; the last one may leave a rest.
    Clear,   ///< Both sides.
  };
  struct Fill {
    std::int64_t price = 0;
    std::uint64_t size = 0;
    std::uint64_t rest = 0;  ///< Of the order that was in the book.
    std::uint64_t id = 0;    ///< The same.
  };
  Kind kind = Kind::Clear;
  Side side = Side::Bid;  ///< Of the book.
  std::size_t place = 0;
  std::size_t to = 0;
  std::size_t count = 1;
  Order order;
  std::vector<Fill> fills;
};

/// Most orders that one deed takes away, but for Clear.
inline constexpr std::size_t kMostDeleted = 16;

/// Does the deed to the book.
void apply(const Deed& deed, TrueBook& book);

/// What happens to one book: orders at random around a price that walks. The book never crosses.
class Trading {
 public:
  Trading() = default;
  /// `most`: orders of a side.
  Trading(std::int64_t price, std::size_t most) : price_(price), most_(most) {}

  /// The next deed, not yet done. `next_order`: the last identifier used by the exchange.
  [[nodiscard]] Deed next(const TrueBook& book, impair::Random& random, std::uint64_t& last_order);

 private:
  [[nodiscard]] Deed add(const TrueBook& book, Side side, impair::Random& random, std::uint64_t& last_order) const;
  [[nodiscard]] static Deed change(const TrueBook& book, Side side, impair::Random& random, std::uint64_t& last_order);
  [[nodiscard]] static Deed trade(const TrueBook& book, Side side, impair::Random& random);
  [[nodiscard]] static Deed cancel_many(const TrueBook& book, Side side, impair::Random& random);
  /// A price of the side that does not cross.
  [[nodiscard]] std::int64_t price_for(const TrueBook& book, Side side, impair::Random& random) const;

  std::int64_t price_ = 10'000;
  std::size_t most_ = 16;
};

}  // namespace stopbit::venue
