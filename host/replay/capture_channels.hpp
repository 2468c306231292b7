#pragma once

#include "host/feed/description/description.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/ports/packet_source.hpp"

namespace stopbit::replay {

/// Groups of captures that are channels without a description.
inline constexpr std::uint16_t kMaxCaptureGroups = 256;

/// Adds the multicast groups of a capture, which is read to its end.
void add_groups(ingest::PacketSource& capture, net::FlowTable& groups);
/// Each group as a channel with one line, in their order.
[[nodiscard]] feed::Description channels_of(const net::FlowTable& groups, const net::Framing& framing);

}  // namespace stopbit::replay
