#include <Vrtl_record_router.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "decoder/record/layout.hpp"

// The router beside what its text says, written down as a loop over filters.

namespace stopbit::sim {
namespace {

constexpr std::size_t kRings = 5;
constexpr std::size_t kDepth = 64;
constexpr std::size_t kFilters = 16;

struct Filter {
  bool enable = false;
  bool any_channel = false;
  bool any_template = false;
  std::uint8_t word = 0;
  std::uint8_t rings = 0;
  std::uint16_t channel = 0;
  std::uint16_t template_index = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
};

/// A beat of the record stream.
struct Beat {
  record::Slot slot{};
  std::uint16_t index = 0;
  bool last = false;
  bool aborted = false;
};

struct Record {
  std::vector<Beat> beats;  // slots 1 to n-1, then slot 0; or slots and an abort
};

std::uint64_t tag_of(const record::Slot& slot, std::size_t column) {
  return slot.words[record::kTagWord] >> 8 * column & 0xFF;
}

bool wants(const Filter& filter, const Record& record) {
  const record::Slot& first = record.beats.back().slot;
  const auto channel = static_cast<std::uint16_t>(first.words[2] >> 32);
  const auto index = static_cast<std::uint16_t>(first.words[0]);
  if (!filter.enable || (!filter.any_channel && channel != filter.channel)) return false;
  if (index == record::kEventIndex) return true;
  if (!filter.any_template && index != filter.template_index) return false;
  if (filter.mask == 0) return true;
  const std::size_t place = record::kHeaderWords + filter.word;
  const std::size_t slot = place / record::kValueWords;
  const std::size_t column = place % record::kValueWords;
  for (const Beat& beat : record.beats) {
    if (beat.index != slot) continue;
    return tag_of(beat.slot, column) == record::value_tag(filter.word) &&
           (beat.slot.words[column] & filter.mask) == filter.value;
  }
  return false;
}

class RecordRouter : public ::testing::Test {
 protected:
  void begin(bool filter, bool unmatched) {
    bench_->filter_i = filter;
    bench_->unmatched_i = unmatched;
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->room_i = (1U << kRings) - 1;
    unmatched_to_0_ = unmatched;
    BitWriter writer(bench_->filters_i);
    for (const Filter& entry : filters_) {
      writer.put(entry.value, 64);
      writer.put(entry.mask, 64);
      writer.put(entry.channel | std::uint64_t{entry.template_index} << 16, 32);
      writer.put((entry.enable ? 1U : 0U) | (entry.any_channel ? 2U : 0U) | (entry.any_template ? 4U : 0U) |
                     std::uint32_t{entry.word} << 8 | std::uint32_t{entry.rings} << 16 |
                     0xA5U << 24,  // subscribers on other nodes: not the router's
                 32);
    }
    bench_.reset();
  }

  Record make(Random& random, std::size_t slots) {
    Record record;
    for (std::size_t i = 1; i <= slots; ++i) {
      Beat beat;
      beat.index = static_cast<std::uint16_t>(i % slots);
      beat.last = i == slots;
      beat.slot.words[record::kTagWord] = record::tag_word_base(false, beat.index);
      for (std::size_t column = 0; column < record::kValueWords; ++column) {
        beat.slot.words[column] = random.below(3);
        const std::size_t word = beat.index * record::kValueWords + column - record::kHeaderWords;
        const std::uint64_t tag = random.chance(80)   ? record::value_tag(word)
                                  : random.chance(50) ? 0
                                                      : 1 + random.below(record::kMaxValueTag);
        beat.slot.words[record::kTagWord] |= tag << 8 * column;
      }
      if (beat.last) {
        const std::uint64_t index = random.chance(15) ? record::kEventIndex : random.below(3);
        beat.slot.words[0] = index | slots << 16;
        beat.slot.words[2] = random.below(3) << 32 | random.bits() >> 32;
      }
      record.beats.push_back(beat);
    }
    return record;
  }

  void run(Random& random, const std::vector<Record>& records, std::uint32_t in_stall, std::uint32_t out_stall) {
    std::array<std::deque<Beat>, kRings> expected;
    std::size_t open = kRings;  // the ring of the record that leaves
    std::deque<Beat> to_send;
    std::size_t too_long = 0;
    std::size_t unmatched = 0;
    for (const Record& record : records) {
      to_send.insert(to_send.end(), record.beats.begin(), record.beats.end());
      if (record.beats.size() - (record.beats.back().aborted ? 1 : 0) > kDepth) {
        ++too_long;
        continue;
      }
      if (record.beats.back().aborted) continue;
      std::uint8_t rings = 0;
      bool any = false;
      for (const Filter& filter : filters_) {
        if (!wants(filter, record)) continue;
        any = true;
        rings = static_cast<std::uint8_t>(rings | filter.rings);
      }
      unmatched += any ? 0 : 1;
      rings &= (1U << kRings) - 1;
      if (rings == 0 && unmatched_to_0_) rings = 1;
      for (std::uint8_t ring = 0; ring < kRings; ++ring) {
        if ((rings >> ring & 1) == 0) continue;
        expected[ring].insert(expected[ring].end(), record.beats.begin(), record.beats.end());
      }
    }
    Gate in(random, in_stall);
    Gate out(random, out_stall);
    bool offered = false;
    std::size_t got = 0;
    for (std::size_t quiet = 0; quiet < 1000; ++quiet) {
      if (!offered && !to_send.empty() && in.open()) {
        offered = true;
        const Beat& beat = to_send.front();
        BitWriter writer(bench_->slot_i);
        writer.put(beat.aborted, 1);
        writer.put(beat.last, 1);
        writer.put(beat.index, 16);
        for (const std::uint64_t word : beat.slot.words) writer.put(word, 64);
      }
      bench_->valid_i = offered;
      bench_->ready_i = out.open();
      bench_.settle();
      too_long -= bench_->too_long_o;
      unmatched -= bench_->is_unmatched_o;
      if (bench_->valid_o && bench_->ready_i) {
        const std::size_t ring = bench_->ring_o;
        ASSERT_LT(ring, kRings);
        ASSERT_FALSE(expected[ring].empty()) << "slot " << got << " should not be there";
        ASSERT_TRUE(open == kRings || open == ring) << "slot " << got << " is within the record of another ring";
        const Beat& beat = expected[ring].front();
        ASSERT_EQ(bits_at(bench_->slot_o, 1, 1), beat.last) << "slot " << got;
        ASSERT_EQ(bits_at(bench_->slot_o, 0, 1), 0U);
        ASSERT_EQ(bits_at(bench_->slot_o, 2, 16), beat.index) << "slot " << got;
        for (unsigned word = 0; word < record::kSlotWords; ++word) {
          ASSERT_EQ(bits_at(bench_->slot_o, 18 + 64 * word, 64), beat.slot.words[word]) << "slot " << got;
        }
        open = beat.last ? kRings : ring;
        expected[ring].pop_front();
        ++got;
        quiet = 0;
      }
      if (offered && bench_->ready_o) {
        to_send.pop_front();
        offered = false;
        quiet = 0;
      }
      bench_.step();
    }
    for (const std::deque<Beat>& missing : expected)
      EXPECT_TRUE(missing.empty()) << missing.size() << " slots are missing";
    EXPECT_TRUE(to_send.empty()) << "stuck";
    EXPECT_EQ(too_long, 0U);
    EXPECT_EQ(unmatched, 0U);
    EXPECT_TRUE(bench_->idle_o);
    got_ += got;
  }

  std::vector<Record> random_records(Random& random, std::size_t count) {
    std::vector<Record> records;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t kind = random.below(30);
      const std::size_t slots = kind < 10 ? 1 : kind == 29 ? kDepth - 2 + random.below(6) : 1 + random.below(20);
      records.push_back(make(random, slots));
      if (random.chance(10)) {
        Beat abort;
        abort.aborted = true;
        records.back().beats.back() = abort;
      }
    }
    return records;
  }

  void random_filters(Random& random) {
    for (Filter& filter : filters_) {
      filter = {.enable = random.chance(60),
                .any_channel = random.chance(20),
                .any_template = random.chance(20),
                .word = static_cast<std::uint8_t>(random.chance(70) ? random.below(12) : random.bits()),
                .rings = static_cast<std::uint8_t>(random.bits()),
                .channel = static_cast<std::uint16_t>(random.below(3)),
                .template_index = static_cast<std::uint16_t>(random.below(3)),
                .mask = random.chance(30)   ? 0
                        : random.chance(50) ? 3
                                            : ~std::uint64_t{0},
                .value = random.below(3)};
    }
  }

  Bench<Vrtl_record_router> bench_{7};
  std::array<Filter, kFilters> filters_{};
  bool unmatched_to_0_ = false;
  std::size_t got_ = 0;
};

TEST_F(RecordRouter, sends_whole_records_to_the_rings_of_every_filter_that_wants_them) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(static_cast<std::uint64_t>(round) + 1);
    random_filters(random);
    for (std::size_t f = 0; f < kFilters && round % 3 == 0; ++f) filters_[f].enable = f == 3;
    begin(true, round % 2 == 0);
    static constexpr std::uint32_t kStalls[] = {0, 40, 90};
    run(random, random_records(random, 200), kStalls[round % 3], kStalls[round / 3 % 3]);
    if (HasFailure()) return;
  }
  EXPECT_GT(got_, 10'000U);
}

TEST_F(RecordRouter, lets_everything_through_to_ring_0_in_the_same_cycle_without_filters) {
  Random random(31);
  begin(false, false);
  for (int i = 0; i < 200; ++i) {
    Beat beat{.slot = {}, .index = static_cast<std::uint16_t>(random.below(3)), .last = random.chance(50)};
    beat.aborted = !beat.last && random.chance(10);
    BitWriter writer(bench_->slot_i);
    writer.put(beat.aborted, 1);
    writer.put(beat.last, 1);
    writer.put(beat.index, 16);
    bench_->valid_i = random.chance(70);
    bench_->ready_i = random.chance(70);
    bench_.settle();
    EXPECT_EQ(bench_->valid_o, bench_->valid_i);
    EXPECT_EQ(bench_->ready_o, bench_->ready_i);
    EXPECT_EQ(bench_->ring_o, 0U);
    EXPECT_EQ(bits_at(bench_->slot_o, 0, 18), bits_at(bench_->slot_i, 0, 18));
    bench_.step();
  }
}

TEST_F(RecordRouter, shows_a_record_four_cycles_after_its_slot_0) {
  begin(true, true);
  Random random(37);
  const Record record = make(random, 1);
  bench_->ready_i = 1;
  bench_->valid_i = 1;
  BitWriter writer(bench_->slot_i);
  writer.put(0, 1);
  writer.put(1, 1);
  writer.put(0, 16);
  for (const std::uint64_t word : record.beats[0].slot.words) writer.put(word, 64);
  bench_.settle();
  ASSERT_TRUE(bench_->ready_o);
  bench_.step();
  bench_->valid_i = 0;
  std::size_t cycles = 1;
  for (bench_.settle(); !bench_->valid_o && cycles < 20; bench_.settle(), ++cycles) bench_.step();
  EXPECT_EQ(cycles, 4U);
}

TEST_F(RecordRouter, begins_anew_after_a_reset_in_the_middle) {
  Random random(41);
  for (int round = 0; round < 20; ++round) {
    random_filters(random);
    begin(true, true);
    const Record record = make(random, 2 + random.below(20));
    bench_->ready_i = random.chance(50);
    for (std::size_t i = 0; i < record.beats.size() - random.below(2); ++i) {
      BitWriter writer(bench_->slot_i);
      writer.put(0, 1);
      writer.put(record.beats[i].last, 1);
      writer.put(record.beats[i].index, 16);
      bench_->valid_i = 1;
      bench_.step();
    }
    begin(true, true);
    run(random, random_records(random, 30), 20, 20);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
