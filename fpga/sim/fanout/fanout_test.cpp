#include <Vrtl_fanout.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kInputs = 2;
constexpr std::size_t kRings = 64;
constexpr std::size_t kDepth = 64;
constexpr std::size_t kRecords = 8;

/// A record of an input: its cells carry where they are from.
struct Record {
  std::uint64_t rings = 0;
  std::size_t cells = 1;
  bool is_aborted = false;  ///< After its cells, instead of the last one.
};

constexpr std::uint32_t cell_of(std::size_t input, std::size_t number, std::size_t cell) {
  return static_cast<std::uint32_t>(input << 31 | number << 8 | cell);
}

class Fanout : public ::testing::Test {
 protected:
  Fanout() { begin(); }

  void begin() {
    bench_->valid_i = 0;
    bench_->ready_i = 1;
    bench_->room_i = ~std::uint64_t{0};
    bench_.reset();
    inputs_ = {};
    expected_ = {};
    open_.reset();
    got_.fill(0);
    too_long_ = judged_ = 0;
  }

  void add(std::size_t input, const Record& record) { inputs_[input].records.push_back(record); }

  /// One cycle: `offers` are the inputs that may send.
  void cycle(std::uint32_t offers, bool is_ready) {
    bench_->valid_i = 0;
    bench_->last_i = 0;
    bench_->aborted_i = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      Input& input = inputs_[i];
      if (input.at == input.records.size() || ((offers >> i & 1) == 0 && !input.is_offered)) continue;
      const Record& record = input.records[input.at];
      const bool is_last = input.cell + 1 == record.cells;
      input.is_offered = true;
      bench_->valid_i |= 1U << i;
      if (is_last && !record.is_aborted) bench_->last_i |= 1U << i;
      if (input.cell == record.cells) bench_->aborted_i |= 1U << i;
      bench_->cell_i = (bench_->cell_i & ~(std::uint64_t{0xFFFF'FFFF} << 32 * i)) |
                       std::uint64_t{cell_of(i, input.at, input.cell)} << 32 * i;
    }
    for (std::size_t i = 0; i < kInputs; ++i) {
      bench_->rings_i[2 * i] = static_cast<std::uint32_t>(inputs_[i].rings);
      bench_->rings_i[2 * i + 1] = static_cast<std::uint32_t>(inputs_[i].rings >> 32);
    }
    bench_->ready_i = is_ready;
    bench_.settle();
    for (std::size_t i = 0; i < kInputs; ++i) {
      too_long_ += bench_->too_long_o >> i & 1;
      judged_ += bench_->judged_o >> i & 1;
      if ((bench_->valid_i >> i & 1) != 0 && (bench_->ready_o >> i & 1) != 0) take(i);
    }
    if (bench_->valid_o != 0 && is_ready) leave();
    if (!HasFatalFailure()) bench_.step();
  }

  /// Until all is out, or nothing has happened for long.
  void drain() {
    for (int quiet = 0; quiet < 1000 && !HasFatalFailure(); ++quiet) {
      const std::uint64_t before = out_;
      cycle(3, true);
      if (out_ != before || bench_->valid_i != 0) quiet = 0;
    }
    for (std::size_t i = 0; i < kInputs; ++i) {
      EXPECT_EQ(inputs_[i].at, inputs_[i].records.size()) << "input " << i << " is stuck";
      for (std::size_t r = 0; r < kRings; ++r) {
        EXPECT_TRUE(expected_[i][r].empty()) << "ring " << r << " misses a record of input " << i;
      }
    }
    EXPECT_FALSE(open_);
    EXPECT_TRUE(bench_->idle_o);
  }

  /// Cycles from taking the last cell of a record to the first cell of its n-th ring.
  std::vector<std::size_t> latencies(const Record& record) {
    begin();
    add(0, record);
    while (inputs_[0].at == 0) cycle(1, true);
    std::vector<std::size_t> cycles;
    const std::uint64_t last = bench_.cycles() - 1;
    std::uint64_t seen = 0;
    while (cycles.size() < static_cast<std::size_t>(__builtin_popcountll(record.rings)) &&
           bench_.cycles() < last + 10'000) {
      bench_.settle();
      if (bench_->valid_o != 0 && !open_) {
        seen |= std::uint64_t{1} << bench_->ring_o;
        cycles.push_back(bench_.cycles() - last);
      }
      cycle(0, true);
    }
    EXPECT_EQ(seen, record.rings);
    return cycles;
  }

  /// Records of an input that are in.
  [[nodiscard]] std::size_t taken(std::size_t input) const { return inputs_[input].at; }

  Bench<Vrtl_fanout> bench_{11};
  std::array<std::array<std::deque<std::size_t>, kRings>, kInputs> expected_{};  ///< Numbers of records.
  std::array<std::uint64_t, kRings> got_{};                                      ///< Records by ring.
  std::uint64_t out_ = 0;                                                        ///< Cells.
  std::size_t too_long_ = 0;
  std::size_t judged_ = 0;

 private:
  struct Input {
    std::vector<Record> records;
    std::size_t at = 0;
    std::size_t cell = 0;
    bool is_offered = false;
    std::uint64_t rings = 0;  ///< Of the last record that was whole.
  };
  struct Open {
    std::size_t ring;
    std::size_t input;
    std::size_t number;
    std::size_t cell = 0;
  };

  void take(std::size_t i) {
    Input& input = inputs_[i];
    const Record& record = input.records[input.at];
    input.is_offered = false;
    const bool aborts = input.cell == record.cells;
    if (++input.cell < record.cells || (record.is_aborted && !aborts)) return;
    if (!aborts) {
      input.rings = record.rings;
      for (std::size_t r = 0; r < kRings && record.cells <= kDepth; ++r) {
        if ((record.rings >> r & 1) != 0) expected_[i][r].push_back(input.at);
      }
    }
    ++input.at;
    input.cell = 0;
  }

  void leave() {
    const std::uint32_t data = bench_->cell_o;
    const std::size_t input = data >> 31;
    const std::size_t number = data >> 8 & 0x7F'FFFF;
    ++out_;
    if (!open_) {
      auto& numbers = expected_[input][bench_->ring_o];
      ASSERT_FALSE(numbers.empty()) << "ring " << int{bench_->ring_o} << " got record " << number << " of nobody";
      ASSERT_EQ(number, numbers.front()) << "ring " << int{bench_->ring_o};
      numbers.pop_front();
      open_ = Open{.ring = bench_->ring_o, .input = input, .number = number};
    }
    ASSERT_EQ(bench_->ring_o, open_->ring) << "within a record";
    ASSERT_EQ(data, cell_of(open_->input, open_->number, open_->cell)) << "within a record";
    const bool is_last = ++open_->cell == inputs_[input].records[number].cells;
    ASSERT_EQ(bench_->last_o != 0, is_last) << "cell " << open_->cell << " of record " << number;
    if (!is_last) return;
    ++got_[open_->ring];
    open_.reset();
  }

  std::array<Input, kInputs> inputs_;
  std::optional<Open> open_;
};

std::uint64_t random_rings(Random& random) {
  switch (random.below(5)) {
    case 0: return 0;
    case 1: return ~std::uint64_t{0};
    case 2: return random.bits();
    default: return std::uint64_t{1} << random.below(kRings) | std::uint64_t{1} << random.below(kRings);
  }
}

TEST_F(Fanout, brings_each_record_once_and_in_order_to_each_ring_that_wants_it) {
  std::uint64_t cells = 0;
  for (std::uint64_t round = 0; round < 18; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    begin();
    Random random(round + 1);
    std::size_t too_long = 0;
    std::size_t whole = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (int n = 0; n < 120; ++n) {
        const std::uint64_t kind = random.below(40);
        const Record record = {.rings = random_rings(random),
                               .cells = kind < 15    ? 1
                                        : kind == 39 ? kDepth - 2 + random.below(6)
                                                     : 1 + random.below(12),
                               .is_aborted = random.chance(10)};
        too_long += record.cells > kDepth ? 1 : 0;
        whole += record.cells <= kDepth && !record.is_aborted ? 1 : 0;
        add(i, record);
      }
    }
    static constexpr std::uint32_t kStalls[] = {0, 40, 90};
    Gate first(random, kStalls[round % 3]);
    Gate second(random, kStalls[round / 9]);
    Gate out(random, kStalls[round / 3 % 3]);
    for (int i = 0; i < 20'000 && !HasFatalFailure(); ++i) {
      if (random.below(50) == 0) bench_->room_i = random.bits() | random.bits();
      cycle((first.open() ? 1U : 0U) | (second.open() ? 2U : 0U), out.open());
    }
    bench_->room_i = ~std::uint64_t{0};
    drain();
    EXPECT_EQ(too_long_, too_long);
    EXPECT_EQ(judged_, whole);
    cells += out_;
    if (HasFailure()) return;
  }
  EXPECT_GT(cells, 100'000U);
}

TEST_F(Fanout, shows_the_first_cell_four_cycles_after_the_last_came_whatever_the_number_of_rings) {
  for (const std::size_t cells : {std::size_t{1}, std::size_t{3}}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{8}, std::size_t{64}}) {
      const std::uint64_t rings = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      const std::vector<std::size_t> cycles = latencies({.rings = rings, .cells = cells});
      ASSERT_EQ(cycles.size(), count);
      std::cout << cells << " cells, " << count << " rings: first cell of the first ring after " << cycles.front()
                << " cycles, of the last ring after " << cycles.back() << "\n";
      EXPECT_EQ(cycles.front(), 4U);
      EXPECT_EQ(cycles.back(), 4 + (count - 1) * cells) << "one cell a cycle";
    }
  }
}

TEST_F(Fanout, a_ring_without_room_holds_up_no_other) {
  const std::uint64_t stands = std::uint64_t{1} << 5;
  const std::uint64_t goes = std::uint64_t{1} << 6;
  bench_->room_i = ~stands;
  // As many as its memory and its table keep.
  for (std::size_t n = 0; n < kRecords - 1; ++n) add(0, {.rings = stands | goes, .cells = 3});
  for (std::size_t n = 0; n < 200; ++n) add(1, {.rings = goes, .cells = 2});
  for (int i = 0; i < 2'000; ++i) cycle(3, true);
  EXPECT_EQ(got_[5], 0U);
  EXPECT_EQ(got_[6], kRecords - 1 + 200);
  bench_->room_i = ~std::uint64_t{0};
  drain();
  EXPECT_EQ(got_[5], kRecords - 1);
}

TEST_F(Fanout, an_input_waits_only_when_it_is_full_of_what_a_ring_does_not_take) {
  for (const std::size_t cells : {std::size_t{1}, kDepth / 4}) {  // the table is full; the memory is
    begin();
    const std::uint64_t stands = std::uint64_t{1} << 5;
    const std::uint64_t goes = std::uint64_t{1} << 6;
    bench_->room_i = ~stands;
    const std::size_t kept = std::min(kRecords, kDepth / cells);
    for (std::size_t n = 0; n < 50; ++n) add(0, {.rings = stands | goes, .cells = cells});
    for (std::size_t n = 0; n < 200; ++n) add(1, {.rings = goes, .cells = 1});
    for (int i = 0; i < 3'000; ++i) cycle(3, true);
    EXPECT_EQ(taken(1), 200U) << "the other decoder";
    EXPECT_EQ(got_[6], kept + 200);
    EXPECT_EQ(got_[5], 0U);
    EXPECT_EQ(bench_->waits_o, stands);
    bench_->room_i = ~std::uint64_t{0};
    drain();
    EXPECT_EQ(got_[5], 50U);
    EXPECT_EQ(got_[6], 250U);
  }
}

TEST_F(Fanout, an_output_that_stops_loses_nothing) {
  for (std::size_t n = 0; n < 40; ++n) {
    for (std::size_t i = 0; i < kInputs; ++i) add(i, {.rings = std::uint64_t{1} << n | 1, .cells = 1 + n % 7});
  }
  for (int i = 0; i < 3'000; ++i) cycle(3, false);
  EXPECT_EQ(out_, 0U);
  EXPECT_FALSE(bench_->idle_o);
  drain();
  EXPECT_EQ(got_[0], 80U);
}

TEST_F(Fanout, moves_a_cell_each_cycle_and_shares_them_between_inputs_and_rings) {
  for (std::size_t n = 0; n < 400; ++n) {
    add(0, {.rings = 0xF, .cells = 4});
    add(1, {.rings = 0xF0, .cells = 4});
  }
  for (int i = 0; i < 100; ++i) cycle(3, true);
  const std::uint64_t before = out_;
  const auto at_first = got_;
  for (int i = 0; i < 4'000; ++i) cycle(3, true);
  EXPECT_EQ(out_ - before, 4'000U);
  for (std::size_t ring = 0; ring < 8; ++ring) EXPECT_NEAR(static_cast<double>(got_[ring] - at_first[ring]), 125, 2);
}

TEST_F(Fanout, takes_a_record_of_one_cell_every_second_cycle) {
  for (std::size_t n = 0; n < 600; ++n) add(0, {.rings = 1, .cells = 1});
  for (int i = 0; i < 100; ++i) cycle(1, true);
  const std::uint64_t before = out_;
  for (int i = 0; i < 1'000; ++i) cycle(1, true);
  EXPECT_EQ(out_ - before, 500U);
}

TEST_F(Fanout, begins_anew_after_a_reset_in_the_middle) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    Random random(round + 50);
    begin();
    for (std::size_t n = 0; n < 60; ++n) {
      for (std::size_t i = 0; i < kInputs; ++i) add(i, {.rings = random_rings(random), .cells = 1 + random.below(9)});
    }
    if (random.chance(50)) bench_->room_i = random.bits();
    const std::uint64_t cycles = random.below(300);
    for (std::uint64_t c = 0; c < cycles; ++c) cycle(3, random.chance(50));
    begin();
    for (std::size_t i = 0; i < kInputs; ++i) add(i, {.rings = ~std::uint64_t{0}, .cells = 2});
    drain();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
