// The skeleton of a strategy: follows the book of an instrument, and calls a listener.
//
//   strategy EVENTS INSTRUMENT      EVENTS is a ring of market events, as `stopbit run` writes for a feed with a map:
//                                   its ring's name and "-events"
//
// The book is built here, of the events, by the code that the appliance has. A program that needs the best prices alone
// reads the table of states instead: ../c/best.c.

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "host/market/book/book.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/state/shape.hpp"
#include "host/ring/reader.hpp"

namespace market = stopbit::market;
namespace ring = stopbit::ring;

/// Write yours here. Nothing in it may block: a program that is too slow loses events.
class Listener {
 public:
  /// The best bid or ask changed. Books are whole here: the exchange's event has ended.
  void on_book(const market::Book& book) {
    ++changes_;
    const market::InstrumentStatus status = book.status();
    // A suspect book was right before a loss that may not concern it; a stale one lacks something. Quote on neither.
    const bool is_right = status.standing == market::Standing::Latest && status.state == market::TradingState::Open;
    const market::Row bid = book.bid(0);
    const market::Row ask = book.ask(0);
    if (!is_right || bid.is_known == 0 || ask.is_known == 0) return;
    const std::int64_t spread = ask.price - bid.price;  // of 1e-9, as all prices: exact
    if (spread < narrowest_) narrowest_ = spread;
    // Your orders go here.
  }

  /// `side` is the aggressor's, if the exchange says it. The book changes by events of its own, never by trades.
  void on_trade(const market::Event& trade) {
    ++trades_;
    if (trade.quantity() != market::kNoQuantity) volume_ += trade.quantity();
  }

  /// The trading state changed, as into an auction, in which bid and ask may meet; or how far the book may be trusted.
  void on_status(const market::InstrumentStatus& status) {
    if (status.standing != market::Standing::Latest) ++doubts_;
  }

  void print() const {
    std::printf("%llu changes of the best, %llu trades of %lld, %llu times in doubt",
                static_cast<unsigned long long>(changes_), static_cast<unsigned long long>(trades_),
                static_cast<long long>(volume_), static_cast<unsigned long long>(doubts_));
    if (narrowest_ != INT64_MAX) std::printf(", narrowest spread %.4f", static_cast<double>(narrowest_) / 1e9);
    std::printf("\n");
  }

 private:
  std::uint64_t changes_ = 0;
  std::uint64_t trades_ = 0;
  std::int64_t volume_ = 0;
  std::uint64_t doubts_ = 0;
  std::int64_t narrowest_ = INT64_MAX;
};

int fail(const std::string& message) {
  std::fprintf(stderr, "strategy: %s\n", message.c_str());
  return 1;
}

void print_row(const market::Row& row, const char* end) {
  if (row.is_known == 0) std::printf("none%s", end);
  if (row.is_known != 0) {
    std::printf("%lld at %.4f%s", static_cast<long long>(row.quantity), static_cast<double>(row.price) / 1e9, end);
  }
}

void take(const market::Event& event, std::uint32_t row, market::Book& book, Listener& listener) {
  const market::InstrumentStatus before = book.status();
  const bool best_changed = book.apply(event);  // also events of other instruments, which may end the exchange's event
  if (event.instrument() == row && event.kind() == market::Kind::Trade) listener.on_trade(event);
  const market::InstrumentStatus now = book.status();
  if (now.standing != before.standing || now.state != before.state) listener.on_status(now);
  if (best_changed && event.last_of_event()) listener.on_book(book);
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: strategy EVENTS INSTRUMENT");
  auto opened = ring::Reader::open(argv[1]);
  if (!opened) return fail(opened.message());
  ring::Reader& reader = opened.value();

  // Rows are numbered by the writer, in the order in which it first saw them: look for the key, never keep a number.
  const auto instruments = market::InstrumentView::open(argv[1]);
  if (!instruments) return fail(instruments.message());
  if (instruments.value().ring_epoch() != reader.tables_epoch()) return fail("a new image is being loaded");
  std::uint32_t row = instruments.value().find(argv[2]);
  if (row == 0) row = instruments.value().find_name(argv[2]);
  market::InstrumentRow about;
  if (row == 0 || !instruments.value().read(row, about)) return fail(std::string("no instrument ") + argv[2]);

  // All memory is taken here. Books by order or position need room for orders: BookRoom::add.
  const market::InstrumentShape shape = market::shape_of(about);
  market::BookRoom room{.instruments = 1, .rows = 256};
  constexpr std::uint32_t kMostOrders = 100'000;
  room.add(shape.direct.kind, kMostOrders);
  room.add(shape.implied.kind, kMostOrders);
  market::Book book(row, shape, room);
  Listener listener;

  for (bool has_ended = false;;) {
    switch (reader.poll_batch()) {
      case ring::Poll::Record:
        for (const auto record : reader.records()) {
          if (market::is_event(record[0])) take(market::Event::from(record[0]), row, book, listener);
        }
        continue;
      case ring::Poll::Lost:
        // What was missed may have changed the book: nothing of it is known until the feed tells it again.
        std::fprintf(stderr, "%llu events lost: this program is too slow for the ring\n",
                     static_cast<unsigned long long>(reader.lost_records()));
        book = market::Book(row, shape, room);
        listener.on_status(book.status());
        continue;
      case ring::Poll::Damaged: return fail("the ring is damaged");
      case ring::Poll::Nothing: break;
    }
    // The last events may have come between this poll and the writer's end: once more after it.
    if (has_ended) break;
    if (reader.writer() == ring::WriterState::Dead)
      return fail("the writer died: the book is that of the moment before");
    has_ended = reader.writer() != ring::WriterState::Running;
    if (!has_ended) std::this_thread::yield();  // or spin, with a core of its own
  }

  listener.print();
  print_row(book.bid(0), " | ");
  print_row(book.ask(0), " ");
  const std::string_view standing = market::name_of(book.status().standing);
  std::printf("(%.*s)\n", static_cast<int>(standing.size()), standing.data());
  return 0;
}
