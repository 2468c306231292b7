/// What two nodes do for each other's ports, and in how many cycles.
#include "node_fixture.hpp"

namespace stopbit::sim::node {
namespace {

constexpr std::uint8_t kAllNotices =
    nic::kNotifyRequester | nic::kNotifyCompleter | nic::kNotifyResponder | nic::kAcknowledge;

class NodeRtl : public TwoNodes {};

TEST_F(NodeRtl, a_put_moves_memory_and_tells_both_sides) {
  for (const std::uint64_t words : {1U, 8U, 23U, 24U, 600U}) {
    node(0).write(1, put(words, kAllNotices, 3));
    settle();
    for (std::uint64_t i = 0; i < words; ++i) ASSERT_EQ(at(node(1), kSink, 3 + i), at(node(0), kSource, i)) << i;
    const auto own = take_all(0, 1);
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(own[0].teller, Teller::Requester);
    EXPECT_EQ(own[1].teller, Teller::Acknowledge);
    EXPECT_EQ(own[1].error, Error::None);
    const Notification told = only(1, 2);
    EXPECT_EQ(told.teller, Teller::Completer);
    EXPECT_EQ(told.tag, 0xABCD'0000'1234U);
    EXPECT_EQ(told.length, 8 * words);
    EXPECT_EQ(told.node, 0);
    EXPECT_EQ(told.vpid, 1);
  }
  EXPECT_EQ(count(Count::NetworkLoss) + count(Count::StrayPacket) + count(Count::Unasked), 0U);
}

TEST_F(NodeRtl, gets_and_words_and_atomic_operations_do_what_they_say) {
  for (std::uint64_t i = 0; i < 700; ++i) at(node(1), kSink, i) = random_.bits();
  Command get = command(Operation::Get);
  get.address = kInto + 16;
  get.offset = 8;
  get.length = 8 * 650;
  get.modifiers = nic::kNotifyCompleter | nic::kNotifyResponder;
  node(0).write(1, get);
  settle();
  for (std::uint64_t i = 0; i < 650; ++i) ASSERT_EQ(at(node(0), kInto, 2 + i), at(node(1), kSink, 1 + i)) << i;
  EXPECT_EQ(only(0, 1).teller, Teller::Completer);
  EXPECT_EQ(only(1, 2).teller, Teller::Responder);

  node(0).write(1, word_for(Operation::ImmediatePut, 9, 0xFEED, nic::kNotifyCompleter));
  settle();
  EXPECT_EQ(at(node(1), kSink, 9), 0xFEEDU);
  EXPECT_EQ(only(1, 2).value, 0xFEEDU);
  node(0).write(1, word_for(Operation::NotificationPut, 0, 0xBEEF));
  settle();
  EXPECT_EQ(only(1, 2).value, 0xBEEFU);

  // Atomic operations from both nodes to the same word, none of which may be lost.
  at(node(1), kSink, 20) = 1000;
  for (std::uint64_t i = 0; i < 20; ++i) {
    for (std::size_t from = 0; from < kNodes; ++from) node(from).write(1, word_for(Operation::FetchAdd, 20, 3));
  }
  settle();
  EXPECT_EQ(at(node(1), kSink, 20), 1000U + 2 * 20 * 3);
  Command lock = word_for(Operation::FetchCompareAdd, 21, 5, nic::kNotifyCompleter);
  lock.offset += 4;
  lock.more = 7;
  at(node(1), kSink, 21) = std::uint64_t{5} << 32U | 77;
  node(0).write(1, lock);
  settle();
  EXPECT_EQ(at(node(1), kSink, 21), std::uint64_t{12} << 32U | 77) << "the other half stays";
  const Notification locked = only(0, 1);
  EXPECT_EQ(locked.success, 1);
  EXPECT_EQ(locked.value, 12U);
  Command swap = word_for(Operation::CompareSwap, 20, 1120, nic::kNotifyCompleter);
  swap.more = 4;
  node(0).write(1, swap);
  settle();
  EXPECT_EQ(only(0, 1).value, 1120U);
  EXPECT_EQ(at(node(1), kSink, 20), 4U);
}

TEST_F(NodeRtl, an_event_comes_when_memory_has_what_it_is_about) {
  set_stalls(50);
  for (std::uint64_t i = 0; i < 30; ++i) {
    Command one =
        i % 2 == 0 ? put(40, nic::kNotifyCompleter, 10) : word_for(Operation::ImmediatePut, 49, random_.bits());
    one.more = 1 + i;
    for (std::uint64_t word = 0; word < 40; ++word) at(node(0), kSource, word) = random_.bits();
    bool has_come = false;
    node(1).on_event = [&](const PortEvent& event) {
      has_come = true;
      EXPECT_EQ(event.vpid, 2);
      EXPECT_EQ(event.number, 1 + i);
      if (i % 2 == 1) {
        EXPECT_EQ(at(node(1), kSink, 49), one.address);
        return;
      }
      for (std::uint64_t word = 0; word < 40; ++word) {
        ASSERT_EQ(at(node(1), kSink, 10 + word), at(node(0), kSource, word)) << word;
      }
      EXPECT_TRUE(node(1).look(2)) << "the notification before the event";
    };
    node(1).writes_are_shut = i % 3 == 0;
    node(0).write(1, one);
    cycles(1'000);
    EXPECT_EQ(has_come, !node(1).writes_are_shut) << "it waits for the host";
    node(1).writes_are_shut = false;
    settle();
    EXPECT_TRUE(has_come);
    while (node(1).take(2)) {
    }
    settle();
  }
  EXPECT_EQ(node(1).events.size(), 30U);
}

/// More events than have room: the writer waits for room, and a flush for the writer.
TEST_F(NodeRtl, many_events_and_a_flush_wait_for_a_host_that_takes_no_writes_for_a_while) {
  constexpr std::uint64_t kEvents = 50;
  node(1).writes_are_shut = true;
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    Command one = word_for(Operation::ImmediatePut, i, i);
    one.more = i;
    node(0).write(1, one);
  }
  cycles(3'000);
  node(1).flushes.push_back(kSink / nic::kPageBytes);
  cycles(1'000);
  EXPECT_TRUE(node(1).events.empty());
  EXPECT_EQ(node(1).flushed, 0U);
  node(1).writes_are_shut = false;
  node(1).on_event = [&](const PortEvent& event) { EXPECT_EQ(at(node(1), kSink, event.number), event.number); };
  settle(20'000);
  EXPECT_EQ(node(1).flushed, 1U);
  ASSERT_EQ(node(1).events.size(), kEvents);
  for (std::uint64_t i = 0; i < kEvents; ++i) EXPECT_EQ(node(1).events[i].number, i + 1);
}

/// More data than the network has room for. They are answers: requests that wait must not hold them up.
TEST_F(NodeRtl, a_long_get_from_the_own_node_is_not_held_up_by_requests_after_it) {
  constexpr std::uint64_t kWords = 2'000;
  for (std::uint64_t i = 0; i < kPages * 512; ++i) at(node(0), kSink, i) = i < kWords ? random_.bits() : 0;
  node(0).latency = [] { return std::uint64_t{40}; };
  for (int i = 0; i < 12; ++i) node(0).write(1, word_for(Operation::FetchAdd, kWords, 1, 0, 0));
  Command get = command(Operation::Get, 0);
  get.address = kInto;
  get.length = 8 * kWords;
  node(0).write(1, get);
  for (std::uint64_t i = 1; i <= 12; ++i) node(0).write(1, word_for(Operation::ImmediatePut, kWords + i, i, 0, 0));
  settle(40'000);
  for (std::uint64_t i = 0; i < kWords; ++i) ASSERT_EQ(at(node(0), kInto, i), at(node(0), kSink, i)) << i;
  EXPECT_EQ(at(node(0), kSink, kWords), 12U);
  for (std::uint64_t i = 1; i <= 12; ++i) EXPECT_EQ(at(node(0), kSink, kWords + i), i);
}

TEST_F(NodeRtl, all_forms_of_commands_are_carried_out) {
  // A store of 16 bytes.
  const std::uint64_t target = std::uint64_t{2} << 32U | std::uint64_t{1} << 48U | std::uint64_t{kWindow} << 16U;
  node(0).windows.emplace_back(kWindow, rma::WindowEntry{});  // it is node 1's that counts
  rma::WindowEntry open{
      .open = true, .owner = 2, .access = Access::ReadWrite, .first = kSink, .bytes = 4096, .domain = {}};
  node(1).windows.emplace_back(kWindow, open);
  settle();
  node(0).posted.push_back(queue::write_of(queue::address_of(1, {queue::Short::Put, false, true}),
                                           {target | 7U << 10U, (0x40U / 8ULL) << 36U | kSource / 8}));
  settle();
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(at(node(1), kSink, 8 + i), at(node(0), kSource, i));
  EXPECT_EQ(only(1, 2).teller, Teller::Completer);
  // A line that is answered.
  Command word = word_for(Operation::ImmediatePut, 30, 0x1234);
  word.capability = 0;
  node(0).requests.push_back(queue::request_line(1, queue::to_line(word), 9));  // with a tag
  settle();
  EXPECT_EQ(at(node(1), kSink, 30), 0x1234U);
  ASSERT_FALSE(node(0).responses.empty());
  EXPECT_EQ(htax::from_phit(node(0).responses.back()[0]).tag, 9U);
  EXPECT_EQ(node(0).responses.back()[1] & 15U, 0U);
  // Three commands in memory, and a load.
  std::vector<Command> words;
  for (std::uint64_t i = 0; i < 3; ++i) {
    word.offset = 8 * (40 + i);
    word.address = 70 + i;
    words.push_back(word);
  }
  node(0).trigger(1, words);
  settle();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(at(node(1), kSink, 40 + i), 70 + i);
  // A trigger that no unit of the node takes.
  node(0).requests.push_back(queue::request_trigger(1, queue::Trigger::Barrier, 0));
  settle();
  EXPECT_EQ(node(0).signals, 1U);
}

TEST_F(NodeRtl, a_full_ring_drops_notifications_of_its_port_alone) {
  for (std::uint64_t i = 0; i < kRingLines + 5; ++i) node(0).write(1, word_for(Operation::NotificationPut, 0, i));
  settle();
  EXPECT_EQ(node(1).count(Count::DroppedNotice), 5U);
  node(0).write(1, put(1, nic::kNotifyRequester));
  settle();
  EXPECT_EQ(only(0, 1).error, Error::None);
  for (std::uint64_t i = 0; i < kRingLines; ++i) {
    const auto one = node(1).take(2);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->value, i);
    EXPECT_EQ(one->more[0] | one->more[1], 0U);
    if (i == 0) {
      settle();
      node(0).write(1, word_for(Operation::NotificationPut, 0, kRingLines));
      node(0).write(1, word_for(Operation::NotificationPut, 0, 1'000'000));
      settle();
      EXPECT_EQ(node(1).count(Count::DroppedNotice), 6U) << "there is room for one";
    }
  }
  EXPECT_EQ(only(1, 2).value, kRingLines);
  // Many laps; a port that is closed, and one that is opened again.
  for (std::uint64_t i = 0; i < 200; ++i) {
    node(0).write(1, word_for(Operation::NotificationPut, 0, i));
    if (i % 40 != 39) continue;
    settle();
    for (std::uint64_t k = 0; k < 40; ++k) ASSERT_EQ(node(1).take(2).value().value, i - 39 + k);
    settle();
  }
  EXPECT_EQ(node(1).count(Count::DroppedNotice), 6U);
  node(1).rings.emplace_back(2, false);
  settle();
  node(0).write(1, word_for(Operation::NotificationPut, 0, 1));
  settle();
  EXPECT_EQ(node(1).count(Count::DroppedNotice), 7U);
  node(1).forget_notifications(2);
  node(1).open(2, 7, 2);
  settle();
  node(0).write(1, word_for(Operation::NotificationPut, 0, 8));
  settle();
  EXPECT_EQ(only(1, 2).value, 8U);
}

TEST_F(NodeRtl, a_node_is_its_own_neighbour) {
  node(0).write(1, put(100, kAllNotices, 0, 0));
  settle();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(at(node(0), kSink, i), at(node(0), kSource, i));
  EXPECT_EQ(take_all(0, 1).size(), 2U);
  EXPECT_EQ(take_all(0, 2).size(), 1U);
}

/// From the header of a posted write at one host to the last phit of data at the other; a wire takes 5 cycles,
/// memory 1.
TEST_F(NodeRtl, latency_in_cycles) {
  const auto measure = [&](const Command& command) {
    std::uint64_t cycles = 0;
    for (int i = 0; i < 2; ++i) {  // the second time translations hit
      settle();
      node(1).write_cycle = 0;
      node(0).write(1, command);
      settle();
      cycles = node(1).write_cycle - node(0).header_cycle;
    }
    return cycles;
  };
  EXPECT_EQ(measure(word_for(Operation::ImmediatePut, 1, 5)), 173U);
  EXPECT_EQ(measure(put(1)), 218U);
  EXPECT_EQ(measure(word_for(Operation::NotificationPut, 0, 5)), 180U);
}

}  // namespace
}  // namespace stopbit::sim::node
