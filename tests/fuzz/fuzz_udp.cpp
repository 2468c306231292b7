// Whatever datagrams reach a member of a network over UDP: without encryption none is accepted from another address or
// session than a member's, with it none that was not sealed by a member for this node, and each once.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "host/nic/transport/udp/peers.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::size_t kFrameBytes = 256;
constexpr std::string_view kText = "a frame";

UdpEndpoint endpoint_of(std::uint8_t host) {
  return {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, host}}, 1000};
}

UdpPeerLine line_of(NodeId node, std::uint32_t session, bool is_sealed, std::uint8_t send, std::uint8_t receive) {
  UdpPeerLine line;
  line.node = node;
  line.session = session;
  if (!is_sealed) return line;
  line.epoch = 1;
  line.send.fill(std::byte{send});
  line.receive.fill(std::byte{receive});
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_sealed = (data[0] & 1U) != 0;
  const UdpCipher cipher = !is_sealed            ? UdpCipher::None
                           : (data[0] & 2U) != 0 ? UdpCipher::Aes128Gcm
                                                 : UdpCipher::ChaCha20Poly1305;
  UdpOptions options;
  options.nodes = 4;
  options.frame_bytes = kFrameBytes;
  UdpCounters counts;
  UdpCounters other_counts;
  UdpPeers peers(options, counts);
  UdpPeers other(options, other_counts);
  peers.enter(1, 11, cipher);
  other.enter(2, 22, cipher);
  require(peers.set(line_of(2, 22, is_sealed, 5, 6), endpoint_of(2), 0));
  require(other.set(line_of(1, 11, is_sealed, 6, 5), endpoint_of(1), 0));
  std::set<std::vector<std::byte>> honest;
  std::vector<std::byte> last;
  std::uint64_t seen = 0;
  // Chunks: how long it is, what is done with it, and the chunk.
  for (std::size_t at = 1; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    std::vector<std::byte> datagram(length);
    if (length != 0) std::memcpy(datagram.data(), data + at + 2, length);
    at += 2 + length;
    if ((kind & 1U) != 0) {  // an honest one, with the chunk over it
      std::vector<std::byte> sealed(kFrameBytes + kUdpExtraBytes);
      sealed.resize(other.seal(1, std::as_bytes(std::span(kText)), sealed));
      honest.insert(sealed);
      last = sealed;
      for (std::size_t i = 0; i < std::min(sealed.size(), datagram.size()); ++i) sealed[i] ^= datagram[i];
      if ((kind & 2U) != 0) sealed.resize(sealed.size() - std::min<std::size_t>(kind >> 4U, sealed.size()));
      datagram = sealed;
    } else if ((kind & 2U) != 0) {
      datagram = last;  // once more
    }
    const std::vector<std::byte> whole = datagram;
    const UdpSocketAddress source = to_socket_address(endpoint_of((kind & 4U) != 0 ? 2 : 3));
    const auto opened = peers.open(source.storage, source.bytes, datagram, 0);
    const std::uint64_t now_seen =
        counts.malformed + counts.version + counts.strangers + counts.stale + counts.replayed + counts.forged;
    require(now_seen == seen + (opened ? 0 : 1));
    seen = now_seen;
    if (!opened) continue;
    require(opened->from == 2 && !opened->frame.empty() && opened->frame.size() <= kFrameBytes);
    if (is_sealed) {
      require(honest.erase(whole) == 1);
      require(std::ranges::equal(opened->frame, std::as_bytes(std::span(kText))));
    } else {
      UdpHead head;
      std::memcpy(&head, whole.data(), sizeof(head));
      require((kind & 4U) != 0 && head.from == 2 && head.to == 1 && head.session == 22);
    }
  }
  // An honest datagram is still accepted.
  std::vector<std::byte> datagram(kFrameBytes + kUdpExtraBytes);
  datagram.resize(other.seal(1, std::as_bytes(std::span(kText)), datagram));
  const UdpSocketAddress source = to_socket_address(endpoint_of(2));
  require(peers.open(source.storage, source.bytes, datagram, 0).has_value());
  return 0;
}
