#pragma once

#include <Vrtl_rma.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/device/filter.hpp"
#include "host/nic/channel/endpoints.hpp"
#include "host/remote/far_subscription.hpp"
#include "host/remote/slot_writer.hpp"
#include "rma_driver.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/nic/remote_fixture.hpp"

/// One feed, published twice: by the software's publisher between two nodes of a model network, and by the card, whose
/// packets go to the node of the subscribers, where the units of remote memory access in RTL put them into memory.
namespace stopbit::sim::remote {

namespace far = stopbit::remote;

inline constexpr nic::NodeId kCardNode = 1;
inline constexpr std::uint64_t kTime = 1'799'053'200'000'000'000;
inline constexpr std::uint16_t kGeneration = 3;
inline constexpr std::size_t kFilters = 16;
inline constexpr nic::Pdid kDomain = 7;
inline constexpr std::uint8_t kMessageEvent = 2;
inline constexpr std::uint32_t kLife = 5;

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}

/// A subscriber, as the card knows it.
struct SubscriberEntry {
  bool open = false;
  nic::NodeId node = 0;
  nic::Vpid vpid = 0;
  std::uint8_t event = 0;
  nic::WindowName window;
  nic::ChannelLayout layout;
  nic::Vpid port = 0;  ///< Of the card's node.
  nic::Pdid domain = 0;
  std::uint32_t life = 0;
};
struct Progress {
  std::uint64_t begun = 0;
  std::uint64_t sent = 0;
  std::uint64_t records = 0;
  std::uint64_t slots = 0;
  std::uint64_t lost = 0;
};

/// What a subscriber wants: in the words of the protocol, and of the card.
struct Wanted {
  far::Filter filter;
  std::vector<device::Filter> on_card;
  nic::ChannelLayout layout{.slots = 512, .slot_bytes = 168};
};

/// A ring of a subscriber, and what puts arriving slots into it.
struct Copy {
  Copy(const Program& program, std::uint64_t slots)
      : sink(ring::Writer::create(name.get(), program, {.slot_count = slots}).value()),
        writer(sink, program.max_record_slots),
        reader(ring::Reader::open(name.get()).value()) {}
  /// A message of the channel.
  void take(std::span<const std::byte> message) {
    ASSERT_GE(message.size(), sizeof(head));
    std::memcpy(&head, message.data(), sizeof(head));
    ASSERT_EQ(message.size(), sizeof(head) + head.slots * record::kSlotBytes);
    for (std::size_t i = 0; i < head.slots; ++i) {
      record::Slot slot;
      std::memcpy(&slot, message.data() + sizeof(head) + i * record::kSlotBytes, sizeof(slot));
      ASSERT_NE(writer.take(slot), far::SlotWriter::Outcome::Bad);
    }
    ++messages;
  }

  far::RingName name;
  ring::Writer sink;
  far::SlotWriter writer;
  ring::Reader reader;
  far::BatchHead head;  ///< Of the last message.
  std::uint64_t messages = 0;
};

/// The software's publisher, without what asks and answers: subscriptions of ports of node 1.
class Software {
 public:
  Software(const Program& program, std::uint64_t slots)
      : net_(2),
        owner_(far::NodePort::open(net_.node(0), kDomain).value()),
        writer_(ring::Writer::create(name_.get(), program, {.slot_count = slots}).value()),
        slots_(writer_, program.max_record_slots),
        source_(far::Source::open(name_.get(), *owner_).value()) {
    // A subscriber asks before it is sent anything: the nodes know each other.
    const auto asks = far::NodePort::open(net_.node(1), kDomain).value();
    EXPECT_TRUE(asks->send(0, owner_->vpid(), std::vector<std::byte>(8), net_.now()));
    step(50);
  }

  struct Member {
    std::unique_ptr<far::NodePort> port;
    far::PortMemory landing;
    nic::WindowName window;
    std::unique_ptr<far::FarSubscription> subscription;
    std::optional<nic::ChannelReceiver> receiver;
    far::Accept accept;
  };
  Member& subscribe(const Wanted& wanted) {
    auto one = std::make_unique<Member>();
    one->port = far::NodePort::open(net_.node(1), kDomain).value();
    one->landing =
        far::PortMemory::make(*one->port, "test-landing", far::landing_bytes(wanted.layout), nic::Access::ReadWrite)
            .value();
    one->window = net_.node(1)
                      .rma()
                      .open_window(one->port->vpid(), one->landing.address(), far::landing_bytes(wanted.layout),
                                   nic::Access::Write)
                      .value();
    far::Subscribe request;
    request.session = 1;
    request.filter = wanted.filter;
    request.landing = one->window;
    request.layout = wanted.layout;
    request.event = kMessageEvent;
    far::Refusal why = far::Refusal::None;
    auto made = far::FarSubscription::make(net_.node(0), kDomain,
                                           {source_, owner_->vpid(), source_->reader(ring::Start::Newest).value(), 0},
                                           request, {1, one->port->vpid()}, net_.now(), why);
    if (!made) throw std::runtime_error(made.message());
    one->subscription = std::move(made).value();
    one->accept = far::read_accept(one->subscription->answer()).value();
    one->receiver.emplace(one->port->transfers(), one->port->events(), kMessageEvent,
                          one->landing.span().first(wanted.layout.bytes()), wanted.layout,
                          nic::ChannelPeer{0, one->accept.sender, one->accept.credit_event, {}});
    members_.push_back(std::move(one));
    return *members_.back();
  }
  /// Writes a record into the ring, which every subscription sees before the next one.
  void publish(std::span<const record::Slot> record) {
    for (const record::Slot& slot : record) ASSERT_NE(slots_.take(slot), far::SlotWriter::Outcome::Bad);
    // A step sends up to eight messages; what it leaves would share one with the next record.
    step(1 + static_cast<int>(record.size()) / 4);
    for (const auto& member : members_) ASSERT_EQ(member->subscription->end(), "");
  }
  void step(int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& member : members_) (void)member->subscription->step(net_.now());
      net_.step();
    }
  }
  void beat() {
    for (const auto& member : members_) member->subscription->beat(net_.now());
  }
  void finish() {
    writer_.finish();
    (void)source_->look();
  }
  [[nodiscard]] const ring::Writer& published() const { return writer_; }
  [[nodiscard]] const record::Schema& schema() const { return source_->schema(); }

 private:
  far::Net net_;
  far::RingName name_;
  std::unique_ptr<far::NodePort> owner_;
  ring::Writer writer_;
  far::SlotWriter slots_;
  std::shared_ptr<far::Source> source_;
  std::vector<std::unique_ptr<Member>> members_;
};

/// A card, and the subscribers' node, node 0: memory, windows, and the ends of channels that its ports have.
template <class Card>
class BasicHardware {
 public:
  using Unit = rma::Driver<Vrtl_rma>;
  struct Queue {
    BasicHardware* of;
    nic::Vpid vpid;
    struct Issue {
      std::size_t accepted;
    };
    /// Software carries out signals (fpga/rtl/rma): the packet that it sends.
    [[nodiscard]] Issue insert(std::span<const nic::Command> commands) const {
      for (const nic::Command& command : commands) of->signal(vpid, command);
      return {commands.size()};
    }
  };
  struct Events {
    std::map<std::uint64_t, std::uint64_t> counts;
    [[nodiscard]] bool poll(std::uint8_t event) {
      if (counts[event] == 0) return false;
      --counts[event];
      return true;
    }
    [[nodiscard]] bool await(std::uint8_t event, std::chrono::nanoseconds) { return counts[event] != 0; }
  };
  using Receiver = nic::BasicChannelReceiver<nic::ChannelLayout::kReplenish, Queue, Events>;
  struct Member {
    nic::Vpid vpid = 0;
    nic::Nla base = 0;
    Wanted wanted;
    SubscriberEntry entry;
    std::vector<std::byte> landing;
    Events events;
    std::optional<Receiver> receiver;
    far::RingPosition begun;
  };

  explicit BasicHardware(std::uint64_t seed) : card(seed), unit(seed + 1) {
    unit.gives_back = false;
    unit.translate = [this](nic::Vpid who, std::uint64_t nla, nic::Access) -> std::optional<std::uint64_t> {
      const Member* const member = at(nla);
      if (member == nullptr || member->vpid != who) return std::nullopt;
      return nla / nic::kPageBytes;
    };
    unit.read_word = [](std::uint64_t) { return std::uint64_t{0}; };
    unit.write_word = [this](std::uint64_t address, std::uint64_t word, std::uint64_t mask) {
      Member* const member = at(address);
      ASSERT_NE(member, nullptr) << "a write outside of all windows";
      for (unsigned byte = 0; byte < 8; ++byte) {
        const std::uint64_t where = address - member->base + byte;
        if ((mask >> byte & 1) == 0) continue;
        ASSERT_LT(where, member->landing.size());
        member->landing[where] = static_cast<std::byte>(word >> 8 * byte);
      }
    };
    unit.on_told = [this](const rma::Notice& notice) {
      for (auto& member : members) {
        if (member->vpid == notice.vpid && notice.event != 0) ++member->events.counts[notice.event];
      }
    };
    card.on_sent = [this](const rma::Packet& packet) {
      if (packet.words[1] != kCardNode) return;  // of the card's own unit
      (holds ? held : unit.to_come).push_back(packet);
    };
  }
  BasicHardware(const BasicHardware&) = delete;
  BasicHardware& operator=(const BasicHardware&) = delete;

  /// Its place in the table of the card is its number among the members.
  Member& subscribe(const Wanted& wanted) {
    const std::size_t index = members.size();
    auto one = std::make_unique<Member>();
    one->vpid = static_cast<nic::Vpid>(index + 1);
    one->base = (index + 1) << 23U;
    one->wanted = wanted;
    one->landing.resize(far::landing_bytes(wanted.layout));
    one->entry = {.open = true,
                  .node = 0,
                  .vpid = one->vpid,
                  .event = kMessageEvent,
                  .window = {static_cast<std::uint16_t>(index + 10), card.random.bits()},
                  .layout = wanted.layout,
                  .port = static_cast<nic::Vpid>(40 + index),
                  .domain = kDomain,
                  .life = kLife};
    unit.set_port(one->vpid, {true, kDomain, 1});
    unit.set_window(one->entry.window.id, {.open = true,
                                           .owner = one->vpid,
                                           .access = nic::Access::Write,
                                           .first = one->base,
                                           .bytes = one->landing.size(),
                                           .capability = one->entry.window.capability,
                                           .domain = std::nullopt});
    members.push_back(std::move(one));
    set_filters();
    open(*members.back());
    return *members.back();
  }
  void set_filters() {
    std::vector<device::Filter> filters;
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (device::Filter filter : members[i]->wanted.on_card) {
        filter.rings = static_cast<std::uint8_t>(1U << i);
        filters.push_back(filter);
      }
    }
    ASSERT_LE(filters.size(), kFilters);
    card.set_filters(filters);
  }
  void open(Member& member) {
    member.receiver.emplace(Queue{this, member.vpid}, member.events, kMessageEvent,
                            std::span(std::as_const(member.landing)).first(member.wanted.layout.bytes()),
                            member.wanted.layout, nic::ChannelPeer{kCardNode, member.entry.port, 1, {}});
    member.begun = card.set(static_cast<std::size_t>(member.vpid - 1), member.entry);
  }
  void signal(nic::Vpid vpid, const nic::Command& command) {
    ASSERT_EQ(command.operation, nic::Operation::Signal);
    nic::RmaHeader header;
    header.kind = static_cast<std::uint8_t>(command.operation);
    header.source_vpid = vpid;
    header.target_vpid = command.target_vpid;
    header.domain = kDomain;
    header.more = command.more;
    card.to_come.push_back(rma::to_packet(0, header, {}));
  }

  void cycle() {
    card.cycle();
    // Simulating the subscribers' node takes as long as the card; while it has nothing to do, its clock stops.
    const bool is_busy = !unit.to_come.empty() || !card.is_idle();
    busy_ = is_busy ? kUnitCycles * (1 + unit.stall_percent / 10) : busy_ - 1;
    if (busy_ > 0) unit.cycle();
    busy_ = std::max(busy_, std::uint64_t{1});
  }
  /// Until all that came was sent and has arrived.
  void settle(std::uint64_t limit = 400'000) {
    for (std::uint64_t end = card.now() + limit; card.now() < end;) {
      cycle();
      if (card.is_idle() && unit.to_come.empty() && busy_ == 1) return;
    }
    FAIL() << "it does not come to its end";
  }
  /// The subscribers' node does all that has come to it. The card's clock stops meanwhile.
  void drain_unit() {
    for (int i = 0; i < 2'000; ++i) unit.cycle();
    ASSERT_TRUE(unit.to_come.empty());
  }
  void release() {
    holds = false;
    unit.to_come.insert(unit.to_come.end(), held.begin(), held.end());
    held.clear();
  }
  /// Until the card has sent what came.
  void until_sent(std::uint64_t limit = 400'000) {
    for (std::uint64_t end = card.now() + limit; card.now() < end;) {
      cycle();
      if (card.is_idle()) return;
    }
    FAIL() << "it is not sent";
  }

  Card card;
  Unit unit;
  std::vector<std::unique_ptr<Member>> members;
  bool holds = false;            ///< Packets of the card stay on their way:
  std::deque<rma::Packet> held;  ///< these.

 private:
  static constexpr std::uint64_t kUnitCycles = 120;
  [[nodiscard]] Member* at(std::uint64_t address) const {
    for (const auto& member : members) {
      if (address >> 23U == member->base >> 23U) return member.get();
    }
    return nullptr;
  }
  std::uint64_t busy_ = 1;
};

/// All records of a ring's reader, and how many of them are events of lost ones with which sum.
struct Read {
  std::vector<far::Record> records;
  std::uint64_t lost_events = 0;
  std::uint64_t lost = 0;
};
[[nodiscard]] inline Read read(ring::Reader& reader) {
  Read all;
  all.records = far::read_all(reader);
  for (const far::Record& record : all.records) {
    if ((record[0] & 0xFFFF) != record::kEventIndex || (record[4] & 0xFF) != 8) continue;
    ++all.lost_events;
    all.lost += record[6];
  }
  return all;
}

}  // namespace stopbit::sim::remote
