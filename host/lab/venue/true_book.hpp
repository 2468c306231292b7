#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::venue {

enum class Side : std::uint8_t { Bid = 0, Ask = 1 };
inline constexpr std::array kSides = {Side::Bid, Side::Ask};
[[nodiscard]] constexpr Side other(Side side) noexcept {
  return side == Side::Bid ? Side::Ask : Side::Bid;
}

struct Order {
  std::uint64_t id = 0;
  std::int64_t price = 0;  ///< In hundredths.
  std::uint64_t size = 0;
};

/// All orders of a price together.
struct Level {
  std::int64_t price = 0;
  std::uint64_t size = 0;
  std::uint32_t orders = 0;
  [[nodiscard]] friend bool operator==(const Level&, const Level&) = default;
};

/// The book of an instrument as the exchange has it: all orders, in the order in which they are executed.
class TrueBook {
 public:
  [[nodiscard]] const std::vector<Order>& orders(Side side) const noexcept { return sides_[index(side)]; }
  [[nodiscard]] bool is_empty() const noexcept { return sides_[0].empty() && sides_[1].empty(); }

  /// Where a new order of this price goes: after those of a better price, and of the same.
  [[nodiscard]] std::size_t place_for(Side side, std::int64_t price) const noexcept;
  void insert(Side side, std::size_t place, const Order& order);
  void resize(Side side, std::size_t place, std::uint64_t size) { sides_[index(side)][place].size = size; }
  /// Removes `count` orders from this place on.
  void remove(Side side, std::size_t place, std::size_t count = 1);
  void clear() noexcept;

  /// The best prices of a side, at most `depth` of them.
  [[nodiscard]] std::vector<Level> levels(Side side, std::size_t depth) const;

 private:
  [[nodiscard]] static constexpr std::size_t index(Side side) noexcept { return static_cast<std::size_t>(side); }
  std::array<std::vector<Order>, 2> sides_;
};

}  // namespace stopbit::venue
