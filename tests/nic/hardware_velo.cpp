#include "tests/nic/hardware_velo.hpp"

#include <Vrtl_velo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/nic/msg/segments.hpp"
#include "host/nic/rma/memory.hpp"
#include "velo_driver.hpp"

namespace stopbit::nic {
namespace {

using namespace sim::velo;

constexpr std::uint64_t kTickNs = 100'000;   // of the time that a message is held
constexpr std::uint64_t kQuiet = 80;         // cycles without a word: nothing is under way
constexpr std::uint64_t kPatience = 10'000;  // cycles for a result
constexpr Vpid kNoPort = 1023;               // the last that a command can name; no node has it

class HardwareMessages final : public MessageEngine {
 public:
  HardwareMessages(NodeId node, std::size_t nodes, Transactions& transactions) : transactions_(transactions), unit_(1) {
    unit_->node_i = node;
    unit_->last_node_i = static_cast<std::uint16_t>(nodes - 1);
    node_ = node;
    unit_.wrote = [this](std::uint64_t address, std::uint64_t word) {
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address)).store(word, std::memory_order_release);
      ++transactions_.writes;
    };
    unit_.read = [this](std::uint64_t address) -> std::optional<std::array<std::uint64_t, 2>> {
      ++transactions_.reads;
      auto* const words = reinterpret_cast<std::uint64_t*>(address);
      return std::array{std::atomic_ref(words[0]).load(), std::atomic_ref(words[1]).load()};
    };
    unit_.translate = [this](std::uint64_t vpid, std::uint64_t page,
                             std::uint64_t access) -> std::optional<std::uint64_t> {
      if (atu_ == nullptr) return std::nullopt;
      const Translation result =
          atu_->translate(static_cast<Vpid>(vpid), page * kPageBytes, static_cast<Access>(access));
      if (!result.ok || result.paged != nullptr) return std::nullopt;
      return result.page;
    };
  }

  void open(Vpid vpid, Pdid domain, const Page& page, const MessagePort& port) override {
    Port& opened = ports_.insert_or_assign(vpid, Port{page, {true, true, domain, false, 0, 0}}).first->second;
    if (port.only_from) {
      opened.setup.listens_to_one = true;
      opened.setup.only_node = port.only_from->node;
      opened.setup.only_vpid = port.only_from->vpid;
    }
    unit_.set_port(vpid, opened.setup);
    for (const Priority priority : {Priority::Low, Priority::High}) {
      const std::size_t at = priority == Priority::High ? PageLayout::kHighAt : PageLayout::kLowAt;
      unit_.set_ring(ring_of(vpid, priority), true, {false, false, 0, 2, 0, 0});
      unit_.set_ring(ring_of(vpid, priority), false,
                     {true, false, valid_slot_bytes(port.slot_bytes) == 64 ? 2U : 3U, PageLayout::kMailboxSlots,
                      reinterpret_cast<std::uintptr_t>(page.line(at)), 0});
    }
  }
  void close(Vpid vpid) override {
    ports_.erase(vpid);
    unit_.set_port(vpid, {false, false, 0, false, 0, 0});
  }
  void enable(Vpid vpid, bool on) override {
    Port& port = ports_.at(vpid);
    port.setup.is_enabled = on;
    unit_.set_port(vpid, port.setup);
  }
  void start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu) override {
    atu_ = &atu;
    unit_.set_ring(ring_of(vpid, priority), true,
                   {true, true, static_cast<std::uint64_t>(std::countr_zero(ring.slot_bytes / 16)), ring.places,
                    ring.list, (ring.hold_ns + kTickNs - 1) / kTickNs});
  }
  void stop_ring(Vpid vpid, Priority priority) override {
    unit_.set_ring(ring_of(vpid, priority), true, {false, false, 0, 2, 0, 0});
  }
  void set_group(GroupId id, const MessageGroup& group) override {
    if (id >= kGroups || members_used_ + group.ports.size() > kMembers) {
      throw std::runtime_error("the unit in hardware has no room for this group");
    }
    const bool is_used = !group.ports.empty() || !group.nodes.empty();
    for (std::size_t i = 0; i < group.ports.size(); ++i) unit_.set_member(members_used_ + i, group.ports[i]);
    unit_.set_group(id, {is_used, group.domain, members_used_, group.ports.size()});
    members_used_ += group.ports.size();
    if (is_used) {
      groups_[id] = group.ports;
    } else {
      groups_.erase(id);
    }
  }

  [[nodiscard]] Error request(Vpid origin, const MessageUnit::Message& message, std::span<const std::byte> payload,
                              MessagePacket& packet, std::vector<std::byte>& bytes) override {
    const std::uint64_t command =
        protocol::kVeloCommandTarget.put(message.is_group ? message.target : message.node) |
        protocol::kVeloCommandMulticast.put(message.is_group ? 1 : 0) |
        protocol::kVeloCommandVpid.put(message.is_group ? Vpid{0} : std::min(message.target, kNoPort)) |
        protocol::kVeloCommandKind.put(message.type) | protocol::kVeloCommandTag.put(message.tag) |
        protocol::kVeloCommandAnnounce.put(message.announces ? 1 : 0) |
        protocol::kVeloCommandErroneous.put(message.is_erroneous ? 1 : 0) |
        protocol::kVeloCommandLength.put(payload.size());
    unit_.packets.clear();
    unit_.refusals.clear();
    const std::uint64_t sent = unit_.events.sent;
    Message out{origin, message.priority == Priority::High ? 1U : 0U, {command}};
    const std::vector<std::uint64_t> words = to_words(payload);
    out.words.insert(out.words.end(), words.begin(), words.end());
    unit_.to_send.push_back(std::move(out));
    run([&] { return unit_.events.sent != sent || !unit_.refusals.empty(); });
    if (!unit_.refusals.empty()) return unit_.refusals.front().error;
    transactions_.messages += unit_.packets.size();
    // What is sent is what the unit said.
    const sim::Start start = sim::Start::of(unit_.packets.front()[0].data);
    const std::uint64_t status = unit_.packets.front()[1].data;
    const std::size_t length = protocol::kVeloWireLength.of(status) + 1;
    for (const Packet& each : unit_.packets) {
      if (each[0] != unit_.packets.front()[0] || each[1] != unit_.packets.front()[1]) {
        throw std::runtime_error("packets of a message differ");
      }
      for (std::size_t i = length > 8 * protocol::kVeloPacketWords ? 3 : 2; i < each.size(); ++i) {
        for (unsigned byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<std::byte>(each[i].data >> 8 * byte));
      }
    }
    bytes.resize(length);
    packet.flags =
        static_cast<std::uint8_t>((start.is_multicast ? MessagePacket::kToGroup : 0) |
                                  (unit_.packets.back().back().is_bad ? MessagePacket::kIsErroneous : 0) |
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
    pass(now_ns);
    for (const auto& [vpid, port] : ports_) set_limits(vpid, port.page);
    if (held) {
      const bool is_same =
          held->from == from && held->bytes == asked.bytes && std::memcmp(&held->packet, &packet, sizeof(packet)) == 0;
      settle();
      if ((unit_.holds >> static_cast<unsigned>(priority) & 1U) != 0) return std::nullopt;
      held.reset();
      if (is_same) return results(1);
      unit_.reports.clear();  // its sender is not there any more
      unit_.ends.clear();
    }
    const bool is_group = (packet.flags & MessagePacket::kToGroup) != 0;
    const sim::Start start{is_group ? 0U : packet.target,
                           is_group ? packet.target : node_,
                           0,
                           priority == Priority::High ? 1U : 0U,
                           0,
                           is_group,
                           0};
    const std::uint64_t status =
        protocol::kVeloWireNode.put(from) | protocol::kVeloWireVpid.put(packet.source_vpid) |
        protocol::kVeloWireKind.put(packet.type) | protocol::kVeloWireTag.put(packet.tag) |
        protocol::kVeloWireAnnounce.put((packet.flags & MessagePacket::kAnnounces) != 0 ? 1 : 0) |
        protocol::kVeloWireLength.put(packet.length) | protocol::kVeloWireDomain.put(packet.domain);
    const std::vector<Packet> packets =
        packets_of(start, status, to_words(payload), (packet.flags & MessagePacket::kIsErroneous) != 0);
    transactions_.messages += packets.size();
    unit_.come(packets);
    std::size_t count = 1;
    if (const auto group = groups_.find(packet.target); is_group && group != groups_.end()) {
      count = static_cast<std::size_t>(std::count_if(group->second.begin(), group->second.end(), [&](Vpid member) {
        return from != node_ || member != packet.source_vpid;
      }));
    }
    const auto is_held = [&] { return (unit_.holds >> static_cast<unsigned>(priority) & 1U) != 0; };
    // The slots of a long message come before its report.
    run([&] { return unit_.reports.size() >= count || is_held(); });
    settle();
    if (is_held()) {
      held = asked;
      return std::nullopt;
    }
    return results(count);
  }

 private:
  struct Port {
    Page page;
    sim::velo::Port setup;
  };
  struct Held {
    NodeId from = 0;
    MessagePacket packet;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t kGroups = 64;
  static constexpr std::size_t kMembers = 256;

  static std::uint64_t ring_of(Vpid vpid, Priority priority) {
    return vpid * std::uint64_t{2} + static_cast<std::uint64_t>(priority);
  }
  /// What a port has read and posted: stores to its registers.
  void set_limits(Vpid vpid, const Page& page) {
    for (const Priority priority : {Priority::Low, Priority::High}) {
      const bool is_high = priority == Priority::High;
      unit_.set_limit(ring_of(vpid, priority), false,
                      page.word(is_high ? PageWord::HighRead : PageWord::LowRead).load());
      unit_.set_limit(ring_of(vpid, priority), true, page.word(posted_word(priority)).load());
    }
  }
  void pass(std::uint64_t now_ns) {
    if (!held_[0] && !held_[1]) ticked_ns_ = now_ns;
    for (; ticked_ns_ + kTickNs <= now_ns; ticked_ns_ += kTickNs) {
      unit_.tick();
      settle();
    }
  }
  template <class Done>
  void run(Done done) {
    for (const std::uint64_t end = unit_.now() + kPatience; !done();) {
      if (unit_.now() > end) throw std::runtime_error("the message unit does not answer");
      unit_.cycle();
    }
  }
  void settle() {
    unit_.cycles(4);
    run([&] { return unit_.to_come.empty() && unit_.is_quiet(kQuiet); });
  }
  Delivered results(std::size_t count) {
    if (unit_.reports.size() != count) throw std::runtime_error("the message unit reports another number of copies");
    Delivered delivered;
    for (const Report& report : unit_.reports) {
      delivered.copies.push_back({static_cast<Vpid>(report.target), report.error});
    }
    for (const sim::velo::End& end : unit_.ends) {
      delivered.ends.push_back({static_cast<Vpid>(end.ring / 2), end.error, end.culprit});
    }
    unit_.reports.clear();
    unit_.ends.clear();
    return delivered;
  }

  Transactions& transactions_;
  Driver<Vrtl_velo> unit_;
  Atu* atu_ = nullptr;
  NodeId node_ = 0;
  std::map<Vpid, Port> ports_;
  std::map<GroupId, std::vector<Vpid>> groups_;
  std::size_t members_used_ = 0;
  std::array<std::optional<Held>, kPriorities> held_;
  std::uint64_t ticked_ns_ = 0;
};

}  // namespace

std::unique_ptr<MessageEngine> hardware_messages(NodeId node, std::size_t nodes, Transactions& transactions) {
  return std::make_unique<HardwareMessages>(node, nodes, transactions);
}

}  // namespace stopbit::nic
