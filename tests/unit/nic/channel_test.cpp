#include "host/nic/channel/channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::channel_test {

constexpr std::uint8_t kMessageEvent = 4;
constexpr std::uint8_t kCreditEvent = 9;

struct Ends {
  explicit Ends(const ModelOptions& options, const ChannelLayout& wanted = {})
      : layout(wanted), network(options), near(network.port(0)), far(network.port(1)) {
    HostPort& from = near.open(1);
    HostPort& to = far.open(2);
    const std::size_t pages = (layout.bytes() + kPageBytes - 1) / kPageBytes;
    staging = near.add_memory(1, pages, Access::Read);
    ring = far.add_memory(2, pages, Access::ReadWrite);
    const auto window = far.rma.open_window(2, ring->nla, layout.bytes(), Access::Write);
    sender = std::make_unique<ChannelSender>(from.queue, from.events, kCreditEvent, staging->bytes(), staging->nla,
                                             layout, ChannelPeer{1, 2, kMessageEvent, *window});
    receiver = std::make_unique<ChannelReceiver>(to.queue, to.events, kMessageEvent, ring->bytes(), layout,
                                                 ChannelPeer{0, 1, kCreditEvent, {}});
  }
  void step() {
    network.set_time(now += 1000);
    near.step(now);
    far.step(now);
  }

  ChannelLayout layout;
  ModelNetwork network;
  Host near;
  Host far;
  std::unique_ptr<Registered> staging;
  std::unique_ptr<Registered> ring;
  std::unique_ptr<ChannelSender> sender;
  std::unique_ptr<ChannelReceiver> receiver;
  std::uint64_t now = 0;
};

std::vector<std::byte> message_of(std::uint64_t number, std::size_t max) {
  std::mt19937_64 random(number);
  std::vector<std::byte> message(1 + random() % max);
  std::ranges::generate(message, [&] { return static_cast<std::byte>(random()); });
  return message;
}

void stream(Ends& ends, std::uint64_t count) {
  std::mt19937_64 random(count);
  std::uint64_t sent = 0;
  for (std::uint64_t received = 0; received != count;) {
    while (sent != count && ends.sender->send(message_of(sent, ends.layout.max_message())) == ChannelResult::Done)
      ++sent;
    ends.step();
    ASSERT_LT(ends.now, 100'000'000'000U) << "it hangs at " << received;
    if (random() % 4 == 0) continue;  // a reader that is sometimes elsewhere
    for (auto message = ends.receiver->receive(); !message.empty(); message = ends.receiver->receive()) {
      ASSERT_TRUE(std::ranges::equal(message, message_of(received, ends.layout.max_message()))) << received;
      ++received;
    }
  }
  EXPECT_EQ(ends.receiver->damaged(), 0U);
}

TEST(Channel, carries_every_message_in_order_over_a_bad_network) {
  for (const ChannelLayout& layout : {ChannelLayout{64, 128}, ChannelLayout{33, 4104}, ChannelLayout{1000, 24}}) {
    ModelOptions options;
    options.seed = layout.slots;
    options.line.loss = {0.05, 2};
    options.line.duplicate = 0.05;
    options.line.reorder = 0.1;
    options.line.reorder_depth = 20;
    options.line.corrupt = 0.02;
    options.line.delay_ns = 3'000;
    Ends ends(options, layout);
    ASSERT_NO_FATAL_FAILURE(stream(ends, 3'000));
  }
}

TEST(Channel, calls_a_handler_once_for_each_message_in_order) {
  Ends ends(ModelOptions{});
  EventCounters& events = ends.far.of_port.at(2)->events;
  std::uint64_t called = 0;
  events.arm(kMessageEvent, [&](std::size_t) {
    const auto message = ends.receiver->receive_taken();
    EXPECT_TRUE(std::ranges::equal(message, message_of(called, ends.layout.max_message()))) << called;
    ++called;
  });
  std::uint64_t sent = 0;
  for (int i = 0; i < 10'000 && called < 500; ++i) {
    while (sent < 500 && ends.sender->send(message_of(sent, ends.layout.max_message())) == ChannelResult::Done) ++sent;
    ends.step();
    (void)events.dispatch();
  }
  EXPECT_EQ(called, 500U);
  EXPECT_TRUE(ends.receiver->receive().empty());
}

TEST(Channel, is_found_among_others_by_its_event) {
  Ends ends(ModelOptions{});
  EventCounters& events = ends.far.of_port.at(2)->events;
  events.watch(kMessageEvent);
  events.watch(kMessageEvent + 1);  // of another channel, where nothing comes
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  for (int i = 0; i < 10'000 && received < 500; ++i) {
    while (sent < 500 && ends.sender->send(message_of(sent, ends.layout.max_message())) == ChannelResult::Done) ++sent;
    ends.step();
    for (std::size_t event = events.next(); event != 0; event = events.next(), ++received) {
      ASSERT_EQ(event, kMessageEvent);
      EXPECT_TRUE(std::ranges::equal(ends.receiver->receive_taken(), message_of(received, ends.layout.max_message())));
    }
  }
  EXPECT_EQ(received, 500U);
}

TEST(Channel, stops_without_credit_and_goes_on_when_the_receiver_reads) {
  Ends ends(ModelOptions{});
  const std::byte one[] = {std::byte{7}};
  std::uint64_t sent = 0;
  for (int i = 0; i < 500; ++i) {
    if (ends.sender->send(one) == ChannelResult::Done) ++sent;
    ends.step();
  }
  EXPECT_EQ(sent, ends.layout.slots - 1U);
  EXPECT_EQ(ends.sender->send(one), ChannelResult::NoCredit);
  // The message returned last is still in use, so 32 credits come with the 33rd call.
  for (std::uint32_t i = 0; i < ChannelLayout::kReplenish; ++i) EXPECT_FALSE(ends.receiver->receive().empty());
  for (int i = 0; i < 50; ++i) ends.step();
  EXPECT_EQ(ends.sender->credits(), 0U);
  EXPECT_FALSE(ends.receiver->receive().empty());
  for (int i = 0; i < 50; ++i) ends.step();
  EXPECT_EQ(ends.sender->credits(), ChannelLayout::kReplenish);
}

TEST(Channel, gives_credits_back_with_one_command_for_32_messages) {
  Ends ends(ModelOptions{});
  ASSERT_NO_FATAL_FAILURE(stream(ends, 3'200));
  EXPECT_LE(ends.far.rma.counters().started, 3'200U / ChannelLayout::kReplenish);
  EXPECT_GE(ends.far.rma.counters().started, 3'200U / ChannelLayout::kReplenish - 2);
}

TEST(Channel, refuses_what_does_not_fit_and_skips_slots_that_lie) {
  Ends ends(ModelOptions{});
  std::vector<std::byte> message(ends.layout.max_message() + 1);
  EXPECT_EQ(ends.sender->send(message), ChannelResult::TooLong);
  EXPECT_EQ(ends.sender->send({}), ChannelResult::TooLong);
  message.pop_back();
  ASSERT_EQ(ends.sender->send(message), ChannelResult::Done);
  // A length that no slot has: the sender's staging memory is the sender's own.
  const std::uint32_t length = 0xFFFF'FFFF;
  std::memcpy(ends.staging->bytes().data() + 8, &length, sizeof(length));
  ASSERT_EQ(ends.sender->send(message), ChannelResult::Done);
  for (int i = 0; i < 50; ++i) ends.step();
  EXPECT_EQ(ends.receiver->receive().size(), message.size());
  EXPECT_TRUE(ends.receiver->receive().empty());
  EXPECT_EQ(ends.receiver->damaged(), 1U);
}

TEST(Channel, knows_which_layouts_can_work) {
  EXPECT_TRUE((ChannelLayout{33, 24}.is_sound()));
  EXPECT_FALSE((ChannelLayout{32, 128}.is_sound())) << "all credits could be on their way back";
  EXPECT_FALSE((ChannelLayout{64, 16}.is_sound()));
  EXPECT_FALSE((ChannelLayout{64, 130}.is_sound()));
  EXPECT_FALSE((ChannelLayout{70'000, 128}.is_sound()));
}

}  // namespace stopbit::nic::channel_test
