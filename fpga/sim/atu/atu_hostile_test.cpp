#include <algorithm>
#include <set>

#include "atu_fixture.hpp"
#include "tests/lib/form.hpp"

// What units and memory can do to the address translation unit, and to each other through it.

namespace stopbit::sim::atu {
namespace {

using AtuHostile = AtuTest;

/// As the unit decides it, by the page of messages.
bool is_look_up(std::uint64_t phit) {
  return protocol::kAtsError.of(phit) == 0 && protocol::kAtsChannel.of(phit) == kTranslationChannel &&
         protocol::kAtsLength.of(phit) == 0 && protocol::kAtsOrigin.of(phit) < kUnits &&
         protocol::kAtsOperation.of(phit) == protocol::kAtsTranslateRequest &&
         protocol::kTranslateRequestAccess.of(protocol::kAtsBody.of(phit)) != 0;
}

TEST_F(AtuHostile, random_bits_are_counted_and_change_nothing) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  (void)look_up({7, mine, Access::Read});
  unit_.stall_percent = 5;
  answers_.clear();
  std::uint64_t look_ups = 0;
  std::uint64_t malformed = 0;
  const std::uint64_t valid = to_phit(ask(1, 5, {7, mine, Access::Read}));
  const std::uint64_t rounds = by_form<std::uint64_t>(10'000, 100'000, 10'000'000);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    // Random ones, and valid ones with a few bits turned.
    std::uint64_t phit = unit_.random.bits();
    if (i % 2 == 0) {
      phit = valid;
      for (std::uint64_t turns = 1 + unit_.random.below(3); turns > 0; --turns) {
        phit ^= std::uint64_t{1} << (45 + unit_.random.below(19));
      }
      if (unit_.random.chance(10)) phit &= ~protocol::kAtsBody.put(protocol::kTranslateRequestAccess.put(3));
    }
    (is_look_up(phit) ? look_ups : malformed) += 1;
    unit_.to_send.push_back(phit);
    ASSERT_TRUE(until([&] { return unit_.to_send.empty(); }));
  }
  ASSERT_TRUE(until([&] { return answers_.size() == look_ups; }));
  cycles(20);
  EXPECT_EQ(answers_.size(), look_ups);
  EXPECT_GT(look_ups, rounds / 100);
  EXPECT_EQ(unit_.events.malformed, malformed);
  EXPECT_EQ(unit_.events.refused, 0U);
  EXPECT_TRUE(flush_requests_.empty());
  unit_.stall_percent = 0;
  EXPECT_EQ(look_up({7, mine, Access::Read}).second, kHit);
}

TEST_F(AtuHostile, only_an_answer_to_a_flush_counts_as_one) {
  const auto malformed = [&](std::uint64_t count) {
    cycles(4);
    EXPECT_EQ(unit_.events.malformed, count);
    EXPECT_TRUE(done_.empty());
  };
  for (std::uint64_t tag = 0; tag < 32; ++tag) unit_.to_send.push_back(to_phit(flush_answer(tag % kUnits, tag, 1)));
  cycles(40);
  malformed(32);  // to nothing
  unit_.is_deaf[2] = true;
  unit_.flushes.push_back({1});
  ASSERT_TRUE(until([&] { return flush_requests_.size() == kUnits - 1; }));
  const std::uint64_t tag = flush_requests_[0].tag;
  unit_.to_send.push_back(to_phit(flush_answer(2, tag, 1)));
  malformed(33);  // before its request has left
  unit_.to_send.push_back(to_phit(flush_answer(0, tag + 8, 1)));
  unit_.to_send.push_back(to_phit(flush_answer(0, (tag + 1) % 8, 1)));
  unit_.to_send.push_back(to_phit(flush_answer(kPort, tag, 1)));
  malformed(36);  // another flush, another unit
  unit_.to_send.push_back(to_phit(flush_answer(0, tag, 1)));
  unit_.to_send.push_back(to_phit(flush_answer(0, tag, 1)));
  malformed(37);  // twice
  unit_.to_send.push_back(to_phit(flush_answer(3, tag, 1)));
  malformed(37);
  EXPECT_EQ(unit_.flush_waits(), 6U);
  unit_.to_send.push_back(to_phit(flush_answer(1, tag, 1)));
  malformed(37);
  EXPECT_EQ(unit_.flush_waits(), 4U);
  unit_.is_deaf[2] = false;
  ASSERT_TRUE(until([&] { return flush_requests_.size() == kUnits; }));
  EXPECT_TRUE(done_.empty());
  unit_.to_send.push_back(to_phit(flush_answer(2, tag, 1)));
  ASSERT_TRUE(until([&] { return done_.size() == 1; }));
  EXPECT_EQ(unit_.flush_waits(), 0U);
}

TEST_F(AtuHostile, a_unit_that_takes_nothing_holds_up_no_other) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  (void)look_up({7, mine, Access::Read});
  unit_.is_deaf[1] = true;
  answers_.clear();
  for (std::uint64_t i = 0; i < 100; ++i) send(1, i % 32, {7, mine, Access::Read});
  for (std::uint64_t i = 0; i < 20; ++i) unit_.flushes.push_back({100 + i});
  ASSERT_TRUE(until([&] { return unit_.to_send.empty(); }));
  cycles(50);
  EXPECT_EQ(unit_.events.refused, 100 - 32U) << "beyond its tags";
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(unit_.flushes.size(), 12U) << "8 flushes under way";
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto [answer, cycles] = look_up({7, mine, Access::Read}, i % 2 * 2, i % 32);
    EXPECT_TRUE(answer.ok());
    EXPECT_EQ(cycles, kHit);
  }
  answer_flushes();
  cycles(50);
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(unit_.flush_waits(), 2U) << "says which unit";
  // It takes again, and nothing was lost.
  answers_.clear();
  unit_.is_deaf[1] = false;
  ASSERT_TRUE(until([&] {
    answer_flushes();
    return done_.size() == 20;
  }));
  ASSERT_EQ(answers_.size(), 32U);
  for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(answers_[i].tag, i);
  EXPECT_EQ(unit_.events.malformed, 0U);
}

TEST_F(AtuHostile, a_read_that_is_never_answered_ends_as_a_fault_and_disturbs_no_other) {
  const std::uint64_t dead = page(0, 3, 7, 100, Access::Read);
  std::uint64_t count = 0;
  unit_.latency = [&] { return count++ == 0 ? std::uint64_t{1} << 40U : 20U; };
  send(0, 0, {7, dead, Access::Read});
  for (std::uint64_t i = 1; i < 32; ++i) send(0, i, {7, page(0, 100 + i, 7, i, Access::Read), Access::Read});
  ASSERT_TRUE(until([&] { return answers_.size() == 32; }));
  EXPECT_FALSE(answers_[0].ok());
  EXPECT_GE(answers_[0].cycle, kPatience);
  for (std::uint64_t i = 1; i < 32; ++i) EXPECT_EQ(answers_[i].number, i);
  EXPECT_EQ(unit_.events.failed, 1U);
  EXPECT_EQ(unit_.reads.size(), 1U);
  // Its slot is left out from now on: 200 misses more, 31 at a time.
  answers_.clear();
  std::size_t most = 0;
  std::set<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 200; ++i)
    send(i % kUnits, i / kUnits % 32, {7, page(1, i, 7, i, Access::Read), Access::Read});
  ASSERT_TRUE(until([&] {
    most = std::max(most, unit_.reads.size());
    for (const auto& read : unit_.reads) ids.insert(read.id);
    return answers_.size() == 200;
  }));
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(answers_[i].number, i);
  EXPECT_EQ(ids.size(), kSlots);
  EXPECT_LE(most, kSlots);
  EXPECT_EQ(unit_.events.failed, 1U);
  // The late answer reaches no unit, and the slot is used again.
  unit_.reads.front().due = 0;
  cycles(5);
  EXPECT_EQ(unit_.events.late, 1U);
  EXPECT_EQ(unit_.events.unasked, 0U);
  answers_.clear();
  for (std::uint64_t i = 0; i < 64; ++i)
    send(i % kUnits, i / kUnits % 32, {7, page(1, 1000 + i, 7, i, Access::Read), Access::Read});
  ASSERT_TRUE(until([&] { return answers_.size() == 64; }));
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(answers_[i].number, i);
  EXPECT_EQ(look_up({7, dead, Access::Read}).first.number, 100U);
}

TEST_F(AtuHostile, patience_is_between_once_and_twice_its_setting) {
  unit_.latency = [] { return std::uint64_t{1} << 40U; };
  for (std::uint64_t i = 0; i < 10; ++i) {
    cycles(unit_.random.below(700));
    const auto [answer, cycles] = look_up({7, page(0, i, 7, 100, Access::Read), Access::Read});
    EXPECT_FALSE(answer.ok());
    EXPECT_GT(cycles, kPatience);
    EXPECT_LT(cycles, 2 * kPatience + kMiss);
  }
}

TEST_F(AtuHostile, memory_that_never_answers_makes_misses_fault_and_leaves_hits_alone) {
  for (const bool is_shut : {false, true}) {
    const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
    unit_.latency = [] { return std::uint64_t{1}; };
    (void)look_up({7, mine, Access::Read});
    unit_.latency = [] { return std::uint64_t{1} << 40U; };
    unit_.memory_is_shut = is_shut;
    answers_.clear();
    const std::uint64_t before = unit_.events.failed;
    for (std::uint64_t i = 0; i < 60; ++i) send(i % 2, i / 2, {7, page(0, 100 + i, 7, 1, Access::Read), Access::Read});
    const std::uint64_t begin = unit_.now();
    ASSERT_TRUE(until([&] { return answers_.size() == 60; }));
    EXPECT_LT(unit_.now() - begin, 4 * kPatience + 200) << "all reads at the same time";
    EXPECT_TRUE(std::none_of(answers_.begin(), answers_.end(), [](const Answer& answer) { return answer.ok(); }));
    EXPECT_EQ(unit_.events.failed, before + 60);
    // No slot is left: at once.
    EXPECT_EQ(look_up({7, page(0, 900, 7, 1, Access::Read), Access::Read}).second, kHit);
    EXPECT_EQ(unit_.events.failed, before + 61);
    for (int i = 0; i < 50; ++i) {
      const auto [answer, cycles] = look_up({7, mine, Access::Read});
      EXPECT_TRUE(answer.ok());
      EXPECT_EQ(cycles, kHit);
    }
    flush(page(0, 901, 7, 1, Access::Read));
    // Memory comes back.
    unit_.memory_is_shut = false;
    unit_.latency = [] { return std::uint64_t{1}; };
    for (auto& read : unit_.reads) read.due = 0;
    const std::uint64_t late = unit_.events.late;
    cycles(100);
    EXPECT_EQ(unit_.events.late, late + kSlots);
    for (std::uint64_t i = 0; i < 64; ++i) {
      EXPECT_EQ(look_up({7, page(1, i, 7, i, Access::Read), Access::Read}).first.number, i);
    }
    unit_.reset();
    place_tables();
  }
}

TEST_F(AtuHostile, answers_of_memory_that_nobody_asked_for_are_left_out) {
  unit_.latency = [] { return std::uint64_t{100}; };
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  for (std::uint64_t id = 0; id < kSlots; ++id) {
    unit_.forged_answer = Unit::Read{0, id, nic::gat_entry(7, 666, Access::ReadWrite), 0};
    cycles(1);
  }
  cycles(3);
  EXPECT_EQ(unit_.events.unasked, kSlots);
  EXPECT_TRUE(answers_.empty());
  send(0, 1, {7, mine, Access::Read});
  ASSERT_TRUE(until([&] { return !unit_.reads.empty(); }));
  for (std::uint64_t id = 0; id < kSlots; ++id) {
    if (id == unit_.reads.front().id) continue;
    unit_.forged_answer = Unit::Read{0, id, nic::gat_entry(7, 666, Access::ReadWrite), 0};
    cycles(1);
  }
  ASSERT_TRUE(until([&] { return answers_.size() == 1; }));
  EXPECT_EQ(answers_[0].number, 100U);
  EXPECT_EQ(unit_.events.unasked, 2 * kSlots - 1);
}

TEST_F(AtuHostile, a_reset_in_the_middle_leaves_nothing_behind) {
  for (int round = 0; round < 15; ++round) {
    unit_.stall_percent = 30;
    unit_.latency = [&] { return 1 + unit_.random.below(80); };
    for (std::uint64_t i = 0; i < 60; ++i) {
      send(i % 2, i / 2, {7, page(i % 2, unit_.random.below(40), 7, 1, Access::Read), Access::Read});
    }
    for (std::uint64_t i = 0; i < 5; ++i) unit_.flushes.push_back({unit_.random.below(40)});
    for (std::uint64_t i = 0; i < 300; ++i) unit_.to_send.push_back(0);  // no messages
    cycles(20 + unit_.random.below(200));
    unit_.reset();
    unit_.stall_percent = 0;
    unit_.latency = [] { return std::uint64_t{1}; };
    answers_.clear();
    flush_requests_.clear();
    done_.clear();
    cycles(2 * kPatience);
    EXPECT_TRUE(answers_.empty() && flush_requests_.empty() && done_.empty());
    EXPECT_EQ(unit_.events, Unit::Events{});
    for (std::uint64_t table = 0; table < 2; ++table) {
      EXPECT_FALSE(look_up({7, page(table, 1, 7, 1, Access::Read), Access::Read}).first.ok()) << "no table yet";
    }
    place_tables();
    for (std::uint64_t at = 0; at < 40; ++at) {
      const auto [answer, cycles] = look_up({7, page(at % 2, at, 7, at + 5, Access::Read), Access::Read}, 2, at % 32);
      EXPECT_EQ(answer.number, at + 5);
      EXPECT_EQ(cycles, kMiss + 1) << "the cache is empty";
    }
    // All slots, all tags of all units, all flushes.
    unit_.latency = [] { return std::uint64_t{400}; };
    for (std::uint64_t i = 0; i < kSlots; ++i) send(0, i, {7, page(0, 500 + i, 7, i, Access::Read), Access::Read});
    cycles(100);
    EXPECT_EQ(unit_.reads.size(), kSlots);
    ASSERT_TRUE(until([&] { return unit_.reads.empty(); }));
    unit_.latency = [] { return std::uint64_t{1}; };
    cycles(50);
    answers_.clear();
    for (std::uint64_t i = 0; i < 32 * kUnits; ++i)
      send(i / 32, i % 32, {7, page(0, 2, 7, 7, Access::Read), Access::Read});
    for (std::uint64_t i = 0; i < 8; ++i) unit_.flushes.push_back({i});
    ASSERT_TRUE(until([&] { return answers_.size() == 32 * kUnits && flush_requests_.size() == 8 * kUnits; }));
    EXPECT_EQ(unit_.events.refused, 0U);
    answer_flushes();
    ASSERT_TRUE(until([&] { return done_.size() == 8; }));
  }
}

}  // namespace
}  // namespace stopbit::sim::atu
