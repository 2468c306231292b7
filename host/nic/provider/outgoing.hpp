#pragma once

#include <cstdint>

#include "host/nic/provider/pieces.hpp"
#include "host/nic/provider/wire.hpp"

namespace stopbit::nic::provider {

/// Bytes that a peer has asked for, on their way in pieces.
struct Outgoing {
  Pieces from;
  PeerName to;
  Kind kind = Kind::Piece;     ///< Of the packets.
  std::uint32_t asked_by = 0;  ///< The peer's number.
  bool is_asked = false;
  std::uint64_t asked_bytes = 0;
  std::uint64_t sent = 0;
};

}  // namespace stopbit::nic::provider
