#include "host/ports/out/datagrams.hpp"

#include <algorithm>

#include "decoder/wire/writer.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/ports/out/frame.hpp"

namespace stopbit::egress {
namespace {

constexpr std::size_t kB3PreambleBytes = 10;
constexpr std::size_t kMaxBlockSizeBytes = 3;  ///< Of a stop-bit integer below 2^21.

using Bytes = std::vector<std::byte>;

void store(net::PreambleField field, Bytes& datagram, std::uint64_t value) {
  std::byte* const to = datagram.data() + field.offset;
  const auto put = [&](auto narrow) { field.big_endian ? net::store_be(to, narrow) : net::store_le(to, narrow); };
  switch (field.bytes) {
    case 2: return put(static_cast<std::uint16_t>(value));
    case 4: return put(static_cast<std::uint32_t>(value));
    case 8: return put(value);
    default: return;
  }
}

void append(Bytes& datagram, std::span<const std::byte> data) {
  datagram.insert(datagram.end(), data.begin(), data.end());
}

Bytes make_fixed(const net::Framing& framing, std::span<const std::byte> data, std::uint64_t sequence) {
  Bytes datagram(framing.skip);
  if (framing.blocks) {
    wire::Writer size(kMaxBlockSizeBytes);
    size.integer<false>(static_cast<wire::Int128>(data.size()));
    append(datagram, std::as_bytes(std::span(size.data(), size.size())));
  }
  append(datagram, data);
  store(framing.sequence, datagram, sequence);
  store(framing.length, datagram, datagram.size() - framing.skip);
  return datagram;
}

std::vector<Bytes> make_b3(std::span<const std::byte> data, std::uint64_t sequence, std::size_t max_payload_bytes) {
  const std::size_t piece_bytes = max_payload_bytes - kB3PreambleBytes;
  const std::size_t chunks = std::max<std::size_t>(1, (data.size() + piece_bytes - 1) / piece_bytes);
  std::vector<Bytes> datagrams;
  for (std::size_t chunk = 1; chunk <= chunks; ++chunk) {
    const auto piece = data.first(std::min(piece_bytes, data.size()));
    data = data.subspan(piece.size());
    Bytes& datagram = datagrams.emplace_back(kB3PreambleBytes);
    net::store_be(&datagram[0], static_cast<std::uint32_t>(sequence));
    net::store_be(&datagram[4], static_cast<std::uint16_t>(chunks));
    net::store_be(&datagram[6], static_cast<std::uint16_t>(chunk));
    net::store_be(&datagram[8], static_cast<std::uint16_t>(piece.size()));
    append(datagram, piece);
  }
  return datagrams;
}

}  // namespace

Status can_write(const net::Framing& framing) {
  for (const net::PreambleField field : {framing.sequence, framing.length}) {
    if (field.bytes != 0 && field.offset + field.bytes > framing.skip) {
      return Failure{framing.name + ": a field is after the preamble, in the data"};
    }
  }
  return Done{};
}

std::size_t max_data_bytes(const net::Framing& framing) {
  if (framing.kind == net::FramingKind::B3) return limits::kMaxDatagramBytes - kB3PreambleBytes;
  return kMaxPayloadBytes - framing.skip - (framing.blocks ? kMaxBlockSizeBytes : 0);
}

std::vector<std::vector<std::byte>> make_datagrams(const net::Framing& framing, std::span<const std::byte> data,
                                                   std::uint64_t sequence, std::size_t max_payload_bytes) {
  switch (framing.kind) {
    case net::FramingKind::Fixed: return {make_fixed(framing, data, sequence)};
    case net::FramingKind::B3: return make_b3(data, sequence, max_payload_bytes);
    case net::FramingKind::T7: return {Bytes(data.begin(), data.end())};
  }
  return {};
}

}  // namespace stopbit::egress
