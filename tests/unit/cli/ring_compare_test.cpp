// What two rings have in common.

#include "host/cli/common/ring_compare.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "host/ring/writer.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::tools::ring_compare_test {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// The ring of an appliance, of which each message has a slot.
class Published {
 public:
  explicit Published(const std::string& path) {
    Program program;
    program.max_record_slots = 4;
    program.blocks.resize(1);
    auto made = ring::Writer::create(path, program, {.slot_count = 65'536});
    EXPECT_TRUE(made) << made.message();
    writer_.emplace(std::move(made).value());
  }
  void message(std::uint32_t number, std::uint64_t arrival_ns, std::uint64_t value) {
    const record::RecordSink::Place place = writer_->open();
    record::Slot slot{};
    slot.words[0] = std::uint64_t{1} << 16 | std::uint64_t{place.stamp()} << 32;
    slot.words[1] = arrival_ns;
    slot.words[2] = number | std::uint64_t{record::kFlagLastOfPacket} << 56;
    slot.words[4] = value;
    slot.words[record::kTagWord] = record::tag_word_base(place.phase(), 0);
    for (unsigned i = 0; i < 5; ++i) slot.words[record::kTagWord] |= std::uint64_t{record::kHeaderTag + i} << (8 * i);
    writer_->commit(slot, 1);
  }

 private:
  std::optional<ring::Writer> writer_;
};

struct Rings {
  testing::Scratch folder;
  Published first{folder.path("first")};
  Published second{folder.path("second")};

  RingComparison compare() const { return compare_rings(folder.path("first"), folder.path("second")); }
};

TEST(RingCompare, pairs_the_cycles_of_a_carousel_by_their_arrival) {
  Rings rings;
  for (std::uint64_t cycle = 0; cycle < 5; ++cycle) {
    for (std::uint32_t n = 1; n <= 3; ++n) {
      rings.first.message(n, cycle * 10 * kSecond + n, cycle);
      if (cycle != 0) rings.second.message(n, cycle * 10 * kSecond + n + 1'000, cycle);  // it began later
    }
  }
  const RingComparison found = rings.compare();
  EXPECT_EQ(found.same, 12U);
  EXPECT_TRUE(found.is_equal()) << found.places;
  EXPECT_EQ(found.outside[0], 3U);
}

TEST(RingCompare, pairs_what_comes_often_by_its_bytes) {
  Rings rings;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto number = static_cast<std::uint32_t>(1 + i % 2);
    rings.first.message(number, i, i);
    if (i >= 8) rings.second.message(number, i, i);
  }
  const RingComparison found = rings.compare();
  EXPECT_EQ(found.same, 42U);
  EXPECT_TRUE(found.is_equal()) << found.places;
}

TEST(RingCompare, finds_other_bytes_and_what_one_lacks) {
  Rings rings;
  for (std::uint32_t n = 1; n <= 9; ++n) {
    if (n != 3) rings.first.message(n, n, n);
    rings.second.message(n, n, n == 5 ? 99 : n);
  }
  const RingComparison found = rings.compare();
  EXPECT_EQ(found.same, 7U);
  EXPECT_EQ(found.different, 1U);
  EXPECT_EQ(found.only[1], 1U);
  EXPECT_NE(found.places.find("number 5, record 0: different bytes"), std::string::npos) << found.places;
}

TEST(RingCompare, bears_two_numbers_30000_times) {
  Rings rings;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    rings.first.message(1 + static_cast<std::uint32_t>(i % 2), i, i / 100);
    rings.second.message(1 + static_cast<std::uint32_t>(i % 2), i, i / 100);
  }
  EXPECT_EQ(rings.compare().same, 60'000U);
}

}  // namespace stopbit::tools::ring_compare_test
