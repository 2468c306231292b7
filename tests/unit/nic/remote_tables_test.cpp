// The tables of instruments and states beside a ring of market events, at its subscribers.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/state/publisher.hpp"
#include "host/market/state/tables.hpp"
#include "host/remote/row_marks.hpp"
#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::remote::remote_tables_test {

constexpr std::uint16_t kChannel = 7;
constexpr std::uint32_t kLevels = 3;

std::string path_of(const std::string& name, const std::string& suffix) {
  return os::path_of(name).value() + suffix;
}

/// A feed's events, their ring and its tables, as an appliance makes them.
class Market {
 public:
  explicit Market(const std::string& name, std::uint32_t room = 3'000, std::uint64_t slots = 8'192,
                  const Market* replaces = nullptr)
      : ring_(made(ring::Writer::prepare(
            name, market(), {.slot_count = slots, .replaces = replaces != nullptr ? &replaces->ring_ : nullptr}))),
        instruments(made(market::InstrumentTable::prepare(
            name, {.capacity = room,
                   .generation = 5,
                   .map_name = "test",
                   .quantity_decimals = 2,
                   .ring_epoch = ring_.epoch(),
                   .replaces = replaces != nullptr ? &replaces->instruments : nullptr}))),
        states(
            made(market::state::Table::prepare(name, {.rows = room,
                                                      .levels = kLevels,
                                                      .generation = 5,
                                                      .ring_epoch = ring_.epoch(),
                                                      .replaces = replaces != nullptr ? &replaces->states : nullptr}))),
        books({.instruments = room, .rows = 16 * room}),
        publisher_(books, &ring_, &states) {
    EXPECT_TRUE(instruments.take_name());
    EXPECT_TRUE(states.take_name());
    EXPECT_TRUE(ring_.take_name());
  }
  std::uint32_t add(const std::string& key) {
    const std::uint32_t row = instruments.add(key, [&](market::InstrumentRow& to) {
      to.channel = kChannel;
      instruments.set_name(to, "name of " + key);
    });
    EXPECT_NE(row, 0U);
    (void)books.define(row, {.direct = {market::BookKind::Level, 10}, .implied = {}, .channel = kChannel});
    send(event(row, market::Kind::Definition));
    return row;
  }
  /// The whole book of the instrument, in one event of the exchange's.
  void quote(std::uint32_t row, std::int64_t price, std::size_t levels = 2) {
    send(event(row, market::Kind::Clear), false);
    for (std::size_t level = 1; level <= levels; ++level) {
      for (const market::Side side : {market::Side::Bid, market::Side::Ask}) {
        market::Content content = event(row, market::Kind::New);
        content.side = side;
        content.level = static_cast<std::uint16_t>(level);
        content.price = price + static_cast<std::int64_t>(level) * (side == market::Side::Bid ? -10 : 10);
        content.quantity = price % 100;
        send(content, level == levels && side == market::Side::Ask);
      }
    }
  }
  void trade(std::uint32_t row, std::int64_t price) {
    market::Content content = event(row, market::Kind::Trade);
    content.price = price;
    content.quantity = 3;
    send(content);
  }
  void send(market::Content content, bool is_last = true) {
    content.flags = is_last ? market::kFlagLastOfEvent : 0;
    (void)publisher_.take(market::Event::of(content));
  }
  /// The event without what it changes: the writer has no processor in between.
  void write(const market::Content& content) {
    const record::RecordSink::Place place = ring_.open();
    market::Content whole = content;
    whole.flags = market::kFlagLastOfEvent;
    ring_.commit(market::Event::of(whole).slot(place.stamp(), place.phase()), 1);
  }
  void store(const market::Content& content) {
    market::Content whole = content;
    whole.flags = market::kFlagLastOfEvent;
    market::Publisher(books, nullptr, &states).take(market::Event::of(whole));
  }
  market::Content event(std::uint32_t row, market::Kind kind) {
    return {.arrival_ns = ++arrival_ns_,
            .sequence = static_cast<std::uint32_t>(arrival_ns_),
            .channel = kChannel,
            .instrument = row,
            .kind = kind};
  }
  void beat() {
    ring_.beat(++heartbeat_ns_);
    states.beat(heartbeat_ns_);
  }
  void finish() {
    states.finish();
    ring_.finish();
  }
  [[nodiscard]] ring::Writer& ring() { return ring_; }

 private:
  template <class T>
  static T made(Result<T> result) {
    if (!result) throw std::runtime_error(result.message());
    return std::move(result).value();
  }
  ring::Writer ring_;

 public:
  market::InstrumentTable instruments;
  market::state::Table states;
  market::BookSet books;

 private:
  market::Publisher publisher_;
  std::uint64_t arrival_ns_ = 1'000;
  std::uint64_t heartbeat_ns_ = 1;
};

using Words = std::vector<std::int64_t>;

/// All that a reader finds of an instrument.
Words state_of(const market::Tables& tables, std::uint32_t row) {
  using market::state::Read;
  market::state::Top top;
  market::state::DayView day;
  if (tables.states().read(row, top, day) != Read::Ok) return {-1};
  Words words = {static_cast<std::int64_t>(top.sequence),
                 static_cast<std::int64_t>(top.arrival_ns),
                 top.bid,
                 top.bid_quantity,
                 top.ask,
                 top.ask_quantity,
                 static_cast<int>(top.state),
                 static_cast<int>(top.standing),
                 top.bid_known,
                 top.ask_known,
                 day.last,
                 day.last_quantity,
                 day.high,
                 day.low,
                 day.volume};
  std::vector<market::Row> bids(kLevels), asks(kLevels);
  market::state::Reader::Counts counts;
  if (tables.states().read_levels(row, bids, asks, counts) != Read::Ok) return {-2};
  for (std::size_t i = 0; i < counts.bids; ++i) words.insert(words.end(), {bids[i].price, bids[i].quantity});
  for (std::size_t i = 0; i < counts.asks; ++i) words.insert(words.end(), {asks[i].price, asks[i].quantity});
  return words;
}
std::string instrument_of(const market::Tables& tables, std::uint32_t row) {
  market::InstrumentRow one;
  if (!tables.instruments().read(row, one)) return "?";
  return std::string(key_of(one)) + " " + std::string(instrument_name(one)) + " " + std::to_string(one.tick) + " " +
         std::to_string(one.channel) + " " + std::to_string(one.state);
}

class RemoteTables : public RemoteNodes {
 protected:
  void start(nic::ModelOptions network = {}) {
    network.is_one_host = is_one_host;
    net.emplace(3, network);
    publish();
  }
  void publish() {
    PublisherOptions how;
    how.rings.push_back({"cme", source.get(), ""});
    how.beat_ns = beat_ns;
    how.log = [this](const std::string& line) { lines.push_back("publisher: " + line); };
    for (int i = 0; i < 64; ++i) {  // until it has the port again
      Result<std::unique_ptr<Publisher>> opened = Publisher::open(net->node(0), how);
      ASSERT_TRUE(opened.ok()) << opened.message();
      publisher = std::move(opened).value();
      if (publisher->vpid() == 0) return;
    }
    FAIL() << "port 0 is taken";
  }
  SubscriberOptions options(const RingName& name) {
    SubscriberOptions how;
    how.ring = "cme";
    how.name = name.get();
    how.log = [this](const std::string& line) { lines.push_back("subscriber: " + line); };
    return how;
  }
  Subscriber& subscribe(const SubscriberOptions& how, nic::NodeId node = 1) {
    return RemoteNodes::subscribe(node, how);
  }
  static market::Tables tables_of(const std::string& name) {
    Result<market::Tables> tables = market::Tables::open(name);
    if (!tables) throw std::runtime_error(tables.message());
    return std::move(tables).value();
  }
  static bool is_same(const market::Tables& a, const market::Tables& b) {
    if (a.count() != b.count()) return false;
    for (std::uint32_t row = 1; row <= a.count(); ++row) {
      if (state_of(a, row) != state_of(b, row) || instrument_of(a, row) != instrument_of(b, row)) return false;
    }
    return true;
  }
  void until_same(Market& feed, const market::Tables& here) {
    const market::Tables there = tables_of(source.get());
    until(
        [&] {
          feed.beat();
          return is_same(there, here);
        },
        "the same tables", 100'000);
    for (std::uint32_t row = 1; row <= there.count(); ++row) {
      EXPECT_EQ(state_of(here, row), state_of(there, row)) << row;
      EXPECT_EQ(instrument_of(here, row), instrument_of(there, row)) << row;
    }
  }

  std::uint64_t beat_ns = PublisherOptions().beat_ns;
};

using RemoteTablesFar = RemoteTables;
class RemoteTablesNear : public RemoteTables {
 protected:
  RemoteTablesNear() { is_one_host = true; }
};
class RemoteTablesBoth : public RemoteTables, public ::testing::WithParamInterface<bool> {
 protected:
  RemoteTablesBoth() { is_one_host = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Ways, RemoteTablesBoth, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "near" : "far"; });

TEST_P(RemoteTablesBoth, who_comes_late_has_all_instruments_and_states_without_a_message) {
  const RingName name;
  Market feed(source.get());
  for (int i = 1; i <= 700; ++i) {
    const std::uint32_t row = feed.add("key-" + std::to_string(i));
    if (i % 3 != 0) feed.quote(row, 1'000 + i, 1 + static_cast<std::size_t>(i % 4));
    if (i % 5 == 0) feed.trade(row, 2'000 + i);
  }
  start();
  SubscriberOptions how = options(name);
  how.wants_history = false;
  Subscriber& here = subscribe(how);
  until([&] { return here.has_ring(); }, "a ring");
  // No step more: they were there before the ring.
  const market::Tables tables = tables_of(name.get());
  ASSERT_EQ(tables.count(), std::min(700U, feed.states.rows()));
  for (std::uint32_t row = 1; row <= 700; ++row) {
    const market::Tables there = tables_of(source.get());
    ASSERT_EQ(state_of(tables, row), state_of(there, row)) << row;
    ASSERT_EQ(instrument_of(tables, row), instrument_of(there, row)) << row;
  }
  EXPECT_EQ(tables.row_of("key-77"), 77U);
  EXPECT_EQ(tables.row_of("name of key-78"), 78U);
  EXPECT_EQ(tables.row_of("key-701"), 0U);
  EXPECT_EQ(tables.instruments().quantity_decimals(), 2U);
  EXPECT_EQ(tables.instruments().map_name(), "test");
  EXPECT_EQ(tables.instruments().generation(), 5U);
  const ring::Reader reader = std::move(ring::Reader::open(name.get())).value();
  EXPECT_TRUE(tables.belong_to(reader.tables_epoch()));
  EXPECT_FALSE(tables.replaced());
  EXPECT_EQ(here.tables_problem(), "");
  until_live(here);
  EXPECT_EQ(here.is_near(), is_one_host);
  EXPECT_EQ(here.counters().records, 0U);
}

TEST_P(RemoteTablesBoth, an_instrument_is_there_before_the_first_event_that_names_it) {
  const RingName name;
  Market feed(source.get());
  feed.add("first");
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  ring::Reader reader = std::move(ring::Reader::open(name.get(), ring::Start::Oldest)).value();
  const market::Tables tables = tables_of(name.get());
  std::uint32_t events = 0;
  std::set<std::uint32_t> seen;
  const auto read = [&] {
    while (reader.poll() == ring::Poll::Record) {
      ASSERT_TRUE(market::is_event(reader.record().front()));
      const std::uint32_t row = market::Event::from(reader.record().front()).instrument();
      ASSERT_NE(instrument_of(tables, row), "?") << row << " of event " << events;
      seen.insert(row);
      ++events;
    }
  };
  for (int i = 2; i <= 600; ++i) {
    const std::uint32_t row = feed.add("key-" + std::to_string(i));
    feed.quote(row, 1'000 + i);
    if (i % 7 == 0) feed.trade(1, i);
    step();
    read();
    if (HasFatalFailure()) return;
  }
  until([&] { return here.counters().records == feed.ring().records(); }, "all records");
  read();
  EXPECT_EQ(events, feed.ring().records());
  EXPECT_EQ(seen.size(), 600U);
  until_same(feed, tables);
}

TEST_P(RemoteTablesBoth, states_are_as_new_as_the_events) {
  const RingName name;
  Market feed(source.get());
  for (int i = 1; i <= 300; ++i) feed.add("key-" + std::to_string(i));
  start();
  until_live(subscribe(options(name)));
  const market::Tables tables = tables_of(name.get());
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) {
      const auto row = static_cast<std::uint32_t>(1 + random() % 300);
      random() % 3 == 0 ? feed.trade(row, static_cast<std::int64_t>(random() % 5'000))
                        : feed.quote(row, static_cast<std::int64_t>(random() % 5'000), random() % 5);
      step();
    }
    until_same(feed, tables);
  }
  // Of all instruments of a channel.
  market::Content halt = feed.event(market::kAllInstruments, market::Kind::State);
  halt.id = market::StateCode{market::TradingState::Halted, 3, 1}.packed();
  feed.send(halt);
  until_same(feed, tables);
  EXPECT_EQ(state_of(tables, 300)[6], static_cast<int>(market::TradingState::Halted));
  // What no event says.
  feed.instruments.change(9, [](market::InstrumentRow& row) { row.tick = 77; });
  until([&] { return instrument_of(tables, 9) == instrument_of(tables_of(source.get()), 9); }, "the tick", 100'000);
}

/// A writer stores the state of an event after the event, and may be stopped in between.
TEST_F(RemoteTablesFar, a_state_that_is_stored_after_its_event_was_read_comes_too) {
  const RingName name;
  Market feed(source.get());
  const std::uint32_t row = feed.add("key");
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  const market::Tables tables = tables_of(name.get());
  feed.beat();
  market::Content trade = feed.event(row, market::Kind::Trade);
  trade.price = 5;
  feed.write(trade);
  until([&] { return here.counters().records == feed.ring().records(); }, "the event");
  run(20'000);  // it is quiet again
  EXPECT_EQ(state_of(tables, row)[10], market::kNoPrice);
  feed.store(trade);
  feed.beat();
  run(20'000);
  feed.beat();
  until([&] { return state_of(tables, row)[10] == 5; }, "the state");
  // The same, with another event instead of heartbeats; and levels, which come with the last event of the exchange's.
  trade.price = 6;
  feed.write(trade);
  until([&] { return here.counters().records == feed.ring().records(); }, "the event");
  run(20'000);
  feed.store(trade);
  feed.send(feed.event(0, market::Kind::News));
  until([&] { return state_of(tables, row)[10] == 6; }, "the state");
}

TEST_F(RemoteTablesFar, states_cost_the_network_a_bounded_part_however_many_events_there_are) {
  const RingName name;
  Market feed(source.get());
  for (int i = 1; i <= 2'000; ++i) feed.add("key-" + std::to_string(i));
  start();
  until_live(subscribe(options(name)));
  const market::Tables tables = tables_of(name.get());
  until_same(feed, tables);
  const auto cost = [&](std::uint32_t step_of_rows) {
    const SubscriptionStatus before = publisher->status().at(0);
    for (std::uint32_t i = 0; i < 20'000; ++i) {  // 0.2 s
      feed.trade(1 + i * step_of_rows % 2'000, i);
      step();
    }
    const SubscriptionStatus after = publisher->status().at(0);
    return std::pair(after.gets - before.gets, after.fetched_bytes - before.fetched_bytes);
  };
  const auto [gets_of_one, bytes_of_one] = cost(0);
  EXPECT_LE(gets_of_one, 100U) << "a row is fetched once in a round";
  EXPECT_LE(bytes_of_one, 100'000U);
  const auto [gets_of_all, bytes_of_all] = cost(917);
  EXPECT_GT(gets_of_all, gets_of_one);
  EXPECT_GE(bytes_of_all, 1'000'000U);
  EXPECT_LE(bytes_of_all, 11 * (640U << 10U) + 11 * 3 * 65'536U);
  // Nobody is forgotten.
  until_same(feed, tables);
}

TEST_P(RemoteTablesBoth, a_ring_that_ends_leaves_its_last_states) {
  const RingName name;
  Market feed(source.get());
  const std::uint32_t row = feed.add("key");
  for (int i = 0; i < 2'000; ++i) feed.add("another-" + std::to_string(i));
  beat_ns = 20'000;  // the publisher learns at once that the end has arrived
  start();
  SubscriberOptions how = options(name);
  how.follows = false;
  Subscriber& here = subscribe(how);
  until_live(here);
  const market::Tables tables = tables_of(name.get());
  const market::Tables there = tables_of(source.get());
  EXPECT_EQ(tables.states().writer(), market::state::Reader::Writer::Running);
  feed.quote(feed.add("last"), 700);
  until_same(feed, tables);
  for (int i = 0; i < 100; ++i) feed.trade(row, i);
  run(300);  // the states of these are fetched; those of the next ones come with the next round, or at the end
  for (std::uint32_t i = 1; i <= 2'000; i += 3) feed.trade(i, 500 + i);
  feed.trade(row, 99);
  feed.finish();
  until([&] { return here.state() == SubscriberState::Ended; }, "the end");
  EXPECT_TRUE(is_same(there, tables)) << "they are there when the end is";
  EXPECT_EQ(tables.states().writer(), market::state::Reader::Writer::Finished);
  EXPECT_EQ(state_of(tables, row)[10], 99);
  if (is_one_host) subscribers.clear();
  until([&] { return publisher->status().empty(); }, "the publisher forgets it");
}

TEST_P(RemoteTablesBoth, a_new_ring_has_new_tables) {
  const RingName name;
  auto feed = std::make_unique<Market>(source.get());
  feed->add("old-1");
  feed->quote(feed->add("old-2"), 500);
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  const market::Tables before = tables_of(name.get());
  for (int i = 1; i <= 5; ++i) {
    auto next = std::make_unique<Market>(source.get(), 100, 1'024, feed.get());
    const std::string key = "new-" + std::to_string(i);
    next->quote(next->add(key), 900 + i);
    feed->finish();
    feed = std::move(next);
    until(
        [&] {
          const Result<market::Tables> tables = market::Tables::open(name.get());
          return tables && tables.value().row_of(key) == 1;
        },
        "the tables of the next ring", 1'000'000);
    const ring::Reader reader = std::move(ring::Reader::open(name.get())).value();
    EXPECT_FALSE(before.belong_to(reader.tables_epoch()));
    EXPECT_TRUE(tables_of(name.get()).belong_to(reader.tables_epoch()));
  }
  EXPECT_EQ(before.row_of("old-2"), 2U) << "who has them open keeps them";
  EXPECT_TRUE(before.replaced());
  until_same(*feed, tables_of(name.get()));
}

TEST_P(RemoteTablesBoth, a_ring_of_records_has_none_whatever_lies_beside_it) {
  const RingName name;
  { const Market older(source.get()); }
  Feed feed(source.get());
  feed.tick(1);
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  EXPECT_FALSE(market::Tables::open(name.get()));
  EXPECT_FALSE(os::exists(name.get() + ".state"));
  EXPECT_EQ(here.counters().records, 1U);
  EXPECT_EQ(here.tables_problem(), "");
}

TEST_F(RemoteTablesFar, who_loses_its_publisher_has_the_rest_before_the_events) {
  const RingName name;
  Market feed(source.get());
  feed.quote(feed.add("before"), 400);
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  ring::Reader reader = std::move(ring::Reader::open(name.get(), ring::Start::Oldest)).value();
  const market::Tables tables = tables_of(name.get());
  until_same(feed, tables);
  // Its process is killed and sends no farewell.
  net->cut(0);
  publisher.reset();
  net->restart(0);
  for (int i = 0; i < 200; ++i) feed.quote(feed.add("meanwhile-" + std::to_string(i)), 500 + i);
  feed.quote(1, 450);
  run(20'000);
  EXPECT_EQ(tables.count(), 1U);
  EXPECT_EQ(state_of(tables, 1)[2], 390);
  net->mend(0);
  publish();
  until(
      [&] {
        while (reader.poll() == ring::Poll::Record) {
          const std::uint32_t row = market::Event::from(reader.record().front()).instrument();
          EXPECT_NE(instrument_of(tables, row), "?") << row;
        }
        return here.counters().records == feed.ring().records();
      },
      "the rest");
  until_same(feed, tables);
  EXPECT_FALSE(tables.replaced()) << "they are the same ones";
  EXPECT_EQ(tables.states().writer(), market::state::Reader::Writer::Running);
}

TEST_F(RemoteTablesFar, are_the_same_over_a_bad_network) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const RingName name;
    subscribers.clear();
    publisher.reset();
    std::mt19937_64 random(seed);
    Market feed(source.get());
    nic::ModelOptions bad;
    bad.seed = seed;
    bad.line.loss = {0.03, 2};
    bad.line.duplicate = 0.03;
    bad.line.reorder = 0.1;
    bad.line.reorder_depth = 4;
    bad.line.corrupt = 0.01;
    start(bad);
    feed.add("first");
    Subscriber& here = subscribe(options(name));
    until_live(here);
    ring::Reader reader = std::move(ring::Reader::open(name.get(), ring::Start::Oldest)).value();
    const market::Tables tables = tables_of(name.get());
    for (int i = 0; i < 1'500; ++i) {
      const auto row = static_cast<std::uint32_t>(1 + random() % feed.instruments.count());
      switch (random() % 8) {
        case 0: feed.add("key-" + std::to_string(i)); break;
        case 1: feed.trade(row, i); break;
        case 2: feed.beat(); break;
        case 3: feed.instruments.change(row, [&](market::InstrumentRow& to) { to.tick = i; }); break;
        default: feed.quote(row, i, random() % 4); break;
      }
      step();
      while (reader.poll() == ring::Poll::Record) {
        const std::uint32_t named = market::Event::from(reader.record().front()).instrument();
        ASSERT_NE(instrument_of(tables, named), "?") << named << " seed " << seed;
      }
    }
    until_same(feed, tables);
    EXPECT_EQ(here.counters().damaged, 0U);
    EXPECT_EQ(here.counters().lost, 0U);
  }
}

TEST_F(RemoteTablesFar, whose_memory_is_not_allowed_are_left_out_and_that_is_said) {
  const RingName name;
  Market feed(source.get());
  feed.add("key");
  start();
  SubscriberOptions how = options(name);
  how.max_table_bytes = 1'000'000;
  Subscriber& here = subscribe(how);
  until_live(here);
  EXPECT_NE(here.tables_problem().find("at most 1000000 are allowed"), std::string::npos) << here.tables_problem();
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const std::string& line) { return line.find("without its tables") != std::string::npos; }));
  EXPECT_FALSE(market::Tables::open(name.get()));
  feed.trade(1, 5);
  until([&] { return here.counters().records == feed.ring().records(); }, "records");
}

/// The publisher's file says that its tables are larger than all memory here.
TEST_F(RemoteTablesFar, for_which_memory_is_short_make_no_ring_and_no_file) {
  constexpr std::uint64_t kRows = std::uint64_t{market::kMaxInstrument} * market::state::row_bytes(64);
  struct statvfs room {};
  ASSERT_EQ(::statvfs("/dev/shm", &room), 0);
  if (std::uint64_t{room.f_bavail} * room.f_frsize > kRows) GTEST_SKIP() << "this host has room for any table";
  const RingName name;
  Market feed(source.get());
  feed.add("key");
  start();
  auto& header =
      const_cast<market::state::Header&>(*reinterpret_cast<const market::state::Header*>(feed.states.bytes().data()));
  const market::state::Header honest = header;
  SubscriberOptions how = options(name);
  how.max_table_bytes = ~std::uint64_t{0};
  how.ask_ns = 10'000'000;
  Subscriber& here = subscribe(how);
  // After the publisher has looked at it.
  until([&] { return here.state() == SubscriberState::Image; }, "accepted");
  header.levels = market::state::kMaxLevels;
  header.row_bytes = market::state::row_bytes(header.levels);
  header.rows = market::kMaxInstrument;
  until([&] { return here.counters().damaged != 0; }, "it fails");
  EXPECT_NE(here.problem().find("cannot reserve memory"), std::string::npos) << here.problem();
  EXPECT_FALSE(here.has_ring());
  EXPECT_FALSE(os::exists(name.get()));
  EXPECT_FALSE(os::exists(name.get() + ".instruments"));
  header.levels = honest.levels;
  header.row_bytes = honest.row_bytes;
  header.rows = honest.rows;
  until_live(here);
  until_same(feed, tables_of(name.get()));
}

TEST_F(RemoteTablesFar, that_are_truncated_stay_as_they_were_and_the_ring_goes_on) {
  for (const char* suffix : {".state", ".instruments"}) {
    for (const off_t left : {off_t{0}, off_t{4'096}}) {
      SCOPED_TRACE(std::string(suffix) + " " + std::to_string(left));
      const RingName name;
      subscribers.clear();
      publisher.reset();
      lines.clear();
      Market feed(source.get());
      feed.quote(feed.add("key"), 600);
      start();
      Subscriber& here = subscribe(options(name));
      until_live(here);
      const market::Tables tables = tables_of(name.get());
      until_same(feed, tables);
      const Words before = state_of(tables, 1);
      const bool sees_it = left == 0;  // else the header goes on; only rows are gone
      ASSERT_EQ(::truncate(path_of(source.get(), suffix).c_str(), left), 0);
      feed.trade(1, 9);
      if (sees_it) {
        until([&] { return !here.tables_problem().empty(); }, "it is noticed");
        EXPECT_EQ(tables.states().writer(), market::state::Reader::Writer::Finished);
      }
      feed.trade(1, 10);
      until([&] { return here.counters().records == feed.ring().records(); }, "records");
      run(60'000);
      EXPECT_EQ(state_of(tables, 1)[2], before[2]) << "no zeros";
      EXPECT_EQ(instrument_of(tables, 1).substr(0, 3), "key");
      EXPECT_EQ(here.counters().damaged, 0U);
      EXPECT_EQ(here.state(), SubscriberState::Live);
    }
  }
}

TEST_F(RemoteTablesFar, an_event_of_an_instrument_that_the_publisher_has_not_is_not_shown) {
  const RingName name;
  Market feed(source.get());
  feed.add("key");
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  ring::Reader reader = std::move(ring::Reader::open(name.get(), ring::Start::Newest)).value();
  feed.write(feed.event(77, market::Kind::Trade));
  until([&] { return here.counters().damaged != 0; }, "it is noticed");
  while (reader.poll() == ring::Poll::Record) {
    EXPECT_NE(market::Event::from(reader.record().front()).instrument(), 77U);
  }
}

TEST_F(RemoteTablesFar, a_killed_subscriber_leaves_names_that_the_next_one_takes) {
  const RingName name;
  Market feed(source.get());
  feed.quote(feed.add("key"), 600);
  start();
  until_live(subscribe(options(name)));
  subscribers.clear();
  EXPECT_TRUE(market::Tables::open(name.get())) << "for late readers";
  feed.quote(1, 800);
  until_live(subscribe(options(name)));
  until_same(feed, tables_of(name.get()));
}

// Near: the same files.

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TEST_F(RemoteTablesNear, are_the_publishers_own_under_further_names_and_go_with_the_ring) {
  const RingName first;
  const RingName second;
  Market feed(source.get());
  feed.add("key");
  start();
  until_live(subscribe(options(first)));
  until_live(subscribe(options(second), 2));
  for (const char* suffix : {".instruments", ".state"}) {
    const ino_t there = inode_of(path_of(source.get(), suffix));
    ASSERT_NE(there, 0U);
    EXPECT_EQ(inode_of(path_of(first.get(), suffix)), there);
    EXPECT_EQ(inode_of(path_of(second.get(), suffix)), there);
  }
  subscribers.front().reset();
  until([&] { return publisher->status().size() == 1; }, "it has left");
  for (const char* suffix : {"", ".instruments", ".state"}) {
    EXPECT_FALSE(os::exists(first.get() + suffix)) << suffix;
    EXPECT_TRUE(os::exists(second.get() + suffix)) << suffix;
    EXPECT_TRUE(os::exists(source.get() + suffix)) << suffix;
  }
  until_same(feed, tables_of(second.get()));
}

TEST_F(RemoteTablesNear, stay_when_the_subscriber_asks_for_other_records_under_the_same_name) {
  const RingName name;
  Market feed(source.get());
  feed.add("key");
  start();
  until_live(subscribe(options(name)));
  // Another session of the same port: its ring has the name of the one before.
  SubscriberOptions how = options(name);
  how.filter.patterns.push_back({{.channel = kChannel}, {.channel = 0xFFFF, .template_id = 0, .value = 0}});
  const nic::Vpid port = publisher->status().at(0).vpid;
  Subscribe request;
  request.session = 99;
  request.ring = "cme";
  request.filter = how.filter;
  request.near = WantedRing{name.get(), true, 1U << 20U};
  const std::vector<std::byte> bytes = to_bytes(request);
  nic::MessageUnit::Message head;
  head.node = 0;
  head.target = publisher->vpid();
  ASSERT_EQ(net->node(1).messages().send(port, head, bytes, net->now()).outcome, nic::MessageUnit::Outcome::Sent);
  until([&] { return publisher->counters().accepted == 2; }, "the second ring");
  run(10);
  EXPECT_TRUE(publisher->status().at(0).has_filter);
  until_same(feed, tables_of(name.get()));
}

TEST_F(RemoteTablesNear, names_of_other_files_are_not_taken) {
  const RingName name;
  Market feed(source.get());
  feed.add("key");
  start();
  const std::string path = path_of(name.get(), ".state");
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(file, "mine", 4), 4);
  ::close(file);
  SubscriberOptions how = options(name);
  how.way = SubscriberOptions::Way::Near;
  Subscriber& here = subscribe(how);
  until([&] { return here.refusal() == Refusal::Near; }, "refused");
  EXPECT_NE(here.problem().find("is not a state table"), std::string::npos) << here.problem();
  EXPECT_FALSE(os::exists(name.get()));
  EXPECT_FALSE(os::exists(name.get() + ".instruments")) << "nothing is left half-way";
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 4);
}

TEST_F(RemoteTablesNear, a_subscriber_takes_away_what_a_killed_publisher_has_left) {
  const RingName name;
  auto feed = std::make_unique<Market>(source.get());
  feed->add("key");
  start();
  Subscriber& here = subscribe(options(name));
  until_live(here);
  // A killed process takes no name along.
  const auto move = [&](const std::string& from, const std::string& to) {
    for (const char* suffix : {"", ".instruments", ".state"}) {
      ASSERT_EQ(::rename(path_of(name.get(), from + suffix).c_str(), path_of(name.get(), to + suffix).c_str()), 0);
    }
  };
  move("", "-aside");
  publisher.reset();
  move("-aside", "");
  // Of a killed one it would say Running and have no lock.
  const auto running = static_cast<std::uint32_t>(ring::State::Running);
  const os::Descriptor file(::open(path_of(name.get(), "").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), &running, sizeof(running), offsetof(ring::Header, state)), 4);
  feed.reset();
  run(2'000);
  EXPECT_EQ(here.state(), SubscriberState::Asking) << here.problem();
  subscribers.clear();
  for (const char* suffix : {"", ".instruments", ".state"}) EXPECT_FALSE(os::exists(name.get() + suffix)) << suffix;
  EXPECT_TRUE(os::exists(source.get() + ".state"));
}

TEST(RowMarks, are_taken_in_runs_each_once_and_in_rounds) {
  RowMarks marks(200);
  EXPECT_TRUE(marks.is_empty());
  EXPECT_EQ(marks.take(10).count, 0U);
  for (const std::uint32_t row : {3U, 3U, 4U, 9U, 100U, 200U, 0U, 201U}) marks.mark(row);
  const auto taken = [&](std::uint32_t most) {
    const RowMarks::Run run = marks.take(most);
    return std::pair(run.first, run.count);
  };
  EXPECT_EQ(taken(100), std::pair(3U, 7U)) << "with what lies between";
  EXPECT_EQ(taken(100), std::pair(100U, 1U));
  marks.mark(3);
  EXPECT_EQ(taken(100), std::pair(200U, 1U)) << "first the rest of the round";
  EXPECT_EQ(taken(100), std::pair(3U, 1U));
  EXPECT_TRUE(marks.is_empty());
  marks.mark_all(1'000);
  for (std::uint32_t first = 4, count = 0; count < 200;) {
    const RowMarks::Run run = marks.take(64);
    ASSERT_NE(run.count, 0U);
    EXPECT_EQ(run.first, count < 197 ? first : 1);
    first += run.count;
    count += run.count;
  }
  EXPECT_TRUE(marks.is_empty());
}

TEST(RowMarks, hold_what_a_set_holds) {
  std::mt19937_64 random(3);
  for (const std::uint32_t rows : {1U, 63U, 64U, 65U, 1'000U}) {
    RowMarks marks(rows);
    std::set<std::uint32_t> expected;
    for (int i = 0; i < 2'000; ++i) {
      if (random() % 3 != 0) {
        const auto row = static_cast<std::uint32_t>(1 + random() % rows);
        marks.mark(row);
        expected.insert(row);
      } else if (random() % 50 == 0) {
        const auto last = static_cast<std::uint32_t>(random() % (rows + 1));
        marks.mark_all(last);
        for (std::uint32_t row = 1; row <= last; ++row) expected.insert(row);
      } else {
        const RowMarks::Run run = marks.take(1 + static_cast<std::uint32_t>(random() % 20));
        ASSERT_EQ(run.count == 0, expected.empty());
        if (run.count == 0) continue;
        ASSERT_LE(run.first + run.count - 1, rows);
        ASSERT_TRUE(expected.contains(run.first) && expected.contains(run.first + run.count - 1));
        for (std::uint32_t row = run.first; row < run.first + run.count; ++row) expected.erase(row);
      }
      ASSERT_EQ(marks.is_empty(), expected.empty());
    }
  }
}

}  // namespace stopbit::remote::remote_tables_test
