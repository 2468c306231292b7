// Books that lose messages and get them back: a simulated exchange, whose books are known, sends increments and
// snapshots through the stage; a reader applies the events.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/form.hpp"
#include "tests/unit/market/stage/simulated_exchange.hpp"

namespace stopbit::market::recovery_test {

using namespace simulated;

/// One day: bursts of loss, a carousel of snapshots that is lossy too, resets; then a quiet end.
class Day {
 public:
  Day(ScopeOf scope, std::uint64_t seed, const RecoveryOptions& options)
      : scope_(scope), seed_(seed), options_(options), exchange_(scope, seed, kInstruments) {
    begin_process();
  }
  /// The process that receives ends now and then, and another one goes on from what it has saved.
  void restarts() { restarts_ = true; }

  void run() {
    constexpr int kSteps = 600;
    constexpr int kQuiet = 200;
    if (exchange_.random().chance(50)) skip(1 + exchange_.random().below(20));  // joins late
    for (int step = 0; step < kSteps + kQuiet && !::testing::Test::HasFatalFailure(); ++step) {
      stage_->now += 1'000'000;
      const bool is_quiet = step >= kSteps;
      if (restarts_ && exchange_.random().chance(10)) saved_ = stage_->save();
      if (restarts_ && !is_quiet && exchange_.random().chance(3)) restart();
      if (!is_quiet && burst_ == 0 && exchange_.random().chance(3)) burst_ = 1 + exchange_.random().below(6);
      send_increment(burst_ != 0);
      if (burst_ != 0) --burst_;
      if (exchange_.random().chance(40)) send_snapshot(!is_quiet && exchange_.random().chance(10));
      check(step);
    }
    for (std::uint32_t security = 1; security <= kInstruments; ++security) {
      EXPECT_EQ(stage_->standing(security), Standing::Latest)
          << "security " << security << " at the end, seed " << seed_;
    }
    EXPECT_EQ(stage_->counts().differences, contradictions_) << "seed " << seed_;
  }
  MarketCounts counts() const { return stage_->counts(); }
  std::uint64_t books_taken_over() const { return books_taken_over_; }
  std::uint64_t latest_at_once() const { return latest_at_once_; }

 private:
  static constexpr std::uint32_t kInstruments = 7;

  void begin_process() {
    stage_ = std::make_unique<Stage>(scope_, kInstruments, options_);
    contradictions_ = 0;
  }
  void restart() {
    const std::uint64_t now = stage_->now;
    const std::uint64_t era = stage_->era();
    if (exchange_.random().chance(30)) saved_ = stage_->save();  // it ends in good order
    begin_process();
    stage_->now = now;
    if (!saved_.empty() && delivered_ != 0) books_taken_over_ += stage_->restore(saved_, era, delivered_).books;
    if (exchange_.random().chance(50)) burst_ = exchange_.random().below(10);  // it is down for so long
    was_restarted_ = true;
  }
  void skip(std::uint64_t count) {
    for (; count != 0; --count) (void)exchange_.next(stage_->now);
    delivered_ = exchange_.sequence();
  }
  void send_increment(bool is_lost) {
    const bool resets = scope_ != ScopeOf::Product && exchange_.random().chance(1) && exchange_.random().chance(50);
    const Exchange::Message message = resets ? exchange_.reset(stage_->now) : exchange_.next(stage_->now);
    is_reset_lost_ = is_reset_lost_ || (resets && is_lost);
    if (is_lost) return;
    if (message.sequence != delivered_ + 1) {
      stage_->event(kIncrements, record::EventKind::Gap, delivered_ + 1, message.sequence - delivered_ - 1);
      if (is_reset_lost_) {
        // Nothing tells of a reset that was lost but the exchange's next run of numbers.
        stage_->event(kIncrements, record::EventKind::Reset, message.sequence);
        is_reset_lost_ = false;
      }
    }
    delivered_ = message.sequence;
    stage_->message(kIncrements, message.sequence, message.json);
    seen_ = exchange_.books();
    if (!std::exchange(was_restarted_, false)) return;
    for (std::uint32_t one = 1; one <= kInstruments; ++one)
      latest_at_once_ += stage_->standing(one) == Standing::Latest;
  }
  void send_snapshot(bool is_lossy) {
    if (cycle_at_ == kInstruments) {
      cycle_at_ = 0;
      snapshot_sequence_ = 0;
      ++epoch_;
    }
    const std::uint32_t security = ++cycle_at_;
    pictured_[security] = exchange_.book(security);
    const std::uint64_t before = stage_->counts().differences;
    for (const std::string& part : exchange_.snapshot(security, stage_->now)) {
      ++snapshot_sequence_;
      if (is_lossy && exchange_.random().chance(50)) continue;
      stage_->message(kSnapshots, snapshot_sequence_, part, epoch_);
    }
    // A snapshot of after a reset that was lost has numbers that begin anew: one may be the book's.
    if (is_reset_lost_) contradictions_ += stage_->counts().differences - before;
  }
  void check(int step) {
    if (seen_.empty() || is_reset_lost_) return;
    for (std::uint32_t security = 1; security <= kInstruments; ++security) {
      const std::uint32_t row = stage_->row(security);
      if (row == 0 || stage_->books().standing(row) != Standing::Latest) continue;
      const TrueBook book = stage_->book(row);
      // That of the newest message, or ahead of it by a snapshot.
      const bool is_ahead = exchange_.sequence() != delivered_ && same_rows(book, pictured_[security]);
      ASSERT_TRUE(same_rows(book, seen_[security]) || is_ahead)
          << "security " << security << " is latest and wrong, seed " << seed_ << " step " << step;
      ASSERT_TRUE(stage_->is_whole(row)) << "seed " << seed_ << " step " << step;
    }
  }

  ScopeOf scope_;
  std::uint64_t seed_;
  RecoveryOptions options_;
  Exchange exchange_;
  std::unique_ptr<Stage> stage_;
  bool restarts_ = false;
  bool was_restarted_ = false;
  std::vector<record::Slot> saved_;
  std::uint64_t books_taken_over_ = 0;
  std::uint64_t latest_at_once_ = 0;  ///< Books after the first message of a process.
  std::vector<TrueBook> seen_;        ///< By the messages that came.
  std::vector<TrueBook> pictured_ = std::vector<TrueBook>(kInstruments + 1);  ///< By the newest snapshots.
  std::uint64_t burst_ = 0;
  std::uint32_t delivered_ = 0;
  bool is_reset_lost_ = false;
  std::uint64_t contradictions_ = 0;  ///< Of snapshots, in this process, with a book from before a lost reset.
  std::uint32_t cycle_at_ = 0;
  std::uint32_t snapshot_sequence_ = 0;
  std::uint16_t epoch_ = 0;
};

class Recovery : public ::testing::TestWithParam<ScopeOf> {};

/// The first entry of an instrument ends the doubt, and comes after the exchange has emptied all books.
TEST(RecoveryOfBooks, knows_that_a_book_was_empty_that_it_first_sees_in_doubt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Exchange exchange(ScopeOf::Instrument, seed, 7);
    Stage stage(ScopeOf::Instrument, 7, {.policy = Policy::Pessimistic});
    stage.message(kIncrements, 1, exchange.reset(stage.now).json);
    const std::uint64_t lost = exchange.next(stage.now).sequence;
    stage.event(kIncrements, record::EventKind::Gap, static_cast<std::uint32_t>(lost));
    for (int i = 0; i < 40; ++i) {
      const Exchange::Message message = exchange.next(stage.now += 1'000);
      stage.message(kIncrements, message.sequence, message.json);
      for (std::uint32_t security = 1; security <= 7; ++security) {
        if (stage.standing(security) != Standing::Latest) continue;
        EXPECT_TRUE(same_rows(stage.book(stage.row(security)), exchange.book(security))) << seed << ' ' << security;
        EXPECT_TRUE(stage.is_whole(stage.row(security))) << seed << ' ' << security;
      }
    }
  }
}

TEST_P(Recovery, makes_each_book_right_again_and_none_latest_that_is_wrong) {
  const std::uint64_t days = by_form<std::uint64_t>(6, 12, 1'000);
  MarketCounts sum;
  for (std::uint64_t seed = 1; seed <= days && !HasFailure(); ++seed) {
    RecoveryOptions options;
    options.policy = seed % 3 == 0 ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = seed % 2 == 0;
    options.queued = seed % 5 == 0 ? 8 : 4'096;
    Day day(GetParam(), seed, options);
    day.run();
    const MarketCounts counts = day.counts();
    sum.losses += counts.losses;
    sum.loads += counts.loads;
    sum.audits += counts.audits;
    sum.unqueued += counts.unqueued;
    sum.refreshes += counts.refreshes;
    sum.torn_snapshots += counts.torn_snapshots;
  }
  // Each of these was tried.
  EXPECT_GT(sum.losses, 10U);
  EXPECT_GT(sum.loads, 50U);
  EXPECT_GT(sum.audits, 50U);
  EXPECT_GT(sum.unqueued, 0U);
  EXPECT_GT(sum.refreshes, 10U);
  EXPECT_GT(sum.torn_snapshots, 0U);
}

TEST_P(Recovery, goes_on_over_restarts_of_the_process) {
  const std::uint64_t days = by_form<std::uint64_t>(6, 12, 1'000);
  std::uint64_t taken_over = 0;
  std::uint64_t latest = 0;
  for (std::uint64_t seed = 1; seed <= days && !HasFailure(); ++seed) {
    RecoveryOptions options;
    options.policy = seed % 3 == 0 ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = seed % 2 == 0;
    Day day(GetParam(), seed, options);
    day.restarts();
    day.run();
    taken_over += day.books_taken_over();
    latest += day.latest_at_once();
  }
  EXPECT_GT(taken_over, 50 * days);
  EXPECT_GT(latest, 5 * days);
}

std::string scope_name(const ::testing::TestParamInfo<ScopeOf>& scope) {
  switch (scope.param) {
    case ScopeOf::Instrument: return "instrument";
    case ScopeOf::Product: return "product";
    case ScopeOf::Channel: return "channel";
  }
  return {};
}
INSTANTIATE_TEST_SUITE_P(scopes, Recovery, ::testing::Values(ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel),
                         scope_name);

// What a feed can do to hurt.

std::string increment(std::uint32_t sequence, std::uint32_t security, std::uint32_t number, int price, int action = 0) {
  return R"({"template":"Refresh","fields":{"MsgSeqNum":)" + std::to_string(sequence) + R"(,"SendingTime":)" +
         std::to_string(kBegin) + R"(,"Entries":[{"Security":)" + std::to_string(security) + R"(,"RptSeq":)" +
         std::to_string(number) + R"(,"Action":)" + std::to_string(action) + R"(,"Type":"0","Price":)" +
         std::to_string(price) + R"(,"Size":5}]}})";
}
std::string picture(std::uint32_t security, std::uint32_t number, std::uint32_t processed, int price,
                    std::uint64_t sent = kBegin, int first = 1, int last = 1) {
  return R"({"template":"Snapshot","fields":{"SendingTime":)" + std::to_string(sent) + R"(,"Security":)" +
         std::to_string(security) + R"(,"Number":)" + std::to_string(number) + R"(,"Processed":)" +
         std::to_string(processed) + R"(,"First":)" + std::to_string(first) + R"(,"Last":)" + std::to_string(last) +
         R"(,"Entries":[{"Type":"0","Price":)" + std::to_string(price) + R"(,"Size":5}]}})";
}
const TrueBook bid_at(std::int64_t price) {
  return {.bids = {{price, 5}}, .asks = {}, .number = 0};
}

/// Security 1 is at 10, and its next two entries are lost.
void lose_two(Stage& stage) {
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  stage.message(kSnapshots, 1, picture(1, 10, 1, 50));
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  stage.message(kIncrements, 2, increment(2, 1, 13, 60));
  ASSERT_EQ(stage.standing(1), Standing::Stale);
}

TEST(HostileSnapshots, of_the_past_change_nothing) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  const TrueBook before = stage.book(1);
  for (const std::uint32_t number : {0U, 1U, 9U, 10U, 11U}) stage.message(kSnapshots, 2, picture(1, number, 0, 99));
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  EXPECT_EQ(stage.counts().old_snapshots, 5U);
  stage.message(kSnapshots, 3, picture(1, 12, 2, 55));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1), (TrueBook{.bids = {{55, 5}, {60, 5}}, .asks = {}, .number = 0})) << "with what waited";
}

TEST(HostileSnapshots, of_the_future_are_taken_by_instruments_that_miss_something_only) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.message(kIncrements, 3, increment(3, 2, 1, 70));
  stage.message(kSnapshots, 2, picture(2, 1, 3, 70));
  ASSERT_EQ(stage.standing(2), Standing::Latest);
  stage.message(kSnapshots, 3, picture(2, 4'000'000'000U, 4'000'000'000U, 99));
  EXPECT_EQ(stage.book(stage.row(2)), bid_at(70));
  stage.message(kSnapshots, 4, picture(1, 4'000'000'000U, 4'000'000'000U, 99));
  EXPECT_EQ(stage.book(1), bid_at(99));
  // It is the book at that number, so the entries up to it are in it; the next one after it is applied.
  stage.message(kIncrements, 4, increment(4, 1, 14, 61));
  EXPECT_EQ(stage.book(1), bid_at(99));
  stage.message(kIncrements, 5, increment(5, 1, 4'000'000'001U, 61));
  EXPECT_EQ(stage.book(1).bids.size(), 2U);
}

TEST(HostileSnapshots, that_are_torn_or_mixed_are_no_books) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  const TrueBook before = stage.book(1);
  stage.message(kSnapshots, 2, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 4, picture(1, 20, 9, 98, kBegin, 0, 1));  // 3 is missing
  stage.message(kSnapshots, 5, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 6, picture(1, 21, 9, 98, kBegin, 0, 1));  // another number
  stage.message(kSnapshots, 7, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 8, picture(2, 20, 9, 98, kBegin, 0, 1));  // another instrument
  stage.message(kSnapshots, 9, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 10, picture(1, 20, 9, 98, kBegin, 0, 1), 1);  // another cycle, whose places go on
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.counts().loads, 1U) << "that before the loss";
  EXPECT_GE(stage.counts().torn_snapshots, 3U);
  stage.message(kSnapshots, 11, picture(1, 20, 9, 99), 1);
  EXPECT_EQ(stage.book(1), bid_at(99));
}

TEST(HostileSnapshots, with_more_entries_than_there_is_room_for_are_dropped) {
  Stage stage(ScopeOf::Instrument, 8, {.picture = 2});
  lose_two(stage);
  const TrueBook before = stage.book(1);
  stage.message(kSnapshots, 2, picture(1, 20, 9, 97, kBegin, 1, 0));
  stage.message(kSnapshots, 3, picture(1, 20, 9, 98, kBegin, 0, 0));
  stage.message(kSnapshots, 4, picture(1, 20, 9, 99, kBegin, 0, 1));
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.counts().torn_snapshots, 1U);
}

TEST(HostileSnapshots, from_before_a_reset_are_dropped) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.event(kIncrements, record::EventKind::Reset, 1);
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  stage.message(kIncrements, 1, increment(1, 1, 1, 40));
  stage.message(kSnapshots, 2, picture(1, 500, 900, 99, kBegin - 1));
  EXPECT_NE(stage.book(1), bid_at(99));
  stage.message(kSnapshots, 3, picture(1, 1, 1, 40));
  EXPECT_EQ(stage.book(1), bid_at(40));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
}

TEST(RecoveryOfBooks, counts_which_books_a_loss_hit_and_how_they_healed) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.message(kIncrements, 3, increment(3, 2, 1, 70));
  stage.message(kSnapshots, 2, picture(2, 1, 3, 70));
  EXPECT_EQ(stage.counts().hit, 1U);
  EXPECT_EQ(stage.counts().healed_by_snapshot + stage.counts().healed_by_message, 0U) << "the first book heals nothing";
  stage.now += 5'000'000;
  stage.message(kSnapshots, 3, picture(1, 13, 3, 55));
  EXPECT_EQ(stage.counts().healed_by_snapshot, 1U);
  EXPECT_EQ(stage.counts().stale_us, 5'000U);
  // A lost packet puts both in doubt; the next number of one shows that it lost nothing.
  stage.event(kIncrements, record::EventKind::Gap, 4);
  EXPECT_EQ(stage.standing(1), Standing::Suspect);
  EXPECT_EQ(stage.counts().hit, 3U);
  stage.now += 1'000'000;
  stage.message(kIncrements, 5, increment(5, 1, 14, 61));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.standing(2), Standing::Suspect);
  EXPECT_EQ(stage.counts().healed_by_message, 1U);
  EXPECT_EQ(stage.counts().stale_us, 6'000U);
}

TEST(RecoveryOfBooks, says_how_long_the_book_that_is_stale_longest_is_so) {
  Stage stage(ScopeOf::Instrument, 8);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  stage.now += kSecond;
  stage.message(kSnapshots, 1, picture(2, 1, 1, 70));
  EXPECT_EQ(stage.translator().delays().joining_ns, kSecond) << "its first snapshot is missing";
  EXPECT_EQ(stage.translator().delays().stale_ns, 0U) << "nothing was right before";
  stage.message(kSnapshots, 2, picture(1, 10, 1, 50));
  EXPECT_EQ(stage.translator().delays().joining_ns, 0U);
  stage.message(kIncrements, 2, increment(2, 1, 13, 60));
  stage.now += kSecond;
  stage.message(kIncrements, 3, increment(3, 2, 4, 80));
  ASSERT_EQ(stage.standing(1), Standing::Stale);
  ASSERT_EQ(stage.standing(2), Standing::Stale);
  EXPECT_EQ(stage.translator().delays().stale_ns, kSecond);
  stage.translator().tick(stage.now + kSecond);
  EXPECT_EQ(stage.translator().delays().stale_ns, 2 * kSecond) << "nothing comes, and time passes";
  stage.message(kSnapshots, 3, picture(1, 13, 3, 55));
  EXPECT_EQ(stage.translator().delays().stale_ns, 0U) << "the other one has become so now";
  stage.now += kSecond;
  stage.translator().tick(stage.now);
  EXPECT_EQ(stage.translator().delays().stale_ns, kSecond);
  stage.message(kSnapshots, 4, picture(2, 4, 3, 85));
  stage.translator().tick(stage.now + kSecond);
  EXPECT_EQ(stage.translator().delays().stale_ns, 0U);
}

TEST(RecoveryOfBooks, compares_the_cycle_of_snapshots_with_what_is_announced) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  RecoveryOptions options;
  options.channels = {
      {.number = kIncrements, .recovers = {}},
      {.number = kSnapshots, .has_increments = false, .recovers = kIncrements, .cycle_ns = 2 * kSecond}};
  Stage stage(ScopeOf::Instrument, 8, options);
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  EXPECT_EQ(stage.translator().delays().cycle_ns, 0U) << "none has begun";
  stage.message(kSnapshots, 1, picture(1, 10, 1, 50), 1);
  stage.now += 2 * kSecond;
  stage.message(kSnapshots, 1, picture(1, 10, 1, 50), 2);
  EXPECT_EQ(stage.translator().delays().cycle_ns, 2 * kSecond);
  EXPECT_EQ(stage.translator().delays().announced_cycle_ns, 2 * kSecond);
  stage.translator().tick(stage.now + 3 * kSecond);
  EXPECT_EQ(stage.counts().late_cycles, 0U);
  stage.translator().tick(stage.now + 3 * kSecond + 1);
  EXPECT_EQ(stage.counts().late_cycles, 1U);
  EXPECT_EQ(stage.translator().delays().cycle_ns, 3 * kSecond + 1);
  EXPECT_EQ(options.stale_limit_ns(), 3 * kSecond);
  options.patience_ns = kSecond;
  EXPECT_EQ(options.stale_limit_ns(), kSecond) << "a replay is faster";
  EXPECT_EQ(RecoveryOptions().stale_limit_ns(), 0U);
}

TEST(RecoveryOfBooks, says_with_a_loss_how_its_books_became_right) {
  RecoveryOptions options;
  options.refresh = true;
  Stage stage(ScopeOf::Instrument, 8, options);
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  stage.message(kSnapshots, 1, picture(1, 10, 1, 50), 1);
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  stage.event(kIncrements, record::EventKind::Gap, 2);
  stage.message(kIncrements, 3, increment(3, 1, 12, 60));
  ASSERT_EQ(stage.standing(1), Standing::Stale);
  stage.message(kSnapshots, 1, picture(2, 0, 3, 50), 2);
  stage.message(kSnapshots, 1, picture(1, 12, 3, 55), 3);
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  LossEffect effect;
  ASSERT_TRUE(stage.translator().next_effect(effect, true));
  EXPECT_EQ(effect.first, 2U);
  EXPECT_EQ(effect.books, 1U);
  EXPECT_EQ(effect.refreshed, 1U);
  EXPECT_EQ(effect.by_snapshot, 1U);
  EXPECT_EQ(effect.cycles, 2U);
}

TEST(SnapshotCycle, begins_with_an_instrument_that_comes_again) {
  SnapshotCycle cycle(0, 2);
  cycle.note(1, 100);
  cycle.note(2, 200);
  EXPECT_EQ(cycle.begun(), 1U);
  cycle.note(1, 1'100);
  cycle.note(2, 1'200);
  EXPECT_EQ(cycle.begun(), 2U);
  EXPECT_EQ(cycle.length_ns(1'300), 1'000U);
  cycle.begin(2'000);  // by packet numbers
  cycle.note(1, 2'000);
  EXPECT_EQ(cycle.begun(), 3U);
}

TEST(SnapshotCycle, that_never_comes_is_as_long_as_it_is_waited_for) {
  SnapshotCycle cycle(1'000, 2);
  EXPECT_EQ(cycle.length_ns(5'000), 0U) << "nothing has come on the channel";
  cycle.tick(5'000);
  cycle.tick(6'000);
  EXPECT_EQ(cycle.length_ns(8'000), 3'000U);
  cycle.set_back(4'000);
  EXPECT_EQ(cycle.length_ns(5'000), 4'000U);
  cycle.begin(5'500);
  EXPECT_EQ(cycle.length_ns(5'600), 100U);
}

TEST(RecoveryOfBooks, are_stale_for_as_long_however_far_the_clock_is_set_back) {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  Stage stage(ScopeOf::Instrument, 8);
  Translator& translator = stage.translator();
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  const std::uint64_t begin_ns = translator.now_ns();
  translator.tick(begin_ns + kHour);
  ASSERT_EQ(translator.delays().joining_ns, kHour);
  translator.tick(begin_ns + kHour - 1'000'000'000);
  EXPECT_EQ(translator.delays().joining_ns, kHour - 1'000'000'000) << "a port that is read late";
  translator.tick(begin_ns + kHour);
  translator.tick(begin_ns + 60'000'000'000);  // set back
  EXPECT_EQ(translator.delays().joining_ns, kHour);
  for (std::uint64_t second = 61; second <= 90; ++second) translator.tick(begin_ns + second * 1'000'000'000);
  EXPECT_EQ(translator.delays().joining_ns, kHour + 30'000'000'000);
}

TEST(RecoveryOfBooks, are_not_stale_for_longer_because_datagrams_waited_for_a_process_that_was_stopped) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  Stage stage(ScopeOf::Instrument, 8);
  Translator& translator = stage.translator();
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  const std::uint64_t begin_ns = translator.now_ns();
  for (std::uint64_t i = 0; i < 100; ++i) {
    translator.tick(begin_ns + 60 * kSecond);
    translator.tick(begin_ns + 45 * kSecond);  // arrivals of before, read in turns with the clock
  }
  translator.tick(begin_ns + 60 * kSecond);
  EXPECT_EQ(translator.delays().joining_ns, 60 * kSecond);
}

TEST(Healing, waits_for_no_book_of_a_removed_instrument) {
  const auto books = std::make_unique<BookSet>(BookRoom{.instruments = 2});
  ASSERT_EQ(books->define(1, {}), Fault::None);
  MarketCounts counts;
  Healing healing(*books, counts);
  healing.note_row(1, 1'000);
  EXPECT_EQ(healing.joining_ns(5'000), 4'000U);
  healing.note(Event::of({.instrument = 1, .kind = Kind::Removed}));
  EXPECT_EQ(healing.joining_ns(5'000), 0U);
  healing.note_row(1, 2'000);
  EXPECT_EQ(healing.joining_ns(5'000), 0U);
  healing.note(Event::of({.arrival_ns = 3'000, .instrument = 1, .kind = Kind::Definition}));
  EXPECT_EQ(healing.joining_ns(5'000), 2'000U);
}

TEST(RecoveryOfBooks, continues_numbers_of_packets_that_go_round) {
  Stage stage(ScopeOf::Channel, 8);
  std::uint32_t sequence = 0xFFFF'FFFEU;
  stage.message(kIncrements, sequence, increment(1, 1, 1, 50));
  stage.message(kSnapshots, 1, picture(1, sequence, sequence, 50));
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  stage.message(kIncrements, ++sequence, increment(1, 1, 2, 51));
  stage.message(kIncrements, ++sequence, increment(1, 1, 3, 52));
  EXPECT_EQ(sequence, 0U);
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1).bids.size(), 3U);
  EXPECT_EQ(stage.counts().losses, 0U);
  stage.message(kIncrements, sequence + 2, increment(1, 1, 5, 53));
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  EXPECT_EQ(stage.counts().losses, 1U);
}

TEST(RecoveryOfBooks, says_that_kept_entries_found_no_room_and_takes_a_later_snapshot) {
  Stage stage(ScopeOf::Instrument, 8, {.refresh = false, .queued = 4});
  lose_two(stage);
  for (std::uint32_t i = 0; i < 10; ++i) {
    stage.message(kIncrements, 3 + i, increment(3 + i, 1, 14 + i, static_cast<int>(61 + i)));
  }
  EXPECT_GT(stage.counts().unqueued, 0U);
  EXPECT_EQ(stage.books().status(1).cause, Cause::Queue);
  stage.message(kSnapshots, 2, picture(1, 14, 3, 99));
  EXPECT_EQ(stage.standing(1), Standing::Stale) << "entries after it are gone";
  stage.message(kSnapshots, 3, picture(1, 21, 10, 99));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1).bids.size(), 3U) << "99, and the two that were kept after it";
}

TEST(RecoveryOfBooks, of_many_instruments_that_are_stale_at_once) {
  const std::uint32_t many = by_form<std::uint32_t>(10'000, 100'000, 1'000'000);
  Stage stage(ScopeOf::Channel, many, {.queued = 1'024});
  stage.follow(false);  // a reader that compares would take hours
  std::uint32_t sequence = 0;
  for (std::uint32_t i = 1; i <= many; ++i) {
    ++sequence;
    stage.message(kIncrements, sequence, increment(sequence, i, 1, 50));
  }
  std::uint32_t place = 0;
  for (std::uint32_t i = 1; i <= many; ++i) stage.message(kSnapshots, ++place, picture(i, sequence, sequence, 50));
  ASSERT_EQ(stage.books().count_of(Standing::Latest), many);
  stage.event(kIncrements, record::EventKind::Gap, ++sequence);
  EXPECT_EQ(stage.books().count_of(Standing::Stale), many);
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    ++sequence;
    stage.message(kIncrements, sequence, increment(sequence, i, 3, 51));
  }
  EXPECT_GT(stage.counts().unqueued, 0U);
  for (std::uint32_t i = 1; i <= many; ++i) stage.message(kSnapshots, ++place, picture(i, sequence, sequence, 52), 1);
  EXPECT_EQ(stage.books().count_of(Standing::Latest), many);
  EXPECT_EQ(stage.book(stage.row(many)), bid_at(52));
}

}  // namespace stopbit::market::recovery_test
