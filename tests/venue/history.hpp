#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/lab/venue/venue.hpp"
#include "host/market/book/row.hpp"

namespace stopbit::venue_test {

/// What the exchange has sent, and its books at each packet of increments. Those are counted from 0, over all resets.
class History {
 public:
  explicit History(std::size_t instruments, std::int64_t quantity_units);

  /// A packet of increments, before it is on the lines.
  void add(const venue::Packet& packet);

  [[nodiscard]] std::size_t packets() const noexcept { return sent_.size(); }
  [[nodiscard]] std::uint64_t sequence_of(std::size_t packet) const { return sent_[packet].sequence; }
  [[nodiscard]] std::uint64_t time_of(std::size_t packet) const { return sent_[packet].time_ns; }
  /// Whether its numbers go on from those of the packet before.
  [[nodiscard]] bool goes_on(std::size_t packet) const {
    return packet != 0 && sent_[packet].sequence == sent_[packet - 1].sequence + 1;
  }
  /// The packet that had this number when it arrived then. Packets are late by seconds at most, and numbers come again
  /// after longer.
  [[nodiscard]] std::size_t find(std::uint32_t sequence, std::uint64_t arrival_ns) const;

  struct Book {
    std::size_t since = 0;  ///< Packet.
    std::uint64_t number = 0;
    std::array<std::vector<market::Row>, 2> sides;  ///< Price, quantity and orders.
  };
  /// The books of an instrument, the first one of before the first packet.
  [[nodiscard]] std::span<const Book> books(std::uint32_t instrument) const { return books_[instrument]; }
  /// Index of the book that holds at this packet.
  [[nodiscard]] std::size_t at(std::uint32_t instrument, std::size_t packet) const;

  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  struct Sent {
    std::uint64_t sequence = 0;
    std::uint64_t time_ns = 0;
  };
  std::int64_t quantity_units_;
  std::vector<Sent> sent_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_sequence_;
  std::vector<std::vector<Book>> books_;
};

/// Whether both have the same prices, quantities and numbers of orders.
[[nodiscard]] bool same_side(std::span<const market::Row> rows, std::span<const market::Row> others) noexcept;
[[nodiscard]] std::string to_text(std::span<const market::Row> rows);

}  // namespace stopbit::venue_test
