// A late reader of a ring of market events: the books of the refill service, and then each event after them once.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/market/book/book_set.hpp"
#include "host/multicast/publisher.hpp"
#include "host/multicast/receiver.hpp"
#include "host/multicast/refill_client.hpp"
#include "host/multicast/refill_server.hpp"
#include "host/os/clock.hpp"
#include "tests/unit/multicast/services.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::multicast::state_test {

using market::BookKind;
using market::BookSet;
using market::Event;
using market::Kind;
using market::Side;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000;
constexpr std::uint32_t kInstruments = 20;
constexpr std::int64_t kPrices = 20;  ///< Of a side.

using Datagram = std::vector<std::byte>;
using test::KeepingLine;

struct NoRecords final : relay::StreamSink {
  Result<Place> begin_ring(const relay::Head& /*head*/, std::span<const std::byte> /*image*/) override {
    return Failure{"there are no records here"};
  }
  void end_ring(relay::Ending /*ending*/) override {}
};

BookSet empty_books() {
  BookSet books({.instruments = kInstruments, .rows = kInstruments * 512});
  for (std::uint32_t row = 1; row <= kInstruments; ++row) {
    EXPECT_EQ(books.define(row, {{BookKind::Price, 0, 0}, {}, 7}), market::Fault::None);
  }
  return books;
}

/// A reader with books of its own.
struct Reader final : EventSink {
  void event(const market::SbeEvent& event) override {
    EXPECT_EQ(event.key, "I" + std::to_string(event.event.instrument()));
    EXPECT_EQ(event.quantity_decimals, 3);
    (void)books.apply(event.event);
    if (event.event.has(record::kFlagSnapshot)) {
      ++of_state;
      EXPECT_TRUE(ids.empty()) << "the state comes first";
    } else {
      ids.push_back(event.event.arrival_ns());
    }
  }
  BookSet books = empty_books();
  std::vector<std::uint64_t> ids;
  std::size_t of_state = 0;
};

std::string text_of(const BookSet& books) {
  std::string text;
  std::array<market::Row, kPrices> rows;
  for (std::uint32_t row = 1; row <= kInstruments; ++row) {
    text += "\n" + std::to_string(row) + " " + std::string(name_of(books.standing(row)));
    for (const Side side : {Side::Bid, Side::Ask}) {
      text += " |";
      const std::size_t count = books.rows(row, side, rows);
      for (std::size_t i = 0; i < count; ++i) {
        text += " " + std::to_string(rows[i].price) + "x" + std::to_string(rows[i].quantity);
      }
    }
  }
  return text;
}

class MulticastState : public ring::test::RingTest {
 protected:
  MulticastState() {
    PublisherOptions options;
    options.ring = name_;
    options.epoch_ns = kEpoch;
    options.history_bytes = 16U << 20;
    options.keeps_state = true;
    options.books = {.instruments = kInstruments, .orders = 16};
    auto line = std::make_unique<KeepingLine>();
    line_ = line.get();
    Publisher::Lines lines;
    lines[0] = std::move(line);
    publisher_ = std::make_unique<Publisher>(std::move(options), std::move(lines), [](const std::string&) {});
  }
  ~MulticastState() override { stop_service(); }

  void make_ring() {
    writer_.reset();
    instruments_.reset();
    writer_ = std::make_unique<ring::Writer>(make_writer(65'536));
    Result<market::InstrumentTable> made = market::InstrumentTable::create(
        name_, {.capacity = kInstruments, .quantity_decimals = 3, .ring_epoch = writer_->epoch()});
    ASSERT_TRUE(made) << made.message();
    instruments_.emplace(std::move(made).value());
    for (std::uint32_t row = 1; row <= kInstruments; ++row) {
      ASSERT_EQ(instruments_->add("I" + std::to_string(row),
                                  [](market::InstrumentRow& to) {
                                    to.channel = 7;
                                    to.book_kind[0] = static_cast<std::uint8_t>(BookKind::Price);
                                  }),
                row);
      write({.instrument = row, .kind = Kind::SnapshotBegin});
      write({.instrument = row, .kind = Kind::SnapshotEnd});
      write({.instrument = row, .kind = Kind::Latest, .id = row});
    }
  }
  void write(market::Content content) {
    content.arrival_ns = ++number_;
    content.channel = 7;
    const Event event = Event::of(content);
    (void)books_.apply(event);
    const auto place = writer_->open();
    writer_->commit(event.slot(place.stamp(), place.phase()), 1);
  }
  void trade(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::uint32_t>(1 + random_() % kInstruments);
      const Side side = random_() % 2 == 0 ? Side::Bid : Side::Ask;
      const std::int64_t price = (side == Side::Bid ? 1'000 : 2'000) + static_cast<std::int64_t>(random_() % kPrices);
      std::array<market::Row, kPrices> rows;
      const std::size_t found = books_.rows(row, side, rows);
      const bool has = std::any_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(found),
                                   [&](const market::Row& one) { return one.price == price; });
      write({.instrument = row,
             .kind = !has                 ? Kind::New
                     : random_() % 2 == 0 ? Kind::Delete
                                          : Kind::Change,
             .side = side,
             .price = price,
             .quantity = static_cast<std::int64_t>(1 + random_() % 100)});
    }
  }
  void publish() {
    for (const std::uint64_t end = now_ + 100 * kMs; now_ < end;) {
      now_ += kMs;
      (void)publisher_->step(now_, kEpoch + now_);
    }
  }
  /// The publisher must do nothing meanwhile, except at the moment of the state.
  void start_service(std::function<void()> at_state = {}) {
    state_ = [this, at_state = std::move(at_state)] {
      if (at_state) at_state();
      ++states_;
      return publisher_->state(now_);
    };
    // Where it was before, as readers know it.
    const net::Endpoint at = server_ ? server_->address() : net::Endpoint{0x7F00'0001, 0};
    server_.reset();
    auto opened = RefillServer::open({.listen = at});
    ASSERT_TRUE(opened) << opened.message();
    server_ = std::move(opened).value();
    thread_ = std::thread([this] {
      while (!stop_) {
        (void)server_->step(os::monotonic_clock_ns(), {.history = publisher_->history(),
                                                       .epoch = kEpoch,
                                                       .layout = publisher_->layout(),
                                                       .image = publisher_->image(),
                                                       .state = &state_});
        std::this_thread::yield();
      }
    });
  }
  void stop_service() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    stop_ = false;
  }
  std::unique_ptr<Receiver> make_receiver(net::Endpoint refill) {
    ReceiverOptions options;
    options.groups = {{0xEFFF'0701, 7001}};
    options.refill = refill;
    options.from_state = true;
    options.follows = true;
    return Receiver::without_sockets(options, no_records_, reader_, [](const std::string&) {});
  }
  void pass(Receiver& receiver) {
    for (const std::uint64_t end = now_ + 3'000 * kMs; now_ < end;) {
      now_ += 5 * kMs;
      ASSERT_NE(receiver.step(now_, kEpoch + now_), Receiver::State::Failed) << receiver.problem();
    }
  }
  void expect_events_after(std::uint64_t first) {
    ASSERT_EQ(reader_.ids.size(), number_ - first);
    for (std::size_t i = 0; i < reader_.ids.size(); ++i) ASSERT_EQ(reader_.ids[i], first + 1 + i);
  }

  std::uint64_t now_ = 1'000 * kMs;
  std::uint64_t number_ = 0;  ///< Of the last event.
  std::mt19937 random_{7};
  KeepingLine* line_ = nullptr;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<ring::Writer> writer_;
  std::optional<market::InstrumentTable> instruments_;
  BookSet books_ = empty_books();
  std::function<std::shared_ptr<const State>()> state_;
  std::atomic<int> states_ = 0;
  std::unique_ptr<RefillServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
  NoRecords no_records_;
  Reader reader_;
};

TEST_F(MulticastState, makes_a_late_reader_right_from_its_first_event_on) {
  make_ring();
  trade(3'000);
  publish();
  const std::string at_state = text_of(books_);
  const std::uint64_t before = number_;
  start_service();
  const auto receiver = make_receiver(server_->address());
  ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  EXPECT_GT(reader_.of_state, kInstruments * 3);
  EXPECT_EQ(receiver->counts().of_state, reader_.of_state);
  EXPECT_EQ(text_of(reader_.books), at_state);
  stop_service();
  // Packets from before the state, which waited in the reader's socket, change nothing.
  for (const Datagram& packet : std::vector<Datagram>(line_->sent.end() - 3, line_->sent.end())) {
    receiver->offer(packet, arbitrate::Line::A, now_, kEpoch + now_);
  }
  const std::size_t sent = line_->sent.size();
  trade(3'000);
  publish();
  ASSERT_GT(line_->sent.size(), sent + 2);
  // The first one comes after the second: the reader knows which one is the first.
  std::swap(line_->sent[sent], line_->sent[sent + 1]);
  for (std::size_t i = sent; i < line_->sent.size(); ++i) {
    now_ += kMs / 10;
    receiver->offer(line_->sent[i], arbitrate::Line::A, now_, kEpoch + now_);
    ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  }
  pass(*receiver);
  EXPECT_TRUE(receiver->counts().is_complete());
  expect_events_after(before);
  EXPECT_EQ(text_of(reader_.books), text_of(books_));
}

TEST_F(MulticastState, has_the_events_that_are_published_while_it_is_sent) {
  make_ring();
  trade(1'000);
  publish();
  publish();
  const std::uint64_t before = number_;
  // The first reader's state is given to the second as well, which gets what came since from the history.
  start_service();
  {
    RefillClient first(server_->address());
    ASSERT_TRUE(first.state(5'000 * kMs, [](auto) {}));
  }
  stop_service();
  trade(1'000);
  publish();
  start_service();
  const auto receiver = make_receiver(server_->address());
  pass(*receiver);
  expect_events_after(before);
  EXPECT_EQ(text_of(reader_.books), text_of(books_));
  EXPECT_EQ(receiver->counts().lost, 0U);
}

TEST_F(MulticastState, counts_events_that_neither_lines_nor_history_have) {
  make_ring();
  trade(500);
  publish();
  const std::uint64_t before = number_;
  start_service();
  const auto receiver = make_receiver(server_->address());
  ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  stop_service();
  server_.reset();
  const std::size_t sent = line_->sent.size();
  trade(500);
  publish();
  for (std::size_t i = sent + 1; i < line_->sent.size(); ++i) {
    receiver->offer(line_->sent[i], arbitrate::Line::A, now_, kEpoch + now_);
  }
  pass(*receiver);
  EXPECT_GT(receiver->counts().lost, 0U);
  EXPECT_EQ(receiver->counts().lost + reader_.ids.size(), number_ - before);
}

TEST_F(MulticastState, is_of_the_present_ring) {
  make_ring();
  trade(100);
  publish();
  start_service();
  stop_service();
  books_ = empty_books();
  make_ring();
  publish();
  publish();
  const std::uint64_t before = number_;
  start_service();
  const auto receiver = make_receiver(server_->address());
  pass(*receiver);
  EXPECT_EQ(text_of(reader_.books), text_of(books_));
  stop_service();
  const std::size_t sent = line_->sent.size();
  trade(100);
  publish();
  for (std::size_t i = sent; i < line_->sent.size(); ++i) {
    receiver->offer(line_->sent[i], arbitrate::Line::A, now_, kEpoch + now_);
  }
  start_service();
  pass(*receiver);
  expect_events_after(before);
  EXPECT_EQ(text_of(reader_.books), text_of(books_));
}

TEST_F(MulticastState, says_no_more_than_the_publisher_knows_after_it_lost_events) {
  make_ring();
  publish();
  trade(70'000);  // more than the ring has
  for (int i = 0; i < 30; ++i) publish();
  ASSERT_GT(publisher_->counts().lost, 0U);
  start_service();
  const auto receiver = make_receiver(server_->address());
  pass(*receiver);
  for (std::uint32_t row = 1; row <= kInstruments; ++row) {
    EXPECT_EQ(reader_.books.standing(row), market::Standing::Stale) << row;
    std::array<market::Row, kPrices> rows;
    EXPECT_EQ(reader_.books.rows(row, Side::Bid, rows), 0U) << row;
  }
  // Until the feed sends a snapshot.
  stop_service();
  const std::size_t sent = line_->sent.size();
  write({.instrument = 3, .kind = Kind::SnapshotBegin});
  write({.flags = record::kFlagSnapshot,
         .instrument = 3,
         .kind = Kind::New,
         .side = Side::Bid,
         .price = 5,
         .quantity = 6});
  write({.instrument = 3, .kind = Kind::SnapshotEnd});
  write({.instrument = 3, .kind = Kind::Latest, .id = 9});
  publish();
  now_ += 2'000 * kMs;  // the state of before is too old
  start_service();
  RefillClient client(server_->address());
  BookSet books = empty_books();
  const auto answer = client.state(5'000 * kMs, [&](std::span<const std::byte> messages) {
    for (std::size_t at = 0; at < messages.size(); at += kEventBytes) {
      (void)books.apply(market::read_sbe(messages.subspan(at, kEventBytes))->event);
    }
  });
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer.value().head.sequence, publisher_->next_sequence());
  EXPECT_EQ(books.standing(3), market::Standing::Latest);
  EXPECT_EQ(books.best(3, Side::Bid).price, 5);
  EXPECT_EQ(books.standing(4), market::Standing::Stale);
  EXPECT_GT(line_->sent.size(), sent);
}

TEST_F(MulticastState, costs_the_publisher_one_look_a_second_however_many_readers_ask) {
  make_ring();
  trade(100);
  publish();
  start_service();
  RefillClient client(server_->address());
  std::shared_ptr<const State> kept = publisher_->state(now_);
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.state(5'000 * kMs, [](auto) {});
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(answer.value().head, kept->head);
  }
  EXPECT_EQ(states_, 20);
  EXPECT_EQ(publisher_->state(now_ + 999 * kMs), kept);
  EXPECT_NE(publisher_->state(now_ + 1'000 * kMs), kept);
}

TEST_F(MulticastState, is_refused_where_none_is_kept) {
  const auto make = [&](bool keeps) {
    PublisherOptions options;
    options.ring = name_;
    options.epoch_ns = kEpoch;
    options.keeps_state = keeps;
    Publisher::Lines lines;
    lines[0] = std::make_unique<KeepingLine>();
    publisher_ = std::make_unique<Publisher>(std::move(options), std::move(lines), [](const std::string&) {});
    publish();
    start_service();
    const auto receiver = make_receiver(server_->address());
    EXPECT_EQ(receiver->step(now_, kEpoch + now_), Receiver::State::Failed);
    EXPECT_NE(receiver->problem().find("state"), std::string::npos) << receiver->problem();
    stop_service();
  };
  make_ring();
  make(false);
  instruments_.reset();
  writer_.reset();
  writer_ = std::make_unique<ring::Writer>(make_writer(1'024));
  ring::test::write_record(*writer_, 1, 0);
  make(true);  // a ring of records
}

TEST_F(MulticastState, of_a_service_that_lies_is_an_error_and_never_endless) {
  using test::ScriptedService;
  const StateHead head{first_sequence(kEpoch) + 5, 1, 0};
  const auto item = [](const StateHead& of, std::size_t bytes) {
    std::vector<std::byte> out(kAnswerHeadBytes + kStateHeadBytes + bytes);
    encode(AnswerHead{AnswerHead::Kind::State, static_cast<std::uint32_t>(kStateHeadBytes + bytes)},
           std::span(out).first<kAnswerHeadBytes>());
    encode(of, std::span(out).subspan<kAnswerHeadBytes, kStateHeadBytes>());
    return out;
  };
  const auto done = [](const Completion& of) {
    std::vector<std::byte> out(kAnswerHeadBytes + kDoneBytes);
    encode(AnswerHead{AnswerHead::Kind::Done, kDoneBytes}, std::span(out).first<kAnswerHeadBytes>());
    encode(of, std::span(out).last<kDoneBytes>());
    return out;
  };
  const auto both = [](std::vector<std::byte> one, const std::vector<std::byte>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
  };
  const Completion kept{Completion::Status::Complete, kEpoch, head.sequence - 1, head.sequence};
  StateHead other = head;
  ++other.records;
  StateHead none = head;
  none.sequence = first_sequence(kEpoch) - 1;
  const std::vector<std::vector<std::byte>> lies = {
      {},                                   // it closes the connection
      done(kept),                           // nothing
      both(item(head, 0), item(other, 0)),  // two states
      item(head, 98),                       // a message is cut
      item(head, 99),                       // no message
      both(item(none, 0), done(kept)),      // a number that no epoch has
      both(item(head, 0), done({Completion::Status::Complete, kEpoch, 1, head.sequence - 1})),
      both(item(head, 0), done({Completion::Status::Complete, kEpoch, 1, head.sequence + (std::uint64_t{1} << 32)})),
      std::vector<std::byte>(64, std::byte{0x41}),
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    ScriptedService service(lies[i]);
    const auto receiver = make_receiver(service.address());
    EXPECT_EQ(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << i;
    EXPECT_FALSE(receiver->problem().empty());
  }
  // One that sends items for ever.
  ScriptedService service(item(head, 0), true);
  RefillClient client(service.address());
  EXPECT_FALSE(client.state(200 * kMs, [](auto) {}));
}

}  // namespace stopbit::multicast::state_test
