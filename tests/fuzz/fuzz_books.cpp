// Entries for books of every kind, sound and otherwise, as the bytes steer them: a book is that of a naive reference
// after each, knows what it does not know, and stays within its room. Then the bytes as market events of a ring: any
// of them is printed, and taken by books without a fault that would change what they hold unseen.

#include <algorithm>
#include <cstring>
#include <string>

#include "host/market/event/print.hpp"
#include "host/market/event/sbe.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/unit/market/book/comparison.hpp"

namespace {

using namespace stopbit;
using namespace stopbit::market;

void compare_with_reference(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::uint8_t way = bytes.front();
  const BookRoom little = {.instruments = testing::kRows,
                           .implied = testing::kRows,
                           .rows = 100U + way,
                           .orders = 20U + way,
                           .levels = 20U + way,
                           .listed = 60U + way,
                           .ladders = way % 3U,
                           .placed = way,
                           .positions = 50U + way};
  const BookRoom enough = {.instruments = testing::kRows,
                           .implied = testing::kRows,
                           .rows = 8'192,
                           .orders = 1'000,
                           .levels = 1'000,
                           .listed = 4'096,
                           .ladders = 2,
                           .placed = 2'000,
                           .positions = 40'000};
  testing::Comparison comparison(way % 2 == 0 ? enough : little, bytes.subspan(1), way < 128 ? 5 : 300);
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    const std::string problem = comparison.step(true);
    fuzz::require(problem.empty(), "a book is that of the reference", problem);
  }
}

void take_any_events(std::span<const std::uint8_t> bytes) {
  BookSet books({.instruments = 4,
                 .implied = 1,
                 .rows = 64,
                 .orders = 16,
                 .levels = 16,
                 .listed = 16,
                 .ladders = 1,
                 .placed = 16,
                 .positions = 64});
  (void)books.define(1, {{BookKind::Level, 10, 0}, {BookKind::Price, 2, 0}, 0});
  (void)books.define(2, {{BookKind::Order, 0, 0}, {}, 0});
  (void)books.define(3, {{BookKind::Position, 0, 0}, {}, 1});
  std::string text;
  for (; bytes.size() >= sizeof(record::Slot); bytes = bytes.subspan(sizeof(record::Slot))) {
    record::Slot slot;
    std::memcpy(&slot, bytes.data(), sizeof(slot));
    const Event event = Event::from(slot);
    (void)books.apply(event);
    while (books.take_stale().row != 0) {
    }
    text.clear();
    append_json(event, text);
    append_csv(event, text);
    fuzz::require(std::count(text.begin(), text.end(), '\n') == 2, "an event is a line", text);
    text.clear();
    append_sbe(event, text);
    fuzz::require(text.size() == kSbeHeaderBytes + kSbeBlockBytes, "all messages of events have one length", text);
    const Event again = Event::of(event.content());
    fuzz::require(
        std::equal(again.words + 1, again.words + record::kTagWord, event.words + 1, event.words + record::kTagWord) ||
            (event.words[2] >> 48 & 0xFF) != 0,
        "an event is written as it is read", text);
    for (std::uint32_t row = 1; row <= 4; ++row) {
      for (const Side side : {Side::Bid, Side::Ask}) {
        Row rows[8];
        const std::size_t count = books.rows(row, side, rows);
        fuzz::require(same_best(books.best(row, side), count == 0 ? Row() : rows[0]), "the best is the first row");
        const std::size_t known = std::min<std::size_t>(count, books.extent(row, side).known_to);
        fuzz::require(std::all_of(rows, rows + known, [](const Row& one) { return one.is_known != 0; }),
                      "what is said to be known is known");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65'536) return 0;
  compare_with_reference({data, size});
  take_any_events({data, size});
  return 0;
}
