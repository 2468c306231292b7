#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decoder/record/layout.hpp"
#include "host/market/event/sbe.hpp"
#include "host/multicast/options.hpp"
#include "host/relay/message.hpp"
#include "microcode/base/result.hpp"

/// Packets in which a ring goes out on two multicast lines: a head of 32 bytes, then messages of FIX Simple Binary
/// Encoding. doc/multicast.md describes every byte.
namespace stopbit::multicast {

inline constexpr std::size_t kHeadBytes = 32;
inline constexpr std::uint8_t kVersion = 1;
/// The messages are one byte vector of a FAST message, so that any feed handler of FAST can take the packets: presence
/// map, template identifier 1, the length.
inline constexpr std::size_t kMostEnvelopeBytes = 5;

inline constexpr std::uint16_t kRingTemplateId = 2;  ///< Beside market::kSbeTemplateId, in the same schema.
inline constexpr std::uint16_t kRingBlockBytes = 56;
inline constexpr std::size_t kGroupBytes = 4;
inline constexpr std::size_t kRingBytes = market::kSbeHeaderBytes + kRingBlockBytes + kGroupBytes;
inline constexpr std::size_t kEventBytes = market::kSbeHeaderBytes + market::kSbeBlockBytes;

/// Slots, and events, for which a packet has room.
[[nodiscard]] constexpr std::size_t slots_in(std::size_t packet_bytes) noexcept {
  return (packet_bytes - kHeadBytes - kMostEnvelopeBytes - kRingBytes) / record::kSlotBytes;
}
[[nodiscard]] constexpr std::size_t events_in(std::size_t packet_bytes) noexcept {
  return (packet_bytes - kHeadBytes - kMostEnvelopeBytes - kRingBytes) / kEventBytes;
}

/// The first number of an epoch. A publisher that starts later has lower numbers, and none of them twice, so a reader
/// that only knows numbers sees a reset of the sequence, and neither repetitions nor a gap. The lower half counts
/// packets.
[[nodiscard]] constexpr std::uint64_t first_sequence(std::uint64_t epoch_ns) noexcept {
  return (0xFFFF'FFFF - (epoch_ns / 1'000'000'000 & 0xFFFF'FFFF)) << 32 | 1;
}

struct PacketHead {
  std::uint64_t sequence = 0;  ///< One more with each packet of an epoch, heartbeats included.
  std::uint64_t epoch = 0;     ///< When the publisher started, ns since 1970.
  std::uint64_t sent_ns = 0;   ///< Since 1970.
};

/// What a packet says.
struct Packet {
  PacketHead head;
  std::span<const std::byte> messages;  ///< None: a heartbeat.
};

/// What its messages say: one Ring message, then the market events of its slots, or the slots in it.
struct Content {
  relay::Head ring;
  std::span<const std::byte> slots;   ///< Of records, 64 bytes each.
  std::span<const std::byte> events;  ///< MarketEvent messages, kEventBytes each.
};

/// Writes packets one after another into the same memory. Allocates nothing.
class PacketWriter {
 public:
  /// `room`: kMinPacketBytes to kMaxPacketBytes.
  explicit PacketWriter(std::span<std::byte> room) noexcept : room_(room) {}

  /// A packet without messages. Valid until the next call.
  [[nodiscard]] std::span<const std::byte> heartbeat(const PacketHead& head) noexcept { return close(head, 0); }
  /// `ring.slots()` slots, at most slots_in() of the room; none with a mark.
  [[nodiscard]] std::span<const std::byte> records(const PacketHead& head, const relay::Head& ring,
                                                   std::span<const record::Slot> slots) noexcept;
  /// Complete MarketEvent messages, one for each of `ring.slots()`; at most events_in() of the room.
  [[nodiscard]] std::span<const std::byte> events(const PacketHead& head, const relay::Head& ring,
                                                  std::span<const std::byte> messages) noexcept;

 private:
  /// Makes place for a body of this length. @returns where it begins.
  [[nodiscard]] std::size_t begin(std::size_t bytes) noexcept;
  std::size_t put_ring(std::size_t at, const relay::Head& ring, std::uint16_t slots) noexcept;
  [[nodiscard]] std::span<const std::byte> close(const PacketHead& head, std::size_t end) noexcept;

  std::span<std::byte> room_;
};

/// Checks everything around the messages: length, version, checksum, envelope.
[[nodiscard]] Result<Packet> decode_packet(std::span<const std::byte> datagram);
/// Checks the messages: their lengths, and that the numbers of the ring are possible together.
[[nodiscard]] Result<Content> decode_messages(std::span<const std::byte> messages);

/// Makes the checksum of anything right, for tests of what comes after it.
void repair_sum(std::span<std::byte> datagram) noexcept;

}  // namespace stopbit::multicast
