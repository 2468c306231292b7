#include <algorithm>
#include <array>

#include "tag_fixture.hpp"

namespace stopbit::sim::tag {
namespace {

constexpr std::uint64_t kHit = 6;   // a record, to the receive at the head of its chain,
constexpr std::uint64_t kLink = 2;  // and for each receive before it
constexpr std::uint64_t kPost = 5;  // a receive, without records
constexpr std::uint64_t kMostOfPost = kEntries + 8;
constexpr std::uint64_t kMostOfScan = 2 * kEntries + 4;

/// Of 8 masks, the lowest bits of the value are left out.
TagMask mask(std::uint64_t number) {
  return {~0U, ~0U, ~std::uint64_t{0} << number};
}

using TagCycles = TagTest;

TEST_F(TagCycles, a_hit_at_the_head_of_a_chain_takes_six_whatever_other_masks_hold) {
  for (std::uint64_t m = 0; m < protocol::kTagMasks; ++m) {
    TagReceive next = receive(m, 0x5500, true);
    next.mask = mask(m);
    EXPECT_EQ(post(next).kind, protocol::kTagAnswerStored);
    const Answer hit = arrive(record(9, 0x5500));
    EXPECT_EQ(hit.kind, protocol::kTagAnswerMatched);
    EXPECT_EQ(hit.receive.id, 0U);  // the oldest
    EXPECT_EQ(hit.cycles, kHit);
  }
  EXPECT_EQ(arrive(record(9, 0x5501)).receive.id, 1U);
  EXPECT_EQ(arrive(record(9, 0x557F)).receive.id, 7U);
  const Answer miss = arrive(record(9, 0x5580));
  EXPECT_EQ(miss.kind, protocol::kTagAnswerStored);
  EXPECT_EQ(miss.cycles, kHit);
}

TEST_F(TagCycles, each_link_of_a_chain_takes_two_more_up_to_all_receives_in_one_chain) {
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    ASSERT_EQ(bucket_of({0, 0, colliding(i)}, {}), bucket_of({}, {}));
    EXPECT_EQ(post({{0, 0, colliding(i)}, {}, true, i}).kind, protocol::kTagAnswerStored);
  }
  for (std::uint64_t i = 0; i < kEntries; i += i < 20 ? 1 : 67) {
    const Answer hit = arrive({{0, 0, colliding(i)}, 7});
    EXPECT_EQ(hit.receive.id, i);
    EXPECT_EQ(hit.cycles, kHit + kLink * i);
  }
  const Answer last = arrive({{0, 0, colliding(kEntries - 1)}, 7});
  EXPECT_EQ(last.cycles, kHit + kLink * (kEntries - 1));
  // Another mask's head is younger than what is at the end of this chain, and older than nothing.
  const Answer miss = arrive({{0, 0, colliding(kEntries)}, 7});
  EXPECT_EQ(miss.kind, protocol::kTagAnswerStored);
  EXPECT_EQ(miss.cycles, kHit + kLink * (kEntries - 1));
  // Out of the middle, the ends, and then all.
  for (const std::uint64_t i : {std::uint64_t{500}, std::uint64_t{0}, std::uint64_t{kEntries - 1}}) {
    const Answer cancelled = simple(protocol::kTagCancel, i);
    EXPECT_EQ(cancelled.kind, protocol::kTagAnswerReceive);
    EXPECT_EQ(cancelled.receive.id, i);
    EXPECT_LE(cancelled.cycles, kMostOfScan);
    EXPECT_EQ(arrive({{0, 0, colliding(i)}, 7}).kind, protocol::kTagAnswerStored);
  }
  EXPECT_EQ(arrive({{0, 0, colliding(1)}, 7}).cycles, kHit);
  EXPECT_EQ(arrive({{0, 0, colliding(kEntries - 2)}, 7}).cycles, kHit + kLink * (kEntries - 4));
  EXPECT_EQ(simple(protocol::kTagDump).kind, protocol::kTagAnswerNone);
  EXPECT_EQ(unit_.receives() + unit_.records(), 0U);
}

TEST_F(TagCycles, chains_of_tags_that_are_not_chosen_to_collide_are_short) {
  std::vector<TagRecord> records;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    records.push_back({{static_cast<std::uint32_t>(300 + unit_.random.below(20)),
                        static_cast<std::uint32_t>(unit_.random.below(60)), unit_.random.below(1'000'000)},
                       i});
    EXPECT_EQ(post({records.back().header, {}, true, i}).kind, protocol::kTagAnswerStored);
  }
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (const TagRecord& each : records) {
    const std::uint64_t cycles = arrive(each).cycles;
    sum += cycles;
    most = std::max(most, cycles);
  }
  RecordProperty("thousandths_of_mean_cycles", static_cast<int>(sum * 1000 / kEntries));
  RecordProperty("most_cycles", static_cast<int>(most));
  std::printf("hits of a full unit: %.2f cycles in the mean, %llu at most\n", static_cast<double>(sum) / kEntries,
              static_cast<unsigned long long>(most));
  EXPECT_LT(sum, kEntries * 8);
  EXPECT_LT(most, kHit + 8 * kLink);
}

TEST_F(TagCycles, a_post_looks_at_one_record_a_cycle) {
  const Answer first = post(receive(1, 1, true));
  EXPECT_EQ(first.kind, protocol::kTagAnswerStored);
  EXPECT_EQ(first.cycles, kPost);
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    EXPECT_EQ(arrive(record(i, 100 + i)).kind, protocol::kTagAnswerStored);
    if (i >= 9 && i < 13) {
      EXPECT_EQ(post(receive(10 + i, 2)).cycles, kPost + i - 1);  // i + 1 records
    }
  }
  EXPECT_EQ(arrive(record(0, 5000)).kind, protocol::kTagAnswerFull);
  const Answer last = post(receive(3, 100 + kEntries - 1));
  EXPECT_EQ(last.kind, protocol::kTagAnswerRecord);
  EXPECT_EQ(last.record.id, kEntries - 1);
  EXPECT_LE(last.cycles, kMostOfPost);
  EXPECT_EQ(arrive(record(kEntries, 100)).kind, protocol::kTagAnswerStored);
  const Answer none = post(receive(4, 3));
  EXPECT_EQ(none.kind, protocol::kTagAnswerStored);
  EXPECT_LE(none.cycles, kMostOfPost);
  EXPECT_GE(none.cycles, kEntries);
  // A persistent one takes them all, and stays.
  TagReceive all = receive(5, 0, true);
  all.mask = {0, 0, 0};
  const std::vector<Answer> answers = unit_.run(command_of(protocol::kTagPost, all));
  ASSERT_EQ(answers.size(), kEntries + 1);
  EXPECT_EQ(answers.back().kind, protocol::kTagAnswerStored);
  EXPECT_LE(answers.back().cycles, 2 * kEntries + 8);
  EXPECT_EQ(answers.front().record.id, 0U);
  EXPECT_EQ(answers[kEntries - 2].record.id, kEntries - 2);
  EXPECT_EQ(answers[kEntries - 1].record.id, kEntries);
  EXPECT_EQ(unit_.records(), 0U);
}

TEST_F(TagCycles, a_cancel_and_a_dump_end_whatever_there_is) {
  const Answer none = simple(protocol::kTagCancel, 77);
  EXPECT_EQ(none.kind, protocol::kTagAnswerNone);
  EXPECT_LE(none.cycles, kMostOfScan);
  EXPECT_LE(simple(protocol::kTagDump).cycles, kMostOfScan);
  for (std::uint64_t i = 0; i < kEntries; ++i) EXPECT_EQ(post(receive(i, i)).kind, protocol::kTagAnswerStored);
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    EXPECT_EQ(arrive(record(i, i + kEntries)).kind, protocol::kTagAnswerStored);
  }
  EXPECT_LE(simple(protocol::kTagDump).cycles, 6 * kEntries + 8);
}

using TagUnitRtl = TagTest;

TEST_F(TagUnitRtl, keeps_the_order_of_posting_across_masks_up_to_the_last_bits_of_the_clock) {
  // Stamps that differ in each bit alone, in an order that has nothing to do with that of the banks.
  std::array<unsigned, protocol::kTagMasks> order{};
  for (unsigned bit = 1; bit < protocol::kTagStampBits; ++bit) {
    for (unsigned i = 0; i < order.size(); ++i) order[i] = i;
    std::uint64_t stamp = (std::uint64_t{1} << bit) - 1;
    for (unsigned i = 0; i < 2; ++i) std::swap(order[i], order[unit_.random.below(order.size())]);
    for (const unsigned m : order) {
      Command load = command_of(protocol::kTagLoad, receive(m, 0));
      load.mask = mask(m);
      load.stamp = stamp;
      ASSERT_EQ(unit_.run(load).back().kind, protocol::kTagAnswerStored);
      // In between, one whose stamp would be too low.
      --load.stamp;
      ASSERT_EQ(unit_.run(load).back().kind, protocol::kTagAnswerInvalid);
      stamp += bit % 3 == 0 ? 1 : (std::uint64_t{1} << bit) + 1;
      if (stamp >> protocol::kTagStampBits != 0) break;
    }
    const std::size_t loaded = unit_.receives();
    for (std::size_t i = 0; i < loaded; ++i) EXPECT_EQ(arrive(record(1, 0)).receive.id, order[i]) << bit;
    EXPECT_EQ(simple(protocol::kTagDump).kind, protocol::kTagAnswerNone);  // the clock begins again
  }
}

TEST_F(TagUnitRtl, says_that_it_is_full_and_changes_nothing) {
  unit_.limit(3, 2);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(post(receive(i, i)).kind, protocol::kTagAnswerStored);
  EXPECT_EQ(post(receive(3, 3)).kind, protocol::kTagAnswerFull);
  EXPECT_EQ(unit_.receives(), 3U);
  EXPECT_EQ(arrive(record(1, 3)).kind, protocol::kTagAnswerStored);
  EXPECT_EQ(arrive(record(2, 4)).kind, protocol::kTagAnswerStored);
  EXPECT_EQ(arrive(record(3, 5)).kind, protocol::kTagAnswerFull);
  EXPECT_EQ(unit_.records(), 2U);
  // A record or receive that is served needs no room.
  EXPECT_EQ(post(receive(4, 4)).record.id, 2U);
  EXPECT_EQ(arrive(record(4, 1)).receive.id, 1U);
  EXPECT_EQ(post(receive(5, 6)).kind, protocol::kTagAnswerStored);
  unit_.limit(kEntries, kEntries);
  // A ninth mask, until one is in no use any more.
  for (std::uint64_t m = 1; m < protocol::kTagMasks; ++m) {
    TagReceive next = receive(10 + m, 0x1000);
    next.mask = mask(m);
    EXPECT_EQ(post(next).kind, protocol::kTagAnswerStored);
  }
  TagReceive ninth = receive(30, 0x900000);
  ninth.mask = mask(20);
  EXPECT_EQ(post(ninth).kind, protocol::kTagAnswerFull);
  EXPECT_EQ(simple(protocol::kTagCancel, 13).kind, protocol::kTagAnswerReceive);
  EXPECT_EQ(post(ninth).kind, protocol::kTagAnswerStored);
  EXPECT_EQ(arrive(record(5, 0x9A0000)).receive.id, 30U);
}

TEST_F(TagUnitRtl, finds_serves_and_answers_what_is_no_command) {
  EXPECT_EQ(simple(0).kind, protocol::kTagAnswerInvalid);
  EXPECT_EQ(arrive(record(1, 1)).kind, protocol::kTagAnswerStored);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(unit_.run(command_of(protocol::kTagFind, receive(0, 1, true))).back().record.id, 1U);
  }
  const auto serve = [&] { return unit_.run(command_of(protocol::kTagServe, record(0, 2))).back(); };
  EXPECT_EQ(serve().kind, protocol::kTagAnswerNone);
  EXPECT_EQ(unit_.records(), 1U);
  EXPECT_EQ(unit_.run(command_of(protocol::kTagFind, receive(0, 1))).back().record.id, 1U);
  EXPECT_EQ(unit_.run(command_of(protocol::kTagFind, receive(0, 1))).back().kind, protocol::kTagAnswerNone);
  EXPECT_EQ(post(receive(7, 2)).kind, protocol::kTagAnswerStored);
  EXPECT_EQ(serve().receive.id, 7U);
  EXPECT_EQ(unit_.receives(), 0U);
}

TEST_F(TagUnitRtl, begins_empty_after_a_reset_in_the_middle_of_anything) {
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t i = 0; i < 6; ++i) {
      TagReceive next = receive(i, i);
      next.mask = mask(unit_.random.below(8));
      (void)post(next);
      (void)arrive(record(i, i + 100));
    }
    Command command = command_of(protocol::kTagArrive, record(1, unit_.random.below(6)));
    if (unit_.random.chance(50)) command = command_of(protocol::kTagPost, receive(1, 100 + unit_.random.below(9)));
    if (unit_.random.chance(20)) command.operation = protocol::kTagDump;
    ASSERT_TRUE(unit_.offer(command));
    for (std::uint64_t i = unit_.random.below(12); i > 0; --i) {
      if (unit_.random.chance(50))
        (void)unit_.take();
      else
        unit_.idle();
    }
    unit_.reset();
    EXPECT_EQ(unit_.receives() + unit_.records(), 0U);
    EXPECT_EQ(unit_.run(command_of(protocol::kTagServe, record(0, unit_.random.below(6)))).back().kind,
              protocol::kTagAnswerNone);
    EXPECT_EQ(unit_.run(command_of(protocol::kTagFind, receive(0, 100))).back().kind, protocol::kTagAnswerNone);
  }
}

}  // namespace
}  // namespace stopbit::sim::tag
