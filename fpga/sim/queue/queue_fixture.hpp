#pragma once

#include <Vrtl_queue.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <vector>

#include "host/nic/error.hpp"
#include "host/nic/msg/combine.hpp"
#include "host/nic/protocol/protocol.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "queue_driver.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::sim::queue {

using Unit = Driver<Vrtl_queue>;
using nic::Command;
using nic::Error;
using nic::Operation;
namespace protocol = nic::protocol;

inline constexpr std::size_t kPorts = Unit::kPorts;

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}
[[nodiscard]] inline bool is_long() {
  return std::getenv("STOPBIT_LONG") != nullptr;
}

/// What has to leave for a command: a transfer, or a message.
struct Expected {
  bool is_message = false;
  Transfer transfer;
  Message message;
};

/// A FastSend as the message unit takes it (Node::run, and the command of VELO).
[[nodiscard]] inline Message message_of(std::uint64_t vpid, const Line& line) {
  const auto command = std::bit_cast<Command>(line);
  const bool is_group = (command.modifiers & nic::kGroup) != 0;
  const std::uint64_t length = command.window <= nic::kMaxFastBytes ? command.window : 0;
  Message message;
  message.vpid = vpid;
  message.traffic_class =
      ((command.modifiers & nic::kAbort) != 0 ? 2U : 0U) | ((command.modifiers & nic::kHighPriority) != 0 ? 1U : 0U);
  message.words.push_back(
      protocol::kVeloCommandTarget.put(is_group ? command.target_vpid : command.target_node) |
      protocol::kVeloCommandMulticast.put(is_group ? 1 : 0) |
      protocol::kVeloCommandVpid.put(is_group ? 0 : std::min<std::uint64_t>(command.target_vpid, 1023)) |
      protocol::kVeloCommandKind.put(command.tag >> 8U) | protocol::kVeloCommandTag.put(command.tag) |
      protocol::kVeloCommandAnnounce.put((command.modifiers & nic::kNotifyCompleter) != 0 ? 1 : 0) |
      protocol::kVeloCommandLength.put(length));
  const std::size_t words = std::max<std::size_t>(1, (length + 7) / 8);
  message.words.insert(message.words.end(), line.begin() + 2, line.begin() + 2 + static_cast<std::ptrdiff_t>(words));
  return message;
}
[[nodiscard]] inline Expected expected_of(std::uint64_t vpid, const Line& line) {
  Expected expected;
  expected.is_message = (line[0] & 0xFF) == static_cast<std::uint64_t>(Operation::FastSend);
  if (expected.is_message) {
    expected.message = message_of(vpid, line);
  } else {
    expected.transfer.vpid = vpid;
    std::copy_n(line.begin(), kCommandWords, expected.transfer.words.begin());
  }
  return expected;
}
/// What a command of 16 bytes means.
[[nodiscard]] inline Expected expected_of(std::uint64_t vpid, const ShortAddress& to,
                                          const std::array<std::uint64_t, 2>& words) {
  if (to.code == Short::Message) return {true, {}, {vpid, to.requester ? 1U : 0U, {words[0], words[1]}}};
  Command command;
  command.modifiers = static_cast<std::uint8_t>((to.requester ? nic::kNotifyRequester : 0) |
                                                (to.completer ? nic::kNotifyCompleter : 0) |
                                                (to.responder ? nic::kNotifyResponder : 0));
  command.target_node = static_cast<nic::NodeId>(words[0] >> 48U);
  command.target_vpid = static_cast<std::uint16_t>(words[0] >> 32U);
  command.window = static_cast<std::uint16_t>(words[0] >> 16U);
  const std::uint64_t rest = words[0] & 0xFFFF;
  const auto is_signed = [](std::uint64_t word) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)));
  };
  switch (to.code) {
    case Short::Put:
    case Short::Get:
      command.operation = to.code == Short::Put ? Operation::Put : Operation::Get;
      command.length = static_cast<std::uint32_t>(((rest >> 10U) + 1) * (to.by_lines ? 64 : 8));
      command.address = (words[1] & 0xF'FFFF'FFFF) * 8;
      command.offset = (words[1] >> 36U) * 8;
      break;
    case Short::Lock:
      command.operation = Operation::FetchCompareAdd;
      command.address = is_signed(words[1] >> 32U);
      command.more = is_signed(words[1]);
      command.offset = rest * 4;
      break;
    case Short::Immediate:
      command.operation = Operation::ImmediatePut;
      command.address = words[1];
      command.offset = rest * 8;
      break;
    default:
      command.operation = Operation::NotificationPut;
      command.window = 0;
      command.tag = words[0] & 0xFFFF'FFFF;
      command.address = words[1];
  }
  return expected_of(vpid, to_line(command));
}

/// What the posted writes of all ports make: a plain model of the lines.
class PostedModel {
 public:
  /// What leaves for this packet, if anything; adds to `events`.
  std::optional<Expected> take(const htax::Packet& packet) {
    const htax::Header header = htax::from_phit(packet[0]);
    const std::uint64_t vpid = header.address >> 12U & 0xFFFF;
    const auto refuse = [&](Error error) {
      events.push_back({vpid, error, false});
      return std::nullopt;
    };
    if (vpid >= kPorts || !is_open[vpid]) return refuse(Error::OriginVpid);
    if (header.error || header.length == 0 || header.length > kLineWords) return refuse(Error::OriginLength);
    const bool is_masked = header.length == 1 && ((header.origin & 7U) != 7 || header.tag != 31);
    if (header.address % 8 != 0 || is_masked) return refuse(Error::OriginOffset);
    if ((header.address >> 11U & 1U) != 0) {
      const std::uint64_t code = header.address >> 4U & 7U;
      if (header.length != 2) return refuse(Error::OriginLength);
      if (header.address % 16 != 0) return refuse(Error::OriginOffset);
      if (code == 0 || code > static_cast<std::uint64_t>(Short::Message)) return refuse(Error::Command);
      return expected_of(vpid,
                         {static_cast<Short>(code), (header.address >> 7U & 1U) != 0, (header.address >> 8U & 1U) != 0,
                          (header.address >> 9U & 1U) != 0, (header.address >> 10U & 1U) != 0},
                         {packet[1], packet[2]});
    }
    const std::uint64_t number = header.address >> 6U & 31U;
    const std::size_t word = header.address >> 3U & 7U;
    if (word + header.length > kLineWords) return refuse(Error::OriginLength);
    Begun& begun = begun_[vpid * 2 + number % 2];
    bool again = begun.marks != 0 && (begun.number != number || header.length == kLineWords);
    for (std::size_t i = 0; i < header.length; ++i) again = again || (begun.marks >> (word + i) & 1U) != 0;
    if (again) {
      events.push_back({vpid, Error::None, true});
      begun.marks = 0;
    }
    begun.number = number;
    for (std::size_t i = 0; i < header.length; ++i) {
      begun.line[word + i] = packet[1 + i];
      begun.marks |= 1U << (word + i);
    }
    if (begun.marks != 0xFF) return std::nullopt;
    begun.marks = 0;
    return expected_of(vpid, begun.line);
  }
  void set(std::uint64_t vpid, bool open) {
    is_open[vpid] = open;
    begun_[vpid * 2].marks = begun_[vpid * 2 + 1].marks = 0;
  }
  void reset() { *this = {}; }

  std::array<bool, kPorts> is_open{};
  std::vector<Event> events;

 private:
  struct Begun {
    std::uint64_t number = 0;
    unsigned marks = 0;
    Line line{};
  };
  std::array<Begun, 2 * kPorts> begun_{};
};

/// A port's queue in software: what it accepts of the commands of one unit, and what comes out of it. Its node gives
/// places back at once.
class PortOracle {
 public:
  PortOracle() { memory_.set_state(nic::PortState::Enabled); }
  [[nodiscard]] nic::Reply insert(const Line& line) {
    memory_.page().word(nic::PageWord::Taken).store(source_.taken());
    const auto command = std::bit_cast<Command>(line);
    return nic::CommandQueue(memory_.page()).insert({&command, 1}).reply;
  }
  /// The next one that has to leave.
  [[nodiscard]] std::optional<Line> take() {
    Command command;
    if (!source_.take(command)) return std::nullopt;
    return to_line(command);
  }
  [[nodiscard]] nic::PageMemory& memory() { return memory_; }

 private:
  nic::PageMemory memory_;
  nic::CommandSource source_{memory_.page()};
};
/// Codes are the same, but for one of the bus.
[[nodiscard]] inline Code code_of(nic::Reply reply) {
  return static_cast<Code>(reply);
}

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() : unit_(seed()) { open_all(); }
  void open_all() {
    for (std::size_t vpid = 0; vpid < kPorts; ++vpid) open(vpid);
  }
  void open(std::size_t vpid, std::uint64_t ring = 0) {
    unit_.set_port(vpid, State::Enabled, ++lives_[vpid], ring);
    model_.set(vpid, true);
  }
  void close(std::size_t vpid) {
    unit_.set_port(vpid, State::Closed, lives_[vpid]);
    model_.set(vpid, false);
  }
  void reset() {
    unit_.reset();
    lives_ = {};
    model_.reset();
    transfers_.clear();
    messages_.clear();
    open_all();
  }
  /// Adds a posted write, and what has to leave for it.
  void post(const htax::Packet& packet) {
    unit_.posted.push_back(packet);
    expect(model_.take(packet));
  }
  void expect(const std::optional<Expected>& expected) {
    if (!expected) return;
    if (expected->is_message) {
      messages_.push_back(expected->message);
    } else {
      transfers_.push_back(expected->transfer);
    }
  }
  /// All that has to leave has left, in its order, and nothing else.
  void check() {
    unit_.settle();
    EXPECT_EQ(unit_.transfers.size(), transfers_.size());
    EXPECT_EQ(unit_.messages.size(), messages_.size());
    EXPECT_TRUE(unit_.transfers == transfers_) << "transfers differ";
    EXPECT_TRUE(unit_.messages == messages_) << "messages differ";
    EXPECT_TRUE(unit_.events == model_.events) << unit_.events.size() << " events, not " << model_.events.size();
    transfers_.clear();
    messages_.clear();
    model_.events.clear();
    unit_.transfers.clear();
    unit_.messages.clear();
    unit_.events.clear();
  }

  Line random_line(bool is_message) {
    Line line;
    for (std::uint64_t& word : line) word = unit_.random.bits();
    line[0] = (line[0] & ~std::uint64_t{0xFF}) | (is_message ? 1 : 2 + unit_.random.below(17));
    if (is_message && unit_.random.chance(80)) {
      line[0] = (line[0] & 0x0000'FFFF'FFFF'3FFF) | (1 + unit_.random.below(40)) << 48U;
    }
    return line;
  }
  /// As a processor may write a line back: cut anywhere, in any order.
  std::vector<htax::Packet> pieces(std::uint64_t vpid, std::uint64_t number, const Line& line) {
    std::vector<htax::Packet> all;
    for (std::size_t at = 0; at < kLineWords;) {
      const std::size_t count = 1 + unit_.random.below(kLineWords - at);
      all.push_back(write_of(address_of(vpid, number, at), {line.begin() + static_cast<std::ptrdiff_t>(at),
                                                            line.begin() + static_cast<std::ptrdiff_t>(at + count)}));
      at += count;
    }
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[unit_.random.below(i)]);
    return all;
  }
  ShortAddress random_short() {
    const std::uint64_t bits = unit_.random.bits();
    return {static_cast<Short>(1 + unit_.random.below(6)), (bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0,
            (bits & 8U) != 0};
  }

  Unit unit_;
  PostedModel model_;
  std::array<std::uint64_t, kPorts> lives_{};
  std::vector<Transfer> transfers_;
  std::vector<Message> messages_;
};

}  // namespace stopbit::sim::queue
