#include <algorithm>

#include "rma_fixture.hpp"

// What each command does, alone and under stalls, and how long it takes.

namespace stopbit::sim::rma {
namespace {

using nic::kAcknowledge;
using nic::kNotifyCompleter;
using nic::kNotifyRefusal;
using nic::kNotifyRequester;
using nic::kNotifyResponder;

constexpr std::uint64_t kHit = 9;  // of the address translation unit

TEST_F(RmaTest, a_put_writes_its_bytes_and_then_notifies) {
  for (const std::uint64_t length : {8U, 64U, 184U, 192U, 368U, 4096U, 4104U, 20'000U}) {
    for (const std::uint64_t offset : {0U, 8U, 4088U}) {
      unit_.stall_percent = offset == 8 ? 50 : 0;
      unit_.answers_in_any_order = offset == 8;
      unit_.on_told = [&](const Notice& notices) {
        if (notices.notification.teller != Teller::Completer) return;
        for (std::uint64_t i = 0; i < length / 8; ++i)
          ASSERT_EQ(at(kSink + offset, i), at(kSource, i)) << "notified before the data";
      };
      for (std::uint64_t i = 0; i < length / 8; ++i) at(kSink + offset, i) = 0;
      const std::uint64_t writes = unit_.writes;
      run(put(length, kNotifyCompleter | kNotifyRequester | kAcknowledge, offset));
      ASSERT_EQ(unit_.writes - writes, length / 8);
      ASSERT_EQ(unit_.notices.size(), 3U) << length;
      std::map<Teller, Notice> by;
      for (const Notice& notices : unit_.notices) by[notices.notification.teller] = notices;
      unit_.notices.clear();
      EXPECT_EQ(by[Teller::Completer].vpid, 2);
      EXPECT_EQ(by[Teller::Completer].notification.vpid, 1);
      EXPECT_EQ(by[Teller::Requester].vpid, 1);
      EXPECT_EQ(by[Teller::Acknowledge].vpid, 1);
      for (const auto& [teller, notices] : by) {
        EXPECT_EQ(notices.notification.operation, Operation::Put);
        EXPECT_EQ(notices.notification.error, Error::None);
        EXPECT_EQ(notices.notification.length, length);
        EXPECT_EQ(notices.notification.offset, offset);
        EXPECT_EQ(notices.notification.tag, 0xABCD'0000'1234U);
        EXPECT_EQ(notices.notification.window, kWindow);
        EXPECT_TRUE(notices.tells);
        EXPECT_EQ(notices.event, 0U);
      }
      EXPECT_FALSE(unit_.waits());
    }
  }
}

TEST_F(RmaTest, packets_have_at_most_256_bytes_and_do_not_cross_a_page_of_their_source) {
  Command command = put(3 * 4096);
  command.address += 8 * 3;
  run(command);
  std::uint64_t at = 0;
  for (const Packet& packet : unit_.sent) {
    ASSERT_LE(packet.words.size(), kMaxPayload + 1);
    const nic::RmaHeader header = packet.header();
    const std::uint64_t bytes = 8 * (packet.words.size() - kRequestWords);
    ASSERT_EQ(header.at, at);
    ASSERT_EQ((command.address + at) / 4096, (command.address + at + bytes - 1) / 4096);
    ASSERT_EQ(header.length, command.length);
    ASSERT_EQ(header.source_vpid, 1);
    ASSERT_EQ(header.domain, 7);
    ASSERT_EQ(header.request, 3U);
    at += bytes;
  }
  EXPECT_EQ(at, command.length);
}

TEST_F(RmaTest, a_get_brings_bytes_here_and_tells_both_sides) {
  for (const std::uint64_t length : {8U, 184U, 192U, 4096U, 12'344U}) {
    for (const bool stalls : {false, true}) {
      unit_.stall_percent = stalls ? 60 : 0;
      unit_.answers_in_any_order = stalls;
      for (std::uint64_t i = 0; i < length / 8; ++i) at(kSink + 16, i) = unit_.random.bits();
      Command get = command(Operation::Get);
      get.address = kInto + 4080;
      get.offset = 16;
      get.length = static_cast<std::uint32_t>(length);
      get.modifiers = kNotifyCompleter | kNotifyResponder;
      unit_.on_told = [&](const Notice& notices) {
        if (notices.notification.teller != Teller::Completer) return;
        for (std::uint64_t i = 0; i < length / 8; ++i) ASSERT_EQ(at(kInto + 4080, i), at(kSink + 16, i)) << i;
      };
      run(get);
      ASSERT_EQ(unit_.notices.size(), 2U);
      for (const Notice& notices : unit_.notices) {
        const bool is_origin = notices.notification.teller == Teller::Completer;
        EXPECT_TRUE(is_origin || notices.notification.teller == Teller::Responder);
        EXPECT_EQ(notices.vpid, is_origin ? 1 : 2);
        EXPECT_EQ(notices.notification.vpid, is_origin ? 2 : 1);
        EXPECT_EQ(notices.notification.length, length);
        EXPECT_EQ(notices.notification.error, Error::None);
      }
      unit_.notices.clear();
      EXPECT_FALSE(unit_.waits());
    }
  }
}

TEST_F(RmaTest, words_go_into_memory_or_into_a_notification) {
  Command word = command(Operation::ImmediatePut);
  word.address = 0xFEED'F00D'1234'5678;
  word.offset = 24;
  word.more = 9;
  run(word);
  EXPECT_EQ(at(kSink, 3), word.address);
  Notice notices = only();
  EXPECT_FALSE(notices.tells);
  EXPECT_EQ(notices.event, 9U);
  word.modifiers = kNotifyCompleter;
  word.more = 64;  // there is no such event
  run(word);
  notices = only();
  EXPECT_TRUE(notices.tells);
  EXPECT_EQ(notices.event, 0U);
  EXPECT_EQ(notices.notification.value, word.address);
  EXPECT_EQ(notices.notification.length, 8U);
  Command note = command(Operation::NotificationPut);
  note.address = 77;
  run(note);
  notices = only();
  EXPECT_TRUE(notices.tells);
  EXPECT_EQ(notices.notification.value, 77U);
  EXPECT_EQ(notices.notification.operation, Operation::NotificationPut);
}

TEST_F(RmaTest, atomic_operations_change_a_word_and_give_it_back) {
  struct Row {
    Operation operation;
    std::uint64_t was, address, more, becomes, value;
    bool success;
  };
  constexpr std::uint64_t kMinusOne = 0xFFFF'FFFF;
  const Row rows[] = {
      {Operation::FetchAdd, 40, 2, 0, 42, 40, true},
      {Operation::FetchAdd, ~0ULL, 1, 0, 0, ~0ULL, true},
      {Operation::Swap, 5, 6, 0, 6, 5, true},
      {Operation::CompareSwap, 5, 5, 9, 9, 5, true},
      {Operation::CompareSwap, 5, 4, 9, 5, 5, false},
      {Operation::FetchCompareAdd, 3ULL << 32 | 7, 0, 8, 3ULL << 32 | 7, 7, false},  // the lower half: 7 is above 0
      {Operation::FetchCompareAdd, 3ULL << 32 | 7, 7, 8, 3ULL << 32 | 15, 15, true},
      {Operation::FetchCompareAdd, 3ULL << 32 | kMinusOne, 0, 8, 3ULL << 32 | 7, 7, true},  // signed, and wraps
      {Operation::FetchCompareAdd, 7, kMinusOne, 8, 7, 7, false},
  };
  for (const Row& row : rows) {
    at(kSink, 2) = row.was;
    Command atomic = command(row.operation);
    atomic.address = row.address;
    atomic.more = row.more;
    atomic.offset = 16;
    atomic.modifiers = kNotifyCompleter | kNotifyResponder;
    run(atomic);
    EXPECT_EQ(at(kSink, 2), row.becomes);
    ASSERT_EQ(unit_.notices.size(), 2U);
    for (const Notice& notices : unit_.notices) {
      EXPECT_EQ(notices.notification.value, row.value);
      if (notices.notification.teller == Teller::Completer) {
        EXPECT_EQ(notices.notification.success, row.success ? 1 : 0);
      }
    }
    unit_.notices.clear();
  }
  at(kSink, 2) = 10ULL << 32 | 1;
  Command upper = command(Operation::FetchCompareAdd);
  upper.offset = 20;
  upper.address = 10;
  upper.more = kMinusOne;
  run(upper);
  EXPECT_EQ(at(kSink, 2), 9ULL << 32 | 1);
}

TEST_F(RmaTest, a_command_of_a_port_that_reads_what_it_put_finds_it) {
  unit_.stall_percent = 40;
  for (std::uint64_t round = 0; round < 40; ++round) {
    at(kSource, 0) = round;
    unit_.commands.emplace_back(1, put(8));
    Command get = command(Operation::Get);
    get.address = kInto;
    get.length = 8;
    unit_.commands.emplace_back(1, get);
    ASSERT_TRUE(unit_.settle());
    ASSERT_EQ(at(kInto, 0), round);
    Command add = command(Operation::FetchAdd);
    add.address = 1;
    for (int i = 0; i < 5; ++i) unit_.commands.emplace_back(1, add);
    ASSERT_TRUE(unit_.settle());
    ASSERT_EQ(at(kSink, 0), round + 5);
  }
}

TEST_F(RmaTest, refused_commands_change_nothing_and_say_why) {
  struct Row {
    const char* what;
    Error error;
    Teller teller;
    std::function<void(Command&)> change;
  };
  constexpr auto Route = Error::Route, OriginLength = Error::OriginLength, OriginOffset = Error::OriginOffset;
  constexpr auto OriginWindow = Error::OriginWindow, TargetVpid = Error::TargetVpid;
  constexpr auto TargetWindowId = Error::TargetWindowId, Capability = Error::Capability;
  constexpr auto TargetWindow = Error::TargetWindow, TargetOffset = Error::TargetOffset;
  const Row rows[] = {
      {"operation", Error::Command, Teller::Requester, [](auto& c) { c.operation = static_cast<Operation>(99); }},
      {"not here", Error::Command, Teller::Requester, [](auto& c) { c.operation = Operation::PutWords; }},
      {"modifiers", Error::Command, Teller::Requester, [](auto& c) { c.modifiers = 16; }},
      {"node", Route, Teller::Requester, [](auto& c) { c.target_node = 2; }},
      {"no length", OriginLength, Teller::Requester, [](auto& c) { c.length = 0; }},
      {"too long", OriginLength, Teller::Requester, [](auto& c) { c.length = (1U << 20U) + 8; }},
      {"odd length", OriginLength, Teller::Requester, [](auto& c) { c.length = 12; }},
      {"odd address", OriginOffset, Teller::Requester, [](auto& c) { c.address += 4; }},
      {"no address", OriginWindow, Teller::Requester, [](auto& c) { c.address |= 1ULL << 40; }},
      {"over the end", OriginWindow, Teller::Requester, [](auto& c) { c.address = (1ULL << 39) - 8; }},
      {"not registered", OriginWindow, Teller::Requester, [](auto& c) { c.address = 0x90'0000; }},
      {"last page is not", OriginWindow, Teller::Requester, [](auto& c) { c.length = 9 * 4096; }},
      {"port", TargetVpid, Teller::Acknowledge, [](auto& c) { c.target_vpid = 3; }},
      {"window of none", TargetWindowId, Teller::Acknowledge, [](auto& c) { c.window = 6; }},
      {"no such window", TargetWindowId, Teller::Acknowledge, [](auto& c) { c.window = 1024 + 5; }},
      {"another's", TargetWindowId, Teller::Acknowledge, [](auto& c) { c.target_vpid = 1; }},
      {"capability", Capability, Teller::Acknowledge, [](auto& c) { c.capability ^= 1ULL << 63; }},
      {"bounds", TargetWindow, Teller::Acknowledge, [](auto& c) { c.offset = 8 * 4096 - 8; }},
      {"far", TargetWindow, Teller::Acknowledge, [](auto& c) { c.offset = 1ULL << 60; }},
      {"odd offset", TargetOffset, Teller::Acknowledge, [](auto& c) { c.offset = 4; }},
  };
  for (const Row& row : rows) {
    for (const std::uint8_t how : {kAcknowledge, kNotifyRefusal}) {
      const std::uint64_t writes = unit_.writes;
      Command command = put(16, how);
      row.change(command);
      run(command);
      EXPECT_EQ(unit_.writes, writes) << row.what;
      const Notice notices = only();
      EXPECT_EQ(notices.notification.error, row.error) << row.what;
      EXPECT_EQ(notices.notification.teller, row.teller) << row.what;
      EXPECT_EQ(notices.vpid, 1) << row.what;
      // An operation that there is not has no length.
      EXPECT_EQ(notices.notification.length, command.operation <= nic::kLastOperation ? command.length : 0) << row.what;
      EXPECT_FALSE(unit_.waits()) << row.what;
    }
  }
  run(put(16), 3);
  EXPECT_EQ(only().notification.error, Error::OriginVpid);
  run(put(16), 300);
  EXPECT_EQ(only().notification.error, Error::OriginVpid);
}

TEST_F(RmaTest, windows_have_rights_domains_and_locks) {
  WindowEntry entry = window();
  entry.access = Access::Read;
  unit_.set_window(kWindow, entry);
  run(put(16, kAcknowledge));
  EXPECT_EQ(only().notification.error, Error::TargetWindow);
  entry.access = Access::Write;
  unit_.set_window(kWindow, entry);
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8;
  run(get);
  EXPECT_EQ(only().notification.error, Error::TargetWindow);
  run(command(Operation::FetchAdd));
  EXPECT_EQ(only().notification.error, Error::TargetWindow);
  entry = window();
  unit_.set_port(1, {true, 8, 0});
  run(put(16, kAcknowledge));
  EXPECT_EQ(only().notification.error, Error::Domain);
  entry.domain = 8;
  unit_.set_window(kWindow, entry);
  run(put(16, kAcknowledge));
  EXPECT_EQ(only().notification.error, Error::None);
  Command note = command(Operation::NotificationPut);
  note.modifiers = kAcknowledge;
  run(note);
  EXPECT_EQ(only().notification.error, Error::Domain) << "a window's domain is for the window";
  entry.locked = true;
  entry.holder = 1;
  entry.holder_node = 0;
  unit_.set_window(kWindow, entry);
  run(put(16, kAcknowledge));
  EXPECT_EQ(only().notification.error, Error::None);
  for (const auto& [node, vpid] : {std::pair{1, 1}, std::pair{0, 2}}) {
    entry.holder = static_cast<Vpid>(vpid);
    entry.holder_node = static_cast<nic::NodeId>(node);
    unit_.set_window(kWindow, entry);
    run(put(16, kAcknowledge));
    EXPECT_EQ(only().notification.error, Error::Locked);
  }
}

TEST_F(RmaTest, operations_reach_to_the_last_byte_of_a_window_and_not_beyond) {
  WindowEntry entry = window();
  entry.bytes = 64;
  unit_.set_window(kWindow, entry);
  const auto result = [&](Command one, std::uint64_t offset) {
    one.offset = offset;
    one.modifiers = nic::kAcknowledge;
    if (one.operation == Operation::Get) one.address = kInto;
    if (one.operation == Operation::FetchCompareAdd) one.address = 0x7FFF'FFFF;
    run(one);
    return only().notification.error;
  };
  for (const Operation operation : {Operation::Put, Operation::ImmediatePut, Operation::Get, Operation::FetchAdd,
                                    Operation::CompareSwap, Operation::Swap}) {
    Command one = operation == Operation::Put ? put(8) : command(operation);
    one.length = 8;
    EXPECT_EQ(result(one, 56), Error::None) << static_cast<int>(operation);
    EXPECT_EQ(result(one, 64), Error::TargetWindow) << static_cast<int>(operation);
    EXPECT_EQ(result(one, std::uint64_t{1} << 63U), Error::TargetWindow) << static_cast<int>(operation);
  }
  EXPECT_EQ(result(put(64), 0), Error::None);
  EXPECT_EQ(result(put(72), 0), Error::TargetWindow);
  EXPECT_EQ(result(put(64), 8), Error::TargetWindow);
  entry.bytes = 68;
  unit_.set_window(kWindow, entry);
  EXPECT_EQ(result(command(Operation::FetchCompareAdd), 64), Error::None);
  EXPECT_EQ(result(command(Operation::FetchCompareAdd), 68), Error::TargetWindow);
}

TEST_F(RmaTest, ports_that_are_closed_or_do_not_exist_start_nothing) {
  for (const Vpid vpid : {Vpid{3}, Vpid{257}}) {  // closed; its last byte is that of port 1
    run(put(8), vpid);
    EXPECT_EQ(only().notification.error, Error::OriginVpid);
    run(command(Operation::Fence), vpid);
    EXPECT_EQ(only().notification.error, Error::OriginVpid);
  }
  EXPECT_TRUE(unit_.sent.empty());
}

TEST_F(RmaTest, a_command_with_a_word_in_place_of_its_tag_is_refused_without_a_tag) {
  for (const std::uint32_t length : {16U, 17U}) {
    Command words = command(Operation::PutWords);
    words.length = length;
    run(words);
    const nic::Notification notification = only().notification;
    EXPECT_EQ(notification.error, Error::Command);
    EXPECT_EQ(notification.tag, length > 16 ? 0 : words.tag);
    EXPECT_EQ(notification.length, length);
  }
}

TEST_F(RmaTest, what_is_not_translated_at_the_target_is_refused_as_a_whole_packet) {
  pages_.erase(kSink / nic::kPageBytes + 1);
  run(put(16, kAcknowledge, 4088));  // over both pages
  EXPECT_EQ(only().notification.error, Error::TargetTranslation);
  EXPECT_EQ(unit_.writes, 0U);
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8;
  get.offset = 4096;
  run(get);
  EXPECT_EQ(only().notification.error, Error::TargetTranslation);
  run(put(4096, kAcknowledge | kNotifyCompleter, 2048));  // several packets: the first ones are written
  EXPECT_EQ(only().notification.error, Error::TargetTranslation);
  EXPECT_GT(unit_.writes, 0U);
  EXPECT_LE(unit_.writes, 2048U / 8);
  run(put(4096, kAcknowledge, 3 * 4096));
  EXPECT_EQ(only().notification.error, Error::None) << "nothing is left of it";
}

/// What each unit adds, without memory and the 9 cycles of a translation, and with the constants of Nuessle's table 9-1
/// what each of its transfers takes at the 200 MHz of its card.
TEST_F(RmaTest, adds_few_cycles_to_a_transfer_and_is_within_five_percent_of_the_source) {
  unit_.gives_back = false;
  const auto come = [&](const Packet& packet) {
    unit_.to_come.push_back(packet);
    ASSERT_TRUE(unit_.settle());
  };
  const auto since_command = [&](std::uint64_t cycle) { return cycle - unit_.command_cycle; };
  const auto since_packet = [&](std::uint64_t cycle) { return cycle - unit_.come_cycle; };
  constexpr std::uint64_t kMemory = 1;
  run(put(8));
  const Packet put_packet = unit_.sent.back();
  const std::uint64_t request_put = since_command(unit_.send_cycle) - kHit - kMemory;
  Command word = command(Operation::ImmediatePut);
  run(word);
  const Packet word_packet = unit_.sent.back();
  const std::uint64_t request_word = since_command(unit_.send_cycle);
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8;
  get.modifiers = kNotifyCompleter;
  run(get);
  const Packet get_packet = unit_.sent.back();
  const std::uint64_t request_get = since_command(unit_.send_cycle) - kHit;
  Command lock = command(Operation::FetchCompareAdd);
  lock.modifiers = kNotifyCompleter;
  run(lock);
  const Packet lock_packet = unit_.sent.back();
  come(put_packet);
  const std::uint64_t complete_put = since_packet(unit_.write_cycle) - kHit;
  come(word_packet);
  const std::uint64_t complete_word = since_packet(unit_.write_cycle) - kHit;
  nic::RmaHeader header = word_packet.header();
  header.kind = static_cast<std::uint8_t>(Operation::NotificationPut);
  come(to_packet(0, header, {}));
  constexpr std::uint64_t kNoticeWords = 5;
  const std::uint64_t complete_notice = since_packet(unit_.notices.back().cycle) - (kNoticeWords - 1);
  come(get_packet);
  const std::uint64_t respond_get = since_packet(unit_.send_cycle) - kHit - kMemory;
  come(unit_.sent.back());
  const std::uint64_t complete_get = since_packet(unit_.write_cycle) - kHit;
  come(lock_packet);
  const std::uint64_t respond_lock = since_packet(unit_.send_cycle) - kHit - kMemory;
  come(unit_.sent.back());
  const std::uint64_t complete_lock = since_packet(unit_.notices.back().cycle) - (kNoticeWords - 1);
  EXPECT_EQ(request_word, 7U);
  EXPECT_EQ(request_put, 13U);
  EXPECT_EQ(request_get, 10U);
  EXPECT_EQ(complete_notice, 8U);
  EXPECT_EQ(complete_put, 9U);
  EXPECT_EQ(complete_word, 10U);
  EXPECT_EQ(complete_get, 7U);
  EXPECT_EQ(complete_lock, 5U);
  EXPECT_EQ(respond_get, 15U);
  EXPECT_EQ(respond_lock, 19U);

  struct Row {
    const char* transfer;
    double source_ns;
    double reads, translations, trips, writes;
    std::uint64_t cycles;
  };
  // A get is translated at its origin before it leaves, too; a lock is a word of a window, which is translated.
  const Row rows[] = {
      {"notification put", 1400, 0, 0, 1, 1, request_word + complete_notice},
      {"immediate put", 1470, 0, 1, 1, 1, request_word + complete_word},
      {"immediate put, notification", 1670, 0, 1, 1, 2, request_word + complete_word},
      {"put", 1890, 1, 2, 1, 1, request_put + complete_put},
      {"put, notification", 2090, 1, 2, 1, 2, request_put + complete_put},
      {"get", 2790, 1, 3, 2, 2, request_get + respond_get + complete_get},
      {"lock", 2650, 1, 1, 2, 2, request_word + respond_lock + complete_lock},
  };
  for (const Row& row : rows) {
    constexpr double kStart = 150 + 300;  // PIO, software
    constexpr double kCycle = 5;
    const double ours = kStart + 350 * row.reads + 70 * row.translations + 650 * row.trips + 200 * row.writes +
                        kCycle * static_cast<double>(row.cycles);
    EXPECT_NEAR(ours, row.source_ns, 0.05 * row.source_ns) << row.transfer;
  }
}

}  // namespace
}  // namespace stopbit::sim::rma
