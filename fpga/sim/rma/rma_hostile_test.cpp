#include <algorithm>

#include "rma_fixture.hpp"
#include "tests/lib/form.hpp"

// What other nodes, memory, the network and software can do to the units, and to each other through them.

namespace stopbit::sim::rma {
namespace {

using nic::kAcknowledge;
using nic::kNotifyCompleter;
using nic::kNotifyRefusal;
using nic::kNotifyRequester;
using nic::kNotifyResponder;

class RmaHostile : public RmaTest {
 protected:
  void expect_that_it_works() {
    unit_.notices.clear();
    at(kSource, 0) = unit_.random.bits();
    const Unit::Events before = unit_.events;
    run(put(8, kAcknowledge | kNotifyCompleter));
    Unit::Events after = before;
    ++after.ended;
    ++after.served;
    EXPECT_EQ(unit_.events, after);
    ASSERT_EQ(unit_.notices.size(), 2U);
    for (const Notice& notices : unit_.notices) EXPECT_EQ(notices.notification.error, Error::None);
    unit_.notices.clear();
    EXPECT_EQ(at(kSink, 0), at(kSource, 0));
  }
  /// A packet of node 1's port 9 for the window.
  Packet piece(std::uint32_t length, std::uint32_t from, std::size_t words, std::uint8_t modifiers = kNotifyCompleter) {
    nic::RmaHeader header;
    header.kind = static_cast<std::uint8_t>(Operation::Put);
    header.modifiers = modifiers;
    header.source_vpid = 9;
    header.target_vpid = 2;
    header.window = kWindow;
    header.domain = 7;
    header.capability = kCapability;
    header.length = length;
    header.at = from;
    std::vector<std::uint64_t> data(words);
    for (std::uint64_t& word : data) word = unit_.random.bits();
    return to_packet(1, header, data);
  }
  void come(const Packet& packet) {
    unit_.to_come.push_back(packet);
    ASSERT_TRUE(unit_.settle());
  }
};

TEST_F(RmaHostile, damaged_short_and_long_packets_leave_nothing) {
  Packet bad = piece(8, 0, 1);
  bad.is_bad = true;
  come(bad);
  EXPECT_EQ(unit_.events.damaged, 1U);
  for (std::size_t words = 1; words < kRequestWords; ++words) {
    Packet cut = piece(8, 0, 0);
    cut.words.resize(words);
    come(cut);
    EXPECT_EQ(unit_.events.damaged, 1 + words);
  }
  come(piece(8 * 24, 0, 24));
  EXPECT_EQ(unit_.events.damaged, 11U);
  come(piece(8 * 40, 0, 40));
  EXPECT_EQ(unit_.events.damaged, 12U);
  EXPECT_EQ(unit_.writes, 0U);
  EXPECT_TRUE(unit_.notices.empty());
  Packet cell = piece(8, 0, 1);
  cell.words[2] = (cell.words[2] & ~0xFF00ULL) | 14U << 8;  // a fence does not travel
  come(cell);
  EXPECT_EQ(unit_.events.strange, 1U);
  expect_that_it_works();
}

TEST_F(RmaHostile, operations_of_software_are_refused_and_change_nothing) {
  unit_.gives_back = false;
  const auto answer_to = [&](Operation operation, std::uint8_t modifiers, std::uint32_t length) {
    nic::RmaHeader header = piece(length, 0, 0).header();
    header.kind = static_cast<std::uint8_t>(operation);
    header.modifiers = modifiers;
    header.request = 0x1234'0005;
    header.tag = 77;
    unit_.sent.clear();
    unit_.to_come.push_back(to_packet(1, header, {}));
    EXPECT_TRUE(unit_.settle());
    EXPECT_LE(unit_.sent.size(), 1U);
    nic::RmaHeader answer;
    if (!unit_.sent.empty()) answer = unit_.sent.back().header();
    if (!unit_.sent.empty()) {
      EXPECT_EQ(Start::of(unit_.sent.back().words[0]).node, 1U);
      EXPECT_EQ(answer.error, Error::Command);
      EXPECT_EQ(answer.request, header.request);
      EXPECT_EQ(answer.target_vpid, 9);
      EXPECT_EQ(answer.source_vpid, 2);
    }
    return answer;
  };
  for (const Operation operation :
       {Operation::GetWords, Operation::Synchronize, Operation::LockWindow, Operation::UnlockWindow}) {
    EXPECT_EQ(answer_to(operation, 0, 8).kind, nic::kAnswerResult) << static_cast<int>(operation);
  }
  for (const Operation operation : {Operation::PutWords, Operation::Signal}) {
    EXPECT_EQ(answer_to(operation, 0, 8).kind, 0) << "nothing waits for it";
    EXPECT_EQ(answer_to(operation, kAcknowledge, 8).kind, nic::kAnswerResult);
    for (const std::uint32_t length : {16U, 17U}) {
      const nic::RmaHeader refusal = answer_to(operation, kNotifyRefusal, length);
      EXPECT_EQ(refusal.kind, nic::kAnswerRefusal);
      EXPECT_EQ(refusal.word, static_cast<std::uint64_t>(operation));
      EXPECT_EQ(refusal.capability, 0U);
      EXPECT_EQ(refusal.tag, operation == Operation::PutWords && length > 16 ? 0U : 77U) << "the tag is a word of data";
    }
  }
  EXPECT_EQ(unit_.events.refused, 12U);
  EXPECT_EQ(unit_.events.strange, 0U);
  EXPECT_EQ(unit_.writes, 0U);
  EXPECT_TRUE(unit_.notices.empty());
  unit_.gives_back = true;
  expect_that_it_works();
}

TEST_F(RmaHostile, a_put_is_reported_only_if_all_of_it_came_in_order) {
  come(piece(16, 0, 1));
  come(piece(16, 8, 1));
  EXPECT_EQ(only().notification.error, Error::None);
  EXPECT_EQ(unit_.writes, 2U);
  come(piece(16, 8, 1));  // without its beginning
  EXPECT_TRUE(unit_.notices.empty());
  come(piece(24, 0, 1));
  come(piece(24, 16, 1));  // without its middle
  EXPECT_TRUE(unit_.notices.empty());
  EXPECT_EQ(unit_.writes, 3U);
  come(piece(24, 0, 1));
  come(piece(24, 0, 1));  // begins anew
  come(piece(24, 8, 1));
  come(piece(24, 16, 1));
  EXPECT_EQ(only().notification.length, 24U);
  come(piece(8, 0, 2));  // more than it says
  come(piece(8, 8, 1));
  come(piece(8, ~7U, 1));
  come(piece(8, 0, 0));
  EXPECT_TRUE(unit_.notices.empty());
  EXPECT_EQ(unit_.events.refused, 2U) << "others have no last packet";
  expect_that_it_works();
}

TEST_F(RmaHostile, puts_have_up_to_a_mebibyte) {
  WindowEntry entry = window();
  entry.bytes = std::uint64_t{1} << 21U;
  unit_.set_window(kWindow, entry);
  come(piece(1U << 20U, 0, 1));
  EXPECT_EQ(unit_.writes, 1U);
  come(piece((1U << 20U) + 8, 0, 1));
  EXPECT_EQ(unit_.writes, 1U);
}

TEST_F(RmaHostile, messages_of_the_translation_unit_that_mean_nothing_are_counted_and_left_out) {
  const auto malformed_after = [&](const atu::Message& message) {
    const std::uint64_t before = unit_.events.malformed;
    for (std::size_t unit = 0; unit < kUnits; ++unit) unit_.say(unit, message);
    EXPECT_TRUE(unit_.settle());
    return unit_.events.malformed - before;
  };
  EXPECT_EQ(malformed_after({atu::kPort, 0, protocol::kAtsTranslateResponse, 0}), 3U) << "asked for nothing";
  EXPECT_EQ(malformed_after({atu::kPort, 0, protocol::kAtsTranslateRequest, 0}), 3U) << "asks itself";
  unit_.flush();
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.flushed, 3U);
  EXPECT_EQ(unit_.events.malformed, 6U) << "a flush is none of them";
  expect_that_it_works();
}

TEST_F(RmaHostile, more_puts_under_way_than_there_is_room_for_are_refused_and_others_go_on) {
  const auto of = [&](nic::NodeId node, std::uint32_t from) {
    Packet packet = piece(16, from, 1, kNotifyCompleter | kNotifyRefusal);
    packet.words[1] = node;
    return packet;
  };
  unit_.gives_back = false;
  for (nic::NodeId node = 1; node <= 9; ++node) come(of(node, 0));
  for (nic::NodeId node = 1; node <= 9; ++node) come(of(node, 8));
  EXPECT_EQ(unit_.notices.size(), 8U);
  ASSERT_EQ(unit_.sent.size(), 1U);
  EXPECT_EQ(unit_.sent[0].header().error, Error::Full);
  EXPECT_EQ(unit_.sent[0].header().kind, nic::kAnswerRefusal);
  EXPECT_EQ(Start::of(unit_.sent[0].words[0]).node, 9U);
  unit_.notices.clear();
  for (nic::NodeId node = 1; node <= 8; ++node) come(of(node, 0));
  unit_.end_all(false, 4);  // node 4 is lost, and its put
  come(of(9, 0));
  come(of(9, 8));
  come(of(4, 8));
  EXPECT_EQ(unit_.notices.size(), 1U);
  unit_.gives_back = true;
  for (nic::NodeId node = 1; node <= 8; ++node) unit_.end_all(false, node);
  expect_that_it_works();
}

TEST_F(RmaHostile, an_abandoned_put_is_told_and_forgotten) {
  come(piece(16, 0, 1));
  Packet end = piece(16, 8, 0);
  nic::RmaHeader header = end.header();
  header.kind = nic::kPutAbandoned;
  header.error = Error::OriginWindow;
  come(to_packet(1, header, {}));
  const Notice notices = only();
  EXPECT_EQ(notices.notification.error, Error::OriginWindow);
  EXPECT_EQ(notices.notification.operation, Operation::Put);
  come(piece(16, 8, 1));
  EXPECT_TRUE(unit_.notices.empty()) << "its beginning is forgotten";
}

TEST_F(RmaHostile, a_page_taken_in_the_middle_of_a_put_ends_it_at_both_sides) {
  Command command = put(4096 * 3, kNotifyCompleter | kNotifyRequester | kAcknowledge);
  unit_.commands.emplace_back(1, command);
  for (int i = 0; unit_.sent.size() < 30; ++i) {
    ASSERT_LT(i, 100'000);
    unit_.cycle();
  }
  pages_.erase(kSource / nic::kPageBytes + 2);
  ASSERT_TRUE(unit_.settle());
  ASSERT_EQ(unit_.notices.size(), 2U);
  for (const Notice& notices : unit_.notices) EXPECT_EQ(notices.notification.error, Error::OriginWindow);
  EXPECT_FALSE(unit_.waits()) << "its slot is free";
  EXPECT_EQ(unit_.sent.back().header().kind, nic::kPutAbandoned);
}

TEST_F(RmaHostile, a_port_closed_in_the_middle_of_a_put_ends_it_and_the_next_owner_sends_nothing_of_it) {
  for (const bool is_open_again : {false, true}) {
    place_tables();
    unit_.gives_back = false;
    unit_.sent.clear();
    unit_.commands.emplace_back(1, put(4096 * 3, kNotifyCompleter | kAcknowledge));
    for (int i = 0; unit_.sent.size() < 30; ++i) {
      ASSERT_LT(i, 100'000);
      unit_.cycle();
    }
    unit_.is_shut[0] = true;
    for (int i = 0; i < 200; ++i) unit_.cycle();
    const std::size_t sent = unit_.sent.size();
    unit_.set_port(1, {false, 0, 4});
    unit_.end_all(true, 1);
    if (is_open_again) unit_.set_port(1, {true, 99, 4});
    unit_.is_shut[0] = false;
    ASSERT_TRUE(unit_.settle());
    ASSERT_LE(unit_.sent.size(), sent + 2) << "at most the packet that had been read, and the end";
    const nic::RmaHeader end = unit_.sent.back().header();
    EXPECT_EQ(end.kind, nic::kPutAbandoned);
    EXPECT_EQ(end.error, Error::OriginVpid);
    for (const Packet& packet : unit_.sent) EXPECT_EQ(packet.header().domain, 7) << "the domain of the next owner";
    EXPECT_FALSE(unit_.waits());
    EXPECT_EQ(only().notification.error, Error::OriginVpid);
  }
  place_tables();
  unit_.gives_back = true;
  expect_that_it_works();
}

TEST_F(RmaHostile, a_command_that_waits_for_a_slot_when_its_port_is_closed_does_not_leave) {
  unit_.gives_back = false;
  for (int i = 0; i < 65; ++i) unit_.commands.emplace_back(i == 64 ? 2 : 1, command(Operation::FetchAdd));
  for (int i = 0; i < 5000; ++i) unit_.cycle();
  ASSERT_EQ(unit_.sent.size(), 64U);
  unit_.set_port(2, {false, 0, 2});
  unit_.end_all(true, 2);
  unit_.set_port(2, {true, 99, 2});
  unit_.end_all(true, 1);
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.sent.size(), 64U);
  EXPECT_EQ(unit_.ended.back(), static_cast<std::uint64_t>(Error::OriginVpid));
  EXPECT_EQ(only().notification.error, Error::OriginVpid);
  EXPECT_FALSE(unit_.waits());
  place_tables();
  unit_.gives_back = true;
  expect_that_it_works();
}

TEST_F(RmaHostile, answers_to_nothing_or_of_others_are_left_out) {
  unit_.gives_back = false;
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 16;
  run(get);
  const nic::RmaHeader request = unit_.sent.back().header();
  nic::RmaHeader answer;
  answer.kind = nic::kAnswerData;
  answer.source_vpid = 2;
  answer.target_vpid = 1;
  answer.request = request.request;
  answer.length = 16;
  const std::uint64_t data[] = {1, 2, 3};
  const auto send = [&](nic::NodeId node, const std::function<void(nic::RmaHeader&)>& change, std::size_t words) {
    nic::RmaHeader one = answer;
    change(one);
    come(to_packet(node, one, std::span(data).first(words)));
  };
  send(
      1, [](auto&) {}, 2);
  send(
      0, [](auto& a) { a.source_vpid = 3; }, 2);
  send(
      0, [](auto& a) { a.target_vpid = 2; }, 2);
  send(
      0, [](auto& a) { a.request += 1U << 16U; }, 2);
  send(
      0, [](auto& a) { a.request += 1; }, 2);
  send(
      0, [](auto& a) { a.request |= 64; }, 2);
  send(
      0, [](auto&) {}, 0);
  EXPECT_EQ(unit_.events.stale, 7U);
  EXPECT_EQ(unit_.writes, 0U);
  EXPECT_TRUE(unit_.notices.empty());
  send(
      0, [](auto&) {}, 1);
  EXPECT_TRUE(unit_.notices.empty());
  send(
      0, [](auto& a) { a.at = 8; }, 1);
  EXPECT_TRUE(unit_.notices.empty()) << "it asked for no notification";
  EXPECT_FALSE(unit_.waits());
  EXPECT_EQ(unit_.writes, 2U);
  send(
      0, [](auto&) {}, 1);
  EXPECT_EQ(unit_.events.stale, 8U) << "it is done";
  come(piece(16, 0, 2));
  (void)only();  // after a request of the same length, in which nothing is wrong
  run(get);
  answer.request = unit_.sent.back().header().request;
  send(
      0, [](auto& a) { a.length = 24; }, 2);  // not what was asked for: failed when as much has come
  EXPECT_EQ(only().notification.error, Error::Command);
  for (const auto& [said, error] :
       {std::pair{static_cast<Error>(nic::kErrors), Error::Command},
        std::pair{static_cast<Error>(nic::kErrors - 1), static_cast<Error>(nic::kErrors - 1)}}) {
    run(get);
    answer.request = unit_.sent.back().header().request;
    send(
        0,
        [error_said = said](auto& a) {
          a.kind = nic::kAnswerResult;
          a.error = error_said;
        },
        0);
    EXPECT_EQ(only().notification.error, error);
  }
  run(get);
  answer.request = unit_.sent.back().header().request;
  send(
      0,
      [](auto& a) {
        a.kind = nic::kAnswerResult;
        a.error = static_cast<Error>(99);
      },
      0);
  EXPECT_EQ(only().notification.error, Error::Command) << "of no error that there is";
  run(get);
  answer.request = unit_.sent.back().header().request;
  send(
      0, [](auto& a) { a.kind = nic::kAnswerResult; }, 0);
  EXPECT_EQ(only().notification.error, Error::Command) << "a get is answered with data";
  nic::RmaHeader refusal = answer;
  refusal.kind = nic::kAnswerRefusal;
  refusal.word = 3;
  refusal.request = 3;
  come(to_packet(0, refusal, {}));
  EXPECT_EQ(unit_.events.strange, 1U) << "a refusal without an error";
  refusal.error = Error::Domain;
  come(to_packet(0, refusal, {}));
  const nic::Notification refused = only().notification;
  EXPECT_EQ(refused.error, Error::Domain);
  EXPECT_EQ(refused.operation, Operation::Put);
  EXPECT_EQ(refused.value, 0U);
  refusal.request = 2;
  come(to_packet(0, refusal, {}));
  EXPECT_TRUE(unit_.notices.empty()) << "it was for the port's owner before";
}

TEST_F(RmaHostile, what_waits_for_a_lost_node_or_a_closed_port_ends) {
  unit_.gives_back = false;
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8;
  for (int i = 0; i < 5; ++i) run(get);
  get.target_node = 1;
  for (int i = 0; i < 3; ++i) run(get);
  run(put(8, kAcknowledge));
  EXPECT_TRUE(unit_.waits());
  unit_.end_all(false, 1);
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.notices.size(), 3U);
  for (const Notice& notices : unit_.notices) {
    EXPECT_EQ(notices.notification.error, Error::RouteBroken);
    EXPECT_EQ(notices.notification.node, 1);
    EXPECT_EQ(notices.vpid, 1);
  }
  unit_.notices.clear();
  unit_.end_all(true, 2);
  EXPECT_TRUE(unit_.waits()) << "another port";
  unit_.end_all(true, 1);
  ASSERT_TRUE(unit_.settle());
  EXPECT_FALSE(unit_.waits());
  EXPECT_TRUE(unit_.notices.empty()) << "a closed port is not notified";
  unit_.gives_back = true;
  expect_that_it_works();
}

TEST_F(RmaHostile, with_all_slots_in_use_commands_wait_and_requests_of_others_do_not) {
  unit_.gives_back = false;
  for (int i = 0; i < 70; ++i) unit_.commands.emplace_back(1, command(Operation::FetchAdd));
  for (int i = 0; i < 5000; ++i) unit_.cycle();
  EXPECT_EQ(unit_.sent.size(), 64U);
  unit_.to_come.push_back(piece(8, 0, 1));
  for (int i = 0; i < 200; ++i) unit_.cycle();
  EXPECT_EQ(unit_.notices.size(), 1U);
  unit_.notices.clear();
  unit_.gives_back = true;
  for (const Packet& packet : unit_.sent) unit_.to_come.push_back(packet);
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.events.ended, 70U);
  EXPECT_FALSE(unit_.waits());
  expect_that_it_works();
}

TEST_F(RmaHostile, a_network_without_room_for_answers_holds_up_requests_but_no_answers) {
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8;
  get.modifiers = kNotifyCompleter;
  unit_.gives_back = false;
  run(get);
  const Packet request = unit_.sent.back();
  come(request);
  const Packet answer = unit_.sent.back();
  ASSERT_EQ(answer.header().kind, nic::kAnswerData);
  unit_.is_shut[1] = true;
  for (int i = 0; i < 3; ++i) unit_.to_come.push_back(piece(8, 0, 1, kAcknowledge));
  unit_.to_come.push_back(request);
  for (int i = 0; i < 500; ++i) unit_.cycle();
  EXPECT_EQ(unit_.writes, 1U) << "the second one has no room for its answer";
  unit_.to_come.push_front(answer);
  for (int i = 0; i < 200; ++i) unit_.cycle();
  EXPECT_EQ(unit_.notices.size(), 1U);
  unit_.is_shut[1] = false;
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.writes, 4U);
}

TEST_F(RmaHostile, memory_that_never_answers_or_answers_late_or_wrongly_fails_the_command_only) {
  const auto run_out_of_patience = [&](const Command& command) {
    unit_.commands.emplace_back(1, command);
    for (int i = 0; i < 700; ++i) unit_.cycle();
  };
  unit_.is_mute = true;
  run_out_of_patience(put(64, kNotifyRequester | kAcknowledge));
  EXPECT_EQ(only().notification.error, Error::OriginWindow);
  EXPECT_EQ(unit_.events.expired, 1U);
  Command word = command(Operation::ImmediatePut);
  word.address = 5;
  run(word);
  EXPECT_EQ(at(kSink, 0), 5U);
  unit_.is_mute = false;
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.events.late, 8U);
  expect_that_it_works();
  unit_.error_percent = 100;
  unit_.sent.clear();
  run(put(64, kNotifyRequester));
  EXPECT_EQ(only().notification.error, Error::OriginWindow);
  EXPECT_TRUE(unit_.sent.empty());
  unit_.error_percent = 0;
  unit_.commands.emplace_back(1, put(4096, kNotifyRequester));
  for (int i = 0; unit_.sent.size() < 10; ++i) {
    ASSERT_LT(i, 10'000);
    unit_.cycle();
  }
  unit_.error_percent = 100;
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(only().notification.error, Error::OriginWindow);
  EXPECT_EQ(unit_.sent.back().header().kind, nic::kPutAbandoned) << "it had begun";
  run(command(Operation::FetchAdd));
  EXPECT_EQ(only().notification.error, Error::TargetTranslation);
  unit_.error_percent = 0;
  unit_.reads_are_shut = true;
  run_out_of_patience(put(64, kNotifyRequester));
  EXPECT_EQ(only().notification.error, Error::OriginWindow);
  run(put(64, kNotifyRequester));
  EXPECT_EQ(only().notification.error, Error::OriginWindow);
  EXPECT_EQ(unit_.events.expired, 2U) << "the second one fails at once";
  unit_.reads_are_shut = false;
  ASSERT_TRUE(unit_.settle());
  expect_that_it_works();
  EXPECT_FALSE(unit_.waits());
}

/// A packet for two pages has the first one while it asks for the second: flushes that come meanwhile must not keep the
/// answer back.
TEST_F(RmaHostile, flushes_come_between_the_look_ups_of_a_packet) {
  for (std::uint64_t delay = 0; delay < 120; ++delay) {
    unit_.commands.emplace_back(1, put(16, nic::kNotifyCompleter, nic::kPageBytes - 8));
    for (std::uint64_t i = 0; i < delay; ++i) unit_.cycle();
    for (std::uint64_t i = 0; i <= delay % 2; ++i) unit_.flush();
    ASSERT_TRUE(unit_.settle()) << delay;
    EXPECT_EQ(unit_.flushed, delay % 2 == 0 ? 3U : 6U);
    EXPECT_EQ(only().notification.error, Error::None);
    for (std::uint64_t i = 0; i < 2; ++i) EXPECT_EQ(at(kSink + nic::kPageBytes - 8, i), at(kSource, i));
  }
}

TEST_F(RmaHostile, a_flush_is_answered_when_no_page_is_in_use) {
  unit_.flush();
  for (int i = 0; i < 50; ++i) unit_.cycle();
  EXPECT_EQ(unit_.flushed, 3U);
  unit_.latency = [] { return std::uint64_t{100}; };
  unit_.commands.emplace_back(1, put(64));
  const std::uint64_t before = unit_.read_cycle;
  for (int i = 0; unit_.read_cycle == before; ++i) {
    ASSERT_LT(i, 100);
    unit_.cycle();
  }
  unit_.flush();
  for (int i = 0; i < 60; ++i) unit_.cycle();
  EXPECT_EQ(unit_.flushed, 2U) << "the requester reads";
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.flushed, 3U);
  unit_.memory_is_shut = true;
  unit_.to_come.push_back(piece(8, 0, 1));
  for (int i = 0; i < 60; ++i) unit_.cycle();
  unit_.flush();
  for (int i = 0; i < 60; ++i) unit_.cycle();
  EXPECT_EQ(unit_.flushed, 2U) << "the completer writes";
  unit_.memory_is_shut = false;
  for (int i = 0; i < 60; ++i) unit_.cycle();
  EXPECT_EQ(unit_.flushed, 3U);
  unit_.latency = [] { return std::uint64_t{1}; };
  run(command(Operation::FetchAdd));
  unit_.flush();
  ASSERT_TRUE(unit_.settle());
  EXPECT_EQ(unit_.flushed, 3U) << "the responder has changed its word";
  // Commands that never end do not keep it waiting.
  unit_.commands.emplace_back(1, put(20'000));
  for (int round = 0; round < 20; ++round) {
    unit_.flush();
    for (int i = 0; i < 150; ++i) unit_.cycle();
    EXPECT_EQ(unit_.flushed, 3U);
  }
}

TEST_F(RmaHostile, a_reset_in_the_middle_leaves_nothing_behind) {
  for (int when = 1; when < 400; when += 5) {
    unit_.stall_percent = when % 2 == 0 ? 60 : 0;
    unit_.commands.emplace_back(1, put(400, kAcknowledge | kNotifyRequester));
    unit_.commands.emplace_back(1, command(Operation::FetchAdd));
    Command get = command(Operation::Get);
    get.address = kInto;
    get.length = 64;
    unit_.commands.emplace_back(1, get);
    for (int i = 0; i < when; ++i) unit_.cycle();
    unit_.reset();
    const std::uint64_t writes = unit_.writes;
    EXPECT_EQ(unit_->ats_valid_o | unit_->read_valid_o | unit_->write_valid_o | unit_->send_valid_o, 0);
    for (int i = 0; i < 40; ++i) unit_.cycle();
    EXPECT_EQ(unit_.writes, writes);
    EXPECT_TRUE(unit_.sent.empty() && unit_.notices.empty());
    EXPECT_EQ(unit_.events, Unit::Events{});
    EXPECT_FALSE(unit_.waits());
    unit_.stall_percent = 0;
    unit_.flush();
    ASSERT_TRUE(unit_.settle());
    EXPECT_EQ(unit_.flushed, 3U) << "no page is in use";
    expect_that_it_works();
  }
}

TEST_F(RmaHostile, commands_and_packets_of_random_bits_end_and_harm_no_others) {
  const int rounds = by_form(300, 1'000'000);  // ten of each
  for (int round = 0; round < rounds; ++round) {
    unit_.stall_percent = static_cast<std::uint32_t>(unit_.random.below(4) * 20);
    for (int i = 0; i < 10; ++i) {
      Command command;
      std::uint64_t words[8];
      for (std::uint64_t& word : words)
        word = unit_.random.bits() & (unit_.random.chance(50) ? unit_.random.bits() : ~0ULL);
      std::memcpy(static_cast<void*>(&command), words, sizeof(command));
      if (unit_.random.chance(60)) command.operation = static_cast<Operation>(unit_.random.below(20));
      if (unit_.random.chance(60)) command.modifiers &= 0x8F;
      if (unit_.random.chance(80)) command.target_node = 0;
      if (unit_.random.chance(60)) command.target_vpid = static_cast<Vpid>(unit_.random.below(3));
      if (unit_.random.chance(60)) command.window = kWindow;
      if (unit_.random.chance(60)) command.capability = kCapability;
      if (unit_.random.chance(60)) command.length = static_cast<std::uint32_t>(unit_.random.below(100) * 8);
      if (unit_.random.chance(60)) command.address = kSource + unit_.random.below(1000) * 8;
      if (unit_.random.chance(60)) command.offset = unit_.random.below(1000) * 8;
      unit_.commands.emplace_back(static_cast<Vpid>(unit_.random.below(4)), command);
      Packet packet;
      nic::RmaHeader header;
      for (std::uint64_t& word : words) word = unit_.random.bits();
      std::memcpy(static_cast<void*>(&header), words, sizeof(header));
      if (unit_.random.chance(60)) header.kind = static_cast<std::uint8_t>(unit_.random.below(20));
      if (unit_.random.chance(30)) header.kind = static_cast<std::uint8_t>(128 + unit_.random.below(4));
      if (unit_.random.chance(60)) header.target_vpid = static_cast<Vpid>(unit_.random.below(3));
      if (unit_.random.chance(60)) header.window = kWindow;
      if (unit_.random.chance(60)) header.capability = kCapability;
      if (unit_.random.chance(60)) header.domain = 7;
      if (unit_.random.chance(60)) header.request = static_cast<std::uint32_t>(unit_.random.below(64));
      if (unit_.random.chance(60)) header.offset = unit_.random.below(1000) * 8;
      if (unit_.random.chance(60)) header.length = static_cast<std::uint32_t>(unit_.random.below(50) * 8);
      if (unit_.random.chance(60)) header.at = 0;
      std::vector<std::uint64_t> data(unit_.random.below(unit_.random.chance(10) ? 40 : 24));
      packet = to_packet(static_cast<nic::NodeId>(1 + unit_.random.below(3)), header, data);
      packet.words.resize(unit_.random.chance(10) ? 1 + unit_.random.below(20) : packet.words.size());
      packet.is_bad = unit_.random.chance(5);
      unit_.to_come.push_back(packet);
    }
    const std::uint64_t ended = unit_.ended.size();
    ASSERT_TRUE(unit_.settle(5'000'000)) << "round " << round;
    ASSERT_EQ(unit_.ended.size() - ended, 10U) << "each command ends once";
    unit_.end_all(false, 0);
    unit_.end_all(true, 1);
    unit_.end_all(true, 2);
    for (nic::NodeId node = 0; node < 4; ++node) unit_.end_all(false, node);
    ASSERT_FALSE(unit_.waits());
    unit_.sent.clear();
    unit_.ended.clear();
    unit_.notices.clear();
    if (round % 100 == 0) expect_that_it_works();
  }
}

}  // namespace
}  // namespace stopbit::sim::rma
