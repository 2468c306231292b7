#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "host/market/instrument/table.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::market::table_test {

TEST(InstrumentTable, finds_rows_by_key_and_name) {
  InstrumentTable table = InstrumentTable::make({.capacity = 4, .map_name = "m"}).value();
  EXPECT_EQ(table.add("27069", [&](InstrumentRow& row) { table.set_name(row, "ESM2"); }), 1U);
  EXPECT_EQ(table.add("SBER/TQBR", [](InstrumentRow&) {}), 2U);
  EXPECT_EQ(table.view().find("27069"), 1U);
  EXPECT_EQ(table.view().find("SBER/TQBR"), 2U);
  EXPECT_EQ(table.view().find("SBER"), 0U);
  EXPECT_EQ(table.view().find_name("ESM2"), 1U);
  table.change(2, [&](InstrumentRow& row) { table.set_name(row, "Sberbank"); });
  EXPECT_EQ(table.view().find_name("Sberbank"), 2U);
  table.change(2, [&](InstrumentRow& row) { table.set_name(row, "Sber"); });
  EXPECT_EQ(table.view().find_name("Sberbank"), 0U);
  EXPECT_EQ(table.view().find_name("Sber"), 2U);
  EXPECT_EQ(table.view().map_name(), "m");
}

TEST(InstrumentTable, refuses_what_finds_no_room_and_counts_it) {
  InstrumentTable table = InstrumentTable::make({.capacity = 3}).value();
  for (int i = 0; i < 3; ++i) EXPECT_NE(table.add(std::to_string(i), [](InstrumentRow&) {}), 0U);
  for (int i = 3; i < 100; ++i) EXPECT_EQ(table.add(std::to_string(i), [](InstrumentRow&) {}), 0U);
  EXPECT_EQ(table.count(), 3U);
  EXPECT_EQ(table.view().refused(), 97U);
  EXPECT_EQ(table.view().find("2"), 3U);
  EXPECT_EQ(table.view().find("3"), 0U);
  EXPECT_FALSE(InstrumentTable::make({.capacity = 0}).ok());
  EXPECT_FALSE(InstrumentTable::make({.capacity = kMaxInstruments + 1}).ok());
}

TEST(InstrumentTable, survives_names_that_change_without_end) {
  InstrumentTable table = InstrumentTable::make({.capacity = 8}).value();
  ASSERT_EQ(table.add("1", [](InstrumentRow&) {}), 1U);
  for (int i = 0; i < 10'000; ++i) {
    table.change(1, [&](InstrumentRow& row) { table.set_name(row, "n" + std::to_string(i)); });
  }
  EXPECT_EQ(table.view().find_name("n5"), 0U);
  EXPECT_GT(table.view().refused_names(), 9'900U) << "what is not found has been counted";
}

/// What a neighbour may write: every place of the index by name has a number, and each row seems to change for ever.
/// The search must cost no more than among as many rows that can be read.
TEST(InstrumentTable, is_searched_for_a_name_in_bounded_time_whatever_its_writer_left) {
  constexpr std::uint32_t kCapacity = 1U << 15;
  const std::size_t bytes = instrument_table_bytes(kCapacity);
  const std::size_t slots = instrument_index_slots(kCapacity);
  InstrumentTable table = InstrumentTable::make({.capacity = kCapacity}).value();
  ASSERT_EQ(table.add("1", [&](InstrumentRow& row) { table.set_name(row, "one"); }), 1U);
  auto* const data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&table.row(0))) - kInstrumentHeaderBytes;
  auto* const by_name = reinterpret_cast<std::uint32_t*>(data + bytes) - slots;
  std::fill_n(by_name, slots, 1U);
  const auto cpu_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  };
  const auto cost_of_search = [&] {
    std::uint64_t best = ~std::uint64_t{0};
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t begin = cpu_ns();
      EXPECT_EQ(table.view().find_name("another"), 0U);
      best = std::min(best, cpu_ns() - begin);
    }
    return best;
  };
  const std::uint64_t sound = cost_of_search();
  const_cast<InstrumentRow&>(table.row(1)).version = 1;
  EXPECT_LT(cost_of_search(), 4 * sound) << "it was eleven times as much, with all tries for each row";
  const_cast<InstrumentRow&>(table.row(1)).version = 2;
  EXPECT_EQ(table.view().find_name("one"), 1U);
}

TEST(InstrumentTable, has_its_rows_where_no_sender_can_know) {
  InstrumentTable a = InstrumentTable::make({.capacity = 8}).value();
  InstrumentTable b = InstrumentTable::make({.capacity = 8}).value();
  ASSERT_EQ(a.add("SBER/TQBR", [](InstrumentRow&) {}), 1U);
  ASSERT_EQ(b.add("SBER/TQBR", [](InstrumentRow&) {}), 1U);
  EXPECT_NE(a.row(1).key_hash, b.row(1).key_hash);
  EXPECT_EQ(b.view().find("SBER/TQBR"), 1U);
}

TEST(InstrumentTable, is_read_by_another_process_whole_and_while_it_changes) {
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  InstrumentTable table =
      std::move(InstrumentTable::create(path, {.capacity = 100, .generation = 7, .map_name = "test"}).value());
  ASSERT_EQ(table.add("1", [](InstrumentRow&) {}), 1U);
  const Result<InstrumentView> opened = InstrumentView::open(path);
  ASSERT_TRUE(opened.ok()) << opened.message();
  const InstrumentView& view = opened.value();
  EXPECT_EQ(view.generation(), 7U);
  EXPECT_FALSE(view.writer_has_ended());
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> reads = 0;
  std::thread reader([&] {
    InstrumentRow row;
    while (!stop) {
      if (!view.read(1, row)) continue;
      ASSERT_EQ(row.tick, row.depth[0]);  // changed together
      ASSERT_EQ(row.session, static_cast<std::uint64_t>(row.tick));
      ++reads;
    }
  });
  for (std::uint16_t i = 1; reads < 1'000; i = static_cast<std::uint16_t>(i % 60'000 + 1)) {
    table.change(1, [&](InstrumentRow& row) {
      row.tick = i;
      row.depth[0] = i;
      row.session = i;
    });
  }
  stop = true;
  reader.join();
}

TEST(InstrumentTable, of_100000_rows_is_opened_and_walked_soon) {
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  InstrumentTable table = std::move(InstrumentTable::create(path, {.capacity = 100'000}).value());
  for (int i = 1; i <= 100'000; ++i) ASSERT_NE(table.add(std::to_string(i), [](InstrumentRow&) {}), 0U);
  std::chrono::nanoseconds best = std::chrono::hours(1);
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Result<InstrumentView> view = InstrumentView::open(path);
    ASSERT_TRUE(view.ok()) << view.message();
    std::uint64_t sum = 0;
    InstrumentRow row;
    for (std::uint32_t number = 1; number <= view.value().count(); ++number) {
      ASSERT_TRUE(view.value().read(number, row));
      sum += row.key_hash;
    }
    ASSERT_NE(sum, 0U);
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
  }
  RecordProperty("open_and_walk_us", static_cast<int>(best.count() / 1'000));
  std::printf("open and walk 100,000 rows: %lld us\n", static_cast<long long>(best.count() / 1'000));
  EXPECT_EQ(InstrumentView::open(path).value().find("77777"), 77'777U);
}

/// Pages of shared memory that this process has mapped and touched, in bytes.
std::size_t shared_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0, shared = 0;
  file >> all >> resident >> shared;
  return shared * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(InstrumentTable, takes_no_memory_for_the_holes_of_a_file) {
  constexpr std::uintmax_t kClaimed = std::uintmax_t{1} << 30;
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  InstrumentTable table = std::move(InstrumentTable::create(path, {.capacity = 10}).value());
  ASSERT_EQ(table.add("1", [](InstrumentRow&) {}), 1U);
  std::filesystem::resize_file(path + ".instruments", kClaimed);
  const std::size_t before = shared_bytes();
  const Result<InstrumentView> view = InstrumentView::open(path);
  ASSERT_TRUE(view.ok()) << view.message();
  EXPECT_EQ(view.value().find("1"), 1U);
  EXPECT_LT(shared_bytes() - before, kClaimed / 16);
}

TEST(InstrumentTable, refuses_files_that_are_none) {
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  EXPECT_FALSE(InstrumentView::open(path).ok());
  {
    InstrumentTable table = std::move(InstrumentTable::create(path, {.capacity = 10}).value());
    ASSERT_EQ(table.add("1", [](InstrumentRow&) {}), 1U);
  }
  ASSERT_TRUE(InstrumentView::open(path).ok());
  EXPECT_TRUE(InstrumentView::open(path).value().writer_has_ended());
  const auto corrupt = [&](std::size_t offset, std::uint32_t value) {
    const int file = ::open((path + ".instruments").c_str(), O_RDWR);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::pwrite(file, &value, sizeof(value), static_cast<off_t>(offset)), 4);
    ::close(file);
  };
  corrupt(offsetof(InstrumentHeader, capacity), 1'000'000);
  EXPECT_FALSE(InstrumentView::open(path).ok());
  corrupt(offsetof(InstrumentHeader, capacity), 10);
  corrupt(offsetof(InstrumentHeader, count), 0xFFFF'FFFF);
  const Result<InstrumentView> view = InstrumentView::open(path);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view.value().count(), 10U);
  corrupt(offsetof(InstrumentHeader, schema_version), kInstrumentSchemaVersion + 1);
  EXPECT_NE(InstrumentView::open(path).message().find("version 2"), std::string::npos);
  corrupt(offsetof(InstrumentHeader, magic), 0);
  EXPECT_FALSE(InstrumentView::open(path).ok());
  ASSERT_EQ(::truncate((path + ".instruments").c_str(), 100), 0);
  EXPECT_FALSE(InstrumentView::open(path).ok());
}

TEST(InstrumentTable, has_no_name_until_it_takes_one) {
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  { InstrumentTable forgotten = std::move(InstrumentTable::prepare(path, {.capacity = 3}).value()); }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.folder())) << "it has left something";
  InstrumentTable old = std::move(InstrumentTable::create(path, {.capacity = 3, .generation = 1}).value());
  InstrumentTable next =
      std::move(InstrumentTable::prepare(path, {.capacity = 3, .generation = 2, .replaces = &old}).value());
  const InstrumentView before = std::move(InstrumentView::open(path).value());
  EXPECT_EQ(before.generation(), 1U);
  EXPECT_FALSE(before.replaced());
  ASSERT_TRUE(next.check_name().ok());
  EXPECT_EQ(InstrumentView::open(path).value().generation(), 1U) << "a check changes nothing";
  ASSERT_TRUE(next.take_name().ok());
  EXPECT_EQ(InstrumentView::open(path).value().generation(), 2U);
  EXPECT_TRUE(before.replaced());
  // A name with a live writer, or of a file that is none, is not free.
  InstrumentTable third = std::move(InstrumentTable::prepare(path, {.capacity = 3}).value());
  EXPECT_NE(third.check_name().message().find("live writer"), std::string::npos);
  std::filesystem::remove(path + ".instruments");
  EXPECT_TRUE(third.check_name().ok());
  (void)scratch.write("day.instruments", "something else");
  EXPECT_NE(third.check_name().message().find("not a table of instruments"), std::string::npos);
}

TEST(InstrumentTable, whose_file_becomes_shorter_is_broken_and_no_signal) {
  const testing::Scratch scratch;
  const std::string path = scratch.path("day");
  InstrumentTable table = std::move(InstrumentTable::create(path, {.capacity = 3}).value());
  ASSERT_EQ(table.add("1", [](InstrumentRow&) {}), 1U);
  const InstrumentView view = std::move(InstrumentView::open(path).value());
  InstrumentRow row;
  ASSERT_TRUE(view.read(1, row));
  EXPECT_FALSE(view.is_broken());
  ASSERT_EQ(::truncate((path + ".instruments").c_str(), 0), 0);
  EXPECT_FALSE(view.read(1, row));
  EXPECT_EQ(view.find("1"), 0U);
  EXPECT_TRUE(view.is_broken());
}

TEST(InstrumentTable, is_copied_row_by_row_in_the_order_of_its_numbers) {
  InstrumentTable from = InstrumentTable::make({.capacity = 8}).value();
  InstrumentTable to = InstrumentTable::make({.capacity = 3}).value();
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_NE(from.add(key, [&](InstrumentRow& row) { from.set_name(row, std::string("name ") + key); }), 0U);
  }
  EXPECT_FALSE(to.copy_row(2, from.row(2))) << "the first one is missing";
  EXPECT_FALSE(to.copy_row(0, from.row(1)));
  ASSERT_TRUE(to.copy_row(1, from.row(1)));
  ASSERT_TRUE(to.copy_row(2, from.row(2)));
  EXPECT_EQ(to.view().find("b"), 2U);
  EXPECT_EQ(to.view().find_name("name b"), 2U);
  // Newer states are taken, older ones are not.
  const InstrumentRow before = from.row(2);
  from.change(2, [&](InstrumentRow& row) { from.set_name(row, "other"); });
  ASSERT_TRUE(to.copy_row(2, from.row(2)));
  ASSERT_TRUE(to.copy_row(2, before));
  InstrumentRow row;
  ASSERT_TRUE(to.view().read(2, row));
  EXPECT_EQ(instrument_name(row), "other");
  EXPECT_EQ(to.view().find_name("other"), 2U);
  EXPECT_EQ(to.view().find_name("name b"), 0U);
  EXPECT_FALSE(to.copy_row(1, from.row(2))) << "a row keeps its key";
  ASSERT_TRUE(to.copy_row(3, from.row(3)));
  EXPECT_FALSE(to.copy_row(4, from.row(4))) << "there is no room";
}

TEST(InstrumentTable, is_copied_from_any_bytes_without_harm) {
  InstrumentTable to = InstrumentTable::make({.capacity = 500}).value();
  std::mt19937_64 random(11);
  std::uint32_t copied = 0;
  for (int i = 0; i < 20'000; ++i) {
    InstrumentRow row{};
    for (std::uint64_t& word : std::span(reinterpret_cast<std::uint64_t*>(&row), sizeof(row) / 8)) word = random();
    const std::uint32_t number =
        to.count() + 1 - (random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % (to.count() + 2)));
    const bool is_next = number == to.count() + 1;
    if (to.copy_row(number, row) && is_next) ++copied;
  }
  EXPECT_EQ(copied, to.count());
  EXPECT_EQ(copied, 500U);
  InstrumentRow row;
  for (std::uint32_t number = 1; number <= 500; ++number) {
    ASSERT_TRUE(to.view().read(number, row));
    const std::uint32_t found = to.view().find(key_of(row));
    ASSERT_NE(found, 0U);
    EXPECT_EQ(key_of(to.row(found)), key_of(row)) << "keys of these rows may be equal";
    EXPECT_LE(row.name_bytes, kInstrumentNameBytes);
    EXPECT_LE(row.product_bytes, kInstrumentProductBytes);
  }
  InstrumentRow cut{};
  InstrumentTable fresh = InstrumentTable::make({.capacity = 1}).value();
  EXPECT_FALSE(fresh.copy_row(1, cut)) << "zeros are no row";
}

}  // namespace stopbit::market::table_test
