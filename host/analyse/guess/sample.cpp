#include "host/analyse/guess/sample.hpp"

#include <algorithm>

#include "host/feed/packet/flow_table.hpp"

namespace stopbit::guess {

void Sample::add(const ingest::Packet& packet) {
  packets.push_back({{packet.frame.begin(), packet.frame.end()},
                     packet.original_bytes,
                     packet.arrival_ns,
                     packet.number,
                     packet.link});
  bytes += packet.frame.size();
}

std::uint16_t Sample::groups() const {
  net::FlowTable flows(256);
  for (const StoredPacket& packet : packets) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) == net::Verdict::Accepted) {
      (void)flows.channel(datagram.destination);
    }
  }
  return static_cast<std::uint16_t>(std::max<std::size_t>(1, flows.groups().size()));
}

Sample take_sample(ingest::PacketSource& source, SampleLimits limits) {
  Sample sample;
  sample.name = source.name();
  ingest::Packet packet;
  while (sample.packets.size() < limits.packets && sample.bytes < limits.bytes) {
    const ingest::Next next = source.next(packet);
    if (next == ingest::Next::Fault) sample.fault = source.fault().message;
    if (next != ingest::Next::Packet) break;
    sample.add(packet);
  }
  return sample;
}

ingest::Next SampleSource::next(ingest::Packet& packet) noexcept {
  if (at_ == sample_.packets.size()) return ingest::Next::End;
  const StoredPacket& stored = sample_.packets[at_++];
  packet = {.frame = stored.frame,
            .original_bytes = stored.original_bytes,
            .arrival_ns = stored.arrival_ns,
            .number = stored.number,
            .link = stored.link};
  return ingest::Next::Packet;
}

}  // namespace stopbit::guess
