/// Messages between the ports of two nodes: who gets what, in how many cycles, and what disturbs whom.
#include <algorithm>

#include "host/nic/msg/segments.hpp"
#include "mailboxes.hpp"
#include "node_fixture.hpp"
#include "tests/lib/form.hpp"

namespace stopbit::sim::node {
namespace {

/// Ports 1 and 2 of both nodes read messages.
class NodeMessages : public TwoNodes {
 protected:
  NodeMessages() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (const Vpid vpid : {Vpid{1}, Vpid{2}}) boxes_[i][vpid] = std::make_unique<Mailboxes>(node(i), vpid);
    }
  }
  Mailboxes& box(std::size_t on, Vpid vpid) { return *boxes_[on][vpid]; }
  std::string some(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& each : text) each = static_cast<char>(random_.bits());
    return text;
  }
  /// Messages of all pairs of ports get through, and transfers do.
  void expect_at_work() {
    for (std::size_t on = 0; on < kNodes; ++on) {
      for (const Vpid vpid : {Vpid{1}, Vpid{2}}) {
        for (const bool is_high : {false, true}) (void)box(on, vpid).take(is_high);
      }
    }
    settle(4'000'000);
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (std::size_t to = 0; to < kNodes; ++to) {
        const std::string text = some(1 + random_.below(40));
        node(from).write(1, message_of(text, static_cast<nic::NodeId>(to), 2, 7));
        settle(4'000'000);
        ASSERT_EQ(box(to, 2).take(), (std::vector<Received>{{static_cast<nic::NodeId>(from), 1, 7, 0, text}}));
      }
    }
    node(0).write(1, put(30, nic::kNotifyCompleter, 5));
    settle(4'000'000);
    for (std::uint64_t i = 0; i < 30; ++i) ASSERT_EQ(at(node(1), kSink, 5 + i), at(node(0), kSource, i)) << i;
    ASSERT_EQ(only(1, 2).length, 240U);
  }

  std::array<std::array<std::unique_ptr<Mailboxes>, 3>, kNodes> boxes_;
};

TEST_F(NodeMessages, come_in_every_length_and_form_with_the_identity_of_their_page) {
  for (std::size_t bytes = 1; bytes <= nic::kMaxFastBytes; ++bytes) {
    const bool is_high = bytes % 3 == 0;
    const std::size_t to = bytes % 2;
    const std::string text = some(bytes);
    const Command command = message_of(text, static_cast<nic::NodeId>(to), 2, 0x2A0 + bytes, priority_of(is_high));
    if (bytes % 5 == 0) {
      node(0).ask(1, command);
    } else if (bytes % 5 == 1) {
      node(0).trigger(1, {command});
    } else {
      node(0).write(1, command);
    }
    settle();
    const auto tag = static_cast<std::uint8_t>(0x2A0 + bytes);
    EXPECT_EQ(box(to, 2).take(is_high), (std::vector<Received>{{0, 1, tag, 2, text}}));
    EXPECT_TRUE(box(to, 2).look(!is_high).empty());
  }
  // A store of 16 bytes is a whole message.
  const std::uint64_t word = protocol::kVeloCommandTarget.put(1) | protocol::kVeloCommandVpid.put(2) |
                             protocol::kVeloCommandTag.put(9) | protocol::kVeloCommandLength.put(8);
  node(0).posted.push_back(queue::write_of(queue::address_of(1, {.code = queue::Short::Message, .requester = true}),
                                           {word, 0x3837363534333231}));
  settle();
  EXPECT_EQ(box(1, 2).take(true), (std::vector<Received>{{0, 1, 9, 0, "12345678"}}));
  EXPECT_EQ(count(Count::MessageSent), 41U);
  EXPECT_EQ(count(Count::MalformedPacket) + count(Count::ForeignMessage) + count(Count::Misshapen), 0U);
}

TEST_F(NodeMessages, of_up_to_2048_bytes_come_in_parts_in_any_order) {
  std::array<std::vector<Received>, 2> expected;
  std::uint8_t number = 0;
  set_stalls(20);
  for (const std::size_t bytes : {1U, 40U, 41U, 247U, 248U, 249U, 480U, 481U, 1000U, 2047U, 2048U}) {
    const std::string text = some(bytes);
    const std::size_t to = number % 2;
    const bool is_high = number % 3 == 0;
    auto parts = parts_of(text, static_cast<nic::NodeId>(to), 2, number, 77, 3, priority_of(is_high));
    for (std::size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[random_.below(i)]);
    for (const Command& part : parts) write_part(node(0), 1, part);
    settle(4'000'000);
    ASSERT_EQ(box(to, 2).take(is_high), (std::vector<Received>{{0, 1, 77, 3, text}})) << bytes;
    settle();
    ++number;
  }
  // What no process may do: parts of a port that is closed, without end, twice; the next message is whole.
  node(0).pages.emplace_back(3, false);
  settle();
  for (int i = 0; i < by_form(100, 100'000); ++i) {
    Command part = parts_of(some(1 + random_.below(2048)), 1, 2, static_cast<std::uint8_t>(random_.bits()))[0];
    if (random_.chance(50)) part.tag = random_.bits();
    if (random_.chance(30)) part.window = static_cast<std::uint16_t>(random_.bits());
    node(0).write_part(static_cast<Vpid>(random_.below(4)), random_.chance(30), part, 1 + random_.below(8));
  }
  settle(4'000'000);
  EXPECT_GT(node(0).part_events.size(), 20U);
  for (const bool is_high : {false, true}) (void)box(1, 2).take(is_high);
  node(0).model().message_patience_i = 20;
  cycles(2'500);  // what was begun is too late
  node(0).model().message_patience_i = 1000;
  settle(4'000'000);
  for (const bool is_high : {false, true}) (void)box(1, 2).take(is_high);
  settle();
  const std::string text = some(500);
  for (const Command& part : parts_of(text, 1, 2, 1)) write_part(node(0), 1, part);
  settle();
  EXPECT_EQ(box(1, 2).take(), (std::vector<Received>{{0, 1, 0, 0, text}}));
  settle();
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

TEST_F(NodeMessages, keep_their_order_beside_transfers_under_stalls) {
  set_stalls(50);
  std::array<std::vector<Received>, 2> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string text = some(1 + random_.below(40));
    const bool is_high = random_.chance(30);
    node(0).write(1, message_of(text, 1, 2, static_cast<std::uint64_t>(i), priority_of(is_high)));
    expected[is_high].push_back({0, 1, static_cast<std::uint8_t>(i), 0, text});
    node(0).write(1, put(1 + random_.below(60)));
    node(1).write(1, message_of("back", 0, 2));
  }
  settle(4'000'000);
  for (const bool is_high : {false, true}) EXPECT_EQ(box(1, 2).take(is_high), expected[is_high]);
  EXPECT_EQ(box(0, 2).take().size(), 50U);
}

/// The domain of a sender is its node's word, and a node can lie; its number, too. Its messages reach only those who
/// would hear that domain or that node.
TEST_F(NodeMessages, of_other_domains_and_senders_reach_no_port) {
  node(0).tables.push_back(velo::row_of(1, velo::Port{.domain = 9}));
  settle();
  node(0).write(1, message_of("other domain", 1, 2));
  settle();
  ASSERT_EQ(node(1).reports.size(), 1U);
  EXPECT_EQ(node(1).reports[0].error, Error::Domain);
  EXPECT_EQ(node(1).reports[0].target, 2U);
  EXPECT_EQ(protocol::kVeloWireDomain.of(node(1).reports[0].status), 9U);
  node(0).tables.push_back(velo::row_of(1, velo::Port{.domain = 7}));
  node(1).tables.push_back(
      velo::row_of(2, velo::Port{.domain = 7, .listens_to_one = true, .only_node = 0, .only_vpid = 2}));
  settle();
  node(0).write(1, message_of("not the one", 1, 2));
  node(1).write(2, message_of("nor this", 1, 2));
  settle();
  ASSERT_EQ(node(1).reports.size(), 3U);
  EXPECT_EQ(node(1).reports[1].error, Error::Domain);
  EXPECT_EQ(node(1).reports[2].error, Error::Domain);
  node(0).write(2, message_of("the one", 1, 2));
  settle();
  EXPECT_EQ(box(1, 2).take(), (std::vector<Received>{{0, 2, 0, 0, "the one"}}));
  // Ports that are closed, and that the node does not have; a node that there is not.
  node(0).write(2, message_of("x", 1, 3));
  node(0).write(2, message_of("x", 1, 700));
  node(0).write(2, message_of("x", 5, 2));
  node(0).write(2, message_of("", 1, 2));
  settle();
  ASSERT_EQ(node(1).reports.size(), 6U);
  EXPECT_EQ(node(1).reports[4].error, Error::TargetVpid);
  EXPECT_EQ(node(1).reports[5].error, Error::TargetVpid);
  ASSERT_EQ(node(0).refusals.size(), 2U);
  EXPECT_EQ(node(0).refusals[0].error, Error::Route);
  EXPECT_EQ(node(0).refusals[0].origin, 2U);
  EXPECT_EQ(node(0).refusals[1].error, Error::OriginLength);
  EXPECT_TRUE(box(1, 2).look().empty());
}

TEST_F(NodeMessages, for_a_port_that_never_reads_are_dropped_and_disturb_no_other) {
  constexpr std::size_t kMore = 30;
  for (std::size_t i = 0; i < nic::PageLayout::kMailboxSlots + kMore; ++i) {
    node(0).write(1, message_of("to one that sleeps", 1, 2, i));
    if (i % 8 == 0) node(0).write(1, message_of("to one that reads", 1, 1, i));
    if (i % 8 == 4) node(0).write(1, put(10));
  }
  settle(4'000'000);
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(node(1).reports.begin(), node(1).reports.end(),
                                                   [](const velo::Report& one) { return one.error == Error::Full; })),
            kMore);
  EXPECT_EQ(box(1, 1).take().size(), 12U);
  EXPECT_EQ(count(Count::NetworkLoss), 0U);
  const auto all = box(1, 2).take();
  ASSERT_EQ(all.size(), nic::PageLayout::kMailboxSlots);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].tag, i) << "the oldest stay";
  settle();
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

TEST_F(NodeMessages, of_a_host_that_takes_nothing_cost_the_other_node_no_other_message) {
  for (auto& node : nodes_) node->model().patience_i = 2'000;
  node(1).writes_are_shut = true;
  for (int i = 0; i < 40; ++i) node(0).write(1, message_of("to one whose host is stuck", 1, 2));
  for (int i = 0; i < 30; ++i) node(0).write(2, message_of("here", 0, 1, static_cast<std::uint64_t>(i)));
  run([&] { return node(0).posted.empty() && node(0).reports.size() >= 30; }, 2'000'000);
  if (HasFailure()) return;
  cycles(500);  // a report comes before the last words have left
  EXPECT_EQ(box(0, 1).take().size(), 30U);
  node(1).writes_are_shut = false;
  settle(4'000'000);
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

TEST_F(NodeMessages, a_limit_is_a_write_of_whole_words_to_the_ports_own_page) {
  const auto bad = [&](const htax::Packet& packet) {
    const std::uint64_t before = node(1).count(Count::BadStore);
    node(1).posted.push_back(packet);
    settle();
    EXPECT_EQ(node(1).count(Count::BadStore), before + 1);
  };
  bad(queue::write_of(kLimits | 2U << 12U | 32U, {1}));               // beyond the four
  bad(queue::write_of(kLimits | 2U << 12U | 24U, {1, 2}));            // partly
  bad(queue::write_of(kLimits | 2U << 12U, {1, 2, 3, 4, 5}));         // too many
  bad(queue::write_of(kLimits | std::uint64_t{kPorts} << 12U, {1}));  // no port
  bad(queue::write_of(kLimits | 2U << 12U | 4U, {1}));                // not of a word
  bad({htax::to_phit({.channel = htax::kPosted, .length = 1, .origin = 7, .tag = 30, .address = kLimits | 2U << 12U}),
       1});
  bad({htax::to_phit({.channel = htax::kPosted, .length = 0, .address = kLimits | 2U << 12U})});
  // All four in one: what a processor that combines writes may make of them.
  for (std::size_t i = 0; i < nic::PageLayout::kMailboxSlots; ++i) node(0).write(1, message_of("x", 1, 2, i));
  settle();
  EXPECT_EQ(box(1, 2).look().size(), nic::PageLayout::kMailboxSlots);
  node(1).posted.push_back(queue::write_of(kLimits | 2U << 12U, {nic::PageLayout::kMailboxSlots, 0, 0, 0}));
  settle();
  node(1).reports.clear();
  node(0).write(1, message_of("room", 1, 2));
  settle();
  EXPECT_EQ(node(1).reports.at(0).error, Error::None);
  // Nonsense harms the port's own ring alone.
  for (int i = 0; i < by_form(100, 10'000); ++i)
    node(1).limit(2, random_.chance(50), random_.chance(50), random_.bits());
  node(0).write(1, message_of("to the other", 1, 1));
  settle();
  EXPECT_EQ(box(1, 1).take().size(), 1U);
}

/// Rings of segments: descriptors and slots in pages of the port, which translation gives and takes back.
class NodeSegments : public NodeMessages {
 protected:
  static constexpr std::uint64_t kList = 0x30'0000;
  static constexpr std::uint64_t kSegments = 0x40'0000;
  static constexpr std::uint64_t kSlots = 12;  // of a segment

  void start_ring() {
    node(1).map(kList / nic::kPageBytes, 2, number_of(kList, 0), Access::Read);
    for (std::uint64_t i = 0; i < 8; ++i) {
      node(1).map(kSegments / nic::kPageBytes + i, 2, number_of(kSegments, i), Access::ReadWrite);
    }
    node(1).set_ring(Node::ring_of(2, false), true,
                     velo::Ring{.is_virtual = true, .slot_size = 2, .places = 8, .address = kList});
    settle();
  }
  void post(std::uint64_t count) {
    for (; count > 0; --count, ++posted_) {
      const std::uint64_t place = posted_ % 8;
      at(node(1), kList, 2 * place) = kSegments + place * nic::kPageBytes;
      at(node(1), kList, 2 * place + 1) = kSlots;
    }
    node(1).limit(2, false, true, posted_);
  }
  /// The status of a slot.
  nic::SlotStatus status(std::uint64_t slot) {
    return nic::from_word(at(node(1), kSegments, slot / kSlots % 8 * 512 + slot % kSlots * 8 + 7));
  }
  std::uint64_t posted_ = 0;
  std::size_t ended_ = 0;
};

TEST_F(NodeSegments, take_messages_over_many_segments) {
  start_ring();
  post(8);
  set_stalls(30);
  for (std::uint64_t i = 0; i < 7 * kSlots; ++i) node(0).write(1, message_of("segment", 1, 2, i));
  settle(4'000'000);
  for (std::uint64_t i = 0; i < 7 * kSlots; ++i) {
    ASSERT_EQ(status(i).head.tag, i) << i;
    ASSERT_EQ(status(i).lap, 1 + i / kSlots);
    ASSERT_EQ(status(i).head.length, 7U);
  }
  EXPECT_TRUE(node(1).ring_ends.empty());
  EXPECT_GT(node(1).count(Count::Hit) + node(1).count(Count::Miss), 7 * kSlots) << "each message looks its page up";
}

/// The page of a segment is taken away while messages come: after the flush nothing is written there, and the ring
/// ends.
TEST_F(NodeSegments, are_not_written_any_more_when_their_flush_is_done) {
  std::uint64_t freed = 0;
  node(1).on_write = [&](const Node::Write& write) {
    EXPECT_NE(write.address / nic::kPageBytes, freed) << "a write to a page that was given back";
  };
  for (int round = 0; round < by_form(20, 5'000); ++round) {
    start_ring();
    posted_ = 0;
    post(8);
    set_stalls(static_cast<std::uint32_t>(random_.below(4) * 25));
    node(1).limit(2, false, true, posted_);
    node(1).ring_ends.clear();
    for (int i = 0; i < 40; ++i) {
      node(0).write(1, message_of("on its way", 1, 2));
      if (i % 4 == 0) node(0).write(1, put(1 + random_.below(40)));
    }
    for (std::uint64_t k = random_.below(1'500); k > 0; --k) cycle();
    const std::uint64_t segment = random_.below(4);
    const std::uint64_t before = node(1).flushed;
    const bool shuts = random_.chance(40);
    node(1).writes_are_shut = shuts;
    node(1).unmap(kSegments / nic::kPageBytes + segment);
    node(1).flushes.push_back(kSegments / nic::kPageBytes + segment);
    if (shuts) {
      cycles(1'000);
      node(1).writes_are_shut = false;
    }
    run([&] {
      if (node(1).flushed != before) freed = number_of(kSegments, segment);
      return node(1).flushed != before;
    });
    if (HasFailure()) return;
    settle(4'000'000);
    for (const velo::End& end : node(1).ring_ends) EXPECT_EQ(end.error, Error::TargetTranslation);
    ended_ += node(1).ring_ends.size();
    freed = 0;
    while (node(1).take(2)) {
    }
    settle(4'000'000);
    if (HasFailure()) return;
  }
  EXPECT_GT(ended_, 0U);
  EXPECT_EQ(count(Count::MessageFailed), 0U) << "a flush costs no ring its time";
  node(1).set_ring(Node::ring_of(2, false), true, velo::Ring{.is_used = false});
  settle();
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

TEST_F(NodeSegments, whose_memory_fails_end_and_others_go_on) {
  start_ring();
  // A descriptor that cannot be read; a list of another port; memory that does not answer.
  at(node(1), kList, 1) = 0;
  node(1).limit(2, false, true, 1);
  settle();
  node(0).write(1, message_of("x", 1, 2));
  settle();
  ASSERT_EQ(node(1).ring_ends.size(), 1U);
  EXPECT_EQ(node(1).ring_ends[0].error, Error::TargetLength);
  EXPECT_EQ(node(1).ring_ends[0].ring, Node::ring_of(2, false));
  node(1).map(kList / nic::kPageBytes, 1, number_of(kList, 0), Access::Read);
  node(1).flushes.push_back(kList / nic::kPageBytes);
  node(1).set_ring(Node::ring_of(2, false), true,
                   velo::Ring{.is_virtual = true, .slot_size = 2, .places = 8, .address = kList});
  settle();
  post(2);
  node(0).write(1, message_of("x", 1, 2));
  settle();
  ASSERT_EQ(node(1).ring_ends.size(), 2U);
  EXPECT_EQ(node(1).ring_ends[1].error, Error::TargetTranslation);
  start_ring();
  node(1).flushes.push_back(kList / nic::kPageBytes);
  settle();
  node(1).error_percent = 100;
  node(0).write(1, message_of("x", 1, 2));
  settle();
  node(1).error_percent = 0;
  ASSERT_EQ(node(1).ring_ends.size(), 3U);
  EXPECT_EQ(node(1).ring_ends[2].error, Error::TargetTranslation);
  node(1).set_ring(Node::ring_of(2, false), true, velo::Ring{.is_used = false});
  settle();
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// From the header of a posted write at one host to the last phit at the other; a wire takes 5 cycles, memory 1.
TEST_F(NodeMessages, latency_in_cycles) {
  const std::uint64_t word =
      protocol::kVeloCommandTarget.put(1) | protocol::kVeloCommandVpid.put(2) | protocol::kVeloCommandLength.put(8);
  const auto measure = [&](const htax::Packet& packet) {
    node(1).write_cycle = 0;
    node(0).posted.push_back(packet);
    settle();
    return node(1).write_cycle - node(0).header_cycle;
  };
  const htax::Packet short_one = queue::write_of(queue::address_of(1, {.code = queue::Short::Message}), {word, 0x1234});
  EXPECT_EQ(measure(short_one), 109U);
  EXPECT_EQ(measure(queue::write_line(1, 0, queue::to_line(message_of("12345678", 1, 2)))), 128U);
  EXPECT_EQ(measure(queue::write_line(1, 1, queue::to_line(message_of(some(40), 1, 2)))), 152U);
  // One after the other.
  (void)box(1, 2).take();
  settle();
  constexpr std::uint64_t kCount = 40;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  node(1).on_write = [&](const Node::Write&) {
    if (first == 0) first = node(1).now();
    last = node(1).now();
  };
  for (std::uint64_t i = 0; i < kCount; ++i) node(0).posted.push_back(short_one);
  settle();
  EXPECT_EQ((last - first) / (kCount - 1), 6U);
}

}  // namespace
}  // namespace stopbit::sim::node
