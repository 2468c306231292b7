#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host/device/far_ring.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/remote/protocol.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"
#include "rma_driver.hpp"
#include "start_cell.hpp"
#include "tests/lib/form.hpp"

// The registers of records to other nodes, with a host that knows what it does, and one that writes anything at any
// time. The bench core makes a record of one slot of each datagram.

namespace stopbit::sim {
namespace {

namespace reg = device::registers;
namespace far = device::registers::remote;

constexpr std::uint32_t kBase = far::base(0);
constexpr std::size_t kPosition = 15;  // words of a packet without a slot,
constexpr std::size_t kOneSlot = 23;   // and with one
constexpr std::size_t kBatch = 12;     // the word that says what it is: kind, how a ring has ended
constexpr std::size_t kImage = 18;     // of an event, and the clock
constexpr std::uint16_t kGeneration = 7;
constexpr auto kRecords = static_cast<std::uint64_t>(stopbit::remote::Batch::Records);
constexpr auto kEnded = static_cast<std::uint64_t>(stopbit::remote::Batch::Ended);
constexpr std::uint16_t kNode = 0x1234;

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Packet datagram(Random& random) {
  Packet packet;
  packet.bytes.resize(1 + random.below(100));
  for (std::byte& byte : packet.bytes) byte = static_cast<std::byte>(random.below(255));  // 0xFF is given up
  return packet;
}

class RemoteRegisters : public ::testing::Test {
 protected:
  RemoteRegisters() {
    model_.on_node_packet([this](NodePacket packet) { packets_.push_back(std::move(packet.words)); });
    EXPECT_TRUE(kernel_.receive(true).ok());
  }
  ~RemoteRegisters() override { EXPECT_EQ(model_.problem(), ""); }

  void write(std::uint32_t offset, std::uint32_t value) { model_.write(kBase + offset, value); }
  std::uint32_t state() { return model_.read(kBase + far::kState); }
  bool refused() {
    model_.run(4);
    const bool is = (model_.read(reg::kErrors) & reg::kErrorsRemoteRefused) != 0;
    model_.write(reg::kErrors, reg::kErrorsRemoteRefused);
    return is;
  }
  void settle() {
    while (model_.waiting() > 0 || model_.coming() > 0 || model_.quiet_cycles() < 300) model_.run(20);
  }
  device::FarRing start() {
    auto made = device::FarRing::start(
        device_, {.node = kNode, .slot_count = 256, .max_record_slots = 4, .image_generation = kGeneration});
    EXPECT_TRUE(made.ok()) << made.message();
    return std::move(made).value();
  }
  static device::FarSubscriber subscriber() {
    return {.node = 9, .vpid = 8, .event = 2, .window = 7, .capability = 6, .port = 5, .domain = 4, .life = 3};
  }
  /// A message from this subscriber's port: credit, if it is open.
  void come_signal(const device::FarSubscriber& from) {
    nic::RmaHeader header;
    header.kind = static_cast<std::uint8_t>(nic::Operation::Signal);
    header.source_vpid = from.vpid;
    header.target_vpid = from.port;
    header.domain = from.domain;
    header.more = 1;
    model_.come({.words = rma::to_packet(from.node, header, {}).words});
  }
  static Packet malformed() {
    Packet packet;
    packet.bytes.assign(8, std::byte{0xFE});  // the bench core says that it is of two slots
    return packet;
  }
  void expect_counters(const device::FarRing& ring, const device::FarCounters& expected) {
    const device::FarCounters counters = device::FarRing(ring).counters().value();
    EXPECT_EQ(counters.overrun, expected.overrun);
    EXPECT_EQ(counters.malformed, expected.malformed);
    EXPECT_EQ(counters.surplus, expected.surplus);
    EXPECT_EQ(counters.stray, expected.stray);
  }
  /// Each record is wanted by these.
  void want(std::uint8_t subscribers) {
    const std::array<device::Filter, 1> all{{{.subscribers = subscribers}}};
    EXPECT_TRUE(kernel_.no_filters(all).ok());
  }

  KernelModel model_{77, 20};
  ModelDevice device_{model_};
  device::Kernel kernel_ = device::Kernel::open(device_).value();
  Random random_{78};
  std::vector<std::vector<std::uint64_t>> packets_;
};

TEST_F(RemoteRegisters, a_ring_a_subscriber_and_its_accounts) {
  device::FarRing ring = start();
  want(0x81);
  const auto begun = ring.open(7, subscriber());
  ASSERT_TRUE(begun.ok()) << begun.message();
  EXPECT_EQ(begun.value(), (device::FarPosition{256, 0}));
  for (int i = 0; i < 5; ++i) model_.send(datagram(random_));
  settle();
  EXPECT_EQ(model_.read(kBase + far::kBegunNumber), 256U) << "of the subscriber, whatever came since";
  ASSERT_EQ(packets_.size(), 5U);
  for (const std::vector<std::uint64_t>& words : packets_) {
    EXPECT_EQ(words.size(), kOneSlot);
    EXPECT_EQ(words[1], kNode);
  }
  EXPECT_EQ(ring.accounts(7).value(), (device::FarAccounts{.begun = 0, .messages = 5, .records = 5, .slots = 5}));
  EXPECT_EQ(ring.position().value(), (device::FarPosition{261, 5}));
  EXPECT_EQ(ring.state().value().open, 0x80U);
  EXPECT_TRUE(ring.tell_position(7).value());
  EXPECT_TRUE(ring.tell_end(7, 1).value());
  EXPECT_FALSE(ring.tell_position(0).value()) << "it is closed";
  settle();
  ASSERT_EQ(packets_.size(), 7U);
  EXPECT_EQ(packets_.back().size(), kPosition);
  EXPECT_EQ(packets_[5][kBatch] & 0xFFFF, kRecords);
  EXPECT_EQ(packets_[6][kBatch] & 0xFFFF, kEnded | 1U << 8U);
  const auto late = ring.open(0, subscriber());
  ASSERT_TRUE(late.ok()) << late.message();
  EXPECT_EQ(late.value(), (device::FarPosition{261, 5}));
  EXPECT_EQ(ring.accounts(0).value(), device::FarAccounts{.begun = 5});
  ASSERT_TRUE(ring.close(7).ok());
  model_.send(datagram(random_));
  settle();
  EXPECT_EQ(packets_.size(), 8U);
  EXPECT_EQ(ring.accounts(0).value().messages, 1U);
  EXPECT_EQ(ring.accounts(7).value(), device::FarAccounts{.begun = 5}) << "closed: its accounts begin anew";
  EXPECT_FALSE(device::FarRing::start(device_, {.slot_count = 256}).ok()) << "a subscriber is open";
  // Of the host's own rules.
  EXPECT_FALSE(ring.open(8, subscriber()).ok());
  EXPECT_FALSE(ring.close(8).ok());
  EXPECT_FALSE(ring.tell_end(8, 0).ok());
  EXPECT_FALSE(ring.accounts(8).ok());
  for (int i = 0; i < 7; ++i) {
    device::FarSubscriber bad = subscriber();
    if (i == 0) bad.slots = 32;
    if (i == 1) bad.slots = 65'537;
    if (i == 2) bad.slot_bytes = 96;
    if (i == 3) bad.slot_bytes = 170;
    if (i == 4) bad.slot_bytes = (1U << 20U) + 8;
    if (i == 5) bad.slots = bad.slot_bytes = 65'536;
    if (i == 6) bad.event = 64;
    EXPECT_FALSE(ring.open(1, bad).ok()) << i;
  }
  ASSERT_TRUE(ring.close(0).ok());
  for (const auto& [slots, longest] : Pairs{{8U, 1U}, {24U, 1U}, {1U << 29U, 1U}, {256U, 0U}, {256U, 33U}}) {
    EXPECT_FALSE(device::FarRing::start(device_, {.slot_count = slots, .max_record_slots = longest}).ok());
  }
  EXPECT_FALSE(refused()) << "nothing of this came to the kernel";
}

TEST_F(RemoteRegisters, refuse_what_makes_no_sense) {
  const auto set = [&](std::uint32_t index, std::uint32_t slots, std::uint32_t bytes) {
    write(far::kChannelSlots, slots);
    write(far::kSlotBytes, bytes);
    write(far::kSubscribe, index | far::kSubscribeOpen);
  };
  const auto begin = [&](std::uint32_t log2, std::uint32_t longest) {
    write(far::kSlotsLog2, log2);
    write(far::kMaxRecordSlots, longest);
    write(far::kCommand, far::kCommandStart);
  };
  set(0, 64, 168);
  EXPECT_TRUE(refused()) << "no ring has begun";
  for (const auto& [log2, longest] :
       Pairs{{0U, 1U}, {3U, 1U}, {29U, 1U}, {31U, 1U}, {4U, 0U}, {4U, 3U}, {8U, 33U}, {18U, 0x8001U}}) {
    begin(log2, longest);
    EXPECT_TRUE(refused()) << log2 << ", " << longest;
    EXPECT_EQ(state(), 0U);
  }
  write(far::kCommand, 0);
  EXPECT_FALSE(refused());
  for (const auto& [log2, longest] : Pairs{{4U, 2U}, {28U, 0xFFFFU}, {8U, 32U}}) {
    begin(log2, longest);
    EXPECT_FALSE(refused()) << log2 << ", " << longest;
    EXPECT_EQ(model_.read(kBase + far::kPositionNumber), 1U << log2);
  }
  for (const auto& [slots, bytes] :
       Pairs{{0U, 168U}, {32U, 168U}, {65'537U, 168U}, {131'071U, 168U}, {64U, 0U}, {64U, 103U}}) {
    set(3, slots, bytes);
    EXPECT_TRUE(refused()) << slots << ", " << bytes;
    EXPECT_EQ(state(), 0U);
  }
  for (const auto& [slots, bytes] : Pairs{{33U, 104U}, {65'536U, 0x1F'FFFFU}}) {
    set(3, slots, bytes);
    EXPECT_FALSE(refused());
    EXPECT_EQ(state(), 8U << far::kStateOpenShift);
  }
  begin(5, 1);
  EXPECT_TRUE(refused()) << "a subscriber is open";
  EXPECT_EQ(state(), 8U << far::kStateOpenShift);
  EXPECT_EQ(model_.read(kBase + far::kPositionNumber), 256U);
  for (std::uint32_t i = 0; i < 8; ++i) write(far::kSubscribe, i);
  EXPECT_FALSE(refused()) << "closing one that is closed is no mistake";
  EXPECT_EQ(state(), 0U);
}

TEST_F(RemoteRegisters, take_one_request_of_a_kind_while_a_record_is_sent) {
  device::FarRing ring = start();
  want(1);
  ASSERT_TRUE(ring.open(0, subscriber()).ok());
  model_.shut_node_network(true);
  for (int i = 0; i < 3; ++i) model_.send(datagram(random_));
  settle();
  write(far::kSubscribe, 1 | far::kSubscribeOpen);
  write(far::kTell, 0);
  EXPECT_FALSE(refused());
  EXPECT_EQ(state() & 0xFF, far::kStateSubscribing | far::kStateTelling | far::kStateWaiting);
  write(far::kSubscribe, 2 | far::kSubscribeOpen);
  EXPECT_TRUE(refused());
  write(far::kTell, 5 | far::kTellEnds);
  EXPECT_TRUE(refused());
  // A later value of a register that has to stay makes it one that is refused.
  write(far::kChannelSlots, 3);
  EXPECT_TRUE(refused());
  EXPECT_EQ(state() & far::kStateSubscribing, 0U);
  write(far::kSubscribe, 0);
  EXPECT_FALSE(refused());
  EXPECT_FALSE(ring.close(0).ok()) << "the host gives up, the kernel does not";
  model_.shut_node_network(false);
  settle();
  EXPECT_EQ(state(), 0U) << "the record under way is whole; then the subscriber closed, and no position was sent";
  EXPECT_EQ(packets_.size(), 1U);
  EXPECT_EQ(packets_[0].size(), kOneSlot);
  // Two starts: the second one finds the first one waiting for a record that waits, or done.
  ASSERT_TRUE(ring.close(0).ok());
  EXPECT_EQ(ring.position().value().records, 3U);
}

/// Records that found no room are the subscriber's losses, too.
TEST_F(RemoteRegisters, count_what_is_lost_and_what_makes_no_sense) {
  device::FarRing ring = start();
  want(1);
  device::FarSubscriber all = subscriber();
  all.slots = 1024;
  ASSERT_TRUE(ring.open(0, all).ok());
  expect_counters(ring, {});
  for (int i = 0; i < 3; ++i) come_signal(all);
  device::FarSubscriber stranger = all;
  ++stranger.vpid;
  for (int i = 0; i < 2; ++i) come_signal(stranger);
  for (int i = 0; i < 4; ++i) model_.send(malformed());
  settle();
  expect_counters(ring, {.malformed = 4, .surplus = 3, .stray = 2});
  EXPECT_EQ(ring.position().value().records, 0U);
  model_.shut_node_network(true);
  constexpr std::uint64_t kSent = 100;
  for (std::uint64_t i = 0; i < kSent; ++i) model_.send(datagram(random_));
  settle();
  const std::uint64_t overrun = ring.counters().value().overrun;
  EXPECT_GT(overrun, 30U);
  EXPECT_LT(overrun, 40U) << "64 have room";
  model_.shut_node_network(false);
  settle();
  model_.send(datagram(random_));  // shows the gap
  settle();
  const device::FarAccounts accounts = ring.accounts(0).value();
  EXPECT_EQ(accounts.lost, overrun);
  EXPECT_EQ(packets_[packets_.size() - 2][kImage] & 0xFFFF, kGeneration) << "of the event";
  EXPECT_EQ(accounts.records, kSent + 1 - overrun + 1) << "with the event that says so";
  EXPECT_EQ(ring.position().value().records, kSent + 1);
  expect_counters(ring, {.overrun = overrun, .malformed = 4, .surplus = 3, .stray = 2});
}

/// In each cycle from a datagram to the packet of its record, with requests that wait, and in the middle of a packet.
TEST_F(RemoteRegisters, forget_everything_in_a_reset) {
  for (std::uint64_t before = 0; before < 40; ++before) {
    SCOPED_TRACE("after " + std::to_string(before) + " cycles");
    device::FarRing ring = start();
    want(1);
    ASSERT_TRUE(ring.open(0, subscriber()).ok());
    come_signal(subscriber());
    device::FarSubscriber stranger = subscriber();
    ++stranger.node;
    come_signal(stranger);
    model_.send(malformed());
    settle();
    EXPECT_TRUE(ring.tell_position(0).value());
    settle();
    model_.shut_node_network(true);
    if (before % 4 == 0) {
      for (int i = 0; i < 80; ++i) model_.send(datagram(random_));
      settle();
      write(far::kSubscribe, 1 | far::kSubscribeOpen);
      write(far::kTell, 0);
      EXPECT_EQ(state() & 0xFF, far::kStateSubscribing | far::kStateTelling | far::kStateTold | far::kStateWaiting);
      EXPECT_GT(ring.counters().value().overrun, 0U);
    }
    for (int i = 0; i < 30; ++i) model_.send(datagram(random_));
    NodePacket answer;
    answer.words.assign(33, Start{.unit = 1, .traffic_class = 1}.data());
    model_.come(answer);
    model_.run(before);
    model_.reset();
    EXPECT_EQ(state(), 0U);
    EXPECT_FALSE(refused());
    expect_counters(ring, {});
    EXPECT_EQ(ring.position().value(), device::FarPosition{});
    // A record of no ring is numbered, and no subscriber can come.
    ASSERT_TRUE(kernel_.receive(true).ok());
    model_.send(datagram(random_));
    settle();
    EXPECT_EQ(ring.position().value(), (device::FarPosition{1, 1}));
    write(far::kChannelSlots, 64);
    write(far::kSlotBytes, 168);
    write(far::kSubscribe, far::kSubscribeOpen);
    EXPECT_TRUE(refused());
    // The first packet that comes is seen from its first word on, and the first record is whole.
    model_.shut_node_network(false);
    packets_.clear();
    ring = start();
    want(1);
    ASSERT_TRUE(ring.open(0, subscriber()).ok());
    come_signal(subscriber());
    model_.send(datagram(random_));
    settle();
    expect_counters(ring, {.surplus = 1});
    ASSERT_EQ(packets_.size(), 1U);
    EXPECT_EQ(packets_[0].size(), kOneSlot);
    model_.reset();
    ASSERT_TRUE(kernel_.receive(true).ok());
    if (HasFailure()) return;
  }
}

TEST_F(RemoteRegisters, of_a_ring_that_has_begun_are_for_the_next_one) {
  device::FarRing ring = start();
  want(1);
  ASSERT_TRUE(ring.open(0, subscriber()).ok());
  for (const auto& [offset, value] : Pairs{{far::kNode, 5U}, {far::kSlotsLog2, 4U}, {far::kMaxRecordSlots, 2U}}) {
    write(offset, value);
  }
  for (int i = 0; i < 20; ++i) model_.send(datagram(random_));
  settle();
  ASSERT_EQ(packets_.size(), 20U);
  for (const std::vector<std::uint64_t>& words : packets_) EXPECT_EQ(words[1], kNode);
  EXPECT_EQ(ring.position().value(), (device::FarPosition{276, 20})) << "16 slots are no whole ring";
}

/// A start waits until no record waits: those that are left of a subscriber that has closed. Meanwhile no subscriber
/// comes, and a second start is refused; a reset ends it.
TEST_F(RemoteRegisters, begin_a_ring_between_records) {
  enum class Then { Start, Subscribe, Reset };
  for (const Then then : {Then::Start, Then::Subscribe, Then::Reset}) {
    device::FarRing ring = start();
    want(1);
    ASSERT_TRUE(ring.open(0, subscriber()).ok());
    model_.shut_node_network(true);
    for (int i = 0; i < 66; ++i) model_.send(datagram(random_));
    settle();
    write(far::kSubscribe, 0);
    write(far::kSlotsLog2, 9);
    EXPECT_FALSE(refused());
    model_.shut_node_network(false);
    while ((state() >> far::kStateOpenShift) != 0) {
    }
    write(far::kCommand, far::kCommandStart);
    if (then == Then::Start) write(far::kCommand, far::kCommandStart);
    if (then == Then::Subscribe) write(far::kSubscribe, far::kSubscribeOpen);
    EXPECT_EQ(state() & ~std::uint32_t{far::kStateTold}, far::kStateStarting | far::kStateWaiting);
    if (then == Then::Reset) {
      model_.reset();
      model_.run(300);
      EXPECT_EQ(state(), 0U);
      EXPECT_FALSE(refused());
      EXPECT_EQ(model_.read(kBase + far::kPositionNumber), 0U);
      continue;
    }
    settle();
    EXPECT_TRUE(refused());
    EXPECT_EQ(state() & ~std::uint32_t{far::kStateTold}, 0U);
    EXPECT_EQ(ring.position().value(), (device::FarPosition{512, 0})) << "they are of no ring";
  }
}

/// Requests that are refused while others wait change nothing of these.
TEST_F(RemoteRegisters, carry_out_what_they_took_first) {
  device::FarRing ring = start();
  want(1);
  for (std::uint32_t i : {0U, 3U}) ASSERT_TRUE(ring.open(i, subscriber()).ok());
  for (const bool ends : {false, true}) {
    model_.shut_node_network(true);
    model_.send(datagram(random_));
    settle();
    packets_.clear();
    const std::uint32_t waits = 3U | (ends ? far::kTellEnds | 7U << far::kTellHowShift : 0U);
    write(far::kSubscribe, ends ? 1U : 1U | far::kSubscribeOpen);
    write(far::kTell, waits);
    EXPECT_FALSE(refused());
    write(far::kSubscribe, ends ? 2U | far::kSubscribeOpen : 2U);
    EXPECT_TRUE(refused());
    write(far::kTell, 5U | (ends ? 0U : far::kTellEnds | 9U << far::kTellHowShift));
    EXPECT_TRUE(refused());
    model_.shut_node_network(false);
    settle();
    const std::uint32_t open = (ends ? 0b1001U : 0b1011U) << far::kStateOpenShift;
    EXPECT_EQ(state(), open | far::kStateTold);
    ASSERT_EQ(packets_.size(), 2U) << "a record and a notice of the position";
    EXPECT_EQ(packets_[1][kBatch] & 0xFFFF, ends ? kEnded | 7U << 8U : kRecords);
  }
}

/// A host that writes registers of this part at random, network words of any kind, and a network that stalls: the ring
/// in memory gets every record, packets are whole, and afterwards everything works as before.
TEST_F(RemoteRegisters, of_a_host_that_writes_anything_harm_no_one_else) {
  const std::vector<std::byte> none;
  Program program;
  program.max_record_slots = 1;
  auto memory = device::DeviceRing::start(device_, program, none,
                                          {.index = 0, .slot_count = 1024, .mode = device::RingMode::Stall});
  ASSERT_TRUE(memory.ok()) << memory.message();
  want(0xFF);  // filter 0, which stays
  std::uint64_t sent = 0;
  std::uint64_t polled = 0;
  const auto poll = [&] {
    while (memory.value()->poll() == ring::Poll::Record) ++polled;
  };
  constexpr std::array<std::uint32_t, 15> kWritten{
      far::kCommand,   far::kSubscribe,      far::kTell,       far::kNode,         far::kGeneration,
      far::kSlotsLog2, far::kMaxRecordSlots, far::kPeer,       far::kLanding,      far::kOrigin,
      far::kLife,      far::kStatusIndex,    far::kCapability, far::kChannelSlots, far::kSlotBytes};
  for (int i = 0; i < by_form(6'000, 300'000); ++i) {
    const std::uint64_t what = random_.below(100);
    const auto bits = static_cast<std::uint32_t>(random_.bits());
    if (what < 40) {
      // Sizes are right now and then.
      const std::uint32_t offset = kWritten[random_.below(kWritten.size())];
      std::uint32_t value = bits;
      if (random_.chance(70)) {
        if (offset == far::kSlotsLog2) value = 4 + bits % 25;
        if (offset == far::kMaxRecordSlots) value = 1 + bits % 4;
        if (offset == far::kChannelSlots) value = 33 + bits % 100;
        if (offset == far::kSlotBytes) value = 104 + bits % 400;
        if (offset == far::kSubscribe && random_.chance(70)) value |= far::kSubscribeOpen;
      }
      write(offset, value);
    } else if (what < 50) {
      const std::uint32_t base = reg::filter::base(1 + static_cast<std::uint32_t>(random_.below(15)));
      model_.write(base + static_cast<std::uint32_t>(random_.below(6)) * 4, bits);
      if (random_.chance(30)) {
        model_.write(base + reg::filter::kControl, bits | reg::filter::kControlEnable |
                                                       reg::filter::kControlAnyChannel |
                                                       reg::filter::kControlAnyTemplate);
      }
    } else if (what < 60) {
      (void)model_.read(kBase + static_cast<std::uint32_t>(random_.below(40)) * 4);
    } else if (what < 75) {
      NodePacket packet;
      packet.words.resize(1 + random_.below(33));
      for (std::uint64_t& word : packet.words) word = random_.bits();
      if (random_.chance(50)) packet.words[0] = Start{.unit = 1, .traffic_class = 0}.data();
      packet.bad = random_.chance(20);
      model_.come(std::move(packet));
    } else if (what < 80) {
      model_.shut_node_network(random_.chance(40));
    } else if (model_.waiting() < 4) {
      model_.send(datagram(random_));
      ++sent;
    }
    if (random_.chance(20)) model_.run(random_.below(60));
    poll();
    if (i % 500 == 0) {
      ASSERT_EQ(model_.problem(), "");
    }
  }
  model_.shut_node_network(false);
  settle();
  poll();
  EXPECT_EQ(polled, sent) << "of the ring in memory";
  EXPECT_GT(packets_.size(), 300U) << "some of it made sense";
  for (const std::vector<std::uint64_t>& words : packets_) {
    ASSERT_TRUE(words.size() == kPosition || words.size() == kOneSlot) << words.size();
    ASSERT_EQ(Start::of(words[0]).traffic_class, 0U);
  }
  // It can be put right.
  for (std::uint32_t i = 0; i < 8; ++i) {
    write(far::kSubscribe, i);
    settle();
  }
  EXPECT_EQ(state() & ~std::uint32_t{far::kStateTold}, 0U);
  device::FarRing ring = start();
  want(4);
  const auto begun = ring.open(2, subscriber());
  ASSERT_TRUE(begun.ok()) << begun.message();
  EXPECT_EQ(begun.value(), (device::FarPosition{256, 0}));
  packets_.clear();
  for (int i = 0; i < 20; ++i) model_.send(datagram(random_));
  settle();
  EXPECT_EQ(packets_.size(), 20U);
  EXPECT_EQ(ring.accounts(2).value().records, 20U);
}

}  // namespace
}  // namespace stopbit::sim
