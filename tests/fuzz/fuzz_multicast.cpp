#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "host/feed/framing/framing.hpp"
#include "host/market/event/sbe.hpp"
#include "host/multicast/packet.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/relay/unpacker.hpp"

// Datagrams that anyone may have sent to a multicast line. The first two bytes give a datagram's length; what follows
// it is the next. Checksums are made right, so that what comes after them is reached.

namespace {

using namespace stopbit;

struct Sink final : record::RecordSink {
  static constexpr std::uint32_t kMostSlots = 200;
  Place open() noexcept override { return {slots.data(), 0, false}; }
  void commit(const record::Slot& /*first*/, std::uint32_t count) noexcept override {
    if (count == 0 || count > kMostSlots) __builtin_trap();
    ++records;
  }
  std::vector<record::Slot> slots = std::vector<record::Slot>(kMostSlots);
  std::uint64_t records = 0;
};

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// What was read is written alike, but for what a later version may have appended, and numbers of columns that mean
/// the same.
void write_again(const multicast::Packet& packet, const multicast::Content& content) {
  std::vector<std::byte> room(multicast::kMaxPacketBytes);
  multicast::PacketWriter writer(room);
  std::vector<record::Slot> slots(content.slots.size() / record::kSlotBytes);
  if (!slots.empty()) std::memcpy(slots.data(), content.slots.data(), content.slots.size());
  const auto bytes = content.events.empty() ? writer.records(packet.head, content.ring, slots)
                                            : writer.events(packet.head, content.ring, content.events);
  const auto back = multicast::decode_packet(bytes);
  require(back.ok() && back.value().head.sequence == packet.head.sequence);
  const auto again = multicast::decode_messages(back.value().messages);
  require(again.ok() && std::ranges::equal(again.value().slots, content.slots) &&
          std::ranges::equal(again.value().events, content.events) && again.value().ring.end == content.ring.end &&
          again.value().ring.count == content.ring.count && again.value().ring.kind == content.ring.kind);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const net::Framing framing = net::parse_framing("stopbit").value();
  const std::span<const std::byte> all{reinterpret_cast<const std::byte*>(data), size};
  // Of clients and services of refill.
  if (all.size() >= multicast::kRequestBytes) {
    const auto first = all.first<multicast::kRequestBytes>();
    if (const auto request = multicast::decode_request(first)) {
      std::array<std::byte, multicast::kRequestBytes> again;
      multicast::encode(*request, again);
      require(std::ranges::equal(again, first));
      require(request->kind == multicast::Request::Kind::Layout ||
              request->end - request->first <= multicast::kMostRequested);
    }
    (void)multicast::decode_done(first);
    const auto head = multicast::decode_answer_head(all.first<multicast::kAnswerHeadBytes>());
    if (head) require(head->bytes != 0 && head->bytes <= limits::kMaxImageBytes);
  }
  if (const auto state = multicast::decode_state(all)) {
    std::array<std::byte, multicast::kStateHeadBytes> again;
    multicast::encode(*state, again);
    require(std::ranges::equal(again, all.first<multicast::kStateHeadBytes>()));
    for (std::size_t at = again.size(); at < all.size(); at += multicast::kEventBytes) {
      require(market::read_sbe(all.subspan(at, multicast::kEventBytes)).has_value());
    }
  }
  Sink sink;
  relay::Unpacker unpacker;
  std::uint64_t taken_records = 0;
  for (std::span<const std::byte> rest = all; rest.size() > 2;) {
    const std::size_t length = std::min<std::size_t>(
        std::size_t{std::to_integer<std::size_t>(rest[0])} | std::to_integer<std::size_t>(rest[1]) << 8,
        rest.size() - 2);
    std::vector<std::byte> datagram(rest.begin() + 2, rest.begin() + 2 + static_cast<std::ptrdiff_t>(length));
    rest = rest.subspan(2 + length);
    (void)multicast::decode_packet(datagram);
    multicast::repair_sum(datagram);
    const auto packet = multicast::decode_packet(datagram);
    if (!packet) continue;
    const net::Preamble preamble = net::read_preamble(framing, datagram);
    require(preamble.error == ErrorCode::None && preamble.sequence == packet.value().head.sequence &&
            preamble.data_end == datagram.size());
    if (packet.value().messages.empty()) continue;
    const auto content = multicast::decode_messages(packet.value().messages);
    if (!content) continue;
    write_again(packet.value(), content.value());
    const relay::Head& ring = content.value().ring;
    if (!content.value().events.empty()) continue;
    if (unpacker.is_of_next_ring(ring)) (void)unpacker.begin_ring(ring, sink, Sink::kMostSlots);
    taken_records += unpacker.take(ring, content.value().slots).records;
  }
  require(taken_records == sink.records);
  return 0;
}
