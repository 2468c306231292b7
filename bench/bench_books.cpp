/// Books: what an entry costs, by kind and number of books and orders, alone and with event and state row; what the
/// synchroniser adds, and how long it takes to load a cycle of snapshots; what memory the books of many instruments
/// take; how soon a late reader knows the state of all of them.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/book/entries.hpp"
#include "host/market/saved/layout.hpp"
#include "host/market/state/publisher.hpp"
#include "host/market/state/reader.hpp"
#include "host/market/state/table.hpp"
#include "host/market/sync/synchroniser.hpp"
#include "host/os/spsc_queue.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::bench {
namespace {

using namespace market;  // NOLINT(google-build-using-namespace): it is what is measured

constexpr std::int64_t kTick = 10'000'000;
constexpr std::size_t kEvents = 1U << 18;  ///< Too many for a branch predictor to know them.
constexpr std::uint16_t kDepth = 10;
constexpr std::uint64_t kIdStep = 2'654'435'761U;  ///< Between the numbers of two orders, so that they are not dense.

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_books: %s\n", what.c_str());
  std::exit(1);
}

/// A stream, and what the books hold after it.
struct Stream {
  std::vector<Event> before;  ///< Fills the books; not timed.
  std::vector<Event> events;
  std::vector<std::uint64_t> expected;  ///< Of each instrument: a checksum of its rows.
};

std::uint64_t mix(std::uint64_t sum, std::int64_t value) {
  return (sum ^ static_cast<std::uint64_t>(value)) * 0x100'0000'01B3U;
}
constexpr std::uint64_t kSeed = 0xCBF2'9CE4'8422'2325U;

std::vector<std::uint64_t> checksums_of(const BookSet& books) {
  std::vector<std::uint64_t> sums;
  std::vector<Row> rows(100'000);
  for (std::uint32_t row = 1; row <= books.instruments(); ++row) {
    std::uint64_t sum = kSeed;
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::size_t count = books.rows(row, side, rows);
      for (std::size_t i = 0; i < count; ++i) sum = mix(mix(sum, rows[i].price), rows[i].quantity);
    }
    sums.push_back(sum);
  }
  return sums;
}

/// Entries like those of CME: most are near the best row; inserts and deletes are equally frequent, changes more
/// frequent than both. The expected books are vectors of prices and quantities.
Stream make_levels(std::uint32_t books) {
  Stream stream;
  cases::Random random(1);
  struct Side2 {
    std::vector<std::pair<std::int64_t, std::int64_t>> rows[2];
  };
  std::vector<Side2> truth(books + 1);
  std::uint64_t now = 0;
  const auto add = [&](std::vector<Event>& to, const Content& content) { to.push_back(Event::of(content)); };
  for (std::uint32_t row = 1; row <= books; ++row) {
    add(stream.before, {.instrument = row, .kind = Kind::Clear, .id = 1});
    for (std::uint16_t level = 1; level <= kDepth; ++level) {
      for (const Side side : {Side::Bid, Side::Ask}) {
        const std::int64_t way = side == Side::Bid ? -1 : 1;
        const std::int64_t price = 1'000'000'000'000 + way * level * 64 * kTick;
        add(stream.before, {.instrument = row,
                            .kind = Kind::New,
                            .side = side,
                            .level = level,
                            .price = price,
                            .quantity = 10,
                            .id = 3});
        truth[row].rows[side == Side::Ask ? 1 : 0].emplace_back(price, 10);
      }
    }
  }
  while (stream.events.size() < kEvents) {
    const auto row = static_cast<std::uint32_t>(1 + random.below(books));
    const Side side = random.chance(50) ? Side::Bid : Side::Ask;
    auto& rows = truth[row].rows[side == Side::Ask ? 1 : 0];
    const std::int64_t way = side == Side::Bid ? -1 : 1;
    Content content;
    content.arrival_ns = ++now;
    content.instrument = row;
    content.side = side;
    content.quantity = static_cast<std::int64_t>(1 + random.below(500));
    content.id = 1 + random.below(50);
    content.flags = kFlagLastOfEvent;
    const std::uint64_t draw = random.below(100);
    const auto at = static_cast<std::size_t>(random.chance(60) ? random.below(3) : random.below(kDepth));
    if (rows.size() < kDepth) {
      // The exchange sends the last row after a delete.
      content.kind = Kind::New;
      content.level = static_cast<std::uint16_t>(rows.size() + 1);
      content.price = rows.back().first + way * static_cast<std::int64_t>(1 + random.below(128)) * kTick;
      rows.emplace_back(content.price, content.quantity);
    } else if (draw < 60) {
      content.kind = Kind::Change;
      content.level = static_cast<std::uint16_t>(at + 1);
      content.price = rows[at].first;
      rows[at].second = content.quantity;
    } else if (draw < 80) {
      content.kind = Kind::Delete;
      content.level = static_cast<std::uint16_t>(at + 1);
      content.price = rows[at].first;
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      // A tick between two rows, if there is one; in front of the best there always is.
      const std::int64_t next = rows[at].first;
      const std::int64_t before = at == 0 ? next - way * 32 * kTick : rows[at - 1].first;
      const std::int64_t gap = (next - before) * way / kTick;
      if (gap < 2) continue;
      content.kind = Kind::New;
      content.level = static_cast<std::uint16_t>(at + 1);
      content.price =
          before + way * static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(gap) - 1)) * kTick;
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), {content.price, content.quantity});
      rows.pop_back();
    }
    add(stream.events, content);
  }
  for (std::uint32_t row = 1; row <= books; ++row) {
    std::uint64_t sum = kSeed;
    for (const auto& rows : truth[row].rows) {
      for (const auto& [price, quantity] : rows) sum = mix(mix(sum, price), quantity);
    }
    stream.expected.push_back(sum);
  }
  return stream;
}

/// Orders of one book, most of them near the best; for each one that is new, another one is deleted or changed.
Stream make_orders(std::uint32_t live) {
  Stream stream;
  cases::Random random(2);
  struct Live {
    std::uint64_t id;
    Side side;
    std::int64_t price;
    std::int64_t quantity;
  };
  std::vector<Live> orders;
  std::uint64_t id = 0;
  std::int64_t centre = 1'000'000'000'000;
  const auto add = [&](std::vector<Event>& to) {
    const Side side = random.chance(50) ? Side::Bid : Side::Ask;
    // Two in three within twenty ticks, the others within a thousand.
    const std::uint64_t away = random.below(3) != 0 ? random.below(20) : random.below(1'000);
    const std::int64_t way = side == Side::Bid ? -1 : 1;
    const Live made{++id * kIdStep, side, centre + way * static_cast<std::int64_t>(1 + away) * kTick,
                    static_cast<std::int64_t>(1 + random.below(1'000))};
    orders.push_back(made);
    to.push_back(Event::of({.instrument = 1,
                            .kind = Kind::New,
                            .side = side,
                            .price = made.price,
                            .quantity = made.quantity,
                            .id = made.id}));
  };
  stream.before.push_back(Event::of({.instrument = 1, .kind = Kind::Clear, .id = 1}));
  while (orders.size() < live) add(stream.before);
  while (stream.events.size() < kEvents) {
    if (random.below(2'000) == 0) centre += (static_cast<std::int64_t>(random.below(3)) - 1) * kTick;
    if (orders.size() < live) {
      add(stream.events);
      continue;
    }
    const std::size_t at = random.below(orders.size());
    Live& order = orders[at];
    if (random.chance(20)) {
      order.quantity = static_cast<std::int64_t>(1 + random.below(1'000));
      stream.events.push_back(Event::of(
          {.instrument = 1, .kind = Kind::Change, .side = order.side, .quantity = order.quantity, .id = order.id}));
    } else {
      stream.events.push_back(
          Event::of({.instrument = 1, .kind = Kind::Delete, .side = order.side, .price = order.price, .id = order.id}));
      order = orders.back();
      orders.pop_back();
    }
  }
  std::map<std::int64_t, std::int64_t> rows[2];
  for (const Live& order : orders) {
    rows[order.side == Side::Ask ? 1 : 0][order.side == Side::Ask ? order.price : -order.price] += order.quantity;
  }
  std::uint64_t sum = kSeed;
  for (const auto& [key, quantity] : rows[0]) sum = mix(mix(sum, -key), quantity);
  for (const auto& [key, quantity] : rows[1]) sum = mix(mix(sum, key), quantity);
  stream.expected.push_back(sum);
  return stream;
}

constexpr std::size_t kAhead = 4;  ///< Events between two steps of loading a book's memory in advance.

void check(const BookSet& books, const Stream& stream) {
  for (std::size_t i = 1; i < kFaults; ++i) {
    if (books.faults(static_cast<Fault>(i)) != 0) {
      fail("the stream has a fault: " + std::string(name_of(static_cast<Fault>(i))));
    }
  }
  if (checksums_of(books) != stream.expected) fail("a book is not the one that the stream was made with");
}

void prepare(BookSet& books, const Stream& stream) {
  for (const Event& event : stream.before) (void)books.apply(event);
}

/// Events between two looks at the clock: some tens of microseconds, which the system seldom interrupts.
constexpr std::size_t kBlock = 2'048;

/// Runs a stream on fresh books, and times `events` in blocks. The figure is the median of the blocks, so that a
/// machine with other work to do spoils the few blocks it interrupts and not the figure; `best` is the fastest block.
/// `make` gives books, `start(books)` something that takes a span of events.
template <class Make, class Start>
void measure(benchmark::State& state, const Stream& stream, const Make& make, const Start& start) {
  const std::span<const Event> events(stream.events);
  std::vector<double> blocks;
  bool is_checked = false;
  for (auto _ : state) {
    auto books = make();
    prepare(*books, stream);
    auto take = start(*books);
    const std::size_t first = blocks.size();
    for (std::size_t at = 0; at < events.size(); at += kBlock) {
      const std::span<const Event> block = events.subspan(at, kBlock);
      // In the cache, as if they had been made just now.
      std::uint64_t words = 0;
      for (const Event& event : block) words ^= event.words[0];
      benchmark::DoNotOptimize(words);
      const auto begin = std::chrono::steady_clock::now();
      take(block);
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
      blocks.push_back(time.count() / static_cast<double>(block.size()));
    }
    if (!is_checked) {
      // Not timed before the answer is known to be right.
      check(*books, stream);
      blocks.resize(first);
      is_checked = true;
    }
    state.SetIterationTime(1e-9);
  }
  if (blocks.empty()) fail("a benchmark needs two iterations: the first one is checked");
  std::sort(blocks.begin(), blocks.end());
  const auto at = [&](double share) {
    return blocks[static_cast<std::size_t>(share * static_cast<double>(blocks.size() - 1))];
  };
  state.counters["ns"] = at(0.5);
  state.counters["best"] = at(0.0);
  state.counters["p90"] = at(0.9);
}

/// Applies a block, with its memory asked for in advance or not.
template <bool kPrefetches>
auto apply_to(BookSet& books) {
  return [&books](std::span<const Event> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if constexpr (kPrefetches) {
        if (i + 3 * kAhead < events.size()) books.prefetch(events[i + 3 * kAhead]);
        if (i + 2 * kAhead < events.size()) books.prefetch_rows(events[i + 2 * kAhead]);
        if (i + kAhead < events.size()) books.prefetch_order(events[i + kAhead]);
      }
      (void)books.apply(events[i]);
    }
  };
}

std::unique_ptr<BookSet> level_books(std::uint32_t count) {
  auto books = std::make_unique<BookSet>(BookRoom{.instruments = count, .rows = count * 32});
  for (std::uint32_t row = 1; row <= count; ++row) {
    if (books->define(row, {{BookKind::Level, kDepth, 0}, {}, 0}) != Fault::None) fail("no room");
  }
  return books;
}

template <bool kPrefetches>
void levels(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_levels(count);
  measure(
      state, stream, [&] { return level_books(count); }, [](BookSet& books) { return apply_to<kPrefetches>(books); });
}

/// With a ring's worth of slots for the events, and a state table.
void published(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_levels(count);
  Result<state::Table> table = state::Table::create_private({.rows = count});
  if (!table) fail(table.message());
  std::uint64_t records = 0;
  record::BufferSink sink(
      1, [&](std::span<const record::Slot>) { ++records; }, 65'536);
  measure(
      state, stream, [&] { return level_books(count); },
      [&](BookSet& books) {
        return [publisher = std::make_shared<Publisher>(books, &sink, &table.value())](std::span<const Event> events) {
          for (const Event& event : events) (void)publisher->take(event);
        };
      });
  if (records != stream.events.size() * static_cast<std::uint64_t>(state.iterations())) fail("events are missing");
}

template <bool kPrefetches>
void orders(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_orders(live);
  measure(
      state, stream,
      [&] {
        auto books = std::make_unique<BookSet>(BookRoom{.instruments = 1,
                                                        .rows = 1,
                                                        .orders = live + 2,
                                                        .levels = 20'000,
                                                        .listed = 16'384,
                                                        .ladders = 2,
                                                        .salt = 42});
        if (books->define(1, {{BookKind::Order, 0, kTick}, {}, 0}) != Fault::None) fail("no room");
        return books;
      },
      [](BookSet& books) { return apply_to<kPrefetches>(books); });
}

/// For comparison, the least that a book by order can be, as open books for ITCH are built: orders in an array by their
/// numbers, which are dense here; sums of levels in a pool; prices of a side in a sorted vector that is searched from
/// its best end. It trusts the feed, grows as it needs, and has one instrument.
class PlainOrders {
 public:
  explicit PlainOrders(std::size_t orders) : orders_(orders) {}

  void apply(const Event& event) {
    Order& order = orders_[event.id() / kIdStep];
    std::vector<Price>& prices = sides_[event.side() == Side::Ask ? 1 : 0];
    switch (event.kind()) {
      case Kind::New: {
        const std::int64_t key = event.side() == Side::Ask ? -event.price() : event.price();
        std::size_t at = prices.size();
        while (at > 0 && prices[at - 1].key > key) --at;
        if (at == 0 || prices[at - 1].key != key) {
          prices.insert(prices.begin() + static_cast<std::ptrdiff_t>(at), {key, new_level()});
          ++at;
        }
        order = {event.quantity(), prices[at - 1].level};
        levels_[order.level] += event.quantity();
        break;
      }
      case Kind::Change:
        levels_[order.level] += event.quantity() - order.quantity;
        order.quantity = event.quantity();
        break;
      case Kind::Delete:
        if ((levels_[order.level] -= order.quantity) == 0) {
          std::size_t at = prices.size() - 1;
          while (prices[at].level != order.level) --at;
          prices.erase(prices.begin() + static_cast<std::ptrdiff_t>(at));
          free_.push_back(order.level);
        }
        break;
      default: break;
    }
  }

  [[nodiscard]] std::uint64_t checksum() const {
    std::uint64_t sum = kSeed;
    for (const std::size_t side : {0U, 1U}) {
      for (auto price = sides_[side].rbegin(); price != sides_[side].rend(); ++price) {
        sum = mix(mix(sum, side == 1 ? -price->key : price->key), levels_[price->level]);
      }
    }
    return sum;
  }

 private:
  struct Order {
    std::int64_t quantity = 0;
    std::uint32_t level = 0;
  };
  struct Price {
    std::int64_t key = 0;  ///< Greater is better.
    std::uint32_t level = 0;
  };

  std::uint32_t new_level() {
    if (free_.empty()) {
      levels_.push_back(0);
      return static_cast<std::uint32_t>(levels_.size() - 1);
    }
    const std::uint32_t level = free_.back();
    free_.pop_back();
    return level;
  }

  std::vector<Order> orders_;
  std::vector<std::int64_t> levels_;
  std::vector<std::uint32_t> free_;
  std::vector<Price> sides_[2];
};

void prepare(PlainOrders& book, const Stream& stream) {
  for (const Event& event : stream.before) book.apply(event);
}
void check(const PlainOrders& book, const Stream& stream) {
  if (book.checksum() != stream.expected.front()) fail("the plain book is not the one that the stream was made with");
}

void plain_orders(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_orders(live);
  measure(
      state, stream, [&] { return std::make_unique<PlainOrders>(live + kEvents + 2); },
      [](PlainOrders& book) {
        return [&book](std::span<const Event> events) {
          for (const Event& event : events) book.apply(event);
        };
      });
}

/// Counts what the synchroniser gives it.
struct Receiver final : SyncSink {
  void apply(const Event&) noexcept override { ++applied; }
  void load(std::uint32_t, std::uint64_t) noexcept override { ++loaded; }
  bool audit(std::uint32_t, std::uint64_t) noexcept override { return true; }
  void refresh(std::uint32_t, Cause, std::uint64_t) noexcept override {}
  void restarted() noexcept override {}
  void forgotten(Cause) noexcept override {}
  void state(std::uint32_t, const Mark&) noexcept override { ++states; }
  void state_of(std::uint32_t, const Mark&) noexcept override {}
  void healed(std::uint32_t, Basis, std::uint64_t, const Mark&) noexcept override {}
  void ask(std::uint64_t, std::uint64_t) noexcept override {}
  void lost(std::uint32_t, std::uint64_t) noexcept override { ++dropped; }
  void overdue(std::uint64_t) noexcept override {}

  std::uint64_t applied = 0, loaded = 0, states = 0, dropped = 0;
};

/// A synchroniser without books, and the numbers of the entries that it gets.
struct Line {
  Line(ScopeOf scope, std::uint32_t count, const Stream& stream)
      : machine({.scope = scope, .instruments = count, .products = 1}, receiver), last(count + 1) {
    machine.reset(0);
    for (std::uint32_t row = 1; scope == ScopeOf::Product && row <= count; ++row) machine.attach(row, 1);
    for (const Event& event : stream.events) numbers.push_back(++last[event.instrument()]);
  }
  Receiver receiver;
  Synchroniser machine;
  std::vector<std::uint64_t> last;
  std::vector<std::uint64_t> numbers;
  std::uint64_t passed = 0;
  std::uint64_t message = 0;
};

void prepare(Line& /*line*/, const Stream& /*stream*/) {}
void check(const Line& line, const Stream& stream) {
  if (line.passed != stream.events.size() || line.receiver.applied != 0) fail("the synchroniser keeps entries back");
  for (std::uint32_t row = 1; row < line.last.size(); ++row) {
    if (line.machine.mark(row).state != SyncState::Latest) fail("an instrument is not latest");
  }
}

/// What an entry that is in order costs the synchroniser, a message for each.
template <ScopeOf kScope>
void in_step(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_levels(count);
  measure(
      state, stream, [&] { return std::make_unique<Line>(kScope, count, stream); },
      [](Line& line) {
        return [&line](std::span<const Event> events) {
          for (const Event& event : events) {
            line.machine.begin(++line.message);
            if constexpr (kScope == ScopeOf::Product) (void)line.machine.product(1, line.message);
            if (line.machine.entry(event.instrument(), line.numbers[line.message - 1], event)) ++line.passed;
            line.machine.end();
          }
        };
      });
}

/// The same loop without a synchroniser: what is to be taken off.
void in_step_of_none(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const Stream stream = make_levels(count);
  measure(
      state, stream, [&] { return std::make_unique<Line>(ScopeOf::Instrument, count, stream); },
      [](Line& line) {
        return [&line](std::span<const Event> events) {
          for (const Event& event : events) {
            std::uint64_t number = line.numbers[line.message++];
            std::uint32_t row = event.instrument();
            benchmark::DoNotOptimize(number);
            benchmark::DoNotOptimize(row);
            ++line.passed;
          }
        };
      });
}

/// A book of orders is copied for a save: what that holds up datagrams.
void saved(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  BookSet books({.instruments = 1, .rows = 64, .orders = count, .levels = 2'048, .listed = 4'096, .ladders = 4});
  (void)books.define(1, {.direct = {BookKind::Order, 0, kTick}, .implied = {}, .channel = 1});
  (void)books.apply(Event::of({.channel = 1, .instrument = 1, .kind = Kind::Clear, .id = 1}));
  cases::Random random(7);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_ask = i % 2 != 0;
    const auto step = static_cast<std::int64_t>(random.below(200)) * kTick;
    (void)books.apply(Event::of({.channel = 1,
                                 .instrument = 1,
                                 .kind = Kind::New,
                                 .side = is_ask ? Side::Ask : Side::Bid,
                                 .price = is_ask ? 1'000 * kTick + step : 999 * kTick - step,
                                 .quantity = 1 + i % 100,
                                 .id = i + 1}));
  }
  os::SpscQueue<record::Slot> queue(8'192);
  std::vector<double> times;
  for (auto _ : state) {
    SavedSum sum;
    const auto begin = std::chrono::steady_clock::now();
    for (const Side side : {Side::Bid, Side::Ask}) {
      for_each_entry(books, 1, side, BookOf::Direct, [&](const Event& event) {
        const auto slot = std::bit_cast<record::Slot>(event);
        sum.add(slot);
        (void)queue.push(slot);
      });
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    record::Slot slot;
    std::uint32_t copied = 0;
    while (queue.pop(slot)) ++copied;
    if (copied != count) fail("not every order was copied");
    times.push_back(time.count());
    state.SetIterationTime(time.count() * 1e-6);
  }
  std::sort(times.begin(), times.end());
  state.counters["us"] = times[times.size() / 2];
  state.counters["best_us"] = times.front();
}

/// All instruments have joined late, entries of each wait, and one cycle of snapshots makes all of them latest.
void recovery(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  constexpr std::uint64_t kJoined = 100;
  constexpr std::uint64_t kWaiting = 4;  ///< Entries of each instrument, the first two of which the snapshot has.
  std::vector<double> times;
  for (auto _ : state) {
    Receiver receiver;
    Synchroniser machine({.instruments = count}, receiver);
    std::uint64_t message = kJoined;
    for (std::uint64_t n = 1; n <= kWaiting; ++n) {
      for (std::uint32_t row = 1; row <= count; ++row) {
        machine.begin(++message);
        if (machine.entry(row, kJoined + n, Event::of({.instrument = row, .kind = Kind::New, .price = kTick}))) {
          fail("a stale book got an entry");
        }
        machine.end();
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t row = 1; row <= count; ++row) {
      if (!machine.part({.row = row,
                         .place = row,
                         .number = kJoined + 2,
                         .message = message,
                         .sent_ns = 1,
                         .is_first = true,
                         .is_last = true})) {
        fail("a snapshot is refused");
      }
      machine.part_end();
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (receiver.loaded != count || receiver.applied != count * (kWaiting - 2) || receiver.states != count ||
        receiver.dropped != 0 || machine.waiting() != 0) {
      fail("not everything has recovered");
    }
    times.push_back(time.count());
    state.SetIterationTime(time.count() * 1e-3);
  }
  std::sort(times.begin(), times.end());
  state.counters["ms"] = times[times.size() / 2];
  state.counters["ns_each"] = times[times.size() / 2] * 1e6 / count;
  state.counters["best_ms"] = times.front();
}

/// A loss of messages, which puts all instruments in doubt.
void loss(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  Receiver receiver;
  Synchroniser machine({.instruments = count, .holes_each = 1}, receiver);
  machine.reset(0);
  std::uint64_t message = 1;
  for (auto _ : state) {
    machine.loss(message, message, 0);
    machine.begin(message + 1);
    machine.end();
    message += 2;
  }
  if (machine.mark(1).state != SyncState::Suspect || machine.mark(count).state != SyncState::Suspect) {
    fail("an instrument is not in doubt after a loss");
  }
}

/// Books of many instruments, each with ten rows a side.
void memory(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) bytes = level_books(count)->bytes();
  state.counters["MiB"] = static_cast<double>(bytes) / (1 << 20);
  state.counters["bytes_each"] = static_cast<double>(bytes) / count;
}

/// Open, map and read all rows, book and day.
void late_join(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const testing::Scratch scratch;
  const std::string name = scratch.path("market");
  Result<state::Table> table = state::Table::create(name, {.rows = count});
  if (!table) fail(table.message());
  auto books = level_books(count);
  Publisher publisher(*books, nullptr, &table.value());
  for (std::uint32_t row = 1; row <= count; ++row) {
    (void)publisher.take(Event::of({.instrument = row, .kind = Kind::Clear, .id = 1}));
    (void)publisher.take(Event::of({.flags = kFlagLastOfEvent,
                                    .instrument = row,
                                    .kind = Kind::New,
                                    .side = Side::Bid,
                                    .level = 1,
                                    .price = row * kTick,
                                    .quantity = 5,
                                    .id = 1}));
  }
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<state::Reader> reader = state::Reader::open(name);
    if (!reader) fail(reader.message());
    std::int64_t sum = 0;
    for (std::uint32_t row = 1; row <= reader.value().rows(); ++row) {
      state::Top top;
      state::DayView day;
      if (reader.value().read(row, top, day) != state::Read::Ok) fail("a row cannot be read");
      sum += top.bid;
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count());
    state.SetIterationTime(time.count() * 1e-3);
    if (sum != static_cast<std::int64_t>(count) * (count + 1) / 2 * kTick) fail("the table is not what was published");
  }
  std::sort(times.begin(), times.end());
  state.counters["ms"] = times[times.size() / 2];
  state.counters["best_ms"] = times.front();
}

constexpr int kRuns = 6;  ///< The first one is checked, the others are timed.

BENCHMARK(levels<false>)->Name("levels")->Arg(4)->Arg(1'024)->Arg(65'536)->UseManualTime()->Iterations(kRuns);
BENCHMARK(levels<true>)->Name("levels/prefetched")->Arg(1'024)->Arg(65'536)->UseManualTime()->Iterations(kRuns);
BENCHMARK(published)->Name("levels/published")->Arg(4)->Arg(1'024)->UseManualTime()->Iterations(kRuns);
BENCHMARK(orders<false>)->Name("orders")->Arg(2'000)->Arg(50'000)->Arg(1'000'000)->UseManualTime()->Iterations(kRuns);
BENCHMARK(orders<true>)
    ->Name("orders/prefetched")
    ->Arg(2'000)
    ->Arg(50'000)
    ->Arg(1'000'000)
    ->UseManualTime()
    ->Iterations(kRuns);
BENCHMARK(plain_orders)
    ->Name("orders/plain")
    ->Arg(2'000)
    ->Arg(50'000)
    ->Arg(1'000'000)
    ->UseManualTime()
    ->Iterations(kRuns);
BENCHMARK(in_step_of_none)->Name("sync/none")->Arg(4)->Arg(1'024)->Arg(65'536)->UseManualTime()->Iterations(kRuns);
BENCHMARK(in_step<ScopeOf::Instrument>)
    ->Name("sync/instrument")
    ->Arg(4)
    ->Arg(1'024)
    ->Arg(65'536)
    ->UseManualTime()
    ->Iterations(kRuns);
BENCHMARK(in_step<ScopeOf::Product>)->Name("sync/product")->Arg(4)->Arg(1'024)->UseManualTime()->Iterations(kRuns);
BENCHMARK(in_step<ScopeOf::Channel>)->Name("sync/channel")->Arg(4)->Arg(1'024)->UseManualTime()->Iterations(kRuns);
BENCHMARK(recovery)->Name("sync/recovery")->Arg(10'000)->UseManualTime()->Iterations(40);
BENCHMARK(saved)->Name("saved")->Arg(20)->Arg(1'024)->UseManualTime()->Iterations(2'000);
BENCHMARK(loss)->Name("sync/loss")->Arg(100'000);
BENCHMARK(memory)->Name("memory")->Arg(100'000)->Iterations(1);
BENCHMARK(late_join)->Name("late_join")->Arg(1'000)->Arg(100'000)->UseManualTime()->Iterations(40);

}  // namespace
}  // namespace stopbit::bench

BENCHMARK_MAIN();
