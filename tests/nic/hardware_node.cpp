#include "tests/nic/hardware_node.hpp"

#include <Vrtl_link_port.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "host/nic/msg/combine.hpp"
#include "host/nic/msg/segments.hpp"
#include "host/nic/rma/rma.hpp"
#include "link_wire.hpp"
#include "node_driver.hpp"
#include "node_messages.hpp"

namespace stopbit::nic {
namespace {

using sim::Cell;
using sim::node::Count;
namespace velo = sim::velo;

constexpr std::uint64_t kPatience = 200'000;  // cycles, for whatever is under way
constexpr std::uint64_t kQuiet = 150;         // cycles in which nothing moves: nothing is under way
constexpr std::size_t kHeaderAt = 2;          // of a packet of transfers in words: after start and source
constexpr std::size_t kWireCycles = 2;
constexpr std::size_t kSlotCells = 8;
constexpr std::uint64_t kTickNs = 100'000;  // of the time that a message is held
constexpr std::uint64_t kTickCycles = 16;   // at least, that the node has for it
constexpr std::uint64_t kMessageUnit = 0;
constexpr std::uint64_t kTransferUnit = 1;
// Where the node finds what only it and its host share; the memory of processes is above.
constexpr std::uint64_t kOwnMemory = std::uint64_t{1} << 32U;

// Ports of the node's switch: its two units, and its link.
constexpr std::uint8_t kOfUnits = 0b011;
constexpr std::uint8_t kOfLink = 0b100;
// Tables of the switch, and entries of groups (group_t).
constexpr std::uint8_t kTableOwn = 0;
constexpr std::uint8_t kTableLocal = 2;
constexpr std::uint8_t kTableGroups = 3;
constexpr std::uint32_t kGroupIsValid = 1U << 25U;
constexpr unsigned kGroupToUnit = 18;
// Transfers have a virtual channel of their own, so that messages do not wait for their room at the other end.
constexpr std::uint8_t kOfTransfers = 0b010;
constexpr std::uint32_t kSecondChannel = 1U << 6U | 1U << 17U;  // of class 0 and 1 (route_t)
// As `own` of the units' ports: no node has it, so that what a node sends to itself leaves by the link, too.
constexpr std::uint32_t kNoNode = 1023;

/// The words of a packet, start first.
struct Packet {
  std::vector<std::uint64_t> words;
  bool is_bad = false;
};

/// The other end of a node's link: packets in and out.
class Peer {
 public:
  explicit Peer(std::uint64_t seed) : bench_(seed) {
    bench_->valid_i = bench_->link_kind_i = bench_->link_signal_i = bench_->freed_i = 0;
    bench_->link_data_i = 0;
    bench_->ready_i = 1;
    bench_.reset();
  }
  [[nodiscard]] Cell link() { return {bench_->link_kind_o, bench_->link_data_o}; }
  [[nodiscard]] bool is_up() { return bench_->up_o != 0; }
  void send(const Packet& packet) {
    for (std::size_t i = 0; i < packet.words.size(); ++i)
      to_send_.push_back({i == 0 ? Cell::Start : Cell::Payload, packet.words[i]});
    to_send_.push_back({Cell::End, std::uint64_t{packet.is_bad} << 63U});
  }
  void cycle(const Cell& cell) {
    bench_->link_signal_i = 1;
    bench_->link_kind_i = cell.kind;
    bench_->link_data_i = cell.data;
    bench_->valid_i = !to_send_.empty();
    if (!to_send_.empty()) {
      bench_->kind_i = to_send_.front().kind;
      bench_->data_i = to_send_.front().data;
    }
    bench_->freed_i = !to_free_.empty();
    if (!to_free_.empty()) {
      bench_->freed_channel_i = to_free_.front();
      to_free_.pop_front();
    }
    bench_.settle();
    if (bench_->valid_i && bench_->ready_o) {
      under_way_ += to_send_.front().kind == Cell::End ? 1 : 0;
      to_send_.pop_front();
    }
    under_way_ -= bench_->answered_o;
    if (bench_->valid_o) take({bench_->kind_o, bench_->data_o});
    bench_.step();
  }
  [[nodiscard]] bool is_idle() const { return to_send_.empty() && under_way_ == 0 && coming_.empty(); }
  /// Gives the node back the room of a packet of `received` or later.
  void free(const Packet& packet) {
    const auto channel = static_cast<std::uint8_t>(sim::Start::of(packet.words[0]).channel());
    const std::size_t cells = packet.words.size() - 1;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, (cells + kSlotCells - 1) / kSlotCells); ++i) {
      to_free_.push_back(channel);
    }
  }
  std::deque<Packet> received;

 private:
  void take(const Cell& cell) {
    if (cell.kind != Cell::End) {
      coming_.push_back(cell.data);
      return;
    }
    received.push_back({std::move(coming_), cell.data >> 63U != 0});
    coming_.clear();
  }

  sim::Bench<Vrtl_link_port> bench_;
  std::deque<Cell> to_send_;
  std::size_t under_way_ = 0;  ///< Packets without an answer of the node's link.
  std::deque<std::uint8_t> to_free_;
  std::vector<std::uint64_t> coming_;
};

/// A node with its host's memory, and the other end of its link. What comes of it is kept until an engine takes it.
class WholeNode {
 public:
  WholeNode(NodeId id, std::size_t nodes, Transactions& counts)
      : transactions(counts),
        node_(random_, 1, id, nodes),
        peer_(2),
        to_peer_(random_, kWireCycles),
        to_node_(random_, kWireCycles) {
    node_.store = [this](const sim::node::Node::Write& write) { return store(write); };
    node_.load = [this](std::uint64_t address) { return load(address); };
    node_.on_event = [this](const sim::node::PortEvent& event) {
      take_notifications();  // which are written before it
      told.push_back({event.vpid, event.number, std::nullopt});
    };
    node_.ticks_by_itself = false;
    node_.configure(kTableOwn, 0, kNoNode, kOfUnits);
    for (std::uint32_t to = 0; to < nodes; ++to) node_.configure(kTableLocal, to, kSecondChannel, kOfTransfers);
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      node_.configure(kTableGroups, group, kGroupIsValid | 1U, kOfUnits);
      node_.configure(kTableGroups, group, kGroupIsValid | 1U << kGroupToUnit, kOfLink);
    }
    until([&] { return node_.is_ready() && node_.is_up() && peer_.is_up(); });
    node_.set_base();
    for (Vpid vpid = 0; vpid < sim::node::kPorts; ++vpid) {
      node_.queue_ports.push_back({vpid, sim::queue::State::Enabled, 1});
      node_.rings.emplace_back(vpid, true);
      for (const bool is_high : {false, true}) node_.pages.emplace_back((is_high ? sim::node::kPorts : 0) + vpid, true);
    }
    set();
  }

  /// What the supervisor has set is in the node then.
  void set() {
    until([&] { return node_.is_set(); });
  }
  void send(const Packet& packet) {
    ++transactions.messages;
    peer_.send(packet);
  }
  /// Software may have taken back what the node has cached since the last call. A page of a packet that waits for room
  /// is given back when the packet has left.
  void flush() {
    std::erase_if(cached_, [&](const auto& cached) {
      if (translate == nullptr || entry(cached.first) == cached.second) return false;
      node_.flushes.push_back(cached.first);
      ++to_flush_;
      return true;
    });
    if (node_.flushed != to_flush_) settle();
  }
  /// The oldest of `packets`, which leaves room for another one.
  [[nodiscard]] Packet pop(std::deque<Packet>& packets) {
    ++transactions.messages;
    Packet packet = std::move(packets.front());
    packets.pop_front();
    peer_.free(packet);
    return packet;
  }
  void cycle() {
    to_peer_.put(node_.out());
    to_node_.put(peer_.link());
    node_.in(to_node_.take(), true);
    node_.cycle();
    peer_.cycle(to_peer_.take());
    for (; !peer_.received.empty(); peer_.received.pop_front()) take(std::move(peer_.received.front()));
    take_notifications();
  }
  template <class Until>
  void until(const Until& is_done) {
    for (std::uint64_t i = 0; !is_done(); ++i) {
      if (i == kPatience) throw std::runtime_error("the node does not come to its end");
      cycle();
    }
  }
  /// Until nothing has moved for a while.
  void settle() {
    std::uint64_t before = 0;
    std::uint64_t quiet = 0;
    until([&] {
      std::uint64_t now = node_.moved + node_.flushed + node_.reports.size() + node_.refusals.size();
      for (const Count count :
           {Count::Sent, Count::Ended, Count::Served, Count::Refused, Count::Stale, Count::MessageSent}) {
        now += node_.count(count);
      }
      const bool is_quiet = now == before && peer_.is_idle() && node_.has_nothing_to_do();
      before = now;
      quiet = is_quiet ? quiet + 1 : 0;
      return quiet > kQuiet;
    });
    std::uint64_t lost = 0;
    for (const Count count :
         {Count::NetworkLoss, Count::Expired, Count::Unasked, Count::StrayPacket, Count::MalformedMessage,
          Count::DroppedNotice, Count::LostWrite, Count::Foreign, Count::BadCommand, Count::BadStore, Count::StrayPart,
          Count::BadTranslation, Count::Misshapen}) {
      lost += node_.count(count);
    }
    if (lost != 0) throw std::runtime_error("the node does not understand its host or network");
  }

  /// A notification of a port, or an event.
  struct Told {
    Vpid vpid = 0;
    std::uint64_t event = 0;
    std::optional<Notification> notification;
  };

  [[nodiscard]] sim::node::Node& node() noexcept { return node_; }

  Transactions& transactions;
  std::deque<Packet> messages;                  ///< Packets of the message unit,
  std::array<std::deque<Packet>, 2> transfers;  ///< and of remote memory access, by class.
  std::deque<Told> told;
  /// What software says about a page.
  std::function<std::optional<PageNumber>(Vpid, Nla, Access)> translate;

 private:
  static constexpr std::uint32_t kGroups = 64;

  void take(Packet packet) {
    const sim::Start start = sim::Start::of(packet.words[0]);
    if (start.unit == kMessageUnit) {
      messages.push_back(std::move(packet));
    } else if (start.unit == kTransferUnit && start.traffic_class < transfers.size() && !packet.is_bad) {
      transfers[start.traffic_class].push_back(std::move(packet));
    } else {
      throw std::runtime_error("the node sends what is none of its units'");
    }
  }
  void take_notifications() {
    for (Vpid vpid = 0; vpid < sim::node::kPorts; ++vpid) {
      while (const auto notification = node_.take(vpid)) told.push_back({vpid, 0, notification});
    }
  }
  bool store(const sim::node::Node::Write& write) {
    if (write.address < kOwnMemory) return false;
    ++transactions.writes;
    auto* const bytes = reinterpret_cast<std::byte*>(write.address);
    if (write.mask == 0xFF) {
      std::atomic_ref(*reinterpret_cast<std::uint64_t*>(bytes)).store(write.word, std::memory_order_release);
      return true;
    }
    for (unsigned byte = 0; byte < sizeof(write.word); ++byte) {
      if ((write.mask >> byte & 1U) != 0) bytes[byte] = static_cast<std::byte>(write.word >> 8 * byte);
    }
    return true;
  }
  std::optional<std::uint64_t> load(std::uint64_t address) {
    if (address >= kOwnMemory) {
      ++transactions.reads;
      return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).load(std::memory_order_acquire);
    }
    if (address < sim::node::kTables) return std::nullopt;
    const std::uint64_t page = (address - sim::node::kTables) / sizeof(std::uint64_t);
    return cached_[page] = entry(page);
  }
  /// An entry of the table of translations.
  std::uint64_t entry(std::uint64_t page) {
    for (Vpid owner = 0; owner < sim::node::kPorts; ++owner) {
      std::optional<PageNumber> number;
      unsigned access = 0;
      for (const Access each : {Access::Read, Access::Write}) {
        const auto found = translate(owner, page * kPageBytes, each);
        if (!found) continue;
        number = found;
        access |= static_cast<unsigned>(each);
      }
      if (number) return gat_entry(owner, *number, static_cast<Access>(access));
    }
    return 0;
  }

  sim::Random random_{1};
  sim::node::Node node_;
  Peer peer_;
  sim::Wire to_peer_;
  sim::Wire to_node_;
  std::map<std::uint64_t, std::uint64_t> cached_;  ///< Entries that translation has read, by page.
  std::uint64_t to_flush_ = 0;
};

class NodeTransfers final : public RmaEngine {
 public:
  NodeTransfers(std::shared_ptr<WholeNode> whole, NodeId id)
      : whole_(std::move(whole)), node_(whole_->node()), id_(id) {}

  void attach(Host& host) override {
    host_ = &host;
    whole_->translate = [&host](Vpid who, Nla nla, Access access) { return host.translate(who, nla, access); };
  }
  void set_port(Vpid vpid, const Port& port) override {
    node_.rma_ports.emplace_back(vpid, sim::rma::PortEntry{port.is_open, port.domain, port.life});
    whole_->set();
  }
  void set_window(std::uint16_t id, const Window& window) override {
    node_.windows.emplace_back(
        id, sim::rma::WindowEntry{window.is_open, window.is_locked, window.owner, window.access, window.holder_node,
                                  window.holder, window.first, window.bytes, window.capability, window.open_to});
    whole_->set();
  }
  void end_port(Vpid vpid) override { end_all(true, vpid); }
  void end_node(NodeId node) override { end_all(false, node); }

  void start(Vpid vpid, const Command& command) override {
    ++whole_->transactions.messages;
    whole_->flush();
    ended_before_ = node_.count(Count::Ended);
    is_started_ = true;
    node_.write(vpid, command);
    run();
  }
  void take(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override {
    RmaHeader header;
    std::memcpy(static_cast<void*>(&header), packet.data(), sizeof(header));
    if ((header.kind >= kAnswerData) != (channel == VirtualChannel::High)) {
      throw std::runtime_error("a packet on the other channel");
    }
    sim::rma::Packet made = sim::rma::to_packet(from, header, velo::to_words(packet.subspan(sizeof(header))));
    sim::Start start = sim::Start::of(made.words[0]);
    start.node = id_;
    made.words[0] = start.data();
    whole_->flush();
    whole_->send({made.words});
    run();
  }
  [[nodiscard]] bool is_free() override { return whole_->transfers[1].empty(); }
  [[nodiscard]] bool waits() override { return node_.waits; }

  void run() override {
    whole_->flush();
    do {
      whole_->settle();
    } while (hand_on());
    if (!is_started_ || node_.count(Count::Ended) == ended_before_ || !whole_->transfers[0].empty()) return;
    is_started_ = false;
    host_->ended(node_.last_error);
  }

 private:
  void end_all(bool is_port, std::uint16_t index) {
    node_.ends.emplace_back(is_port, index);
    run();
  }
  /// Answers do not wait for requests. Returns whether a packet has left room for another one.
  bool hand_on() {
    bool has_moved = false;
    for (const std::size_t channel : {1U, 0U}) {
      const auto virtual_channel = channel == 1 ? VirtualChannel::High : VirtualChannel::Low;
      for (auto& waiting = whole_->transfers[channel]; !waiting.empty() && host_->has_room(virtual_channel);) {
        has_moved = true;
        const std::vector<std::uint64_t> words = whole_->pop(waiting).words;
        host_->send(static_cast<NodeId>(sim::Start::of(words[0]).node), virtual_channel,
                    std::as_bytes(std::span(words).subspan(kHeaderAt)));
      }
    }
    for (; !whole_->told.empty(); whole_->told.pop_front()) {
      const WholeNode::Told& told = whole_->told.front();
      if (told.notification) {
        host_->tell(told.vpid, *told.notification);
      } else {
        host_->signal(told.vpid, told.event);
      }
    }
    return has_moved;
  }

  std::shared_ptr<WholeNode> whole_;
  sim::node::Node& node_;
  NodeId id_;
  Host* host_ = nullptr;
  std::uint64_t ended_before_ = 0;
  bool is_started_ = false;
};

class NodeMessages final : public MessageEngine {
 public:
  NodeMessages(std::shared_ptr<WholeNode> whole, NodeId id)
      : whole_(std::move(whole)), node_(whole_->node()), id_(id) {}

  void open(Vpid vpid, Pdid domain, const Page& page, const MessagePort& port) override {
    Opened& opened = ports_.insert_or_assign(vpid, Opened{page, {}, {}}).first->second;
    opened.limits.fill(kUnknown);
    opened.setup.domain = domain;
    if (port.only_from) {
      opened.setup.listens_to_one = true;
      opened.setup.only_node = port.only_from->node;
      opened.setup.only_vpid = port.only_from->vpid;
    }
    node_.tables.push_back(velo::row_of(vpid, opened.setup));
    for (const bool is_high : {false, true}) {
      const std::uint64_t ring = sim::node::Node::ring_of(vpid, is_high);
      const std::size_t at = is_high ? PageLayout::kHighAt : PageLayout::kLowAt;
      node_.set_ring(ring, true, kNoRing);
      node_.set_ring(ring, false,
                     {true, false, valid_slot_bytes(port.slot_bytes) == 64 ? 2U : 3U, PageLayout::kMailboxSlots,
                      reinterpret_cast<std::uintptr_t>(page.line(at)), 0});
    }
    whole_->set();
  }
  void close(Vpid vpid) override {
    ports_.erase(vpid);
    node_.tables.push_back(velo::row_of(vpid, velo::Port{false, false, 0, false, 0, 0}));
    whole_->set();
  }
  void enable(Vpid vpid, bool on) override {
    Opened& port = ports_.at(vpid);
    port.setup.is_enabled = on;
    node_.tables.push_back(velo::row_of(vpid, port.setup));
    whole_->set();
  }
  void start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu&) override {
    whole_->flush();
    ports_.at(vpid).limits[limit_of(priority, true)] = kUnknown;
    node_.set_ring(ring_of(vpid, priority), true,
                   {true, true, static_cast<std::uint64_t>(std::countr_zero(ring.slot_bytes / 16)), ring.places,
                    ring.list, (ring.hold_ns + kTickNs - 1) / kTickNs});
    whole_->set();
  }
  void stop_ring(Vpid vpid, Priority priority) override {
    node_.set_ring(ring_of(vpid, priority), true, kNoRing);
    whole_->set();
  }
  void set_group(GroupId id, const MessageGroup& group) override {
    if (id >= kGroups || members_used_ + group.ports.size() > kMembers) {
      throw std::runtime_error("the node has no room for this group");
    }
    const bool is_used = !group.ports.empty() || !group.nodes.empty();
    for (std::size_t i = 0; i < group.ports.size(); ++i) {
      node_.tables.push_back(velo::row_of_member(members_used_ + i, group.ports[i]));
    }
    node_.tables.push_back(velo::row_of(id, velo::Group{is_used, group.domain, members_used_, group.ports.size()}));
    whole_->set();
    members_used_ += group.ports.size();
    if (is_used) {
      groups_[id] = group.ports;
    } else {
      groups_.erase(id);
    }
  }

  [[nodiscard]] Error request(Vpid origin, const MessageUnit::Message& message, std::span<const std::byte> payload,
                              MessagePacket& packet, std::vector<std::byte>& bytes) override {
    const std::uint64_t sent = node_.count(Count::MessageSent);
    node_.refusals.clear();
    write(origin, message, payload);
    // The last packets of a long one may wait for room.
    whole_->until([&] {
      return node_.count(Count::MessageSent) != sent || !node_.refusals.empty() || !whole_->messages.empty();
    });
    whole_->settle();
    if (!node_.refusals.empty()) return node_.refusals.front().error;
    // What is sent is what the node said.
    std::vector<Packet> packets;
    do {
      while (!whole_->messages.empty()) packets.push_back(whole_->pop(whole_->messages));
      whole_->settle();
    } while (!whole_->messages.empty());
    const std::vector<std::uint64_t>& first = packets.front().words;
    const sim::Start start = sim::Start::of(first[0]);
    const std::uint64_t status = first[1];
    const std::size_t length = protocol::kVeloWireLength.of(status) + 1;
    for (const Packet& each : packets) {
      if (each.words[0] != first[0] || each.words[1] != first[1]) {
        throw std::runtime_error("packets of a message differ");
      }
      for (std::size_t i = length > 8 * protocol::kVeloPacketWords ? 3 : 2; i < each.words.size(); ++i) {
        for (unsigned byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<std::byte>(each.words[i] >> 8 * byte));
      }
    }
    bytes.resize(length);
    packet.flags = static_cast<std::uint8_t>(
        (start.is_multicast ? MessagePacket::kToGroup : 0) | (packets.back().is_bad ? MessagePacket::kIsErroneous : 0) |
        (protocol::kVeloWireAnnounce.of(status) != 0 ? MessagePacket::kAnnounces : 0));
    packet.tag = static_cast<std::uint8_t>(protocol::kVeloWireTag.of(status));
    packet.type = static_cast<std::uint8_t>(protocol::kVeloWireKind.of(status));
    packet.source_vpid = static_cast<Vpid>(protocol::kVeloWireVpid.of(status));
    packet.target = static_cast<std::uint16_t>(start.is_multicast ? start.node : start.vpid);
    packet.domain = static_cast<Pdid>(protocol::kVeloWireDomain.of(status));
    packet.length = static_cast<std::uint16_t>(length - 1);
    return Error::None;
  }

  [[nodiscard]] std::optional<Delivered> deliver(NodeId from, Priority priority, const MessagePacket& packet,
                                                 std::span<const std::byte> payload, std::uint64_t now_ns) override {
    std::optional<Held>& held = held_[static_cast<std::size_t>(priority)];
    const Held asked{from, packet, {payload.begin(), payload.end()}};
    whole_->flush();
    bool has_changed = pass(now_ns);
    for (auto& [vpid, port] : ports_) has_changed |= set_limits(vpid, port);
    if (has_changed) whole_->settle();
    if (held) {
      const bool is_same =
          held->from == from && held->bytes == asked.bytes && std::memcmp(&held->packet, &packet, sizeof(packet)) == 0;
      if (is_held(priority)) return std::nullopt;
      held.reset();
      if (is_same) return results(1);
      node_.reports.clear();  // its sender is not there any more
      node_.ring_ends.clear();
    }
    const bool is_group = (packet.flags & MessagePacket::kToGroup) != 0;
    const sim::Start start{is_group ? 0U : packet.target,
                           is_group ? packet.target : id_,
                           kMessageUnit,
                           priority == Priority::High ? 1U : 0U,
                           0,
                           is_group,
                           0};
    const std::uint64_t status =
        protocol::kVeloWireNode.put(from) | protocol::kVeloWireVpid.put(packet.source_vpid) |
        protocol::kVeloWireKind.put(packet.type) | protocol::kVeloWireTag.put(packet.tag) |
        protocol::kVeloWireAnnounce.put((packet.flags & MessagePacket::kAnnounces) != 0 ? 1 : 0) |
        protocol::kVeloWireLength.put(packet.length) | protocol::kVeloWireDomain.put(packet.domain);
    for (const velo::Packet& each :
         velo::packets_of(start, status, velo::to_words(payload), (packet.flags & MessagePacket::kIsErroneous) != 0)) {
      Packet made{{start.data()}, each.back().is_bad};
      for (std::size_t i = 1; i < each.size(); ++i) made.words.push_back(each[i].data);
      whole_->send(made);
    }
    std::size_t count = 1;
    if (const auto group = groups_.find(packet.target); is_group && group != groups_.end()) {
      count = static_cast<std::size_t>(std::count_if(group->second.begin(), group->second.end(), [&](Vpid member) {
        return from != id_ || member != packet.source_vpid;
      }));
    }
    // The slots of a long message come before its report.
    whole_->until([&] { return node_.reports.size() >= count || is_held(priority); });
    whole_->settle();
    if (is_held(priority)) {
      held = asked;
      return std::nullopt;
    }
    return results(count);
  }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  using Limits = std::array<std::uint64_t, 4>;
  struct Opened {
    Page page;
    velo::Port setup;
    Limits limits;  ///< Of its rings, as the node has them.
  };
  struct Held {
    NodeId from = 0;
    MessagePacket packet;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t kGroups = 64;
  static constexpr std::size_t kMembers = 256;
  static constexpr velo::Ring kNoRing{false, false, 0, 2, 0, 0};

  static constexpr std::size_t limit_of(Priority priority, bool has_segments) {
    return (priority == Priority::High ? 2U : 0U) + (has_segments ? 1U : 0U);
  }
  static std::uint64_t ring_of(Vpid vpid, Priority priority) {
    return sim::node::Node::ring_of(vpid, priority == Priority::High);
  }
  [[nodiscard]] bool is_held(Priority priority) const {
    return (node_.holds >> static_cast<unsigned>(priority) & 1U) != 0;
  }
  /// As the port's process does: in a command, or in parts. One that is cut short lacks its last byte.
  void write(Vpid origin, const MessageUnit::Message& message, std::span<const std::byte> payload) {
    const auto modifiers = static_cast<std::uint8_t>(
        (message.priority == Priority::High ? unsigned{kHighPriority} : 0U) |
        (message.is_group ? unsigned{kGroup} : 0U) | (message.announces ? unsigned{kNotifyCompleter} : 0U));
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    const auto tag = static_cast<std::uint8_t>(message.tag);
    if (payload.size() <= kMaxFastBytes && !message.is_erroneous) {
      node_.write(origin, sim::node::message_of(text, message.node, message.target, tag | unsigned{message.type} << 8U,
                                                modifiers));
      return;
    }
    auto parts = sim::node::parts_of(text, message.node, message.target, number_++, tag, message.type, modifiers);
    if (message.is_erroneous) {
      PartHead head = part_of(parts.front().tag);
      ++head.total;
      parts.front().tag = to_tag(head);
      Command cut = parts.back();
      cut.modifiers |= kAbort;
      cut.window = 0;
      parts.push_back(cut);
    }
    for (const Command& part : parts) sim::node::write_part(node_, origin, part);
  }
  /// What a port has read and posted: stores to its page. Returns whether there are any.
  bool set_limits(Vpid vpid, Opened& port) {
    bool has_changed = false;
    for (const Priority priority : {Priority::Low, Priority::High}) {
      const bool is_high = priority == Priority::High;
      for (const bool has_segments : {false, true}) {
        const PageWord word = has_segments ? posted_word(priority) : is_high ? PageWord::HighRead : PageWord::LowRead;
        const std::uint64_t now = port.page.word(word).load();
        std::uint64_t& known = port.limits[limit_of(priority, has_segments)];
        if (now == known) continue;
        known = now;
        node_.limit(vpid, is_high, has_segments, now);
        has_changed = true;
      }
    }
    return has_changed;
  }
  /// Returns whether time has gone on.
  bool pass(std::uint64_t now_ns) {
    if (!held_[0] && !held_[1]) ticked_ns_ = now_ns;
    const std::uint64_t before = ticked_ns_;
    for (; ticked_ns_ + kTickNs <= now_ns; ticked_ns_ += kTickNs) {
      node_.tick = true;
      for (std::uint64_t i = 0; i < kTickCycles; ++i) whole_->cycle();
    }
    return ticked_ns_ != before;
  }
  Delivered results(std::size_t count) {
    if (node_.reports.size() != count) throw std::runtime_error("the node reports another number of copies");
    Delivered delivered;
    for (const velo::Report& report : node_.reports) {
      delivered.copies.push_back({static_cast<Vpid>(report.target), report.error});
    }
    for (const velo::End& end : node_.ring_ends) {
      delivered.ends.push_back({static_cast<Vpid>(end.ring / 2), end.error, end.culprit});
    }
    node_.reports.clear();
    node_.ring_ends.clear();
    return delivered;
  }

  std::shared_ptr<WholeNode> whole_;
  sim::node::Node& node_;
  NodeId id_;
  std::map<Vpid, Opened> ports_;
  std::map<GroupId, std::vector<Vpid>> groups_;
  std::size_t members_used_ = 0;
  std::array<std::optional<Held>, kPriorities> held_;
  std::uint64_t ticked_ns_ = 0;
  std::uint8_t number_ = 0;  ///< Of the last message in parts.
};

}  // namespace

struct HardwareNodes::Parts {
  std::shared_ptr<WholeNode> node(NodeId id, std::size_t count) {
    std::shared_ptr<WholeNode> found = nodes[id].lock();
    if (!found) nodes[id] = found = std::make_shared<WholeNode>(id, count, transactions);
    return found;
  }
  Transactions& transactions;
  std::map<NodeId, std::weak_ptr<WholeNode>> nodes;
};

HardwareNodes::HardwareNodes(Transactions& transactions) : parts_(std::make_shared<Parts>(Parts{transactions, {}})) {}

std::unique_ptr<MessageEngine> HardwareNodes::messages(NodeId node, std::size_t nodes) {
  return std::make_unique<NodeMessages>(parts_->node(node, nodes), node);
}
std::unique_ptr<RmaEngine> HardwareNodes::rma(NodeId node, std::size_t nodes) {
  return std::make_unique<NodeTransfers>(parts_->node(node, nodes), node);
}

}  // namespace stopbit::nic
