#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/market/instrument/table.hpp"
#include "host/market/state/publisher.hpp"
#include "host/market/state/table.hpp"
#include "host/ring/writer.hpp"
#include "microcode/program.hpp"

namespace stopbit::testing {

/// A ring of events with its tables, as an appliance makes them.
class MarketTables {
 public:
  MarketTables(const std::string& name, std::uint32_t rows, const MarketTables* before = nullptr)
      : ring_(must(ring::Writer::create(name, program_of_events(),
                                        {.slot_count = 1024, .replaces = before ? &before->ring_ : nullptr}))),
        instruments_(
            must(market::InstrumentTable::create(name, {.capacity = rows,
                                                        .generation = 1,
                                                        .map_name = "test",
                                                        .quantity_decimals = 1,
                                                        .ring_epoch = ring_.epoch(),
                                                        .replaces = before ? &before->instruments_ : nullptr}))),
        states_(must(market::state::Table::create(
            name, {.rows = rows, .ring_epoch = ring_.epoch(), .replaces = before ? &before->states_ : nullptr}))),
        books_({.instruments = rows}),
        has_bid_(std::size_t{rows} + 1) {}

  void add(const std::string& key) {
    const std::uint32_t row = instruments_.add(key, [](market::InstrumentRow&) {});
    (void)books_.define(row, {{market::BookKind::Level, 5, 0}, {}, 1});
    take({.instrument = row, .kind = market::Kind::Clear, .id = 1});
    take({.instrument = row, .kind = market::Kind::Latest, .id = 1});
  }
  void bid(std::uint32_t row, std::int64_t price) {
    take({.flags = market::kFlagLastOfEvent,
          .instrument = row,
          .kind = has_bid_[row] ? market::Kind::Overlay : market::Kind::New,
          .side = market::Side::Bid,
          .level = 1,
          .price = price * market::kPriceUnits,
          .quantity = 70,
          .id = 1});
    has_bid_[row] = true;
  }
  void take(market::Content content) {
    content.channel = 1;
    content.arrival_ns = ++now_;
    market::Publisher(books_, nullptr, &states_).take(market::Event::of(content));
  }
  void beat(std::uint64_t now_ns) const { states_.beat(now_ns); }
  void finish() const { states_.finish(); }
  [[nodiscard]] std::uint64_t epoch() const { return ring_.epoch(); }
  void rename(std::uint32_t row, const std::string& name) {
    instruments_.change(row, [&](market::InstrumentRow& one) { instruments_.set_name(one, name); });
  }

 private:
  static Program program_of_events() {
    Program program;
    program.max_record_slots = 1;
    return program;
  }
  template <class T>
  static T must(Result<T> made) {
    if (!made) throw std::runtime_error(made.message());
    return std::move(made).value();
  }
  ring::Writer ring_;
  market::InstrumentTable instruments_;
  market::state::Table states_;
  market::BookSet books_;
  std::uint64_t now_ = 0;
  std::vector<bool> has_bid_;  ///< By row.
};

}  // namespace stopbit::testing
