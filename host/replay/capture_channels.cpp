#include "host/replay/capture_channels.hpp"

#include <utility>

namespace stopbit::replay {

void add_groups(ingest::PacketSource& capture, net::FlowTable& groups) {
  ingest::Packet packet;
  while (capture.next(packet) == ingest::Next::Packet) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) == net::Verdict::Accepted) {
      (void)groups.channel(datagram.destination);
    }
  }
}

feed::Description channels_of(const net::FlowTable& groups, const net::Framing& framing) {
  feed::Description description{.name = "captures", .images = {{}}, .channels = {}};
  for (std::size_t i = 0; i < groups.groups().size(); ++i) {
    feed::Channel channel;
    channel.number = static_cast<std::uint16_t>(i);
    channel.name = net::to_text(groups.groups()[i]);
    channel.window = feed::default_window(channel.role);
    channel.framing = framing;
    channel.lines[0] = feed::Line{.group = groups.groups()[i], .source = std::nullopt};
    description.channels.push_back(std::move(channel));
  }
  return description;
}

}  // namespace stopbit::replay
