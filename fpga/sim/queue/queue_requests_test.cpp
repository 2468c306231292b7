/// Writes that are answered: accepted as a whole or refused with a reason, beside the queue in software.
#include <iostream>
#include <map>

#include "queue_fixture.hpp"

namespace stopbit::sim::queue {
namespace {

class TransactionalPort : public QueueTest {
 protected:
  Reply ask_line(std::uint64_t vpid, const Line& line) { return unit_.ask(request_line(vpid, line)); }
  /// Asks; what is accepted has to leave.
  Reply insert(std::uint64_t vpid, const Line& line) {
    const Reply reply = ask_line(vpid, line);
    if (reply.code == Code::NoError) expect(expected_of(vpid, line));
    return reply;
  }
};

TEST_F(TransactionalPort, says_that_a_line_was_accepted_and_it_leaves_unchanged) {
  for (int i = 0; i < 300; ++i) {
    const Reply reply = insert(unit_.random.below(kPorts), random_line(i % 2 == 0));
    ASSERT_EQ(reply.code, Code::NoError);
    EXPECT_EQ(reply.count, 1U);
    unit_.settle();
  }
  EXPECT_EQ(transfers_.size(), 150U);
  check();
}

TEST_F(TransactionalPort, answers_the_one_who_asked) {
  for (std::size_t tag = 0; tag < 32; ++tag) {
    htax::Packet request = request_line(1, random_line(false), tag);
    const htax::Header asked = {
        .channel = htax::kNonposted, .length = 8, .origin = tag / 2, .tag = tag, .address = address_of(1, 0, 0)};
    request[0] = htax::to_phit(asked);
    (void)unit_.ask(request);
    const htax::Header answer = htax::from_phit(unit_.responses.back()[0]);
    EXPECT_EQ(answer.channel, static_cast<std::size_t>(htax::kResponse));
    EXPECT_EQ(answer.origin, tag / 2);
    EXPECT_EQ(answer.tag, tag);
    EXPECT_EQ(answer.length, 1U);
    EXPECT_FALSE(answer.error);
  }
}

TEST_F(TransactionalPort, refuses_with_a_reason_and_keeps_nothing) {
  Line line = random_line(false);
  close(3);
  unit_.set_port(4, State::Disabled, 1);
  EXPECT_EQ(ask_line(3, line).code, Code::Forbidden);
  EXPECT_EQ(ask_line(4, line).code, Code::Disabled);
  EXPECT_EQ(ask_line(kPorts, line).code, Code::Forbidden);
  EXPECT_EQ(ask_line(65'535, line).code, Code::Forbidden);
  for (const std::uint64_t operation : {0U, 19U, 100U, 255U}) {
    line[0] = (line[0] & ~std::uint64_t{0xFF}) | operation;
    EXPECT_EQ(ask_line(1, line).code, Code::Invalid);
  }
  for (std::uint64_t operation = 1; operation <= 18; ++operation) {
    line[0] = (line[0] & ~std::uint64_t{0xFFFF'0000'0000'00FF}) | operation | std::uint64_t{9} << 48U;
    EXPECT_EQ(insert(1, line).code, Code::NoError);
  }
  for (std::size_t length = 0; length < 16; ++length) {
    if (length == 1 || length == 8) continue;
    htax::Packet packet = htax::make(
        unit_.random, {.channel = htax::kNonposted, .length = length, .origin = 2, .address = address_of(1, 0, 0)});
    EXPECT_EQ(unit_.ask(packet).code, Code::Invalid) << length;
  }
  for (const std::uint64_t at : {1U, 4U, 8U, 32U, 0x800U, 0x810U}) {
    htax::Packet packet = request_line(1, random_line(false));
    packet[0] |= at;
    EXPECT_EQ(unit_.ask(packet).code, Code::Invalid) << at;
  }
  htax::Packet packet = request_line(1, random_line(false));
  packet[0] |= std::uint64_t{1} << 63U;
  EXPECT_EQ(unit_.ask(packet).code, Code::Invalid);
  check();
}

TEST_F(TransactionalPort, refuses_a_port_whose_commands_do_not_leave_and_no_other) {
  unit_.transfers_are_shut = true;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Reply reply = insert(5, random_line(false));
    ASSERT_EQ(reply.code, Code::NoError) << i;
    EXPECT_EQ(reply.room, 63 - i);
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(insert(5, random_line(i % 2 == 0)).code, Code::Full);
  // Other ports, and the other unit.
  for (int i = 0; i < 32; ++i) EXPECT_EQ(insert(6, random_line(false)).code, Code::NoError);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(insert(7, random_line(true)).code, Code::NoError);
    unit_.settle();
  }
  EXPECT_EQ(unit_.messages.size(), 100U);
  unit_.transfers_are_shut = false;
  unit_.settle();
  EXPECT_EQ(ask_line(5, {}).room, 64U);
  check();
}

TEST_F(TransactionalPort, has_places_for_all_ports_if_each_has_its_share) {
  unit_.set_limit(2);
  unit_.transfers_are_shut = true;
  for (std::uint64_t i = 0; i < 2 * kPorts; ++i) {
    ASSERT_EQ(insert(i / 2, random_line(false)).code, Code::NoError) << i;
    if (i % 2 == 1) {
      EXPECT_EQ(insert(i / 2, random_line(false)).code, Code::Full);
    }
  }
  unit_.transfers_are_shut = false;
  check();
}

TEST_F(TransactionalPort, refuses_when_the_store_is_full_and_forgets_a_line_it_has_begun) {
  // A message that has left in part leaves room for some words of a line.
  unit_.messages_are_shut = true;
  std::uint64_t accepted = 0;
  for (int i = 0; i < 140; ++i) {
    Line line = random_line(true);
    line[0] = (line[0] & 0x0000'FFFF'FFFF'3FFF) | std::uint64_t{40} << 48U;
    accepted += insert(static_cast<std::uint64_t>(i % 4), line).code == Code::NoError ? 1U : 0U;
  }
  EXPECT_GE(accepted, 128U);
  EXPECT_LE(accepted, 129U);
  for (int i = 0; i < 60; ++i) {
    unit_.messages_are_shut = false;
    unit_.cycle();
    unit_.messages_are_shut = true;
    for (std::uint64_t vpid = 10; vpid < 12; ++vpid) (void)insert(vpid, random_line(true));
  }
  unit_.messages_are_shut = false;
  check();
}

TEST_F(TransactionalPort, agrees_with_the_queue_in_software) {
  std::map<std::uint64_t, PortOracle> oracles;
  const int rounds = is_long() ? 1'000 : 40;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    unit_.stall_percent = static_cast<std::uint32_t>(round % 4 * 25);
    // Even ports use remote memory access, odd ones messages: an oracle has one order.
    unit_.transfers_are_shut = unit_.messages_are_shut = true;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t vpid = 2 + unit_.random.below(2);
      Line line = random_line(vpid % 2 == 1);
      line[7] = 0;
      if (unit_.random.chance(5)) line[0] = (line[0] & ~std::uint64_t{0xFF}) | unit_.random.below(2) * 200;
      const Code expected = code_of(oracles[vpid].insert(line));
      const Code code = ask_line(vpid, line).code;
      EXPECT_EQ(static_cast<int>(code), static_cast<int>(expected)) << "round " << round;
    }
    // Some leave, or all.
    unit_.transfers_are_shut = unit_.messages_are_shut = false;
    unit_.cycles(unit_.random.below(400));
    unit_.transfers_are_shut = unit_.messages_are_shut = true;
    unit_.settle();
    for (const Transfer& transfer : unit_.transfers) {
      const std::optional<Line> line = oracles[transfer.vpid].take();
      ASSERT_TRUE(line.has_value());
      EXPECT_TRUE(expected_of(transfer.vpid, *line).transfer == transfer);
    }
    for (const Message& message : unit_.messages) {
      const std::optional<Line> line = oracles[message.vpid].take();
      ASSERT_TRUE(line.has_value());
      EXPECT_TRUE(message_of(message.vpid, *line) == message);
    }
    unit_.transfers.clear();
    unit_.messages.clear();
  }
}

TEST_F(TransactionalPort, says_success_exactly_of_what_leaves_while_it_leaves) {
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    unit_.stall_percent = static_cast<std::uint32_t>(round % 4 * 25);
    unit_.set_limit(1 + static_cast<unsigned>(round % 5));
    std::vector<std::pair<std::uint64_t, Line>> asked;
    for (int i = 0; i < 100; ++i) {
      asked.emplace_back(unit_.random.below(8), random_line(unit_.random.chance(50)));
      unit_.requests.push_back(request_line(asked.back().first, asked.back().second));
      post(write_line(unit_.random.below(4), 0, random_line(unit_.random.chance(50))));
    }
    unit_.settle();
    ASSERT_EQ(unit_.responses.size(), asked.size());
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Reply reply = Unit::reply_of(unit_.responses[i]);
      EXPECT_TRUE(reply.code == Code::NoError || reply.code == Code::Full);
      if (reply.code != Code::NoError) continue;
      ++accepted;
      // It is somewhere among what left, and is taken out.
      const Expected expected = expected_of(asked[i].first, asked[i].second);
      if (expected.is_message) {
        const auto found = std::find(unit_.messages.begin(), unit_.messages.end(), expected.message);
        ASSERT_NE(found, unit_.messages.end());
        unit_.messages.erase(found);
      } else {
        const auto found = std::find(unit_.transfers.begin(), unit_.transfers.end(), expected.transfer);
        ASSERT_NE(found, unit_.transfers.end());
        unit_.transfers.erase(found);
      }
    }
    EXPECT_GT(accepted, 0U);
    unit_.responses.clear();
    check();  // what is left are the posted ones, in their order
  }
}

TEST_F(TransactionalPort, lets_posted_writes_go_on_if_no_answer_is_taken) {
  unit_.answers_are_shut = true;
  for (int i = 0; i < 5; ++i) unit_.requests.push_back(request_line(1, random_line(false)));
  unit_.settle();
  unit_.transfers.clear();  // of the first request
  for (int i = 0; i < 100; ++i) post(write_line(2, 0, random_line(i % 2 == 0)));
  check();
  unit_.answers_are_shut = false;
  unit_.settle();
  EXPECT_EQ(unit_.responses.size(), 5U);
  EXPECT_EQ(unit_.transfers.size(), 4U);
}

TEST_F(TransactionalPort, survives_requests_of_any_bits) {
  const int requests = is_long() ? 100'000 : 2'000;
  for (int i = 0; i < requests; ++i) {
    unit_.stall_percent = i % 64 < 32 ? 0 : 40;
    htax::Packet packet = htax::make(unit_.random, {.length = unit_.random.below(16)});
    packet[0] = (packet[0] & std::uint64_t{15} << 57U) | (unit_.random.bits() & ~(std::uint64_t{15} << 57U));
    if (unit_.random.chance(50)) packet[0] &= ~std::uint64_t{0xFFC'0000};  // a port that exists
    const std::uint64_t words = packet.size() == 2 && unit_.random.chance(50) ? packet[1] = unit_.random.below(12) : 0;
    (void)unit_.ask(packet);
    const htax::Packet& answer = unit_.responses.back();
    EXPECT_EQ(answer.size(), words > 1 && words <= 8 ? words + 1 : 2U);
    for (std::size_t w = 2; w < answer.size(); ++w) EXPECT_EQ(answer[w], answer[1]);
    if (i % 100 == 0) {
      unit_.settle();
      unit_.responses.clear();
    }
  }
  unit_.settle();
  unit_.transfers.clear();
  unit_.messages.clear();
  EXPECT_EQ(unit_.ask(request_line(1, Line{2})).code, Code::NoError);
}

TEST_F(TransactionalPort, begins_again_after_a_reset_at_any_time) {
  unit_.stall_percent = 30;
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    for (int i = 0; i < 10; ++i) unit_.requests.push_back(request_line(unit_.random.below(4), random_line(i % 2 == 0)));
    unit_.transfers_are_shut = unit_.random.chance(50);
    unit_.cycles(unit_.random.below(300));
    unit_.transfers_are_shut = false;
    reset();
    for (std::uint64_t vpid = 0; vpid < 4; ++vpid) {
      const Reply reply = insert(vpid, random_line(false));
      EXPECT_EQ(reply.code, Code::NoError);
      EXPECT_EQ(reply.room, 63U) << "places of before the reset";
      EXPECT_EQ(insert(vpid, random_line(true)).code, Code::NoError);
    }
    check();
  }
}

TEST_F(TransactionalPort, has_no_open_port_after_a_reset) {
  unit_.reset();
  for (std::uint64_t vpid = 0; vpid < kPorts; ++vpid) {
    EXPECT_EQ(ask_line(vpid, random_line(false)).code, Code::Forbidden);
    unit_.posted.push_back(write_line(vpid, 0, random_line(true)));
  }
  unit_.settle();
  EXPECT_EQ(unit_.events.size(), kPorts);
  unit_.events.clear();
  check();
}

TEST_F(TransactionalPort, answers_within_200_ns_and_gives_the_command_to_its_unit) {
  unit_.settle();
  ASSERT_EQ(insert(1, random_line(false)).code, Code::NoError);
  unit_.settle();
  const std::uint64_t answered = unit_.answer_cycle - unit_.request_cycle;
  const std::uint64_t started = unit_.transfer_cycle - unit_.request_cycle;
  ASSERT_EQ(insert(1, random_line(true)).code, Code::NoError);
  unit_.settle();
  const std::uint64_t message = unit_.message_cycle - unit_.request_cycle;
  std::cout << "header of a request, cycles of 5 ns to: last word of the answer " << answered << ", transfer "
            << started << ", message " << message << '\n';
  EXPECT_EQ(answered, 12U);
  EXPECT_EQ(started, 19U);
  EXPECT_EQ(message, 14U);
  EXPECT_LT(started * 5, 200U);
  check();
}

}  // namespace
}  // namespace stopbit::sim::queue
