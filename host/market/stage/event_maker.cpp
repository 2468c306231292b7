#include "host/market/stage/event_maker.hpp"
#include "host/os/random.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::market {
namespace {

BookRoom books_of(const Map& map, const MarketRoom& room, std::uint64_t salt) {
  BookRoom books{.instruments = room.instruments, .rows = 1U << 16, .salt = salt};
  for (const CompiledBook& book : map.books) {
    if (book.of == BookOf::Implied) books.implied = room.instruments;
    books.add(book.kind, room.orders);
  }
  return books;
}

}  // namespace

Status EventMaker::check_names() const {
  Status free = instruments_.check_name();
  return free ? states_->check_name() : free;
}

Status EventMaker::take_names() {
  Status taken = instruments_.take_name();
  return taken ? states_->take_name() : taken;
}

Result<std::unique_ptr<EventMaker>> EventMaker::prepare(const Map& map, const Program& program,
                                                        const EventMakerOptions& options, record::RecordSink& events) {
  const InstrumentTable::Options table{.capacity = options.room.instruments,
                                       .generation = options.generation,
                                       .map_name = map.source.name,
                                       .quantity_decimals = map.source.quantity_decimals,
                                       .ring_epoch = options.ring_epoch,
                                       .replaces = options.replaces ? &options.replaces->instruments_ : nullptr};
  const std::uint64_t salt = os::random_word();
  if (options.name.empty()) {
    Result<InstrumentTable> instruments = InstrumentTable::make(table);
    if (!instruments) return Failure{instruments.message()};
    std::unique_ptr<EventMaker> made(
        new EventMaker(map, std::move(instruments).value(), std::nullopt, options.room, salt, events));
    made->make_translator(map, program, options, salt);
    return made;
  }
  Result<InstrumentTable> instruments = InstrumentTable::prepare(options.name, table);
  if (!instruments) return Failure{instruments.message()};
  Result<state::Table> states = state::Table::prepare(
      options.name,
      {.rows = options.room.instruments,
       .levels = options.room.levels,
       .generation = options.generation,
       .ring_epoch = options.ring_epoch,
       .replaces = options.replaces && options.replaces->states_ ? &*options.replaces->states_ : nullptr});
  if (!states) return Failure{states.message()};
  std::unique_ptr<EventMaker> made(
      new EventMaker(map, std::move(instruments).value(), std::move(states).value(), options.room, salt, events));
  made->make_translator(map, program, options, salt);
  return made;
}

void EventMaker::make_translator(const Map& map, const Program& program, const EventMakerOptions& options,
                                 std::uint64_t salt) {
  // One snapshot is a small part of all books.
  MarketRoom one = options.room;
  one.instruments = 1;
  one.orders = std::min(one.orders, options.recovery.picture);
  translator_.emplace(map, program, instruments_, books_, publisher_, salt, options.recovery, books_of(map, one, salt));
}

EventMaker::EventMaker(const Map& map, InstrumentTable instruments, std::optional<state::Table> states,
                       const MarketRoom& room, std::uint64_t salt, record::RecordSink& events)
    : instruments_(std::move(instruments)),
      states_(std::move(states)),
      books_(books_of(map, room, salt)),
      publisher_(books_, &events, states_ ? &*states_ : nullptr) {}

void EventMaker::finish() noexcept {
  translator_->finish();
  if (states_) states_->finish();
}

}  // namespace stopbit::market
