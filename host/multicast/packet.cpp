#include "host/multicast/packet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "microcode/image/crc32c.hpp"

namespace stopbit::multicast {
namespace {

static_assert(std::endian::native == std::endian::little, "the numbers of a packet are little-endian");

// Of the head.
constexpr std::size_t kSequenceAt = 0, kEpochAt = 8, kSentAt = 16, kSumAt = 24, kMagicAt = 28, kVersionAt = 29,
                      kLengthAt = 30;
constexpr std::uint8_t kMagic = 0x5B;
// Of the block of a Ring message.
constexpr std::size_t kRingEpochAt = 0, kFirstAt = 8, kEndAt = 16, kRecordsAt = 24, kCountAt = 32, kLayoutAt = 40,
                      kPartAt = 48, kKindAt = 50, kEndingAt = 51, kOpenAt = 52;
/// Presence map with the bit of the template identifier, and that identifier, 1.
constexpr std::byte kEnvelope[] = {std::byte{0xC0}, std::byte{0x81}};
constexpr std::uint8_t kStopBit = 0x80;
constexpr unsigned kSevenBits = 7;

template <class T>
T get(std::span<const std::byte> bytes, std::size_t at) noexcept {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}
template <class T>
void put(std::span<std::byte> bytes, std::size_t at, T value) noexcept {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

std::size_t stop_bit_bytes(std::size_t value) noexcept {
  return value < 1U << kSevenBits ? 1 : value < 1U << 2 * kSevenBits ? 2 : 3;
}

std::uint32_t sum_of(std::span<const std::byte> datagram) noexcept {
  constexpr std::byte kNone[sizeof(std::uint32_t)] = {};
  const std::uint32_t before = image::crc32c(kNone, image::crc32c(datagram.first(kSumAt)));
  return image::crc32c(datagram.subspan(kSumAt + sizeof(kNone)), before);
}

struct MessageHeader {
  std::uint16_t block, template_id, schema_id, version;
};
static_assert(sizeof(MessageHeader) == market::kSbeHeaderBytes);

Failure wrong(const char* what) {
  return Failure{what};
}

}  // namespace

std::size_t PacketWriter::begin(std::size_t bytes) noexcept {
  std::size_t at = kHeadBytes;
  for (const std::byte byte : kEnvelope) room_[at++] = byte;
  for (std::size_t left = stop_bit_bytes(bytes); left-- != 0;) {
    const auto seven = static_cast<std::uint8_t>(bytes >> left * kSevenBits & (kStopBit - 1U));
    room_[at++] = std::byte{static_cast<std::uint8_t>(seven | (left == 0 ? kStopBit : 0U))};
  }
  return at;
}

std::size_t PacketWriter::put_ring(std::size_t at, const relay::Head& ring, std::uint16_t slots) noexcept {
  put(room_, at, MessageHeader{kRingBlockBytes, kRingTemplateId, market::kSbeSchemaId, market::kEventSchemaVersion});
  const std::span<std::byte> block = room_.subspan(at + market::kSbeHeaderBytes);
  std::memset(block.data(), 0, kRingBlockBytes);
  put(block, kRingEpochAt, ring.epoch);
  put(block, kFirstAt, ring.first);
  put(block, kEndAt, ring.end);
  put(block, kRecordsAt, ring.records);
  put(block, kCountAt, ring.count);
  put(block, kLayoutAt, ring.layout);
  put(block, kPartAt, ring.part);
  put(block, kKindAt, static_cast<std::uint8_t>(ring.kind));
  put(block, kEndingAt, static_cast<std::uint8_t>(ring.ending));
  put(block, kOpenAt, static_cast<std::uint8_t>(ring.is_open));
  put(block, kRingBlockBytes, std::uint16_t{record::kSlotBytes});
  put(block, kRingBlockBytes + sizeof(std::uint16_t), slots);
  return at + kRingBytes;
}

std::span<const std::byte> PacketWriter::records(const PacketHead& head, const relay::Head& ring,
                                                 std::span<const record::Slot> slots) noexcept {
  const std::size_t bytes = slots.size() * record::kSlotBytes;
  const std::size_t at = put_ring(begin(kRingBytes + bytes), ring, static_cast<std::uint16_t>(slots.size()));
  if (bytes != 0) std::memcpy(room_.data() + at, slots.data(), bytes);
  return close(head, at + bytes);
}

std::span<const std::byte> PacketWriter::events(const PacketHead& head, const relay::Head& ring,
                                                std::span<const std::byte> messages) noexcept {
  const std::size_t at = put_ring(begin(kRingBytes + messages.size()), ring, 0);
  if (!messages.empty()) std::memcpy(room_.data() + at, messages.data(), messages.size());
  return close(head, at + messages.size());
}

std::span<const std::byte> PacketWriter::close(const PacketHead& head, std::size_t end) noexcept {
  const std::span<std::byte> packet = room_.first(std::max(end, kHeadBytes));
  put(packet, kSequenceAt, head.sequence);
  put(packet, kEpochAt, head.epoch);
  put(packet, kSentAt, head.sent_ns);
  put(packet, kMagicAt, kMagic);
  put(packet, kVersionAt, kVersion);
  put(packet, kLengthAt, static_cast<std::uint16_t>(packet.size() - kHeadBytes));
  repair_sum(packet);
  return packet;
}

void repair_sum(std::span<std::byte> datagram) noexcept {
  if (datagram.size() >= kHeadBytes) put(datagram, kSumAt, sum_of(datagram));
}

Result<Packet> decode_packet(std::span<const std::byte> datagram) {
  if (datagram.size() < kHeadBytes) return wrong("it is shorter than a head");
  if (get<std::uint8_t>(datagram, kMagicAt) != kMagic) return wrong("it is no packet of a ring");
  if (const auto version = get<std::uint8_t>(datagram, kVersionAt); version != kVersion) {
    return Failure{
        fmt::format("it has version {} of the framing, and this program reads version {}", version, kVersion)};
  }
  if (get<std::uint16_t>(datagram, kLengthAt) != datagram.size() - kHeadBytes) return wrong("its length is wrong");
  if (get<std::uint32_t>(datagram, kSumAt) != sum_of(datagram)) return wrong("its checksum is wrong");
  Packet packet{{get<std::uint64_t>(datagram, kSequenceAt), get<std::uint64_t>(datagram, kEpochAt),
                 get<std::uint64_t>(datagram, kSentAt)},
                {}};
  const std::span<const std::byte> body = datagram.subspan(kHeadBytes);
  if (body.empty()) return packet;
  std::size_t at = std::size(kEnvelope);
  if (body.size() <= at || !std::equal(std::begin(kEnvelope), std::end(kEnvelope), body.begin())) {
    return wrong("its messages are not in an envelope");
  }
  std::size_t length = 0;
  for (bool ends = false; !ends;) {
    if (at == body.size() || at == kMostEnvelopeBytes) return wrong("the envelope has no length");
    const auto byte = std::to_integer<std::uint8_t>(body[at++]);
    length = length << kSevenBits | (byte & (kStopBit - 1U));
    ends = (byte & kStopBit) != 0;
  }
  if (length == 0 || length != body.size() - at) return wrong("the length of the envelope is wrong");
  packet.messages = body.subspan(at);
  return packet;
}

Result<Content> decode_messages(std::span<const std::byte> messages) {
  if (messages.size() < kRingBytes) return wrong("its first message is cut");
  const auto header = get<MessageHeader>(messages, 0);
  if (header.schema_id != market::kSbeSchemaId || header.template_id != kRingTemplateId) {
    return wrong("its first message is not about a ring");
  }
  // A later version may have appended fields to the block.
  const std::size_t group_at = market::kSbeHeaderBytes + std::size_t{header.block};
  if (header.block < kRingBlockBytes || messages.size() < group_at + kGroupBytes) {
    return wrong("the block of its first message has another length");
  }
  const std::span<const std::byte> block = messages.subspan(market::kSbeHeaderBytes);
  Content content;
  relay::Head& ring = content.ring;
  const auto kind = get<std::uint8_t>(block, kKindAt);
  const auto ending = get<std::uint8_t>(block, kEndingAt);
  if (kind < static_cast<std::uint8_t>(relay::Kind::Records) || kind > static_cast<std::uint8_t>(relay::Kind::End) ||
      ending > static_cast<std::uint8_t>(relay::Ending::Damaged)) {
    return wrong("its kind is unknown");
  }
  ring.kind = static_cast<relay::Kind>(kind);
  ring.ending = static_cast<relay::Ending>(ending);
  ring.is_open = get<std::uint8_t>(block, kOpenAt) != 0;
  ring.part = get<std::uint16_t>(block, kPartAt);
  ring.epoch = get<std::uint64_t>(block, kRingEpochAt);
  ring.first = get<std::uint64_t>(block, kFirstAt);
  ring.end = get<std::uint64_t>(block, kEndAt);
  ring.records = get<std::uint64_t>(block, kRecordsAt);
  ring.count = get<std::uint64_t>(block, kCountAt);
  ring.layout = get<std::uint64_t>(block, kLayoutAt);
  const std::size_t entries = get<std::uint16_t>(messages, group_at + sizeof(std::uint16_t));
  const std::span<const std::byte> rest = messages.subspan(group_at + kGroupBytes);
  if (get<std::uint16_t>(messages, group_at) != record::kSlotBytes || rest.size() < entries * record::kSlotBytes) {
    return wrong("its slots are cut");
  }
  content.slots = rest.first(entries * record::kSlotBytes);
  content.events = rest.subspan(content.slots.size());
  if (content.events.size() % kEventBytes != 0 || (entries != 0 && !content.events.empty())) {
    return wrong("its events are cut");
  }
  for (std::size_t at = 0; at < content.events.size(); at += kEventBytes) {
    if (!market::read_sbe(content.events.subspan(at, kEventBytes))) return wrong("it has a message of another kind");
  }
  const char* const problem = relay::contradiction(ring, entries != 0 ? entries : content.events.size() / kEventBytes);
  if (*problem != '\0') return wrong(problem);
  return content;
}

}  // namespace stopbit::multicast
