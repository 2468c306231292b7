// Copies of tables of another process: whatever is read there, no reader of the copy finds a mixture.

#include "host/market/state/table_copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "host/market/state/publisher.hpp"
#include "host/market/state/reader.hpp"
#include "host/market/state/tables.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::market::table_copy_test {

using Taken = TableCopy::Taken;

constexpr std::uint32_t kLevels = 2;

InstrumentHeader instrument_header() {
  InstrumentHeader header{};
  header.magic = kInstrumentMagic;
  header.schema_version = kInstrumentSchemaVersion;
  header.row_bytes = sizeof(InstrumentRow);
  header.capacity = 10;
  header.index_slots = static_cast<std::uint32_t>(instrument_index_slots(10));
  header.ring_epoch = 77;
  return header;
}
state::Header state_header() {
  state::Header header{};
  header.magic = state::kMagic;
  header.version = state::kVersion;
  header.event_schema = kEventSchemaVersion;
  header.rows = 10;
  header.levels = kLevels;
  header.row_bytes = state::row_bytes(kLevels);
  header.rows_offset = state::kPageBytes;
  header.ring_epoch = 77;
  return header;
}

TEST(TableShape, is_that_of_the_headers_if_these_are_sound_and_of_the_ring) {
  const Result<TableShape> shape = TableShape::of(instrument_header(), state_header(), 77);
  ASSERT_TRUE(shape) << shape.message();
  EXPECT_EQ(shape.value().instruments.capacity, 10U);
  EXPECT_EQ(shape.value().states.levels, kLevels);
  EXPECT_EQ(shape.value().bytes(), instrument_table_bytes(10) + state::kPageBytes + 11 * state::row_bytes(kLevels));
  EXPECT_FALSE(TableShape::of(instrument_header(), state_header(), 78)) << "of another ring";
  // Headers of any bytes: what is accepted stays within the bounds of tables.
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    InstrumentHeader instruments = instrument_header();
    state::Header states = state_header();
    auto* const bytes =
        random() % 2 == 0 ? reinterpret_cast<unsigned char*>(&instruments) : reinterpret_cast<unsigned char*>(&states);
    for (int change = 0; change < 3; ++change) bytes[random() % 64] = static_cast<unsigned char>(random());
    const Result<TableShape> any = TableShape::of(instruments, states, 77);
    if (!any) continue;
    ASSERT_LE(any.value().instruments.capacity, kMaxInstruments);
    ASSERT_LE(any.value().states.rows, kMaxInstrument);
    ASSERT_LE(any.value().states.levels, state::kMaxLevels);
    ASSERT_LE(any.value().bytes(), 2 * state::kMaxSegmentBytes);
  }
}

class Copied : public ::testing::Test {
 protected:
  TableCopy prepare(const std::string& name, std::uint64_t epoch = 5, const TableCopy* replaces = nullptr) {
    const TableShape shape = TableShape::of(instrument_header(), state_header(), 77).value();
    Result<TableCopy> made = TableCopy::prepare(name, shape, epoch, replaces);
    if (!made) throw std::runtime_error(made.message());
    return std::move(made).value();
  }
  static std::span<const std::byte> bytes_of(const auto& what) { return std::as_bytes(std::span(&what, 1)); }
  static Taken take(TableCopy& copy, std::uint32_t row, const InstrumentRow& from) {
    const std::byte* const bytes = bytes_of(from).data();
    return copy.take_instrument(row, bytes, bytes, bytes);
  }
  static InstrumentRow instrument(const std::string& key) {
    InstrumentTable one = InstrumentTable::make({.capacity = 1}).value();
    (void)one.add(key, [](InstrumentRow&) {});
    return one.row(1);
  }

  stopbit::testing::Scratch scratch;
  std::string path = scratch.path("market");
};

TEST_F(Copied, tables_get_their_names_when_they_are_taken_and_carry_the_epoch_of_their_own_ring) {
  TableCopy copy = prepare(path);
  EXPECT_FALSE(InstrumentView::open(path));
  EXPECT_EQ(take(copy, 1, instrument("key")), Taken::Whole);
  ASSERT_TRUE(copy.check_names());
  ASSERT_TRUE(copy.take_names());
  const Result<Tables> tables = Tables::open(path, 5);
  ASSERT_TRUE(tables) << tables.message();
  EXPECT_EQ(tables.value().row_of("key"), 1U);
  EXPECT_FALSE(Tables::open(path, 77));
  TableCopy next = prepare(path, 6, &copy);
  ASSERT_TRUE(next.check_names());
  ASSERT_TRUE(next.take_names());
  EXPECT_TRUE(tables.value().replaced());
  EXPECT_FALSE(prepare(path, 7).check_names()) << "a live one is not replaced";
}

TEST_F(Copied, a_row_that_changes_while_it_is_read_is_not_taken) {
  TableCopy copy = prepare(path);
  InstrumentRow before = instrument("key");
  InstrumentRow words = before;
  InstrumentRow after = before;
  const auto take_it = [&] {
    return copy.take_instrument(1, bytes_of(before).data(), bytes_of(words).data(), bytes_of(after).data());
  };
  after.version = 2;
  EXPECT_EQ(take_it(), Taken::Changed);
  before.version = words.version = after.version = 3;
  EXPECT_EQ(take_it(), Taken::Changed) << "its writer is in it";
  before.version = 2;
  words.version = after.version = 4;
  EXPECT_EQ(take_it(), Taken::Changed);
  EXPECT_EQ(copy.instruments().count(), 0U);
  before.version = 4;
  EXPECT_EQ(take_it(), Taken::Whole);
  EXPECT_EQ(copy.instruments().count(), 1U);
  words.key[0] = 'x';
  EXPECT_EQ(take_it(), Taken::Refused);
}

/// Reads of a table that another thread writes; a third one reads the copy.
TEST_F(Copied, readers_find_states_as_they_were_at_one_moment) {
  constexpr std::uint32_t kRows = 4;
  TableCopy copy = prepare(path);
  ASSERT_TRUE(copy.take_names());
  BookSet books({.instruments = 10, .rows = 1'024});
  state::Table table = std::move(state::Table::create_private({.rows = 10, .levels = kLevels})).value();
  Publisher publisher(books, nullptr, &table);
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    (void)books.define(row, {.direct = {BookKind::Level, 4}, .implied = {}, .channel = 1});
  }
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::int64_t i = 1; !stop; ++i) {
      Content content;
      content.arrival_ns = static_cast<std::uint64_t>(i);
      content.sequence = static_cast<std::uint32_t>(i);
      content.channel = 1;
      content.instrument = static_cast<std::uint32_t>(1 + i % kRows);
      content.kind = Kind::Trade;
      content.price = i;
      content.quantity = i % 1'000;
      content.flags = kFlagLastOfEvent;
      (void)publisher.take(Event::of(content));
    }
  });
  std::atomic<std::uint64_t> sound = 0;
  std::thread reader([&] {
    const state::Reader states = std::move(state::Reader::open(path)).value();
    state::Top top;
    state::DayView day;
    for (std::uint32_t row = 1; !stop; row = 1 + row % kRows) {
      if (states.read(row, top, day) != state::Read::Ok || day.last == kNoPrice) continue;
      // The book is published for the event that changed the day.
      EXPECT_EQ(day.last_quantity, day.last % 1'000);
      EXPECT_EQ(top.arrival_ns, static_cast<std::uint64_t>(day.last));
      EXPECT_EQ(day.high, day.last) << "prices grow";
      ++sound;
    }
  });
  std::vector<std::uint64_t> reads[3];
  const std::size_t words = state::row_bytes(kLevels) / 8;
  for (std::vector<std::uint64_t>& read : reads) read.resize(words);
  std::uint64_t whole = 0;
  std::uint64_t changed = 0;
  for (std::uint32_t row = 1; sound < 20'000 || whole < 20'000; row = 1 + row % kRows) {
    const auto* const from =
        reinterpret_cast<const std::uint64_t*>(table.bytes().data() + state::kPageBytes + row * words * 8);
    for (std::vector<std::uint64_t>& read : reads) {
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      // In any order within one read.
      for (std::size_t i = words; i-- != 0;) read[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
    const auto bytes = [&](std::size_t which) { return reinterpret_cast<const std::byte*>(reads[which].data()); };
    const Taken taken = copy.take_state(row, bytes(0), bytes(1), bytes(2));
    ++(taken == Taken::Whole ? whole : changed);
    ASSERT_NE(taken, Taken::Refused);
  }
  stop = true;
  writer.join();
  reader.join();
  EXPECT_EQ(copy.take_state(11, reinterpret_cast<const std::byte*>(reads[0].data()), nullptr, nullptr), Taken::Refused);
}

TEST_F(Copied, a_state_that_changes_while_it_is_read_is_not_taken) {
  TableCopy copy = prepare(path);
  ASSERT_TRUE(copy.take_names());
  const state::Reader states = std::move(state::Reader::open(path)).value();
  std::vector<std::uint64_t> before(state::row_bytes(kLevels) / 8);
  before[0] = 2;
  before[3] = before[5] = 7;  // bid and ask
  std::vector<std::uint64_t> mixed = before;
  mixed[5] = 8;  // the writer was faster than the read
  std::vector<std::uint64_t> after = mixed;
  after[0] = 4;
  const auto take = [&](const auto&... reads) {
    return copy.take_state(1, reinterpret_cast<const std::byte*>(reads.data())...);
  };
  EXPECT_EQ(take(before, mixed, after), Taken::Changed);
  EXPECT_EQ(take(after, mixed, before), Taken::Changed);
  state::Top top;
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.bid, kNoPrice) << "nothing was taken";
  EXPECT_EQ(take(after, after, after), Taken::Whole);
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.ask, 8);
  // A part that is whole is taken, whatever the others are.
  std::vector<std::uint64_t> next = after;
  next[0] = 6;
  next[3] = 9;
  next[8] = 3;  // the day is being written
  EXPECT_EQ(take(next, next, next), Taken::Changed);
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.bid, 9);
}

TEST_F(Copied, states_never_go_back) {
  TableCopy copy = prepare(path);
  ASSERT_TRUE(copy.take_names());
  const state::Reader states = std::move(state::Reader::open(path)).value();
  std::vector<std::uint64_t> words(state::row_bytes(kLevels) / 8);
  const auto take_version = [&](std::uint32_t version) {
    words[0] = version;
    words[3] = version;  // the bid
    const auto* const bytes = reinterpret_cast<const std::byte*>(words.data());
    return copy.take_state(1, bytes, bytes, bytes);
  };
  state::Top top;
  EXPECT_EQ(take_version(8), Taken::Whole);
  EXPECT_EQ(take_version(6), Taken::Whole);
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.bid, 8);
  EXPECT_EQ(take_version(9), Taken::Changed);
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.bid, 8);
  // Versions begin again after 2^32.
  EXPECT_EQ(take_version(0x7FFF'FFF0), Taken::Whole);
  EXPECT_EQ(take_version(0xFFFF'FFE0), Taken::Whole);
  EXPECT_EQ(take_version(4), Taken::Whole);
  ASSERT_EQ(states.read(1, top), state::Read::Ok);
  EXPECT_EQ(top.bid, 4);
}

}  // namespace stopbit::market::table_copy_test
