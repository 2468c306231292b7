// Writes segments with contents that never change, for readers of other releases.
//
// usage: writer FOLDER     makes FOLDER/ring, FOLDER/books.counters, FOLDER/market and its two tables
//        writer --broker   publishes a ring `cme` until its input ends; first prints socket and ring

#include <cstdio>
#include <string>
#include <string_view>

#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/state/publisher.hpp"
#include "host/monitor/counters/writer.hpp"
#include "host/ring/writer.hpp"
#include "tests/unit/nic/house.hpp"

namespace stopbit {
namespace {

void write_records(remote::Feed& feed) {
  for (std::uint32_t i = 0; i < 5; ++i) feed.tick(1000 + i, i % 2 == 0 ? "ESZ6" : std::string(20, 'x'));
  feed.book({7, 8, 9});
  feed.event(record::EventKind::Gap);
  feed.tick(0xFFFF'FFFF, "");
}

/// A ring of market events, some with fields at their limits, and the tables beside it.
int write_market(const std::string& name) {
  using market::Kind;
  auto ring = ring::Writer::create(name, remote::market(), {.slot_count = 64});
  const std::uint64_t epoch = ring ? ring.value().epoch() : 0;
  auto instruments = market::InstrumentTable::create(
      name, {.capacity = 4, .generation = 7, .map_name = "compat", .quantity_decimals = 2, .ring_epoch = epoch});
  auto states = market::state::Table::create(name, {.rows = 2, .levels = 3, .generation = 7, .ring_epoch = epoch});
  if (!ring || !instruments || !states) {
    std::fputs("a table or its ring cannot be made\n", stderr);
    return 1;
  }
  market::InstrumentTable& table = instruments.value();
  (void)table.add("27069", [&](market::InstrumentRow& row) {
    table.set_name(row, "ESM2");
    market::InstrumentTable::set_product(row, "ES");
    row.flags |= market::kRowDefined;
    row.channel = 310;
    row.tick = 250'000'000;
    row.depth[0] = 10;
    row.depth[1] = 2;
    row.book_kind[0] = row.book_kind[1] = static_cast<std::uint8_t>(market::BookKind::Level);
    row.state = static_cast<std::uint8_t>(market::TradingState::Open);
    row.state_code = 17;
    row.state_scale = 1;
    row.session = 20'270'104;
    row.first_number = 5;
    row.first_ns = 1'000;
    row.definition_ns = 2'000;
    row.definition_sequence = 3;
    row.definition_channel = 311;
    row.complex = 9;
  });
  (void)table.add("SBER/TQBR", [](market::InstrumentRow&) {});
  market::BookSet books({.instruments = 2});
  for (const std::uint32_t row : {1U, 2U}) (void)books.define(row, {{market::BookKind::Level, 5, 0}, {}, 310});
  market::Publisher publisher(books, &ring.value(), &states.value());
  std::uint32_t sequence = 0;
  const auto take = [&](market::Content content) {
    content.channel = 310;
    content.sequence = ++sequence;
    content.arrival_ns = 1'799'053'200'000'000'000 + sequence;
    (void)publisher.take(market::Event::of(content));
  };
  constexpr std::int64_t kPrice = 1'411'500'000'000;
  take({.instrument = 1, .kind = Kind::Clear, .id = 1});
  for (std::uint16_t level = 1; level <= 4; ++level) {
    for (const market::Side side : {market::Side::Bid, market::Side::Ask}) {
      take({.instrument = 1,
            .delay_ns = 812,
            .kind = Kind::New,
            .side = side,
            .level = level,
            .price = side == market::Side::Bid ? kPrice - level : kPrice + level,
            .quantity = 100 * level,
            .id = level});
    }
  }
  take({.instrument = 1, .kind = Kind::Trade, .side = market::Side::Ask, .price = kPrice, .quantity = 25, .id = 77});
  take({.instrument = 1, .kind = Kind::State, .id = market::StateCode{market::TradingState::Auction, 24, 2}.packed()});
  take({.instrument = 1,
        .kind = Kind::Statistic,
        .level = static_cast<std::uint16_t>(market::Statistic::Volume),
        .quantity = market::kMaxQuantity});
  take({.flags = market::kFlagLastOfEvent, .instrument = 1, .kind = Kind::Latest, .id = 70});
  take({.flags = record::kFlagStale,
        .instrument = 2,
        .kind = Kind::Stale,
        .level = static_cast<std::uint16_t>(market::Cause::Gap),
        .id = 5});
  take({.instrument = market::kAllInstruments, .kind = Kind::News, .price = -1, .quantity = -1});
  take({.flags = market::kFlagLastOfEvent | market::kFlagWide,
        .instrument = 2,
        .delay_ns = -5,
        .kind = Kind::Other,
        .book = market::BookOf::Implied,
        .level = market::kLevelBehind,
        .id = ~std::uint64_t{0}});
  states.value().finish();
  ring.value().finish();
  return 0;
}

int write_segments(const std::string& folder) {
  remote::Feed feed(folder + "/ring", remote::market(), 64);
  write_records(feed);
  feed.writer->finish();
  counters::Schema schema;
  const auto packets = schema.add(counters::Kind::Counter, "packets", {{"line", "A"}, {"channel", "310"}}, "Packets.");
  const auto depth = schema.add(counters::Kind::Gauge, "depth", {}, "Depth of the queue.");
  const auto state = schema.add(counters::Kind::Text, "state", {}, "State.");
  const auto delay = schema.add(counters::Kind::Histogram, "delay", {}, "Delay.", counters::Unit::Nanoseconds);
  const auto made = counters::Segment::create(folder + "/books", schema);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.message().c_str());
    return 1;
  }
  const counters::Segment& segment = made.value();
  segment.counter(packets).add(123'456'789'012);
  segment.counter(depth).set(17);
  segment.text(state).set("live");
  for (std::uint64_t i = 1; i <= 100; ++i) segment.histogram(delay).add(i * i);
  segment.finish();
  return write_market(folder + "/market");
}

int be_broker() {
  remote::House house;
  write_records(house.cme_feed);
  std::printf("%s %s\n", remote::House::socket().c_str(), "cme");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace
}  // namespace stopbit

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: writer FOLDER | --broker\n", stderr);
    return 2;
  }
  return std::string_view(argv[1]) == "--broker" ? stopbit::be_broker() : stopbit::write_segments(argv[1]);
}
