#pragma once

#include <string>
#include <vector>

#include "tests/venue/appliance.hpp"
#include "tests/venue/history.hpp"

namespace stopbit::venue_test {

/// Compares what the appliance says of books with those of the exchange.
///
///     latest   it is the book at the newest packet that was delivered, or of one that was sent later (by a snapshot)
///     suspect  it is a book that the exchange has had
///     stale    rows of a refreshed book that are known are right at the newest packet, or, after a loss that may have
///              been of another instrument, were right before it
///
/// A number between two that were delivered was told as lost, if it was not delivered itself.
class Oracle {
 public:
  Oracle(const Plan& plan, const venue::Venue& venue, const History& history, Counts& counts, int story)
      : plan_(plan),
        venue_(venue),
        history_(history),
        counts_(counts),
        story_(story),
        right_at_(venue.instruments().size(), History::kNone) {}

  void take(std::span<const record::Slot> record);
  /// After each turn, between two datagrams.
  void check(const Appliance& appliance, std::uint64_t now_ns);
  /// At the end: every book is latest, and that of the exchange.
  void finish(const Appliance& appliance);
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  void deliver(std::size_t packet);
  void check_book(const market::EventMaker& maker, std::uint32_t instrument, std::uint32_t row);
  void check_known_rows(const market::BookSet& books, std::uint32_t instrument, std::uint32_t row);
  void check_end(const market::EventMaker& maker, std::uint32_t instrument);
  /// Whether more entries of the instrument came in the last cycle of snapshots than there is room for: then each
  /// snapshot, whose number is older than its arrival, lacks entries that were dropped.
  [[nodiscard]] bool is_beyond_room(std::uint32_t instrument) const;
  /// Whether no line shows that the last loss had nothing of the instrument, so that its book, which is right, stays
  /// suspect: snapshots of MOEX say no message while no instrument has had an entry, and those of T7 never do, so that
  /// a product is proved by its next message alone.
  [[nodiscard]] bool is_unproven(std::uint32_t instrument) const;
  /// Whether no whole loop of snapshots had it: those of B3 and CME leave out instruments that had no entry.
  [[nodiscard]] bool is_out_of_loops(std::uint32_t instrument) const;
  [[nodiscard]] std::size_t first_book(std::uint32_t instrument) const;
  void blame(std::uint32_t instrument, const std::string& what);

  const Plan& plan_;
  const venue::Venue& venue_;
  const History& history_;
  Counts& counts_;
  int story_;
  std::string fault_;
  std::string story_line_;
  std::uint64_t now_ns_ = 0;
  std::size_t delivered_ = History::kNone;    ///< The newest packet.
  std::size_t before_loss_ = History::kNone;  ///< The newest packet when some were lost last.
  std::size_t lost_ = History::kNone;         ///< The newest packet that was lost.
  std::vector<std::size_t> right_at_;         ///< By instrument: the newest packet when its rows were right last.
  struct Told {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::vector<Told> told_;      ///< Since the newest packet.
  bool is_reset_told_ = false;  ///< Since the last delivered packet.
  bool is_hidden_ = false;      ///< Numbers have begun anew, and by chance go on from those before: nothing shows it.
};

}  // namespace stopbit::venue_test
