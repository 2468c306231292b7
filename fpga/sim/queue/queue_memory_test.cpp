/// Commands in memory that a read announces: the rings are those of the queue in software.
#include <iostream>
#include <map>

#include "queue_fixture.hpp"

namespace stopbit::sim::queue {
namespace {

class TriggerPage : public QueueTest {
 protected:
  static constexpr std::uint64_t kRings = 0x1'2345'6000'0000;  ///< A ring each 64 KiB.
  static constexpr std::uint64_t ring_of(std::uint64_t vpid) { return kRings + vpid * 0x1'0000; }

  TriggerPage() {
    for (std::size_t vpid = 0; vpid < 8; ++vpid) open(vpid, ring_of(vpid));
    unit_.read_word = [this](std::uint64_t address) {
      const std::uint64_t vpid = (address - kRings) / 0x1'0000;
      const std::uint64_t at = address % 0x1'0000;
      if (address < kRings || vpid >= 8 || at >= 4096) throw std::runtime_error("a read of other memory");
      return oracles_[vpid].memory().page().word(nic::PageLayout::kCommandsAt + at, 0).load();
    };
  }
  /// A process writes commands to its ring.
  void write(std::uint64_t vpid, std::size_t count, bool is_message) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(oracles_[vpid].insert(random_line(is_message)), nic::Reply::NoError);
    }
  }
  Reply trigger(std::uint64_t vpid, std::uint64_t count, Trigger command = Trigger::Issue) {
    return unit_.ask(request_trigger(vpid, command, count));
  }
  /// What has left is what the class gives.
  void check_against_class() {
    unit_.settle();
    for (const Transfer& transfer : unit_.transfers) {
      const std::optional<Line> line = oracles_[transfer.vpid].take();
      ASSERT_TRUE(line.has_value()) << transfer.vpid;
      EXPECT_TRUE(expected_of(transfer.vpid, *line).transfer == transfer);
    }
    for (const Message& message : unit_.messages) {
      const std::optional<Line> line = oracles_[message.vpid].take();
      ASSERT_TRUE(line.has_value()) << message.vpid;
      EXPECT_TRUE(message_of(message.vpid, *line) == message);
    }
    unit_.transfers.clear();
    unit_.messages.clear();
  }
  std::map<std::uint64_t, PortOracle> oracles_;
};

TEST_F(TriggerPage, fetches_as_many_commands_as_the_address_says_over_many_laps) {
  std::uint64_t left = 0;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    unit_.stall_percent = round % 3 == 0 ? 40 : 0;
    const std::uint64_t vpid = unit_.random.below(8);
    const std::uint64_t count = unit_.random.below(32);
    write(vpid, count, vpid % 2 == 0);
    const Reply reply = trigger(vpid, count);
    EXPECT_EQ(reply.code, Code::NoError);
    EXPECT_EQ(reply.count, count);
    left += count;
    if (round % 3 == 0) check_against_class();
  }
  unit_.settle();
  EXPECT_GT(left, 8U * 64U) << "each ring has gone round";
  check_against_class();
  for (auto& [vpid, oracle] : oracles_) EXPECT_FALSE(oracle.take().has_value());
}

TEST_F(TriggerPage, accepts_a_part_and_the_rest_later) {
  unit_.transfers_are_shut = true;
  write(1, 64, false);
  EXPECT_EQ(trigger(1, 31), (Reply{Code::NoError, 31, 33}));
  EXPECT_EQ(trigger(1, 31), (Reply{Code::NoError, 31, 2}));
  EXPECT_EQ(trigger(1, 31), (Reply{Code::Partial, 2, 0}));
  EXPECT_EQ(trigger(1, 1), (Reply{Code::Full, 0, 0}));
  EXPECT_EQ(trigger(1, 0), (Reply{Code::NoError, 0, 0})) << "nothing is asked for";
  // Its places are those of lines, too, and no other port's.
  EXPECT_EQ(unit_.ask(request_line(1, Line{2})).code, Code::Full);
  write(2, 20, true);
  EXPECT_EQ(trigger(2, 20).code, Code::NoError);
  unit_.settle();
  EXPECT_TRUE(unit_.messages.empty()) << "commands of port 1 are fetched first";
  unit_.transfers_are_shut = false;
  check_against_class();
  EXPECT_EQ(trigger(1, 0).room, 64U);
}

TEST_F(TriggerPage, refuses_with_the_codes_of_its_table) {
  close(3);
  unit_.set_port(4, State::Disabled, 1, ring_of(4));
  EXPECT_EQ(trigger(3, 1).code, Code::Forbidden);
  EXPECT_EQ(trigger(4, 1).code, Code::Disabled);
  EXPECT_EQ(trigger(kPorts, 1).code, Code::Forbidden);
  for (unsigned command = 5; command < 16; ++command) {
    EXPECT_EQ(trigger(1, 1, static_cast<Trigger>(command)).code, Code::Invalid);
  }
  for (const std::uint64_t words : {0U, 2U, 3U, 8U, 9U, 16U, 257U}) {
    EXPECT_EQ(unit_.ask(request_trigger(1, Trigger::Issue, 1, words)).code, Code::Burst);
    EXPECT_EQ(unit_.responses.back().size(), words > 1 && words <= 8 ? words + 1 : 2U);
  }
  htax::Packet packet = request_trigger(1, Trigger::Issue, 1);
  packet[0] |= 4;
  EXPECT_EQ(unit_.ask(packet).code, Code::Invalid);
  packet = request_trigger(1, Trigger::Issue, 1);
  packet[0] |= std::uint64_t{1} << 63U;
  EXPECT_EQ(unit_.ask(packet).code, Code::Invalid);
  unit_.settle();
  EXPECT_TRUE(unit_.signals.empty() && unit_.transfers.empty() && unit_.messages.empty());
}

TEST_F(TriggerPage, passes_on_what_announces_no_commands) {
  for (const Trigger command :
       {Trigger::Snapshot, Trigger::NotificationsRead, Trigger::MessagesRead, Trigger::Barrier}) {
    const std::uint64_t count = unit_.random.below(32);
    EXPECT_EQ(trigger(6, count, command), (Reply{Code::NoError, count, 64}));
    unit_.settle();
    ASSERT_EQ(unit_.signals.size(), 1U);
    EXPECT_EQ(unit_.signals[0], (Signal{6, command, count}));
    unit_.signals.clear();
  }
  write(6, 1, false);
  EXPECT_EQ(trigger(6, 1).code, Code::NoError);
  check_against_class();
}

TEST_F(TriggerPage, is_full_when_memory_gives_nothing_and_goes_on_after_it) {
  unit_.is_mute = true;
  for (std::uint64_t vpid = 1; vpid < 6; ++vpid) EXPECT_EQ(trigger(vpid, 1).code, Code::NoError);
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    accepted += trigger(7, i % 32, Trigger::Barrier).code == Code::NoError ? 1U : 0U;
  }
  EXPECT_LT(accepted, 260U);
  EXPECT_GE(accepted, 251U);
  EXPECT_EQ(trigger(5, 1).code, Code::Full);
  unit_.cycles(5'000);
  EXPECT_EQ(unit_.expired, 5U);
  ASSERT_EQ(unit_.memory_events.size(), 5U);
  EXPECT_EQ(unit_.memory_events[4], (Event{5, Error::OriginWindow, false}));
  EXPECT_EQ(unit_.signals.size(), accepted);
  // An answer after its time is left out, and the next command is fetched.
  unit_.is_mute = false;
  unit_.settle();
  EXPECT_EQ(unit_.late, 40U);
  write(5, 2, false);
  (void)oracles_[5].take();
  EXPECT_EQ(trigger(5, 1), (Reply{Code::NoError, 1, 63}));
  check_against_class();
}

TEST_F(TriggerPage, leaves_out_lines_that_are_none_or_that_memory_does_not_give) {
  write(1, 3, false);
  oracles_[1].memory().page().word(nic::PageLayout::kCommandsAt + 64, 0).store(0);
  EXPECT_EQ(trigger(1, 3).code, Code::NoError);
  unit_.settle();
  EXPECT_EQ(unit_.transfers.size(), 2U);
  ASSERT_EQ(unit_.memory_events.size(), 1U);
  EXPECT_EQ(unit_.memory_events[0], (Event{1, Error::Command, false}));
  for (std::uint64_t i = 0; i < 3; ++i) (void)oracles_[1].take();
  unit_.transfers.clear();
  unit_.error_percent = 20;
  for (int i = 0; i < 100; ++i) {
    write(1, 1, false);
    EXPECT_EQ(trigger(1, 1), (Reply{Code::NoError, 1, 63})) << "what was left out takes no place";
    unit_.settle();
    const std::size_t failed = unit_.memory_events.size() - 1;
    if (unit_.transfers.size() + failed != static_cast<std::size_t>(i) + 1) FAIL() << i;
    (void)oracles_[1].take();
  }
  EXPECT_GT(unit_.memory_events.size(), 40U);
  EXPECT_LT(unit_.memory_events.size(), 100U);
}

TEST_F(TriggerPage, leaves_out_triggers_of_an_owner_that_is_not_any_more) {
  unit_.reads_are_shut = true;
  write(1, 10, false);
  EXPECT_EQ(trigger(1, 10).code, Code::NoError);
  EXPECT_EQ(trigger(1, 7, Trigger::Barrier).code, Code::NoError);
  unit_.cycles(50);
  oracles_[1] = PortOracle();
  open(1, ring_of(1));
  write(1, 3, false);
  unit_.reads_are_shut = false;
  EXPECT_EQ(trigger(1, 3).code, Code::NoError);
  check_against_class();
  EXPECT_TRUE(unit_.signals.empty());
  EXPECT_EQ(unit_.stale, 10U);
  EXPECT_EQ(trigger(1, 0).room, 64U);
  // A port that is stopped for a while goes on where it was.
  unit_.set_port(1, State::Disabled, lives_[1]);
  unit_.set_port(1, State::Enabled, lives_[1]);
  write(1, 2, false);
  EXPECT_EQ(trigger(1, 2).code, Code::NoError);
  check_against_class();
  EXPECT_FALSE(oracles_[1].take().has_value());
}

TEST_F(TriggerPage, answers_as_fast_as_a_register_and_goes_between_the_other_forms) {
  write(1, 1, false);
  (void)trigger(1, 1);
  unit_.settle();
  const std::uint64_t answered = unit_.answer_cycle - unit_.request_cycle;
  const std::uint64_t started = unit_.transfer_cycle - unit_.request_cycle;
  std::cout << "header of a trigger, cycles of 5 ns to: last word of the answer " << answered
            << ", transfer, with memory that answers a word a cycle " << started << '\n';
  EXPECT_EQ(answered, 4U);
  EXPECT_EQ(started, 27U);
  EXPECT_LT(started * 5, 630U);
  check_against_class();
  // All forms at once: each keeps its order.
  unit_.stall_percent = 30;
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    for (int i = 0; i < 10; ++i) post(write_line(20 + unit_.random.below(4), 0, random_line(i % 2 == 0)));
    write(2, 8, false);
    unit_.requests.push_back(request_trigger(2, Trigger::Issue, 8));
    for (int i = 0; i < 8; ++i) {
      const Line line = random_line(true);
      ASSERT_EQ(oracles_[3].insert(line), nic::Reply::NoError);
      unit_.requests.push_back(request_line(3, line));
    }
    unit_.settle();
    std::vector<Transfer> transfers;
    std::vector<Message> messages;
    std::erase_if(unit_.transfers, [&](const Transfer& one) {
      if (one.vpid >= 20) transfers.push_back(one);
      return one.vpid >= 20;
    });
    std::erase_if(unit_.messages, [&](const Message& one) {
      if (one.vpid >= 20) messages.push_back(one);
      return one.vpid >= 20;
    });
    EXPECT_EQ(unit_.transfers.size(), 8U);
    EXPECT_EQ(unit_.messages.size(), 8U);
    check_against_class();
    unit_.transfers = transfers;
    unit_.messages = messages;
    check();
  }
}

TEST_F(TriggerPage, begins_again_after_a_reset_at_any_time) {
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    unit_.stall_percent = 30;
    write(1, 20, false);
    write(2, 20, true);
    for (std::uint64_t vpid = 1; vpid < 3; ++vpid) unit_.requests.push_back(request_trigger(vpid, Trigger::Issue, 20));
    unit_.cycles(unit_.random.below(500));
    reset();
    oracles_.clear();
    for (std::size_t vpid = 0; vpid < 8; ++vpid) open(vpid, ring_of(vpid));
    for (std::uint64_t vpid = 1; vpid < 3; ++vpid) {
      write(vpid, 5, vpid == 2);
      EXPECT_EQ(trigger(vpid, 5), (Reply{Code::NoError, 5, 59}));
    }
    check_against_class();
  }
}

}  // namespace
}  // namespace stopbit::sim::queue
