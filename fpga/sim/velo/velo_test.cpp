#include <algorithm>
#include <cstdio>

#include "velo_fixture.hpp"

// Cycles, packets, checks and slots of the message unit.

namespace stopbit::sim::velo {
namespace {

using VeloCycles = VeloTest;
using VeloRequester = VeloTest;
using VeloCompleter = VeloTest;

constexpr std::uint64_t kRequester = 2;   // first word in to first word out
constexpr std::uint64_t kCompleter = 16;  // last word in to the last one written
constexpr std::uint64_t kRequesterEach = 5;
constexpr std::uint64_t kCompleterEach = 6;
// ULTRA (Froening 3.5.4, 3.5.5).
constexpr std::uint64_t kUltraRequester = 13;
constexpr std::uint64_t kUltraCompleter = 21;

TEST_F(VeloCycles, a_message_of_eight_bytes_takes_less_than_ultra_and_leaves_each_eight_cycles) {
  open(2);
  open(5);
  const std::vector<std::uint64_t> words = {0x1122'3344'5566'7788};
  // Requester: latency of one, then a stream.
  unit_.to_send.push_back(to_message(2, 0, command_to(3, 5, 8), words));
  const std::uint64_t begin = unit_.now();
  std::uint64_t first_out = 0;
  ASSERT_TRUE(unit_.until([&] {
    if (first_out == 0 && unit_->packet_valid_o != 0) first_out = unit_.now();
    return !unit_.packets.empty();
  }));
  const std::uint64_t requester = first_out - begin;
  for (int i = 0; i < 100; ++i) unit_.to_send.push_back(to_message(2, 0, command_to(3, 5, 8), words));
  ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == 2; }));
  const std::uint64_t second_sent = unit_.packet_cycle;
  ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == 101; }));
  const std::uint64_t requester_each = (unit_.packet_cycle - second_sent) / 99;
  // Completer.
  const std::vector<std::byte> bytes = some_bytes(8);
  come(5, false, {}, bytes);
  ASSERT_TRUE(unit_.until([&] { return words_written_ == 2; }));
  const std::uint64_t completer = unit_.wrote_cycle - unit_.came_cycle;
  for (int i = 0; i < 50; ++i) come(5, false, {}, bytes);
  ASSERT_TRUE(unit_.until([&] { return words_written_ == 4; }));
  const std::uint64_t first_written = unit_.wrote_cycle;
  ASSERT_TRUE(unit_.until([&] { return words_written_ == 102; }));
  const std::uint64_t completer_each = (unit_.wrote_cycle - first_written) / 49;
  std::printf(
      "cycles of a message of 8 bytes: requester %llu (ULTRA %llu), completer %llu (ULTRA %llu); "
      "one each %llu and %llu cycles, %.1f million/s at 200 MHz\n",
      static_cast<unsigned long long>(requester), static_cast<unsigned long long>(kUltraRequester),
      static_cast<unsigned long long>(completer), static_cast<unsigned long long>(kUltraCompleter),
      static_cast<unsigned long long>(requester_each), static_cast<unsigned long long>(completer_each),
      200.0 / static_cast<double>(std::max(requester_each, completer_each)));
  EXPECT_EQ(requester, kRequester);
  EXPECT_EQ(completer, kCompleter);
  EXPECT_EQ(requester_each, kRequesterEach);
  EXPECT_EQ(completer_each, kCompleterEach);
  EXPECT_LE(std::max(requester_each, completer_each), 8U);
}

TEST_F(VeloCycles, fetch_and_dump_overlap_so_that_long_messages_come_at_the_rate_of_the_host) {
  open(5);
  unit_.set_limit(ring_of(5, false), false, 0);
  const std::vector<std::byte> bytes = some_bytes(248);
  // 31 words in 5 slots: 36 phits and 5 headers.
  for (int i = 0; i < 12; ++i) come(5, false, {}, bytes);
  const std::uint64_t begin = unit_.now();
  ASSERT_TRUE(unit_.until([&] { return words_written_ == 12U * 36; }));
  const std::uint64_t each = (unit_.wrote_cycle - begin) / 12;
  EXPECT_LE(each, 56U) << "writing alone takes 51";
  EXPECT_GE(each, 41U);
}

/// What a flush of a page waits for: no message begins, those that have begun end, and nothing is written after that.
TEST_F(VeloCompleter, begins_nothing_while_it_is_paused_and_says_when_all_is_written) {
  open(5);
  for (const bool is_high : {false, true}) {  // a ring with room for all
    unit_.set_ring(ring_of(5, is_high), false, {true, false, 2, 4096, 0x100'0000 + (is_high ? 0x100'0000ULL : 0), 0});
  }
  unit_.memory_stall_percent = 50;
  for (int round = 0; round < 40; ++round) {
    unit_->pause_i = 1;
    settle();
    ASSERT_EQ(unit_->busy_o, 0U);
    const std::uint64_t before = words_written_;
    for (int i = 0; i < 4; ++i) come(5, i % 2 != 0, {}, some_bytes(1 + unit_.random.below(300)));
    unit_.cycles(300);
    EXPECT_EQ(words_written_, before);
    unit_->pause_i = 0;
    unit_.cycles(unit_.random.below(150));
    unit_->pause_i = 1;
    ASSERT_TRUE(unit_.until([&] { return unit_->busy_o == 0; }));
    unit_.cycle();  // a message may have begun with the pause
    ASSERT_TRUE(unit_.until([&] { return unit_->busy_o == 0; }));
    const std::uint64_t then = words_written_;
    unit_.cycles(200);
    EXPECT_EQ(words_written_, then);
    unit_->pause_i = 0;
    settle();
    EXPECT_EQ(unit_.reports.size(), static_cast<std::size_t>(4 * (round + 1)));
  }
}

TEST_F(VeloRequester, sends_messages_of_every_length_in_packets) {
  open(2);
  for (std::size_t bytes = 1; bytes <= 2048; bytes += bytes < 280 ? 1 : 1 + unit_.random.below(60)) {
    const std::vector<std::uint64_t> words = to_words(some_bytes(bytes));
    const std::uint64_t tag = unit_.random.below(256);
    const std::uint64_t kind = unit_.random.below(4);
    const bool is_group = unit_.random.chance(10);
    const bool is_erroneous = unit_.random.chance(10);
    const bool announces = unit_.random.chance(30);
    const std::uint64_t traffic_class = unit_.random.below(2);
    unit_.set_group(4, {true, kDomain, 0, 1});
    const std::uint64_t target = is_group ? 4 : unit_.random.below(16);
    const std::uint64_t vpid = unit_.random.below(1024);
    unit_.stall_percent = unit_.network_stall_percent = static_cast<std::uint32_t>(unit_.random.below(3) * 30);
    unit_.packets.clear();
    unit_.to_send.push_back(to_message(2, traffic_class,
                                       command_to(target, vpid, bytes) | protocol::kVeloCommandTag.put(tag) |
                                           protocol::kVeloCommandKind.put(kind) |
                                           protocol::kVeloCommandMulticast.put(is_group ? 1 : 0) |
                                           protocol::kVeloCommandErroneous.put(is_erroneous ? 1 : 0) |
                                           protocol::kVeloCommandAnnounce.put(announces ? 1 : 0),
                                       words));
    const Header header{kNode, 2, tag, kind, kDomain, announces};
    const Start start{vpid, target, 0, traffic_class, 0, is_group, 0};
    const std::vector<Packet> wanted = packets_of(start, wire(header, bytes), words, is_erroneous);
    ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == wanted.size(); })) << bytes;
    ASSERT_EQ(unit_.packets, wanted) << bytes;
  }
  EXPECT_EQ(unit_.events.misshapen, 0U);
  EXPECT_TRUE(unit_.refusals.empty());
}

TEST_F(VeloRequester, no_port_can_choose_its_name_or_its_domain) {
  for (std::uint64_t port = 0; port < 64; ++port) unit_.set_port(port, {true, true, 1000 + port, false, 0, 0});
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t port = unit_.random.below(64);
    // Any bits, but a length that is right.
    const std::uint64_t command =
        (unit_.random.bits() & ~(protocol::kVeloCommandMulticast.put(1) | protocol::kVeloCommandTarget.put(0xFFF0) |
                                 protocol::kVeloCommandLength.put(0xFFF))) |
        protocol::kVeloCommandLength.put(8);
    unit_.packets.clear();
    unit_.to_send.push_back(to_message(port, 0, command, std::vector{unit_.random.bits()}));
    ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == 1; }));
    const std::uint64_t status = unit_.packets[0][1].data;
    ASSERT_EQ(protocol::kVeloWireNode.of(status), kNode);
    ASSERT_EQ(protocol::kVeloWireVpid.of(status), port);
    ASSERT_EQ(protocol::kVeloWireDomain.of(status), 1000 + port);
  }
}

TEST_F(VeloRequester, refuses_in_the_order_of_the_class) {
  open(2);
  unit_.set_port(3, {true, false, kDomain, false, 0, 0});
  unit_.set_group(4, {true, kDomain + 1, 0, 0});
  unit_.set_group(5, {true, kDomain, 0, 0});
  const std::vector<std::uint64_t> word = {1};
  const auto group = protocol::kVeloCommandMulticast.put(1);
  struct Case {
    std::uint64_t port, traffic_class, command;
    Error error;
  };
  const std::uint64_t long_command = command_to(3, 0, 0) | protocol::kVeloCommandLength.put(2049);
  const Case cases[] = {
      {1, 0, command_to(3, 0, 8), Error::OriginVpid},
      {3, 0, command_to(3, 0, 8), Error::OriginVpid},
      {66, 0, command_to(3, 0, 8), Error::OriginVpid},
      {1, 3, command_to(99, 0, 0), Error::OriginVpid},
      {2, 2, command_to(99, 0, 0), Error::Command},
      {2, 3, command_to(3, 0, 8), Error::Command},
      {2, 0, command_to(99, 0, 0), Error::OriginLength},
      {2, 0, long_command, Error::OriginLength},
      {2, 0, command_to(16, 0, 8), Error::Route},
      {2, 0, command_to(0xFFFF, 0, 8), Error::Route},
      {2, 0, command_to(6, 0, 8) | group, Error::TargetVpid},
      {2, 0, command_to(69, 0, 8) | group, Error::TargetVpid},
      {2, 0, command_to(4, 0, 8) | group, Error::Domain},
  };
  for (const Case& each : cases) {
    const std::size_t before = unit_.refusals.size();
    unit_.to_send.push_back(to_message(each.port, each.traffic_class, each.command, word));
    ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == before + 1; }));
    EXPECT_EQ(unit_.refusals.back().error, each.error) << nic::to_name(unit_.refusals.back().error);
    EXPECT_EQ(unit_.refusals.back().origin, each.port);
    EXPECT_EQ(unit_.refusals.back().command, each.command);
  }
  EXPECT_TRUE(unit_.packets.empty());
  EXPECT_EQ(unit_.events.sent, 0U);
  unit_.to_send.push_back(to_message(2, 1, command_to(15, 0, 8), word));
  unit_.to_send.push_back(to_message(2, 1, command_to(5, 0, 8) | group, word));
  ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == 2; }));
  unit_.set_port(2, {false, true, kDomain, false, 0, 0});
  unit_.set_group(5, {false, kDomain, 0, 0});
  unit_.to_send.push_back(to_message(2, 1, command_to(15, 0, 8), word));
  ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == std::size(cases) + 1; }));
  open(2);
  unit_.to_send.push_back(to_message(2, 1, command_to(5, 0, 8) | group, word));
  ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == std::size(cases) + 2; }));
  unit_.cycles(5);
  EXPECT_EQ(unit_.events.sent, 2U);
}

TEST_F(VeloRequester, no_port_and_no_group_is_there_that_was_not_set) {
  const std::vector<std::uint64_t> words = {1};
  const auto send = [&](std::uint64_t vpid, std::uint64_t command) {
    unit_.to_send.push_back(to_message(vpid, 0, command, words));
  };
  const auto to_group = [&](std::uint64_t group) {
    return command_to(group, 0, 8) | protocol::kVeloCommandMulticast.put(1);
  };
  for (std::uint64_t vpid = 0; vpid < 64; ++vpid) send(vpid, command_to(3, 5, 8));
  ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == 64; }));
  open(0);
  for (std::uint64_t group = 0; group < 64; ++group) send(0, to_group(group));
  ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == 128; }));
  for (std::size_t i = 64; i < 128; ++i) EXPECT_EQ(unit_.refusals[i].error, Error::TargetVpid) << i;
  // The next numbers after the last ones.
  unit_.set_group(0, {true, kDomain, 0, 1});
  send(64, command_to(3, 5, 8));
  send(0, to_group(64));
  ASSERT_TRUE(unit_.until([&] { return unit_.refusals.size() == 130; }));
  EXPECT_TRUE(unit_.packets.empty());
}

TEST_F(VeloCompleter, puts_a_short_message_at_the_end_of_its_slot_with_the_status_last) {
  open(5);
  const std::vector<std::byte> bytes = some_bytes(8);
  const Report report = deliver(5, true, {3, 2, 17, 1, kDomain, true}, bytes);
  EXPECT_EQ(report.error, Error::None);
  EXPECT_EQ(report.target, 5U);
  EXPECT_TRUE(report.is_high);
  const std::uint64_t end = place_of(ring_of(5, true)) + 64;
  ASSERT_EQ(memory_.size(), 2U);
  EXPECT_EQ(word_at(end - 16), to_words(bytes)[0]);
  const nic::SlotStatus status = nic::from_word(word_at(end - 8));
  EXPECT_EQ(status.head.node, 3U);
  EXPECT_EQ(status.head.vpid, 2U);
  EXPECT_EQ(status.head.tag, 17U);
  EXPECT_EQ(status.head.type, 1U);
  EXPECT_EQ(status.head.length, 8U);
  EXPECT_TRUE(status.is_end);
  EXPECT_FALSE(status.head.is_erroneous);
  EXPECT_EQ(status.lap, 1U);
  EXPECT_EQ(last_written_, end - 8);
}

TEST_F(VeloCompleter, writes_the_first_slot_last) {
  for (std::uint64_t size = 0; size < 4; ++size) {
    open(5, size);
    const std::uint64_t slot_bytes = 16U << size;
    memory_.clear();
    const std::vector<std::byte> bytes = some_bytes(slot_bytes * 3);
    EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::None);
    EXPECT_EQ(last_written_, place_of(ring_of(5, false)) + slot_bytes - 8);
    const std::size_t slots = (slot_bytes * 3 + slot_bytes - 9) / (slot_bytes - 8);
    EXPECT_EQ(memory_.size(), slot_bytes * 3 / 8 + slots);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const nic::SlotStatus status = nic::from_word(word_at(place_of(ring_of(5, false)) + (slot + 1) * slot_bytes - 8));
      EXPECT_EQ(status.is_end, slot + 1 == slots);
    }
  }
}

TEST_F(VeloCompleter, checks_port_domain_sender_and_state_in_this_order) {
  const std::vector<std::byte> bytes = some_bytes(20);
  for (const bool is_open : {false, true}) {
    for (const bool is_enabled : {false, true}) {
      for (const std::uint64_t domain : {kDomain, kDomain + 256}) {
        for (const int only : {0, 1, 2, 3}) {
          open(5);
          unit_.set_port(5, {is_open, is_enabled, domain, only != 0, only == 2 ? 4U : 3U, only == 3 ? 514U : 2U});
          memory_.clear();
          const Report report = deliver(5, false, {}, bytes);
          const Error wanted = !is_open                 ? Error::TargetVpid
                               : domain != kDomain      ? Error::Domain
                               : only == 2 || only == 3 ? Error::Domain
                               : !is_enabled            ? Error::TargetVpid
                                                        : Error::None;
          EXPECT_EQ(report.error, wanted);
          EXPECT_EQ(memory_.empty(), wanted != Error::None);
        }
      }
    }
  }
  // Ports that are none, and one whose ring is none.
  EXPECT_EQ(deliver(5 + 64, false, {}, bytes).error, Error::TargetVpid);
  EXPECT_EQ(deliver(1023, false, {}, bytes).error, Error::TargetVpid);
  open(5);
  unit_.set_ring(ring_of(5, false), false, {false, false, 2, 64, 0x1000, 0});
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::TargetVpid);
  EXPECT_EQ(deliver(5, true, {}, bytes).error, Error::None);
}

TEST_F(VeloCompleter, copies_for_each_member_of_a_group_but_its_sender) {
  for (std::uint64_t port = 0; port < 8; ++port) open(port);
  for (std::uint64_t i = 0; i < 8; ++i) unit_.set_member(100 + i, 7 - i);
  unit_.set_group(9, {true, kDomain, 100, 6});
  unit_.set_port(4, {true, true, kDomain + 1, false, 0, 0});
  const std::vector<std::byte> bytes = some_bytes(100);
  come(9, false, {kNode, 3, 0, 0, kDomain, false}, bytes, false, true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 5; }));
  settle();
  ASSERT_EQ(unit_.reports.size(), 5U);
  const std::uint64_t members[] = {7, 6, 5, 4, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(unit_.reports[i].target, members[i]);
    EXPECT_EQ(unit_.reports[i].error, members[i] == 4 ? Error::Domain : Error::None);
  }
  EXPECT_EQ(memory_.size(), 4U * 15);
  // Another node's port of that name is no member's own; an unknown group, and one without members.
  come(9, false, {3, 3, 0, 0, kDomain, false}, bytes, false, true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 11; }));
  come(10, false, {}, bytes, false, true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 12; }));
  EXPECT_EQ(unit_.reports.back().error, Error::TargetVpid);
  EXPECT_EQ(unit_.reports.back().target, 10U);
  unit_.set_group(10, {true, kDomain, 0, 0});
  come(10, false, {}, bytes, false, true);
  settle();
  EXPECT_EQ(unit_.reports.size(), 12U);
  // A group beyond the table is not the one with the same last bits.
  unit_.set_group(0, {true, kDomain, 100, 6});
  come(64, false, {}, bytes, false, true);
  settle();
  ASSERT_EQ(unit_.reports.size(), 13U);
  EXPECT_EQ(unit_.reports.back().error, Error::TargetVpid);
  // All banks are free again.
  for (int i = 0; i < 30; ++i) ASSERT_EQ(deliver(1, i % 2 == 0, {}, bytes).error, Error::None);
}

TEST_F(VeloCompleter, a_group_may_have_255_members) {
  open(5);
  for (std::uint64_t i = 0; i < 255; ++i) unit_.set_member(i, 5);
  unit_.set_group(9, {true, kDomain, 0, 255});
  come(9, false, {}, some_bytes(8), false, true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 255; }));
  for (std::size_t i = 0; i < 255; ++i) EXPECT_EQ(unit_.reports[i].error, i < 64 ? Error::None : Error::Full) << i;
}

TEST_F(VeloCompleter, joins_messages_of_several_senders_whose_packets_come_between_each_other) {
  open(5);
  const std::vector<std::byte> first = some_bytes(700);
  const std::vector<std::byte> second = some_bytes(900);
  const Start start{5, kNode, 0, 0, 0, false, 0};
  const std::vector<Packet> a = packets_of(start, wire({3, 2, 1, 0, kDomain, false}, 700), to_words(first));
  const std::vector<Packet> b = packets_of(start, wire({3, 9, 2, 0, kDomain, false}, 900), to_words(second));
  const std::vector<Packet> c = packets_of(start, wire({4, 2, 3, 0, kDomain, false}, 8), {{77}});
  unit_.come({a[0], b[0], c[0], a[1], b[1], b[2], a[2], b[3]});
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 3; }));
  settle();
  EXPECT_EQ(protocol::kVeloWireTag.of(unit_.reports[0].status), 3U);
  EXPECT_EQ(protocol::kVeloWireTag.of(unit_.reports[1].status), 1U);
  EXPECT_EQ(protocol::kVeloWireTag.of(unit_.reports[2].status), 2U);
  // 1 slot, then 13 of 7 words.
  for (std::size_t i = 0; i < 88; ++i) {
    const std::size_t slot = 1 + i / 7;
    const std::size_t in_slot = slot == 13 ? 3 + i % 7 : i % 7;
    ASSERT_EQ(word_at(place_of(ring_of(5, false)) + slot * 64 + in_slot * 8), to_words(first)[i]) << i;
  }
}

TEST_F(VeloCompleter, priorities_take_turns) {
  open(5);
  unit_.ignores_accepts = true;
  const std::vector<std::byte> bytes = some_bytes(8);
  unit_.memory_stall_percent = 100;
  for (int i = 0; i < 60; ++i) come(5, i % 2 == 0, {}, bytes);
  unit_.cycles(400);
  unit_.memory_stall_percent = 0;
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 60; }));
  for (std::size_t i = 10; i < 50; i += 4) {
    const auto of = unit_.reports.begin() + static_cast<std::ptrdiff_t>(i);
    const auto high = std::count_if(of, of + 4, [](const Report& report) { return report.is_high; });
    EXPECT_GE(high, 1);
    EXPECT_LE(high, 3);
  }
}

TEST_F(VeloCompleter, priorities_that_wait_take_turns_from_the_first_message_on) {
  open(5);
  open(6);
  unit_.set_ring(ring_of(6, false), true, {true, false, 2, 4, kListAt, 0});
  unit_.set_limit(ring_of(6, false), true, 1);
  descriptors_[kListAt] = {0x2000'0000, 1};
  unit_.latency = [] { return std::uint64_t{300}; };
  const std::vector<std::byte> bytes = some_bytes(8);
  come(6, false, {}, bytes);  // waits for its descriptor, and the others come
  for (int i = 0; i < 3; ++i) {
    come(5, true, {}, bytes);
    come(5, false, {}, bytes);
  }
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 7; }));
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(unit_.reports[i].is_high, i % 2 == 1) << i;
}

TEST_F(VeloCompleter, a_ring_goes_round_with_laps_from_1_to_255) {
  open(5);
  const std::vector<std::byte> bytes = some_bytes(8);
  const std::uint64_t base = place_of(ring_of(5, false));
  unit_.set_ring(ring_of(5, false), false, {true, false, 2, 3, base, 0});
  for (std::uint64_t i = 0; i < 3 * 258; ++i) {
    unit_.set_limit(ring_of(5, false), false, i);
    come(5, false, {}, bytes);
    const std::uint64_t before = words_written_;
    ASSERT_TRUE(unit_.until([&] { return words_written_ == before + 2; }));
    ASSERT_EQ(last_written_, base + i % 3 * 64 + 56);
    ASSERT_EQ(nic::from_word(word_at(last_written_)).lap, i / 3 % 255 + 1);
  }
}

TEST_F(VeloCompleter, no_slot_is_used_that_the_port_has_not_given_back) {
  open(5);
  const std::vector<std::byte> bytes = some_bytes(56);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(deliver(5, false, {}, bytes).error, Error::None);
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::Full);
  EXPECT_EQ(deliver(5, true, {}, bytes).error, Error::None) << "the other ring";
  unit_.set_limit(ring_of(5, false), false, 2);
  EXPECT_EQ(deliver(5, false, {}, some_bytes(130)).error, Error::Full) << "three slots, of which there are two";
  EXPECT_EQ(deliver(5, false, {}, some_bytes(100)).error, Error::None);
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::Full);
  // Nonsense is no room.
  for (const std::uint64_t limit : {1000U, 67U, 1U, 0xFFFF'FFFFU}) {
    unit_.set_limit(ring_of(5, false), false, limit);
    EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::Full) << limit;
  }
  unit_.set_limit(ring_of(5, false), false, 66);
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::None);
}

TEST_F(VeloCompleter, an_erroneous_message_says_so_in_each_slot) {
  open(5);
  come(5, false, {}, some_bytes(100), true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 1; }));
  settle();
  EXPECT_TRUE(unit_.reports[0].is_erroneous);
  for (const std::uint64_t slot : {0U, 1U}) {
    EXPECT_TRUE(nic::from_word(word_at(place_of(ring_of(5, false)) + slot * 64 + 56)).head.is_erroneous);
  }
  come(5, false, {}, some_bytes(100));
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 2; }));
  settle();
  EXPECT_FALSE(unit_.reports[1].is_erroneous);
  EXPECT_FALSE(nic::from_word(word_at(place_of(ring_of(5, false)) + 2 * 64 + 56)).head.is_erroneous);
}

}  // namespace
}  // namespace stopbit::sim::velo
