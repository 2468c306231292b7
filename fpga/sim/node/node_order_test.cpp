/// What waits until the host has the writes before it: events of ports, and ends of flushes.
#include <Vrtl_node_order.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"
#include "htax_packet.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kMostFlushes = 32;
constexpr std::size_t kMostEvents = 16;  // that wait
constexpr std::uint64_t kCounts = 1024;  // counts of writes are modulo this
constexpr std::uint64_t kMostWrites = 200;
constexpr std::uint64_t kSoon = 5;        // cycles from what an event waits for to the event
constexpr std::uint64_t kFlushSoon = 12;  // and from what a flush waits for

class NodeOrder : public ::testing::Test {
 protected:
  struct Event {
    std::uint16_t vpid = 0;
    std::uint8_t number = 0;
    std::uint64_t sent = 0;  ///< Packets that were sent before it.
  };
  struct Flush {
    std::uint64_t taken = 0;  ///< Writes that were begun before the units had given the page back,
    bool is_handled = false;
    std::uint64_t sent = 0;  ///< and packets that were sent when these were handled.
  };

  NodeOrder() { reset(); }
  void reset() {
    bench_->taken_i = bench_->handled_i = bench_->sent_i = bench_->host_valid_i = bench_->host_ready_i = 0;
    bench_->flush_taken_i = bench_->flush_done_i = bench_->event_valid_i = 0;
    bench_.reset();
    host_.clear();
    events_.clear();
    flushes_.clear();
    taken_ = handled_ = sent_ = gone_ = 0;
    asked_ = answered_ = late_ = flush_late_ = 0;
    offers_ = false;
  }
  /// What happens in a cycle, each with a chance; `more`: also what begins something.
  void cycle(std::uint32_t percent, bool more) {
    const auto may = [&] { return random_.chance(percent); };
    bench_->taken_i = more && may() && taken_ - gone_ < kMostWrites;
    bench_->handled_i = may() && handled_ < taken_;
    bench_->sent_i = bench_->handled_i != 0 && random_.chance(80);  // or it is dropped
    bench_->host_valid_i = !host_.empty() && random_.chance(80);
    bench_->host_ready_i = host_is_shut_ ? 0 : may();
    bench_->host_phit_i = bench_->host_valid_i != 0 ? host_.front() : random_.bits();
    if (!offers_ && more && may()) {
      offers_ = true;
      bench_->event_vpid_i = static_cast<std::uint16_t>(random_.bits());
      bench_->event_number_i = static_cast<std::uint8_t>(random_.below(64));
    }
    bench_->event_valid_i = offers_;
    bench_->flush_taken_i = more && may() && asked_ < kMostFlushes;
    bench_->flush_done_i = may() && answered_ < asked_;
    bench_.settle();
    look();
    if (HasFatalFailure()) return;

    const bool moves = bench_->host_valid_i != 0 && bench_->host_ready_i != 0;
    if (bench_->event_valid_i != 0 && bench_->event_ready_o != 0) {
      events_.push_back({bench_->event_vpid_i, bench_->event_number_i, sent_});
      offers_ = false;
    }
    if (bench_->flush_done_i != 0) {
      flushes_.push_back({.taken = taken_});
      ++answered_;
    }
    asked_ += bench_->flush_taken_i;
    taken_ += bench_->taken_i;
    handled_ += bench_->handled_i;
    if (bench_->sent_i != 0) {
      ++sent_;
      const htax::Packet packet = htax::make(random_, {.channel = htax::kPosted, .length = 1 + random_.below(8)});
      lengths_.push_back(packet.size());
      host_.insert(host_.end(), packet.begin(), packet.end());
    }
    if (moves) {
      host_.pop_front();
      if (--lengths_.front() == 0) {
        lengths_.pop_front();
        ++gone_;
      }
    }
    for (Flush& flush : flushes_) {
      if (flush.is_handled || handled_ < flush.taken) continue;
      flush.is_handled = true;
      flush.sent = sent_;
    }
    bench_.step();
  }
  void look() {
    const std::uint64_t counts =
        (taken_ % kCounts) << 30U | (handled_ % kCounts) << 20U | (sent_ % kCounts) << 10U | gone_ % kCounts;
    ASSERT_EQ(bench_->writes_o, counts);
    if (bench_->event_valid_o != 0) {
      ASSERT_FALSE(events_.empty()) << "an event of none";
      const Event& event = events_.front();
      ASSERT_EQ(bench_->event_vpid_o, event.vpid);
      ASSERT_EQ(bench_->event_number_o, event.number);
      ASSERT_GE(gone_, event.sent) << "an event before the host has what it is about";
      events_.pop_front();
      ++came_;
      late_ = 0;
    } else {
      late_ = !events_.empty() && gone_ >= events_.front().sent ? late_ + 1 : 0;
      ASSERT_LT(late_, kSoon) << "an event does not come";
    }
    if (events_.size() < kMostEvents) {
      ASSERT_NE(bench_->event_ready_o, 0) << "there is room for an event";
    }
    if (bench_->flush_done_o != 0) {
      ASSERT_FALSE(flushes_.empty()) << "an end of no flush";
      const Flush& flush = flushes_.front();
      ASSERT_TRUE(has_gone(flush)) << "a flush before the host has what was written to the page";
      flushes_.pop_front();
      --asked_;
      --answered_;
      ++flushed_;
      flush_late_ = 0;
    } else {
      // A flush that waits for its fence may wait for writes that were begun after it, too.
      flush_late_ = !flushes_.empty() && taken_ == handled_ && sent_ == gone_ ? flush_late_ + 1 : 0;
      ASSERT_LT(flush_late_, kFlushSoon) << "a flush does not end";
    }
    ASSERT_EQ(bench_->flush_room_o != 0, asked_ != kMostFlushes);
  }
  [[nodiscard]] bool has_gone(const Flush& flush) const {
    // What was sent when the last of its writes was handled may be more than its own packets, never less.
    return flush.is_handled && gone_ >= flush.sent;
  }

  Bench<Vrtl_node_order> bench_{13};
  Random random_{14};
  std::deque<std::uint64_t> host_;   ///< Phits on their way to the host.
  std::deque<std::size_t> lengths_;  ///< Of the packets that they form.
  std::deque<Event> events_;         ///< That have not come.
  std::deque<Flush> flushes_;        ///< That the units have answered, and that have not ended.
  std::uint64_t taken_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t gone_ = 0;
  std::uint64_t asked_ = 0;     ///< Flushes that have not ended,
  std::uint64_t answered_ = 0;  ///< and those among them that the units have answered.
  std::uint64_t late_ = 0;
  std::uint64_t flush_late_ = 0;
  std::uint64_t came_ = 0;
  std::uint64_t flushed_ = 0;
  bool offers_ = false;
  bool host_is_shut_ = false;
};

TEST_F(NodeOrder, holds_events_and_ends_of_flushes_until_the_host_has_what_was_before) {
  std::uint64_t most_flushes = 0;
  std::uint64_t resets = 0;
  for (int phase = 0; phase < 200; ++phase) {
    const auto percent = static_cast<std::uint32_t>(5 + random_.below(4) * 20);
    host_is_shut_ = random_.chance(20);
    for (int i = 0; i < 400; ++i) {
      cycle(percent, true);
      if (HasFatalFailure()) return;
      most_flushes = std::max(most_flushes, asked_);
    }
    if (random_.chance(30)) {
      ++resets;
      lengths_.clear();
      reset();
      continue;
    }
    host_is_shut_ = false;
    const auto is_over = [&] {
      return taken_ == handled_ && sent_ == gone_ && events_.empty() && asked_ == 0 && !offers_;
    };
    for (int i = 0; i < 20'000 && !is_over(); ++i) {
      cycle(90, false);
      if (HasFatalFailure()) return;
    }
    ASSERT_TRUE(is_over());
  }
  EXPECT_EQ(most_flushes, kMostFlushes);
  EXPECT_GT(came_, 3'000U);
  EXPECT_GT(flushed_, 1'000U);
  EXPECT_GT(resets, 30U);
}

}  // namespace
}  // namespace stopbit::sim
