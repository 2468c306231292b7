#include <Vrtl_link_port.h>
#include <Vrtl_network_port_link.h>

#include "network_port_bench.hpp"

namespace stopbit::sim {
namespace {

/// A network port on a link port, without a switch: what one node needs to talk to another one.
class Node {
 public:
  Node(Random& random, std::uint64_t seed) : unit(random, seed), link_(seed + 100) { reset(); }

  void reset() {
    unit.reset();
    link_->link_signal_i = 0;
    link_->link_kind_i = 0;
    link_->link_data_i = 0;
    link_->valid_i = 0;
    link_->ready_i = 1;
    link_->freed_i = 0;
    link_.reset();
  }
  [[nodiscard]] bool is_up() { return link_->up_o != 0; }
  [[nodiscard]] Cell cell() { return {link_->link_kind_o, link_->link_data_o}; }

  void cycle(const Cell& cell) {
    auto& port = unit.model();
    link_->link_signal_i = 1;
    link_->link_kind_i = cell.kind;
    link_->link_data_i = cell.data;
    unit.offer();
    // Wires between the two. What each says depends on what the other one says only in one direction: valid, then
    // ready.
    link_.settle();
    port.may_begin_i = link_->may_send_o;
    port.valid_i = link_->valid_o;
    port.kind_i = link_->kind_o;
    port.data_i = link_->data_o;
    unit.bench().settle();
    link_->valid_i = port.valid_o;
    link_->kind_i = port.kind_o;
    link_->data_i = port.data_o;
    link_->freed_i = port.freed_o;
    link_->freed_channel_i = port.freed_channel_o;
    link_.settle();
    port.ready_i = link_->ready_o;
    unit.bench().settle();
    unit.look();
    resent += link_->resent_o;
    dropped += link_->dropped_o;
    excess += link_->excess_o;
    unit.bench().step();
    link_.step();
  }

  Unit<Vrtl_network_port_link> unit;
  std::uint64_t resent = 0;
  std::uint64_t dropped = 0;
  std::uint64_t excess = 0;

 private:
  Bench<Vrtl_link_port> link_;
};

class NetworkPortLink : public ::testing::Test {
 protected:
  NetworkPortLink() {
    run([this] { return a_.is_up() && b_.is_up(); });
    for (int i = 0; i < 40; ++i) cycle();
  }
  void cycle() {
    to_b_.put(a_.cell());
    to_a_.put(b_.cell());
    a_.cycle(to_a_.take());
    b_.cycle(to_b_.take());
    collect(a_, from_b_);
    collect(b_, from_a_);
  }
  template <class Until>
  void run(const Until& until) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, 2'000'000U) << "stuck: " << due() << " are due";
      cycle();
      if (HasFailure()) return;
    }
  }
  /// By class, as the sender chooses the channel: on one channel order is kept.
  struct Direction {
    std::array<std::deque<Packet>, kClasses> expected;
    std::size_t due = 0;
  };
  void send(Node& node, Direction& direction, const Packet& packet) {
    node.unit.send(packet);
    direction.expected[Start::of(packet.start).traffic_class].push_back(packet);
    ++direction.due;
  }
  static void collect(Node& node, Direction& direction) {
    while (!node.unit.came().empty()) {
      const Packet packet = node.unit.came().front();
      node.unit.came().pop_front();
      const Start start = Start::of(packet.start);
      auto& queue = direction.expected[start.traffic_class];
      ASSERT_FALSE(queue.empty());
      Packet due = queue.front();
      Start sent = Start::of(due.start);
      sent.vc = start.vc;
      sent.marker &= 0x3F00;
      due.start = sent.data();
      ASSERT_EQ(packet, due);
      queue.pop_front();
      --direction.due;
    }
  }
  [[nodiscard]] std::size_t due() const { return from_a_.due + from_b_.due; }
  void use_channel(std::size_t vc) {
    for (Node* node : {&a_, &b_}) {
      node->unit.model().channels_i = static_cast<std::uint16_t>(0b001'001'001'001U << vc);
    }
  }

  Random random_{91};
  Packets packets_{random_};
  Node a_{random_, 5};
  Node b_{random_, 6};
  Wire to_a_{random_};
  Wire to_b_{random_};
  Direction from_a_;
  Direction from_b_;
};

TEST_F(NetworkPortLink, packets_pass_two_links_ports_in_both_modes) {
  for (std::size_t vc = 0; vc < kVcs; ++vc) {
    use_channel(vc);
    for (Node* node : {&a_, &b_}) {
      node->unit.model().cut_through_i = vc % 2 == 0;
      node->unit.set_stalls(10 * static_cast<std::uint32_t>(vc), 20);
    }
    for (std::size_t cells = 0; cells <= kMaxPayload; ++cells) {
      send(a_, from_a_, packets_.packet(random_.below(kChannels), cells));
      send(b_, from_b_, packets_.packet(random_.below(kChannels), kMaxPayload - cells));
    }
    run([this] { return due() == 0; });
    if (HasFailure()) return;
  }
  EXPECT_EQ(a_.resent + b_.resent + a_.dropped + b_.dropped + a_.excess + b_.excess, 0U);
}

TEST_F(NetworkPortLink, bits_that_turn_on_the_way_change_nothing) {
  for (const std::uint32_t errors : {100U, 1'000U}) {  // of a million
    use_channel(errors == 100 ? 0 : 2);
    to_a_.set_errors(errors);
    to_b_.set_errors(errors);
    for (int i = 0; i < 300; ++i) {
      send(a_, from_a_, packets_.packet(packets_.start(), random_.below(17)));
      send(b_, from_b_, packets_.packet(packets_.start(), random_.below(17)));
    }
    run([this] { return due() == 0; });
    if (HasFailure()) return;
    EXPECT_GT(a_.resent + b_.resent, 0U);
  }
  for (const Node* node : {&a_, &b_}) {
    EXPECT_EQ(node->dropped, 0U);
    EXPECT_EQ(node->unit.counts.cut + node->unit.counts.stray + node->unit.counts.overrun + node->unit.counts.malformed,
              0U);
    EXPECT_EQ(node->unit.counts.sent, 600U);
  }
}

TEST_F(NetworkPortLink, a_channel_that_is_not_read_there_holds_up_no_other) {
  use_channel(0);
  b_.unit.model().accepts_i = static_cast<std::uint16_t>(kAllChannels & ~1U);
  // As many of class 0 as fit into credits and queue, so that the unit can go on. Lengths at which credits end in a
  // packet.
  for (int i = 0; i < 6; ++i) send(a_, from_a_, packets_.packet(std::size_t{0}, 9));
  for (int i = 0; i < 200; ++i) send(a_, from_a_, packets_.packet(3 + random_.below(9), random_.below(33)));
  run([this] { return from_a_.due == 6; });
  ASSERT_EQ(from_a_.expected[0].size(), 6U);
  b_.unit.model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
  run([this] { return due() == 0; });
}

}  // namespace
}  // namespace stopbit::sim
