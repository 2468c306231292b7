#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decoder/engine/engine.hpp"
#include "host/feed/arbitrate/arbiter.hpp"

namespace stopbit::feed {

/// Counts of decoding. Channels on one thread may share one.
struct Counts {
  std::uint64_t datagrams = 0;  ///< Given to the engine; one joined from chunks counts once.
  std::uint64_t datagram_bytes = 0;
  std::uint64_t ignored_bytes = 0;     ///< After the end that the preamble gives.
  std::uint64_t dropped = 0;           ///< Datagrams not decoded: their channel waited for a reset.
  std::uint64_t chunks = 0;            ///< Datagrams that were part of a message only.
  std::uint64_t joined = 0;            ///< Datagrams joined from chunks.
  std::uint64_t incomplete = 0;        ///< Chunked messages with a chunk missing, and chunks without a first one.
  std::uint64_t oversized = 0;         ///< Chunked messages longer than a datagram may be.
  std::uint64_t messages = 0;          ///< Complete ones.
  std::uint64_t fields = 0;            ///< Values in them.
  std::uint64_t last_delivery_ns = 0;  ///< Arrival of the last packet that was delivered.
};

/// Learns what goes wrong, to count and report it; the channel writes the event records itself. Called on the channel's
/// thread, a few times a datagram at most, and not at all for a good one. Arguments are valid until the method returns.
/// By default a method does nothing.
class Watcher {
 public:
  virtual ~Watcher() = default;

  /// A datagram, or a block of one, could not be decoded.
  virtual void decode_error(const Outcome& /*outcome*/, const PacketInfo& /*info*/,
                            std::span<const std::byte> /*datagram*/) noexcept {}
  /// A datagram's preamble is wrong (X9), so it went neither to the arbiter's window nor to the engine.
  virtual void malformed(const Outcome& /*outcome*/, const PacketInfo& /*info*/,
                         std::span<const std::byte> /*datagram*/) noexcept {}
  /// `datagrams` in a row could not be decoded, the last one because of `code`.
  virtual void stale(ErrorCode /*code*/, std::uint32_t /*datagrams*/, const PacketInfo& /*info*/) noexcept {}
  /// After that, as many have decoded.
  virtual void recovered(const PacketInfo& /*info*/) noexcept {}

  // Of arbitrated channels.
  virtual void gap(const arbitrate::Gap& /*gap*/) noexcept {}
  /// A run of sequence numbers begins. `is_reset`: previous values were forgotten, and a reset event says so.
  virtual void run_begins(const arbitrate::NewRun& /*run*/, bool /*is_reset*/) noexcept {}
  /// The only copy of a number has arrived after the number was given up.
  virtual void late(const arbitrate::Packet& /*packet*/, std::uint64_t /*late_ns*/) noexcept {}
  /// Two copies of a number differ. Once for each number.
  virtual void conflict(const arbitrate::Conflict& /*conflict*/) noexcept {}
};

}  // namespace stopbit::feed
