#pragma once

#include "remote_fixture.hpp"

namespace stopbit::sim::remote {

using Slots = std::vector<record::Slot>;

/// Both publishers, and the copies of each subscriber.
template <class Hardware>
class BasicBeside {
 public:
  BasicBeside(const Program& program, std::uint64_t slots, const std::vector<Wanted>& wanted, std::uint64_t seed)
      : program_(program), ring_slots_(slots), software_(program, slots), hardware_(seed) {
    hardware_.card.start(static_cast<unsigned>(__builtin_ctzll(slots)), program.max_record_slots);
    for (const Wanted& one : wanted) subscribe(one);
  }
  void subscribe(const Wanted& wanted) {
    soft_.push_back(&software_.subscribe(wanted));
    hard_.push_back(&hardware_.subscribe(wanted));
    EXPECT_EQ(hard_.back()->begun, soft_.back()->accept.begin);
    soft_copies_.push_back(std::make_unique<Copy>(program_, ring_slots_));
    hard_copies_.push_back(std::make_unique<Copy>(program_, ring_slots_));
  }
  void publish(const Slots& record) {
    software_.publish(record);
    hardware_.card.push(record);
    hardware_.until_sent();
  }
  /// All bytes of the landing memories, and what is read of both.
  void compare() {
    software_.step(60);
    hardware_.settle();
    for (std::size_t i = 0; i < soft_.size(); ++i) {
      SCOPED_TRACE("subscriber " + std::to_string(i));
      const std::span<const std::byte> soft = soft_[i]->landing.span().first(hard_[i]->wanted.layout.bytes());
      const std::span<const std::byte> hard = std::span(hard_[i]->landing).first(soft.size());
      const auto differs = std::mismatch(soft.begin(), soft.end(), hard.begin());
      ASSERT_EQ(differs.first, soft.end()) << "byte " << differs.first - soft.begin();
      for (;;) {
        const std::span<const std::byte> one = soft_[i]->receiver->receive();
        const std::span<const std::byte> other = hard_[i]->receiver->receive();
        ASSERT_EQ(one.empty(), other.empty());
        if (one.empty()) break;
        soft_copies_[i]->take(one);
        hard_copies_[i]->take(other);
      }
      EXPECT_EQ(hard_[i]->receiver->damaged(), 0U);
    }
  }
  /// The rings, slot by slot, and the accounts. Returns the records in each.
  std::vector<std::size_t> finish() {
    compare();
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < soft_.size(); ++i) {
      SCOPED_TRACE("subscriber " + std::to_string(i));
      const Read soft = read(soft_copies_[i]->reader);
      const Read hard = read(hard_copies_[i]->reader);
      EXPECT_EQ(soft.records, hard.records);
      EXPECT_EQ(soft_copies_[i]->sink.head(), hard_copies_[i]->sink.head());
      const far::SubscriptionStatus status = soft_[i]->subscription->status();
      const Progress progress = hardware_.card.progress(i);
      EXPECT_EQ(progress.records, status.records);
      EXPECT_EQ(progress.slots, status.slots);
      EXPECT_EQ(progress.sent, status.messages);
      EXPECT_EQ(progress.lost, status.lost);
      // The card does not count what a filter keeps back: it is the rest.
      const std::uint64_t published = hardware_.card.position().records - progress.begun;
      EXPECT_EQ(published - progress.records - progress.lost, status.filtered);
      EXPECT_EQ(progress.records, hard_copies_[i]->sink.records());
      sizes.push_back(soft_copies_[i]->sink.records());
    }
    EXPECT_EQ(hardware_.card.position().number, software_.published().head());
    EXPECT_EQ(hardware_.card.position().records, software_.published().records());
    EXPECT_EQ(hardware_.card.overrun, 0U);
    EXPECT_EQ(hardware_.card.malformed, 0U);
    EXPECT_EQ(hardware_.card.surplus, 0U);
    EXPECT_EQ(hardware_.card.stray, 0U);
    EXPECT_EQ(hardware_.unit.events.refused, 0U);
    return sizes;
  }
  Software& software() { return software_; }
  Hardware& hardware() { return hardware_; }
  Copy& soft_copy(std::size_t i) { return *soft_copies_[i]; }
  Copy& hard_copy(std::size_t i) { return *hard_copies_[i]; }

 private:
  Program program_;
  std::uint64_t ring_slots_;
  Software software_;
  Hardware hardware_;
  std::vector<Software::Member*> soft_;
  std::vector<typename Hardware::Member*> hard_;
  std::vector<std::unique_ptr<Copy>> soft_copies_;
  std::vector<std::unique_ptr<Copy>> hard_copies_;
};

[[nodiscard]] inline Wanted everything() {
  Wanted wanted;
  wanted.on_card = {device::Filter{}};
  return wanted;
}

}  // namespace stopbit::sim::remote
