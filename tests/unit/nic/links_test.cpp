#include "host/nic/link/links.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "microcode/image/crc32c.hpp"

namespace stopbit::nic::links_test {

/// Checks that every packet comes exactly once, in order, and an early one before its turn or at it.
class Checker final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override {
    const std::uint64_t number = number_of(packet);
    EXPECT_GE(number, next[from][static_cast<std::size_t>(channel)]);
    if (number != next[from][static_cast<std::size_t>(channel)]) ++overtaking;
    ++early_packets;
    return static_cast<std::uint8_t>(number % 251);
  }
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t status) override {
    if (blocked && channel == VirtualChannel::Low) return false;
    const std::uint64_t number = number_of(packet);
    if (number >= limit) return false;
    EXPECT_EQ(number, next[from][static_cast<std::size_t>(channel)]++);
    EXPECT_EQ(packet.size(), 8 + number % 100);
    EXPECT_EQ(status, number % 3 == 0 ? number % 251 : 0U);
    return true;
  }
  void lost(NodeId peer) override { lost_peers.push_back(peer); }

  static std::uint64_t number_of(std::span<const std::byte> packet) {
    std::uint64_t number = 0;
    EXPECT_GE(packet.size(), sizeof(number));
    std::memcpy(&number, packet.data(), std::min(packet.size(), sizeof(number)));
    return number;
  }

  std::array<std::array<std::uint64_t, kChannels>, 3> next{};
  std::uint64_t overtaking = 0;
  std::uint64_t early_packets = 0;
  bool blocked = false;
  std::uint64_t limit = ~std::uint64_t{0};  ///< Packets from this one on are held up.
  std::vector<NodeId> lost_peers;
};

struct Net {
  explicit Net(const ModelOptions& options, const LinkOptions& link = {}) : network(options) {
    for (std::size_t node = 0; node < options.nodes; ++node) {
      links.push_back(std::make_unique<Links>(network.port(static_cast<NodeId>(node)), link));
    }
    sinks.resize(options.nodes);
  }
  void step(std::uint64_t by_ns = 1000) {
    network.set_time(now += by_ns);
    for (std::size_t node = 0; node < links.size(); ++node) links[node]->step(sinks[node], now);
  }
  SendResult send(NodeId from, NodeId to, VirtualChannel channel, std::uint64_t number) {
    std::vector<std::byte> packet(8 + number % 100);
    std::memcpy(packet.data(), &number, sizeof(number));
    return links[from]->send(to, channel, packet, number % 3 == 0, now);
  }

  ModelNetwork network;
  std::vector<std::unique_ptr<Links>> links;
  std::deque<Checker> sinks;
  std::uint64_t now = 0;
};

void run_everybody_to_everybody(const ModelOptions& options, std::uint64_t packets) {
  Net net(options);
  std::array<std::array<std::array<std::uint64_t, kChannels>, 3>, 3> sent{};
  for (bool all_sent = false; !all_sent;) {
    all_sent = true;
    for (NodeId from = 0; from < options.nodes; ++from) {
      for (NodeId to = 0; to < options.nodes; ++to) {
        for (std::size_t channel = 0; channel < kChannels; ++channel) {
          std::uint64_t& number = sent[from][to][channel];
          while (number < packets &&
                 net.send(from, to, static_cast<VirtualChannel>(channel), number) == SendResult::Sent) {
            ++number;
          }
          all_sent = all_sent && number == packets;
        }
      }
    }
    net.step();
    ASSERT_LT(net.now, 10'000'000'000U) << "it hangs";
  }
  const auto idle = [&] {
    return std::all_of(net.links.begin(), net.links.end(), [](const auto& links) { return links->is_idle(); });
  };
  while (!idle()) {
    net.step();
    ASSERT_LT(net.now, 20'000'000'000U) << "it hangs";
  }
  std::uint64_t overtaking = 0;
  for (NodeId to = 0; to < options.nodes; ++to) {
    for (NodeId from = 0; from < options.nodes; ++from) {
      for (std::size_t channel = 0; channel < kChannels; ++channel)
        EXPECT_EQ(net.sinks[to].next[from][channel], packets);
    }
    EXPECT_TRUE(net.sinks[to].lost_peers.empty());
    overtaking += net.sinks[to].overtaking;
    if (options.line.corrupt > 0) {
      EXPECT_GT(net.links[to]->counters().damaged, 0U);
    }
    if (options.line.duplicate > 0) {
      EXPECT_GT(net.links[to]->counters().duplicates, 0U);
    }
    EXPECT_EQ(net.links[to]->counters().foreign, 0U);
    if (options.line.loss.rate == 0) {
      EXPECT_EQ(net.links[to]->counters().resent, 0U);
    }
  }
  if (options.line.reorder > 0) {
    EXPECT_GT(overtaking, 0U);
  }
}

TEST(Links, deliver_everything_over_a_perfect_network_without_sending_twice) {
  ModelOptions options;
  options.nodes = 3;
  options.line.delay_ns = 5'000;
  run_everybody_to_everybody(options, 2'000);
}

TEST(Links, deliver_exactly_once_and_in_order_over_a_network_that_does_everything_wrong) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ModelOptions options;
    options.nodes = 3;
    options.seed = seed * 1000;
    options.line.loss = {0.05, 2};
    options.line.duplicate = 0.05;
    options.line.reorder = 0.1;
    options.line.reorder_depth = 20;
    options.line.corrupt = 0.02;
    options.line.delay_ns = 3'000;
    run_everybody_to_everybody(options, 700);
  }
}

TEST(Links, acknowledge_once_for_half_a_window_when_traffic_goes_one_way) {
  Net net({});
  std::uint64_t number = 0;
  while (number < 3200) {
    while (number < 3200 && net.send(0, 1, VirtualChannel::Low, number) == SendResult::Sent) ++number;
    net.step();
  }
  net.step(50'000);
  net.step();
  EXPECT_EQ(net.sinks[1].next[0][0], 3200U);
  EXPECT_LE(net.network.frames(), 3200U + 3200U / 32 + 2 + 4);  // four for the session
  EXPECT_EQ(net.links[0]->counters().resent, 0U);
}

TEST(Links, keep_the_high_channel_going_while_the_low_one_waits) {
  Net net({});
  net.sinks[1].blocked = true;
  std::uint64_t low = 0;
  for (std::uint64_t high = 0; high < 1000; ++high) {
    while (net.send(0, 1, VirtualChannel::Low, low) == SendResult::Sent) ++low;
    ASSERT_EQ(net.send(0, 1, VirtualChannel::High, high), SendResult::Sent);
    net.step();
    net.step();
  }
  net.step(50'000);
  EXPECT_EQ(low, Links::kWindow);
  EXPECT_EQ(net.sinks[1].next[0][1], 1000U);
  EXPECT_EQ(net.sinks[1].next[0][0], 0U);
  for (int i = 0; i < 100; ++i) net.step(100'000);  // it waits long, but it answers
  EXPECT_TRUE(net.sinks[0].lost_peers.empty());
  net.sinks[1].blocked = false;
  net.step();
  EXPECT_EQ(net.sinks[1].next[0][0], Links::kWindow);
  net.step(50'000);
  net.step();
  EXPECT_EQ(net.send(0, 1, VirtualChannel::Low, low), SendResult::Sent);
}

TEST(Links, go_on_when_the_word_is_lost_that_packets_were_taken_which_were_held_up) {
  ModelOptions options;
  options.nodes = 2;
  Net net(options);
  constexpr std::uint64_t kPackets = 20;
  net.sinks[1].limit = 0;
  for (std::uint64_t number = 0; number < kPackets; ++number) {
    ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, number), SendResult::Sent);
  }
  for (int i = 0; i < 1'000; ++i) net.step();  // all have arrived, and none is taken
  net.sinks[1].limit = 5;
  for (int i = 0; i < 1'000; ++i) net.step();
  ASSERT_EQ(net.sinks[1].next[0][0], 5U);
  // The others are taken, and what is said of that does not arrive.
  net.network.cut(0);
  net.sinks[1].limit = ~std::uint64_t{0};
  for (int i = 0; i < 100; ++i) net.step();
  ASSERT_EQ(net.sinks[1].next[0][0], kPackets);
  net.network.mend(0);
  for (int i = 0; i < 10'000 && !net.links[0]->is_idle(); ++i) net.step();
  EXPECT_TRUE(net.links[0]->is_idle()) << "it asks";
  EXPECT_EQ(net.links[0]->room(1, VirtualChannel::Low), Links::kWindow);
}

TEST(Links, give_a_node_up_that_does_not_answer_and_serve_the_others) {
  ModelOptions options;
  options.nodes = 3;
  Net net(options, {10'000, 50'000, 2'000});
  net.network.cut(1);
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 0), SendResult::Sent);
  for (int i = 0; i < 100; ++i) net.step();
  EXPECT_EQ(net.sinks[0].lost_peers, std::vector<NodeId>{1});
  EXPECT_EQ(net.send(0, 1, VirtualChannel::High, 0), SendResult::Lost);
  ASSERT_EQ(net.send(0, 2, VirtualChannel::Low, 0), SendResult::Sent);
  for (int i = 0; i < 10; ++i) net.step();
  EXPECT_EQ(net.sinks[2].next[0][0], 1U);
  EXPECT_TRUE(net.links[0]->is_idle());
}

TEST(Links, send_more_and_more_rarely_to_a_node_that_makes_no_calls) {
  const LinkOptions link{
      .resend_ns = 1'000'000, .silence_ns = 10'000'000'000, .acknowledge_ns = 20'000, .slowest_resend_ns = 50'000'000};
  ModelOptions options;
  options.nodes = 2;
  Net net(options, link);
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 0), SendResult::Sent);
  while (net.sinks[1].next[0][0] != 1 || !net.links[0]->is_idle()) net.step();
  const std::uint64_t before = net.links[0]->counters().resent;
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 1), SendResult::Sent);
  for (const std::uint64_t end = net.now + 1'000'000'000; net.now < end;) {
    net.network.set_time(net.now += 100'000);
    net.links[0]->step(net.sinks[0], net.now);
  }
  const std::uint64_t resent = net.links[0]->counters().resent - before;
  EXPECT_GT(resent, 15U);  // twenty in the last, slowest part
  EXPECT_LT(resent, 60U);  // not a thousand
  while (net.sinks[1].next[0][0] != 2 || !net.links[0]->is_idle()) net.step();
  EXPECT_TRUE(net.sinks[0].lost_peers.empty());
}

TEST(Links, lose_a_node_when_they_are_told_and_take_it_back) {
  ModelOptions options;
  options.nodes = 3;
  Net net(options);
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 0), SendResult::Sent);
  EXPECT_FALSE(net.links[0]->has_left(1)) << "there is no session yet";
  EXPECT_TRUE(net.links[0]->has_left(2));
  while (net.sinks[1].next[0][0] != 1) net.step();
  EXPECT_TRUE(net.links[0]->has_left(1));
  net.links[0]->lose(1, net.sinks[0]);
  net.links[0]->lose(1, net.sinks[0]);
  EXPECT_EQ(net.sinks[0].lost_peers, std::vector<NodeId>{1}) << "once";
  EXPECT_EQ(net.send(0, 1, VirtualChannel::Low, 1), SendResult::Lost);
  net.links[0]->invite(1);
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 1), SendResult::Sent);
  for (int i = 0; i < 10'000 && net.sinks[1].next[0][0] != 2; ++i) net.step();
  EXPECT_EQ(net.sinks[1].next[0][0], 2U);
}

// A request that was taken, and whose answer never comes, leaves nothing under way that could time out.
TEST(Links, give_a_node_up_that_owes_an_answer_and_is_silent_but_not_one_that_is_slow) {
  ModelOptions options;
  options.nodes = 3;
  Net net(options, {10'000, 50'000, 2'000});
  for (const NodeId node : {NodeId{1}, NodeId{2}}) {
    ASSERT_EQ(net.send(0, node, VirtualChannel::Low, 0), SendResult::Sent);
    net.links[0]->expect(node, net.now);
  }
  for (int i = 0; i < 20; ++i) net.step();
  ASSERT_EQ(net.links[0]->taken(1, VirtualChannel::Low), 1U);
  ASSERT_EQ(net.links[0]->taken(2, VirtualChannel::Low), 1U);
  net.network.cut(1);
  for (int i = 0; i < 1'000; ++i) net.step();
  EXPECT_EQ(net.sinks[0].lost_peers, std::vector<NodeId>{1})
      << "node 2 owes its answer, too, and says that it is there";
  // It asks no peer for packets that are no longer wanted.
  net.links[0]->expect_less(2);
  net.network.cut(2);
  for (int i = 0; i < 1'000; ++i) net.step();
  EXPECT_EQ(net.sinks[0].lost_peers, std::vector<NodeId>{1});
}

/// A node starts again, or is cut off and mended, at random moments while packets of both sides are under way: every
/// packet that is sent in a session comes once and in order, and each side hears of the end of each session.
class Restarts final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
  [[nodiscard]] bool ordered(NodeId, VirtualChannel channel, std::span<const std::byte> packet, std::uint8_t) override {
    std::uint64_t life = 0;
    std::uint64_t number = 0;
    EXPECT_EQ(packet.size(), 16U);
    std::memcpy(&life, packet.data(), 8);
    std::memcpy(&number, packet.data() + 8, 8);
    auto& [from, next] = heard[static_cast<std::size_t>(channel)];
    EXPECT_GE(life, from);
    if (life != from) next = 0;
    from = life;
    EXPECT_EQ(number, next++);
    ++count;
    return true;
  }
  void lost(NodeId) override {
    ++ends;
    is_lost = true;
    next_life += 1;
    numbers = {};
  }
  void rejoined(NodeId) override {
    EXPECT_TRUE(is_lost);
    is_lost = false;
  }
  /// What the other side numbers its packets by: which life, and how many in it.
  std::array<std::pair<std::uint64_t, std::uint64_t>, kChannels> heard{};
  std::uint64_t next_life = 1;
  std::array<std::uint64_t, kChannels> numbers{};
  std::uint64_t count = 0;
  std::uint64_t ends = 0;
  bool is_lost = false;
};

TEST(Links, begin_anew_with_a_node_that_starts_again_whatever_is_still_on_its_way) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelOptions options;
    options.seed = seed;
    options.line.loss = {0.05, 2};
    options.line.duplicate = 0.1;
    options.line.reorder = 0.2;
    options.line.reorder_depth = 200;
    options.line.delay_ns = 3'000;
    ModelNetwork network(options);
    std::mt19937_64 random(seed);
    std::array<std::unique_ptr<Links>, 2> links;
    std::array<std::unique_ptr<Restarts>, 2> sinks;
    const LinkOptions link{10'000, 500'000, 2'000};
    std::uint64_t life = 1;
    for (NodeId node = 0; node < 2; ++node) {
      links[node] = std::make_unique<Links>(network.port(node), link);
      sinks[node] = std::make_unique<Restarts>();
    }
    std::uint64_t now = 0;
    std::uint64_t restarts = 0;
    const auto step = [&] {
      network.set_time(now += 1000);
      for (NodeId node = 0; node < 2; ++node) links[node]->step(*sinks[node], now);
    };
    const auto send = [&](NodeId node) {
      Restarts& sink = *sinks[node];
      const std::size_t channel = random() % 2;
      std::array<std::byte, 16> packet;
      std::memcpy(packet.data(), &sink.next_life, 8);
      std::memcpy(packet.data() + 8, &sink.numbers[channel], 8);
      const SendResult result = links[node]->send(node ^ 1U, static_cast<VirtualChannel>(channel), packet, false, now);
      if (result == SendResult::Sent) ++sink.numbers[channel];
    };
    for (int i = 0; i < 60'000; ++i) {
      if (random() % 4 != 0) send(random() % 2);
      if (random() % 2'000 == 0) {
        const auto node = static_cast<NodeId>(random() % 2);
        life += 1'000;  // above all that the old one may have used
        sinks[node] = std::make_unique<Restarts>();
        sinks[node]->next_life = life;
        links[node] = std::make_unique<Links>(network.port(node), link);
        ++restarts;
      } else if (random() % 6'000 == 0) {
        network.cut(1);
        for (int j = 0; j < 1'000; ++j) step();
        network.mend(1);
      }
      step();
    }
    EXPECT_GT(restarts, 10U);
    for (int i = 0; i < 20'000 && !(links[0]->is_idle() && links[1]->is_idle()); ++i) step();
    for (NodeId node = 0; node < 2; ++node) {
      EXPECT_TRUE(links[node]->is_idle());
      EXPECT_FALSE(sinks[node]->is_lost);
    }
    const std::uint64_t before = sinks[1]->count;
    for (int i = 0; i < 100; ++i) send(0);
    for (int i = 0; i < 2'000; ++i) step();
    EXPECT_GE(sinks[1]->count, before + 64);
  }
}

/// Frames that no honest node sends, half of them with a good checksum.
TEST(Links, survive_random_frames) {
  std::mt19937_64 random(7);
  Net net({});
  ASSERT_EQ(net.send(0, 1, VirtualChannel::Low, 0), SendResult::Sent);
  for (int i = 0; i < 10; ++i) net.step();
  class Any final : public PacketSink {
   public:
    [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
    [[nodiscard]] bool ordered(NodeId, VirtualChannel, std::span<const std::byte>, std::uint8_t) override {
      return true;
    }
    void lost(NodeId) override {}
  } any;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::byte> frame(random() % 100);
    for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
    if (frame.size() >= sizeof(LinkHeader) + sizeof(std::uint32_t) && i % 2 == 0) {
      LinkHeader header;
      std::memcpy(&header, frame.data(), sizeof(header));
      header.magic = kLinkMagic;
      header.target = 1;
      header.source %= 3;
      header.channel %= 3;
      header.sequence %= 128;
      if (i < 90'000) header.acknowledged = 0;  // then some that end the session
      if (random() % 4 != 0) {                  // mostly of the session
        header.session = net.links[0]->session(1).own;
        header.peer_session = net.links[0]->session(1).theirs;
      }
      header.flags = static_cast<std::uint8_t>(random() % (random() % 4 != 0 ? 4 : 32));
      std::memcpy(frame.data(), &header, sizeof(header));
      const std::size_t behind = frame.size() - sizeof(std::uint32_t);
      const std::uint32_t checksum = image::crc32c(std::span<const std::byte>(frame).first(behind));
      std::memcpy(frame.data() + behind, &checksum, sizeof(checksum));
    }
    if (!frame.empty()) {
      ASSERT_TRUE(net.network.port(0).send(1, frame));
    }
    net.links[1]->step(any, net.now);
  }
  const LinkCounters counters = net.links[1]->counters();
  EXPECT_GT(counters.damaged, 40'000U);
  EXPECT_GT(counters.foreign, 1'000U);
  EXPECT_GT(counters.delivered, 50U);
  EXPECT_GT(counters.stale, 1'000U);
  EXPECT_EQ(counters.lost, 1U);
  // The honest node still gets through, if need be by a new session.
  std::uint64_t sent = 0;
  for (int i = 0; i < 20'000 && sent < 300; ++i) {
    if (net.send(0, 1, VirtualChannel::High, sent) == SendResult::Sent) ++sent;
    net.network.set_time(net.now += 1000);
    net.links[0]->step(any, net.now);
    net.links[1]->step(any, net.now);
  }
  EXPECT_EQ(sent, 300U);
  EXPECT_GT(net.links[1]->counters().delivered, counters.delivered + 100);
}

}  // namespace stopbit::nic::links_test
