#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/feed/framing/framing.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::egress {

/// Whether datagrams of this framing can be written. A custom framing may name fields that lie in
/// the data: such a sequence number is the data's own.
[[nodiscard]] Status can_write(const net::Framing& framing);

/// Most bytes of FAST data that datagrams of this framing carry together, as read_preamble and ChunkAssembler accept
/// them.
[[nodiscard]] std::size_t max_data_bytes(const net::Framing& framing);

/// Puts the framing's preamble before FAST data: the inverse of read_preamble. One datagram; of b3 as many chunks as
/// payloads of `max_payload_bytes` (at least 11) make necessary. Bytes of a preamble that the framing does not name are
/// zero; a number too large for its field keeps its low bits. `data` may have max_data_bytes(framing).
[[nodiscard]] std::vector<std::vector<std::byte>> make_datagrams(const net::Framing& framing,
                                                                 std::span<const std::byte> data,
                                                                 std::uint64_t sequence, std::size_t max_payload_bytes);

}  // namespace stopbit::egress
