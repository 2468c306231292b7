#include "atu_fixture.hpp"

// Cycles, order, rights and flushes of the address translation unit.

namespace stopbit::sim::atu {
namespace {

using AtuCycles = AtuTest;
using AtuRtl = AtuTest;

TEST_F(AtuCycles, a_hit_takes_nine_and_a_miss_twelve_and_memory) {
  std::uint64_t at = 0;
  for (const std::uint64_t memory : {1U, 15U, 55U, 300U}) {
    const std::uint64_t mine = page(at % 2, 5 + at, 7, 1234 + at, Access::ReadWrite);
    ++at;
    unit_.latency = [memory] { return memory; };
    for (int round = 0; round < 3; ++round) {
      const auto [answer, cycles] = look_up({7, mine, Access::Read}, round % kUnits, at);
      EXPECT_TRUE(answer.ok());
      EXPECT_EQ(answer.number, 1233 + at);
      EXPECT_EQ(cycles, round == 0 ? kMiss + memory : kHit);
    }
  }
  EXPECT_EQ(unit_.events.misses, 4U);
  EXPECT_EQ(unit_.events.hits, 8U);
  EXPECT_EQ(unit_.events.faults, 0U);
}

TEST_F(AtuCycles, what_no_table_has_faults_without_memory) {
  for (const Vpid who : {Vpid{0}, Vpid{7}, Vpid{0xFFFF}}) {
    const auto [answer, cycles] = look_up({who, std::uint64_t{5} << nic::kEntryBits | 1, Access::Read});
    EXPECT_FALSE(answer.ok());
    EXPECT_EQ(cycles, kHit);
  }
  EXPECT_EQ(unit_.events.misses, 3U);
  // A table whose register says that there is none.
  const std::uint64_t mine = page(1, 5, 7, 1, Access::Read);
  unit_.set_base(1, kTables[1], false);
  EXPECT_EQ(look_up({7, mine, Access::Read}).second, kHit);
  EXPECT_EQ(unit_.events.faults, 4U);
  unit_.set_base(1, kTables[1]);
  EXPECT_TRUE(look_up({7, mine, Access::Read}).first.ok());
}

TEST_F(AtuCycles, a_flush_takes_seven_and_units) {
  const std::uint64_t mine = page(0, 5, 7, 1, Access::Read);
  for (const std::uint64_t units : {1U, 4U, 40U}) {
    (void)look_up({7, mine, Access::Read});
    unit_.flushes.push_back({mine});
    ASSERT_TRUE(until([&] { return flush_requests_.size() == kUnits; }));
    for (std::size_t u = 0; u < kUnits; ++u) {
      EXPECT_EQ(flush_requests_[u].cycle, flush_taken_ + kFlush - 1) << "each unit in the same cycle";
      EXPECT_EQ(flush_requests_[u].number, mine);
    }
    cycles(units - 1);
    answer_flushes();
    const std::size_t before = done_.size();
    ASSERT_TRUE(until([&] { return done_.size() > before; }));
    EXPECT_EQ(done_.back(), sent_ + 1) << "from the last answer";
    EXPECT_EQ(done_.back() - flush_taken_, kFlush + units + kUnits - 1) << "an answer each cycle";
  }
  EXPECT_EQ(unit_.events.drops, 3U);
}

TEST_F(AtuCycles, hits_follow_each_cycle_and_flushes_of_the_cache_every_second_one) {
  const std::uint64_t mine = page(0, 5, 7, 1, Access::Read);
  (void)look_up({7, mine, Access::Read});
  const std::size_t before = answers_.size();
  for (std::uint64_t i = 0; i < 90; ++i) send(i % kUnits, i % 32, {7, mine, Access::Read});
  const std::uint64_t begin = unit_.now();
  ASSERT_TRUE(until([&] { return answers_.size() == before + 90; }));
  EXPECT_EQ(answers_.back().cycle - begin, 89 + kHit);
  for (std::uint64_t i = 0; i < 100; ++i) unit_.flushes.push_back({mine, true, 0});
  const std::uint64_t first = unit_.now();
  ASSERT_TRUE(until([&] { return unit_.flushes.empty(); }));
  EXPECT_LE(unit_.now() - first, 2 * 100U);
  ASSERT_TRUE(until([&] { return done_.size() == 100; }));
}

TEST_F(AtuCycles, as_many_misses_are_under_way_as_there_are_slots) {
  unit_.latency = [] { return std::uint64_t{400}; };
  for (std::uint64_t i = 0; i < 64; ++i) {
    send(i % 2, i / 2, {7, page(0, i, 7, i, Access::Read), Access::Read});
  }
  std::size_t most = 0;
  ASSERT_TRUE(until([&] {
    most = std::max(most, unit_.reads.size());
    return answers_.size() == 64;
  }));
  EXPECT_EQ(most, kSlots);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(answers_[i].number, i);
}

TEST_F(AtuRtl, answers_in_the_order_of_look_ups_whatever_the_order_of_memory) {
  for (int round = 0; round < 20; ++round) {
    unit_.answers_in_any_order = true;
    unit_.stall_percent = round % 2 == 0 ? 0 : 40;
    unit_.latency = [&] { return 1 + unit_.random.below(60); };
    answers_.clear();
    std::deque<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 32; ++i) {
      const std::uint64_t at = unit_.random.below(2000);
      send(1, i, {9, page(i % 2, at, 9, at + 1, Access::Write), Access::Write});
      expected.push_back(at + 1);
    }
    ASSERT_TRUE(until([&] { return answers_.size() == 32; }));
    for (std::uint64_t i = 0; i < 32; ++i) {
      EXPECT_EQ(answers_[i].tag, i);
      EXPECT_EQ(answers_[i].number, expected[i]);
    }
  }
}

TEST_F(AtuRtl, owner_and_rights_hold_on_a_miss_and_on_a_hit) {
  for (const Access granted : {Access::Read, Access::Write, Access::ReadWrite}) {
    for (const Access wanted : {Access::Read, Access::Write, Access::ReadWrite}) {
      for (const Vpid who : {Vpid{7}, Vpid{8}, Vpid{7 + 256}, Vpid{0x8007}}) {
        const std::uint64_t mine = page(0, 10, 7, (std::uint64_t{1} << 40U) - 1, granted);
        flush(mine);
        const auto [missed, long_cycles] = look_up({who, mine, wanted});
        const auto [hit, cycles] = look_up({who, mine, wanted});
        EXPECT_EQ(cycles, kHit);
        EXPECT_EQ(long_cycles, kMiss + 1);
        EXPECT_EQ(missed.ok(), who == 7 && nic::allows(granted, wanted));
        EXPECT_EQ(hit.ok(), missed.ok());
        if (hit.ok()) {
          EXPECT_EQ(hit.number, (std::uint64_t{1} << 40U) - 1);
          EXPECT_EQ(missed.number, hit.number);
        }
      }
    }
  }
}

TEST_F(AtuRtl, pages_of_one_place_in_the_cache_take_turns) {
  const std::uint64_t first = page(0, 3, 7, 100, Access::Read);
  const std::uint64_t second = page(0, 3 + 1024, 7, 200, Access::Read);
  const std::uint64_t third = page(1, 3, 7, 300, Access::Read);
  for (int round = 0; round < 3; ++round) {
    for (const auto& [at, number] : {std::pair{first, 100U}, {second, 200U}, {third, 300U}}) {
      const auto [answer, cycles] = look_up({7, at, Access::Read});
      EXPECT_EQ(answer.number, number);
      EXPECT_EQ(cycles, kMiss + 1);
    }
  }
  // A flush of one leaves the other.
  flush(first);
  EXPECT_EQ(look_up({7, third, Access::Read}).second, kHit);
  flush(third);
  EXPECT_EQ(look_up({7, third, Access::Read}).second, kMiss + 1);
}

TEST_F(AtuRtl, an_entry_that_is_not_present_is_not_kept) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  unit_.entry(mine) &= ~std::uint64_t{1};
  for (int round = 0; round < 2; ++round) {
    const auto [answer, cycles] = look_up({7, mine, Access::Read});
    EXPECT_FALSE(answer.ok());
    EXPECT_EQ(cycles, kMiss + 1);
  }
}

TEST_F(AtuRtl, what_memory_refuses_faults_and_is_not_kept) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  unit_.error_percent = 100;
  EXPECT_FALSE(look_up({7, mine, Access::Read}).first.ok());
  EXPECT_EQ(unit_.events.failed, 1U);
  unit_.error_percent = 0;
  const auto [answer, cycles] = look_up({7, mine, Access::Read});
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(cycles, kMiss + 1);
  EXPECT_EQ(unit_.events.failed, 1U);
}

TEST_F(AtuRtl, a_flush_waits_for_look_ups_before_it_and_what_they_read_is_not_kept) {
  unit_.latency = [] { return std::uint64_t{200}; };
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  send(0, 1, {7, mine, Access::Read});
  ASSERT_TRUE(until([&] { return !unit_.reads.empty(); }));
  unit_.entry(mine) = 0;  // memory has answered with the old word already
  unit_.flushes.push_back({mine});
  ASSERT_TRUE(until([&] { return unit_.flushes.empty(); }));
  cycles(50);
  EXPECT_TRUE(flush_requests_.empty());
  ASSERT_TRUE(until([&] { return flush_requests_.size() == kUnits; }));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok()) << "before the revocation";
  EXPECT_LT(answers_[0].cycle, flush_requests_[0].cycle);
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(unit_.flush_waits(), 15U);
  answer_flushes();
  ASSERT_TRUE(until([&] { return done_.size() == 1; }));
  const auto [answer, cycles] = look_up({7, mine, Access::Read});
  EXPECT_FALSE(answer.ok());
  EXPECT_EQ(cycles, kMiss + 200) << "nothing was kept";
}

TEST_F(AtuRtl, what_was_read_before_a_flush_is_not_kept_whenever_the_flush_comes) {
  constexpr std::uint64_t kMemory = 30;
  unit_.latency = [] { return kMemory; };
  for (std::uint64_t wait = 0; wait < kMemory + 20; ++wait) {
    const std::uint64_t mine = page(0, 100 + wait, 7, 100, Access::Read);
    send(0, 1, {7, mine, Access::Read});
    ASSERT_TRUE(until([&] { return !unit_.reads.empty(); }));
    unit_.entry(mine) = 0;  // memory has answered with the old word already
    cycles(wait);
    flush(mine);
    const auto [answer, cycles] = look_up({7, mine, Access::Read});
    EXPECT_FALSE(answer.ok()) << wait;
    EXPECT_EQ(cycles, kMiss + kMemory) << wait;
  }
}

TEST_F(AtuRtl, nothing_old_comes_to_a_unit_after_it_was_asked_to_flush) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  const std::uint64_t slow = page(0, 4, 7, 200, Access::Read);
  for (std::uint64_t wait = 0; wait < 24; ++wait) {
    unit_.entry(mine) = nic::gat_entry(7, 100, Access::Read);
    unit_.latency = [] { return std::uint64_t{1}; };
    (void)look_up({7, mine, Access::Read});  // kept
    answers_.clear();
    done_.clear();
    flush(slow);
    unit_.latency = [] { return std::uint64_t{60}; };
    send(0, 1, {7, slow, Access::Read});  // holds up what follows
    cycles(4);
    unit_.entry(mine) = 0;
    unit_.flushes.push_back({mine});
    for (std::uint64_t i = 0; i < 30; ++i) send(1, i, {7, mine, Access::Read});
    cycles(wait);
    ASSERT_TRUE(until([&] { return answers_.size() == 31 && flush_requests_.size() == kUnits; }));
    for (const Answer& answer : answers_) {
      if (answer.unit == 1 && answer.cycle > flush_requests_.front().cycle) {
        EXPECT_FALSE(answer.ok());
      }
    }
    answer_flushes();
    ASSERT_TRUE(until([&] { return done_.size() == 2; }));
    EXPECT_FALSE(look_up({7, mine, Access::Read}).first.ok());
  }
}

TEST_F(AtuRtl, a_flush_drops_asks_or_does_both) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  (void)look_up({7, mine, Access::Read});
  unit_.flushes.push_back({mine, false, 2});  // unit 1 alone, and the cache keeps it
  ASSERT_TRUE(until([&] { return flush_requests_.size() == 1; }));
  EXPECT_EQ(flush_requests_.front().unit, 1U);
  EXPECT_EQ(unit_.flush_waits(), 2U);
  answer_flushes();
  ASSERT_TRUE(until([&] { return done_.size() == 1; }));
  EXPECT_EQ(look_up({7, mine, Access::Read}).second, kHit);
  unit_.flushes.push_back({mine, true, 0});
  ASSERT_TRUE(until([&] { return done_.size() == 2; }));
  EXPECT_TRUE(flush_requests_.empty());
  EXPECT_EQ(look_up({7, mine, Access::Read}).second, kMiss + 1);
}

TEST_F(AtuRtl, flushes_are_done_in_their_order) {
  for (std::uint64_t i = 0; i < 4; ++i) unit_.flushes.push_back({i});
  ASSERT_TRUE(until([&] { return flush_requests_.size() == 4 * kUnits; }));
  std::deque<Answer> last;
  for (const Answer& request : std::exchange(flush_requests_, {})) {
    (request.number == 0 ? last : flush_requests_).push_back(request);
  }
  answer_flushes();
  cycles(50);
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(unit_.flush_waits(), 15U);
  flush_requests_ = last;
  answer_flushes();
  ASSERT_TRUE(until([&] { return done_.size() == 4; }));
}

TEST_F(AtuRtl, look_ups_and_flushes_both_go_on_when_neither_ends) {
  const std::uint64_t mine = page(0, 3, 7, 100, Access::Read);
  const std::uint64_t other = page(0, 4, 7, 100, Access::Read);
  (void)look_up({7, other, Access::Read});
  answers_.clear();
  done_.clear();
  for (std::uint64_t tag = 0; answers_.size() < 200 || done_.size() < 200;) {
    ASSERT_LT(unit_.now(), kLong);
    if (unit_.flushes.empty()) unit_.flushes.push_back({mine, true, 0});
    if (unit_.to_send.empty()) {
      send(tag % kUnits, tag / kUnits % 32, {7, other, Access::Read});
      ++tag;
    }
    (void)cycle();
  }
  EXPECT_LT(answers_.size(), 1500U);
  EXPECT_LT(done_.size(), 1500U);
}

}  // namespace
}  // namespace stopbit::sim::atu
