#include <algorithm>
#include <array>
#include <map>

#include "atu_fixture.hpp"
#include "tests/lib/form.hpp"

// The unit beside the class that it has to agree with: host/nic/atu.
//
// Rule: a look-up that was accepted before a page was revoked, or between that and the end of its flush, may answer
// either way, but a unit that was asked to flush gets nothing old after that; after the flush is done it faults.

namespace stopbit::sim::atu {
namespace {

using nic::Atu;

constexpr std::uint64_t kEntries = 3000;  // of each table: more than the cache has places
constexpr std::uint64_t kWay = 8;         // of the 20 cycles of the class, those between the unit and memory

nic::Access random_access(Random& random) {
  return static_cast<Access>(1 + random.below(3));
}

using AtuLockStep = AtuTest;

/// One at a time: the same answer, and the same number of cycles.
TEST_F(AtuLockStep, takes_as_many_cycles_as_the_class_says_one_at_a_time) {
  Atu oracle({2, kEntries, 1024, 55});
  unit_.latency = [] { return 55 + kWay; };
  struct Region {
    std::uint64_t page;
    std::size_t pages;
    Vpid owner;
  };
  std::vector<Region> regions;
  const std::uint64_t steps = by_form<std::uint64_t>(2'000, 20'000, 200'000);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const Vpid who = static_cast<Vpid>(unit_.random.below(3));
    const std::uint64_t kind = unit_.random.below(20);
    if (kind == 0) {
      std::vector<nic::PageNumber> numbers(1 + unit_.random.below(600));
      for (nic::PageNumber& number : numbers) number = unit_.random.bits() & protocol::kGatEntryNumber.mask();
      const Access access = random_access(unit_.random);
      const auto nla = oracle.register_pages(who, numbers, access);
      if (!nla) continue;
      regions.push_back({nic::nla_page(*nla), numbers.size(), who});
      for (std::size_t i = 0; i < numbers.size(); ++i)
        unit_.entry(nic::nla_page(*nla) + i) = nic::gat_entry(who, numbers[i], access);
    } else if (kind == 1 && !regions.empty()) {
      const std::size_t at = unit_.random.below(regions.size());
      const Region region = regions[at];
      ASSERT_TRUE(oracle.revoke(region.owner, region.page * nic::kPageBytes, region.pages));
      for (std::size_t i = 0; i < region.pages; ++i) unit_.entry(region.page + i) = 0;
      for (std::size_t i = 0; i < region.pages; ++i) flush(region.page + i);
      for (std::size_t u = 0; u < nic::kUnits; ++u)
        oracle.acknowledge(static_cast<nic::Unit>(u), oracle.flush_number());
      regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      // Few pages often, and all of them now and then.
      const std::uint64_t page =
          unit_.random.below(2) << nic::kEntryBits | unit_.random.below(unit_.random.chance(70) ? 40 : kEntries + 50);
      const Access access = random_access(unit_.random);
      const nic::Translation expected = oracle.translate(who, page * nic::kPageBytes, access);
      const auto [answer, cycles] = look_up({who, page, access}, unit_.random.below(kUnits), unit_.random.below(32));
      ASSERT_EQ(answer.ok(), expected.ok) << step;
      ASSERT_EQ(answer.number, expected.page) << step;
      ASSERT_EQ(cycles, expected.cycles) << step;
      answers_.clear();
      done_.clear();
    }
  }
  EXPECT_EQ(unit_.events.hits, oracle.counters().hits);
  EXPECT_EQ(unit_.events.misses, oracle.counters().misses);
  EXPECT_EQ(unit_.events.faults, oracle.counters().faults);
  EXPECT_GT(oracle.counters().hits, steps / 20);
}

/// Look-ups, registrations and revocations all at once, with answers of memory in any order and units that take their
/// time.
class Many {
 public:
  Many(std::uint64_t seed, std::uint64_t steps) : unit_(seed), oracle_({2, kEntries, 1024, 55}), steps_(steps) {
    for (std::uint64_t table = 0; table < 2; ++table) unit_.set_base(table, kTables[table]);
    unit_.answers_in_any_order = true;
  }

  void run() {
    std::uint64_t idle = 0;
    for (std::uint64_t phase = 0; step_ < steps_ || !is_idle(); ++phase) {
      if (phase % 4096 == 0) change_of_weather();
      if (step_ < steps_) act();
      const std::uint64_t before = moves_;
      cycle();
      if (::testing::Test::HasFatalFailure()) return;
      idle = moves_ == before ? idle + 1 : 0;
      ASSERT_LT(idle, 20'000U) << "nothing moves any more";
    }
    // What is done is done: nothing that was revoked is found.
    EXPECT_EQ(oracle_.counters().flushes, oracle_.counters().flushed);
    EXPECT_EQ(unit_.events.malformed + unit_.events.refused + unit_.events.late + unit_.events.unasked, 0U);
    EXPECT_EQ(unit_.events.hits + unit_.events.misses, look_ups_);
    EXPECT_EQ(unit_.events.faults, faults_);
    EXPECT_GT(unit_.events.hits, look_ups_ / 20);
    EXPECT_GT(strict_, look_ups_ * 3 / 4) << "most look-ups have one answer";
    EXPECT_GT(loose_, look_ups_ / 10'000) << "and some have two";
    EXPECT_GT(after_done_, look_ups_ / 10'000);
    EXPECT_GT(unit_.events.drops, 0U);
  }

 private:
  /// Of one look-up: it faults, or the page is one of these.
  struct Allowed {
    Lookup lookup;
    bool fault = false;
    std::vector<std::uint64_t> words;  ///< Entries that it may have found, and that grant it.
    std::size_t unit = 0;
    std::uint64_t tag = 0;
    bool after_done = false;  ///< Of a page that was revoked, and is registered no more.
  };
  struct Region {
    std::uint64_t page = 0;
    std::size_t pages = 0;
    Vpid owner = 0;
  };
  /// A page between its revocation and the end of the flush.
  struct Stale {
    std::uint64_t word = 0;
    std::array<bool, kUnits> asked{};  ///< These get nothing old any more.
  };
  struct Revocation {
    std::size_t left = 0;  ///< Pages whose flush is not done.
    std::uint64_t number = 0;
  };

  static bool grants(std::uint64_t word, const Lookup& lookup) {
    return protocol::kGatEntryPresent.of(word) == 1 && protocol::kGatEntryOwner.of(word) == lookup.vpid &&
           nic::allows(static_cast<Access>(protocol::kGatEntryAccess.of(word)), lookup.access);
  }
  static void allow(Allowed& allowed, std::uint64_t word) {
    if (grants(word, allowed.lookup)) {
      allowed.words.push_back(word);
    } else {
      allowed.fault = true;
    }
  }
  [[nodiscard]] bool is_idle() const {
    return under_way_.empty() && to_accept_.empty() && unit_.to_send.empty() && revocations_.empty();
  }
  void change_of_weather() {
    unit_.stall_percent = std::array{0U, 5U, 40U, 80U}[unit_.random.below(4)];
    const std::uint64_t most = std::array{2U, 30U, 150U}[unit_.random.below(3)];
    unit_.latency = [this, most] { return 1 + unit_.random.below(most); };
    rate_ = std::array{3U, 30U, 100U}[unit_.random.below(3)];
  }

  void act() {
    if (unit_.random.chance(2) && regions_.size() < 300) register_some();
    if (unit_.random.chance(2) && revocations_.size() < 6 && !regions_.empty()) revoke_some();
    if (unit_.to_send.size() < 8 && unit_.random.chance(rate_)) look_up();
  }
  void register_some() {
    std::vector<nic::PageNumber> numbers(1 + unit_.random.below(4));
    for (nic::PageNumber& number : numbers) number = unit_.random.bits() & protocol::kGatEntryNumber.mask();
    const Vpid owner = static_cast<Vpid>(unit_.random.below(3));
    const Access access = random_access(unit_.random);
    const auto nla = oracle_.register_pages(owner, numbers, access);
    ++step_;
    if (!nla) return;
    const std::uint64_t first = nic::nla_page(*nla);
    regions_.push_back({first, numbers.size(), owner});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint64_t word = nic::gat_entry(owner, numbers[i], access);
      unit_.entry(first + i) = word;
      for (Allowed& allowed : under_way_) {
        if (allowed.lookup.page == first + i) allow(allowed, word);
      }
    }
    ++moves_;
  }
  void revoke_some() {
    const std::size_t at = unit_.random.below(regions_.size());
    const Region region = regions_[at];
    regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(at));
    ASSERT_TRUE(oracle_.revoke(region.owner, region.page * nic::kPageBytes, region.pages));
    for (std::size_t i = 0; i < region.pages; ++i) {
      const std::uint64_t page = region.page + i;
      stale_[page] = {unit_.entry(page), {}};
      unit_.entry(page) = 0;
      for (Allowed& allowed : under_way_) {
        if (allowed.lookup.page == page) allowed.fault = true;
      }
      unit_.flushes.push_back({page});
      to_be_done_.push_back(page);
    }
    revocations_.push_back({region.pages, oracle_.flush_number()});
    revoked_.push_back(region.page);
    if (revoked_.size() > 20) revoked_.pop_front();
    ++step_;
    ++moves_;
  }
  void look_up() {
    const std::size_t unit = unit_.random.below(kUnits);
    std::uint64_t tag = 0;
    while (tag < 32 && is_used_[unit][tag]) ++tag;
    if (tag == 32) return;
    Lookup lookup;
    lookup.vpid = static_cast<Vpid>(unit_.random.below(3));
    lookup.access = random_access(unit_.random);
    lookup.page = unit_.random.below(2) << nic::kEntryBits | unit_.random.below(kEntries + 10);
    if (!regions_.empty() && unit_.random.chance(80)) {
      const Region& region =
          regions_[unit_.random.chance(50) ? unit_.random.below(std::min<std::size_t>(8, regions_.size()))
                                           : unit_.random.below(regions_.size())];
      lookup.page = region.page + unit_.random.below(region.pages);
      if (unit_.random.chance(90)) lookup.vpid = region.owner;
    } else if (!revoked_.empty() && unit_.random.chance(70)) {
      lookup.page = revoked_[unit_.random.below(revoked_.size())];
    }
    is_used_[unit][tag] = true;
    unit_.to_send.push_back(to_phit(ask(unit, tag, lookup)));
    to_accept_.push_back({lookup, false, {}, unit, tag, false});
    ++step_;
  }

  void cycle() {
    // Units answer flushes when they like.
    if (!asked_.empty() && unit_.random.chance(20)) {
      const std::size_t at = unit_.random.below(asked_.size());
      unit_.to_send.push_back(to_phit(asked_[at]));
      asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const Unit::Seen seen = unit_.cycle();
    // Outputs first: they do not depend on what is accepted in this cycle.
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if (seen.received[unit]) receive(unit, from_phit(*seen.received[unit]));
    }
    if (seen.sent) {
      ++moves_;
      if (from_phit(*seen.sent).operation == protocol::kAtsTranslateRequest) accept();
    }
    if (seen.is_done) end_flush();
  }
  void accept() {
    Allowed allowed = to_accept_.front();
    to_accept_.pop_front();
    const std::uint64_t page = allowed.lookup.page;
    const nic::Translation now = oracle_.translate(allowed.lookup.vpid, page * nic::kPageBytes, allowed.lookup.access);
    allow(allowed, unit_.bases.count(page >> nic::kEntryBits) != 0 ? unit_.entry(page) : 0);
    ASSERT_EQ(now.ok, !allowed.words.empty()) << "class and memory";
    if (now.ok) {
      ASSERT_EQ(now.page, protocol::kGatEntryNumber.of(allowed.words[0]));
    }
    const auto stale = stale_.find(page);
    if (stale != stale_.end() && !stale->second.asked[allowed.unit]) allow(allowed, stale->second.word);
    allowed.after_done =
        stale == stale_.end() && !now.ok && std::find(revoked_.begin(), revoked_.end(), page) != revoked_.end();
    under_way_.push_back(allowed);
    ++look_ups_;
  }
  void receive(std::size_t unit, const Message& message) {
    ++moves_;
    if (message.operation == protocol::kAtsFlushRequest) {
      const std::uint64_t page = protocol::kFlushPage.of(message.body);
      asked_.push_back(flush_answer(unit, message.tag, page));
      const auto stale = stale_.find(page);
      ASSERT_NE(stale, stale_.end());
      stale->second.asked[unit] = true;
      for (Allowed& allowed : under_way_) {
        if (allowed.unit == unit && allowed.lookup.page == page) std::erase(allowed.words, stale->second.word);
      }
      return;
    }
    // In the order in which they were asked, for each unit.
    const auto first =
        std::find_if(under_way_.begin(), under_way_.end(), [&](const Allowed& each) { return each.unit == unit; });
    ASSERT_NE(first, under_way_.end()) << "an answer to nothing";
    ASSERT_EQ(first->tag, message.tag);
    const std::uint64_t error = protocol::kTranslateResponseError.of(message.body);
    const std::uint64_t number = protocol::kTranslateResponseNumber.of(message.body);
    if (error != 0) {
      ++faults_;
      ASSERT_TRUE(first->fault) << "page " << first->lookup.page << " faults";
      after_done_ += first->after_done;
    } else {
      ASSERT_TRUE(std::any_of(first->words.begin(), first->words.end(),
                              [&](std::uint64_t word) { return protocol::kGatEntryNumber.of(word) == number; }))
          << "page " << first->lookup.page << " is " << number;
    }
    (first->words.size() + (first->fault ? 1U : 0U) == 1 ? strict_ : loose_) += 1;
    is_used_[unit][message.tag] = false;
    under_way_.erase(first);
  }
  void end_flush() {
    ++moves_;
    ASSERT_FALSE(revocations_.empty());
    const std::uint64_t page = to_be_done_.front();
    to_be_done_.pop_front();
    const auto stale = stale_.find(page);
    ASSERT_EQ(stale->second.asked, (std::array{true, true, true, true}));
    ASSERT_TRUE(std::none_of(asked_.begin(), asked_.end(), [&](const Message& each) {
      return protocol::kFlushPage.of(each.body) == page;
    })) << "done before its units have answered";
    stale_.erase(stale);
    if (--revocations_.front().left != 0) return;
    for (std::size_t u = 0; u < nic::kUnits; ++u)
      oracle_.acknowledge(static_cast<nic::Unit>(u), revocations_.front().number);
    ASSERT_TRUE(oracle_.is_flushed(page * nic::kPageBytes));
    revocations_.pop_front();
  }

  Unit unit_;
  Atu oracle_;
  std::uint64_t steps_;
  std::uint64_t step_ = 0;
  std::uint64_t moves_ = 0;
  std::uint32_t rate_ = 100;
  std::vector<Region> regions_;
  std::deque<std::uint64_t> revoked_;
  std::map<std::uint64_t, Stale> stale_;
  std::deque<std::uint64_t> to_be_done_;
  std::deque<Revocation> revocations_;
  std::deque<Allowed> to_accept_;
  std::deque<Allowed> under_way_;
  std::vector<Message> asked_;
  std::array<std::array<bool, 32>, kUnits> is_used_{};
  std::uint64_t look_ups_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t strict_ = 0;
  std::uint64_t loose_ = 0;
  std::uint64_t after_done_ = 0;
};

TEST(AtuRandom, agrees_with_the_class_by_the_rule_with_everything_at_once) {
  const char* const said = std::getenv("STOPBIT_SEED");
  const std::uint64_t seed = said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
  Many(seed, by_form<std::uint64_t>(20'000, 100'000, 1'000'000)).run();
}

}  // namespace
}  // namespace stopbit::sim::atu
