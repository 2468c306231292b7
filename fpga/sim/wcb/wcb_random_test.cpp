/// Random messages and hostile parts of all pages between each other, beside the classes.
#include "tests/lib/form.hpp"
#include "wcb_fixture.hpp"

namespace stopbit::sim {
namespace {

using nic::Command;

/// A process that sends whole messages, two at a time, their parts in any order.
class Sender {
 public:
  explicit Sender(std::size_t page, bool sends_long = true) : page_(page), sends_long_(sends_long) {}
  void send(Wcb& wcb) {
    if (parts_.empty()) {
      Random& random = wcb.random();
      for (int m = 0; m < 2; ++m) {
        const std::size_t most = sends_long_ && random.chance(10) ? 2'048 : 200;
        for (const Command& part : cut(number_, bytes_of(1 + random.below(most), random), random, random.chance(50))) {
          parts_.push_back(part);
        }
        ++number_;
        ++begun_;
      }
      for (std::size_t i = parts_.size(); i > 1; --i) std::swap(parts_[i - 1], parts_[random.below(i)]);
    }
    wcb.add(part_of(page_, parts_.back()));
    parts_.pop_back();
  }
  void finish(Wcb& wcb) {
    while (!parts_.empty()) send(wcb);
  }
  [[nodiscard]] std::uint64_t sent() const { return begun_; }

 private:
  std::size_t page_;
  bool sends_long_;
  std::uint8_t number_ = 0;
  std::uint64_t begun_ = 0;
  std::vector<Command> parts_;
};

void send_all(Wcb& wcb, int parts) {
  std::vector<Sender> senders;
  for (std::size_t p = 0; p < kPages; ++p) senders.emplace_back(p);
  std::array<std::uint64_t, kPages> before = wcb.whole;
  for (int i = 0; i < parts; ++i) senders[wcb.random().below(kPages)].send(wcb);
  for (Sender& sender : senders) sender.finish(wcb);
  wcb.drain();
  for (std::size_t p = 0; p < kPages; ++p) {
    EXPECT_EQ(wcb.whole[p] - before[p], senders[p].sent());
    EXPECT_EQ(wcb.refused[p], 0U);
  }
}

TEST(WcbRandom, puts_messages_of_all_pages_together) {
  for (const std::uint32_t stall : {0U, 20U, 60U, 90U}) {
    SCOPED_TRACE(stall);
    Wcb wcb(stall + 1, stall);
    send_all(wcb, by_form(1'500, 250'000));
    EXPECT_EQ(wcb.given_up(), 0U);
  }
}

/// Anything: small numbers and offsets, so that parts meet.
Part hostile(std::size_t page, Random& random) {
  Command command;
  command.operation = nic::Operation::SendPart;
  if (random.chance(2)) command.operation = static_cast<nic::Operation>(random.below(20));
  command.modifiers = random.chance(5) ? nic::kAbort : 0;
  command.target_vpid = static_cast<std::uint16_t>(random.bits());
  command.target_node = static_cast<nic::NodeId>(random.bits());
  command.window = static_cast<std::uint16_t>(random.chance(5)    ? random.bits()
                                              : random.chance(70) ? 8 * (1 + random.below(5))
                                                                  : random.below(48));
  nic::PartHead head;
  head.tag = static_cast<std::uint8_t>(random.bits());
  head.message = static_cast<std::uint8_t>(random.below(4));
  head.offset = static_cast<std::uint16_t>(random.chance(5)    ? random.below(4'096)
                                           : random.chance(5)  ? 2'048 - random.below(60)
                                           : random.chance(60) ? 8 * random.below(8)
                                                               : 40 * random.below(4));
  head.total = static_cast<std::uint16_t>(random.chance(5) ? random.below(4'096) : 1 + random.below(100));
  head.type = static_cast<std::uint8_t>(random.below(4));
  // Sometimes a whole message, so that its number is free again.
  if (random.chance(20)) {
    head.offset = 0;
    head.total = command.window;
  }
  command.tag = nic::to_tag(head) | (random.bits() << 42);
  for (std::size_t i = 2; i < 7; ++i) {
    const std::uint64_t word = random.bits();
    std::memcpy(reinterpret_cast<std::byte*>(&command) + 8 * i, &word, 8);
  }
  Part part = part_of(page, command);
  if (random.chance(3)) {
    const std::size_t words = 2 + random.below(12);
    if ((command.modifiers & nic::kAbort) == 0 && words != part.words.size()) part.is_misshapen = true;
    part.words.resize(words);
  }
  return part;
}

TEST(WcbRandom, takes_anything_from_one_page_without_harm_to_others) {
  for (const std::uint32_t stall : {0U, 30U, 80U}) {
    SCOPED_TRACE(stall);
    Wcb wcb(stall + 7, stall);
    Random& random = wcb.random();
    wcb.set_tick_percent(stall == 0 ? 4 : 1);
    Sender good(6, false);
    const int parts = by_form(6'000, 350'000);
    for (int i = 0; i < parts && !::testing::Test::HasFatalFailure(); ++i) {
      Part part = hostile(random.below(6), random);
      if (random.chance(2)) part.vpid = static_cast<std::uint16_t>(kPorts + random.below(1'000));
      if (random.chance(1)) part.traffic_class = 3;
      wcb.add(part);
      if (i % 100 < 90) good.send(wcb);
      if (random.chance(1)) {
        const std::size_t page = random.below(6);
        wcb.set(page, !wcb.is_open(page));
      }
      // Nothing of it waits so long that it would be given up.
      if (i % 100 == 90) good.finish(wcb);
      while (wcb.pending() > 6) wcb.cycle();
    }
    wcb.drain();
    EXPECT_EQ(wcb.refused[6], 0U);
    EXPECT_EQ(wcb.whole[6], good.sent());
    EXPECT_GT(wcb.late, 20U);
    EXPECT_GT(wcb.cut_short, 20U);
    std::uint64_t whole = 0;
    for (std::size_t p = 0; p < 6; ++p) whole += wcb.whole[p];
    EXPECT_GT(whole, 100U);
    for (const nic::Error error : {nic::Error::None, nic::Error::Command, nic::Error::OriginVpid,
                                   nic::Error::OriginLength, nic::Error::OriginOffset, nic::Error::Full}) {
      EXPECT_GT(std::count(wcb.errors.begin(), wcb.errors.end(), error), 20) << nic::to_name(error);
    }
  }
}

TEST(WcbRandom, begins_again_after_a_reset_at_any_time) {
  Wcb wcb(12, 20);
  Random& random = wcb.random();
  for (int round = 0; round < 30 && !::testing::Test::HasFatalFailure(); ++round) {
    for (int i = 0; i < 30; ++i) wcb.add(hostile(random.below(kPages), random));
    for (std::uint64_t left = random.below(250); left > 0; --left) wcb.cycle();
    wcb.reset();
    wcb.refused = {};
    send_all(wcb, 40);
    EXPECT_EQ(wcb.given_up(), 0U);
    wcb.reset();
    wcb.refused = {};
  }
}

}  // namespace
}  // namespace stopbit::sim
