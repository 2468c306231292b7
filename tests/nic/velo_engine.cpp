#include "tests/nic/velo_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "host/nic/msg/segments.hpp"

namespace stopbit::nic {

void VeloEngine::open(Vpid vpid, Pdid domain, const Page& page, const MessagePort& port) {
  sim::velo::Port setup{.domain = domain};
  if (port.only_from) {
    setup.listens_to_one = true;
    setup.only_node = port.only_from->node;
    setup.only_vpid = port.only_from->vpid;
  }
  ports_.insert_or_assign(vpid, Opened{page, setup});
  std::vector<Row> rows{sim::velo::row_of(vpid, setup)};
  for (const Priority priority : {Priority::Low, Priority::High}) {
    const std::size_t at = priority == Priority::High ? PageLayout::kHighAt : PageLayout::kLowAt;
    rows.push_back(row_of(vpid, priority, true, kNoRing));
    rows.push_back(row_of(vpid, priority, false,
                          {.slot_size = valid_slot_bytes(port.slot_bytes) == 64 ? 2U : 3U,
                           .places = PageLayout::kMailboxSlots,
                           .address = reinterpret_cast<std::uintptr_t>(page.line(at))}));
  }
  set(rows);
}
void VeloEngine::close(Vpid vpid) {
  ports_.erase(vpid);
  set_row(sim::velo::row_of(vpid, sim::velo::Port{.is_open = false, .is_enabled = false}));
}
void VeloEngine::enable(Vpid vpid, bool on) {
  sim::velo::Port& setup = ports_.at(vpid).setup;
  setup.is_enabled = on;
  set_row(sim::velo::row_of(vpid, setup));
}
void VeloEngine::start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu&) {
  set_row(row_of(vpid, priority, true,
                 {.is_virtual = true,
                  .slot_size = static_cast<std::uint64_t>(std::countr_zero(ring.slot_bytes / 16)),
                  .places = ring.places,
                  .address = ring.list,
                  .hold = (ring.hold_ns + kTickNs - 1) / kTickNs}));
}
void VeloEngine::stop_ring(Vpid vpid, Priority priority) {
  set_row(row_of(vpid, priority, true, kNoRing));
}
void VeloEngine::set_group(GroupId id, const MessageGroup& group) {
  if (id >= kGroups || members_used_ + group.ports.size() > kMembers) {
    throw std::runtime_error("the unit in hardware has no room for this group");
  }
  const bool is_used = !group.ports.empty() || !group.nodes.empty();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < group.ports.size(); ++i) {
    rows.push_back(sim::velo::row_of_member(members_used_ + i, group.ports[i]));
  }
  rows.push_back(sim::velo::row_of(id, sim::velo::Group{is_used, group.domain, members_used_, group.ports.size()}));
  set(rows);
  members_used_ += group.ports.size();
  if (is_used) {
    groups_[id] = group.ports;
  } else {
    groups_.erase(id);
  }
}

bool VeloEngine::Held::operator==(const Held& other) const {
  return from == other.from && bytes == other.bytes && std::memcmp(&packet, &other.packet, sizeof(packet)) == 0;
}

void VeloEngine::read(std::span<const Packet> packets, MessagePacket& packet, std::vector<std::byte>& bytes) {
  const sim::Start start = sim::Start::of(packets.front()[0].data);
  const std::uint64_t status = packets.front()[1].data;
  const std::size_t length = protocol::kVeloWireLength.of(status) + 1;
  for (const Packet& each : packets) {
    if (each[0] != packets.front()[0] || each[1] != packets.front()[1]) {
      throw std::runtime_error("packets of a message differ");
    }
    for (std::size_t i = length > 8 * protocol::kVeloPacketWords ? 3 : 2; i < each.size(); ++i) {
      for (unsigned byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<std::byte>(each[i].data >> 8 * byte));
    }
  }
  bytes.resize(length);
  packet.flags =
      static_cast<std::uint8_t>((start.is_multicast ? MessagePacket::kToGroup : 0) |
                                (packets.back().back().is_bad ? MessagePacket::kIsErroneous : 0) |
                                (protocol::kVeloWireAnnounce.of(status) != 0 ? MessagePacket::kAnnounces : 0));
  packet.tag = static_cast<std::uint8_t>(protocol::kVeloWireTag.of(status));
  packet.type = static_cast<std::uint8_t>(protocol::kVeloWireKind.of(status));
  packet.source_vpid = static_cast<Vpid>(protocol::kVeloWireVpid.of(status));
  packet.target = static_cast<std::uint16_t>(start.is_multicast ? start.node : start.vpid);
  packet.domain = static_cast<Pdid>(protocol::kVeloWireDomain.of(status));
  packet.length = static_cast<std::uint16_t>(length - 1);
}

std::vector<VeloEngine::Packet> VeloEngine::packets_of(NodeId from, Priority priority, const MessagePacket& packet,
                                                       std::span<const std::byte> payload) const {
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
  return sim::velo::packets_of(start, status, sim::velo::to_words(payload),
                               (packet.flags & MessagePacket::kIsErroneous) != 0);
}

std::size_t VeloEngine::copies_of(NodeId from, const MessagePacket& packet) const {
  const auto group = groups_.find(packet.target);
  if ((packet.flags & MessagePacket::kToGroup) == 0 || group == groups_.end()) return 1;
  // Its sender gets none.
  return static_cast<std::size_t>(std::count_if(group->second.begin(), group->second.end(), [&](Vpid member) {
    return from != node_ || member != packet.source_vpid;
  }));
}

VeloEngine::Delivered VeloEngine::take(std::size_t count, std::vector<sim::velo::Report>& reports,
                                       std::vector<sim::velo::End>& ends) {
  if (reports.size() != count) throw std::runtime_error("the message unit reports another number of copies");
  Delivered delivered;
  for (const sim::velo::Report& report : reports) {
    delivered.copies.push_back({static_cast<Vpid>(report.target), report.error});
  }
  for (const sim::velo::End& end : ends) {
    delivered.ends.push_back({static_cast<Vpid>(end.ring / 2), end.error, end.culprit});
  }
  reports.clear();
  ends.clear();
  return delivered;
}

}  // namespace stopbit::nic
