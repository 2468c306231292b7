#include "host/nic/transport/udp/peers.hpp"

#include <algorithm>
#include <cstring>

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
/// The allowance of a peer grows to what this time allows, so that a short burst is not cut.
constexpr std::uint64_t kBurstNs = 10'000'000;

}  // namespace

UdpPeers::UdpPeers(const UdpOptions& options, UdpCounters& counters)
    : options_(options), counters_(counters), peers_(options.nodes) {}

void UdpPeers::enter(NodeId self, std::uint32_t session, UdpCipher cipher) {
  for (std::size_t node = 0; node < peers_.size(); ++node) remove(static_cast<NodeId>(node));
  self_ = self;
  session_ = session;
  cipher_ = cipher;
}

bool UdpPeers::set(const UdpPeerLine& line, const UdpEndpoint& endpoint, std::uint64_t now_ns) {
  Peer& peer = peers_[line.node];
  if (peer.session != line.session) remove(line.node);
  UdpPairKeys keys;
  keys.epoch = line.epoch;
  keys.send = line.send;
  keys.receive = line.receive;
  if (cipher_ != UdpCipher::None && !peer.keys.install(cipher_, keys, now_ns)) {
    remove(line.node);
    return false;
  }
  peer.session = line.session;
  peer.endpoint = endpoint;
  peer.address = to_socket_address(endpoint);
  return true;
}

void UdpPeers::remove(NodeId node) noexcept {
  peers_[node].session = 0;
  peers_[node].endpoint = {};
  peers_[node].keys.clear();
}

void UdpPeers::step(std::uint64_t now_ns) noexcept {
  const std::uint64_t passed_ns = std::min(now_ns - std::min(stepped_ns_, now_ns), kBurstNs);
  stepped_ns_ = now_ns;
  const std::uint64_t rate = options_.peer_bytes_per_second;
  // At least one frame, or nothing would ever be sent.
  const std::uint64_t most = std::max<std::uint64_t>(rate / (kSecond / kBurstNs), options_.frame_bytes);
  const std::uint64_t grown = rate / kSecond * passed_ns + rate % kSecond * passed_ns / kSecond;
  for (Peer& peer : peers_) {
    if (peer.session == 0) continue;
    peer.keys.step(options_.keys, now_ns);
    peer.allowance = std::min(most, peer.allowance + grown);
  }
}

bool UdpPeers::wants_keys() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(),
                     [this](const Peer& peer) { return peer.session != 0 && peer.keys.wants_newer(options_.keys); });
}

std::size_t UdpPeers::seal(NodeId to, std::span<const std::byte> frame, std::span<std::byte> into) {
  Peer& peer = peers_[to];
  UdpHead head;
  head.from = self_;
  head.to = to;
  head.session = session_;
  const std::span<std::byte> text = into.subspan(sizeof(head), frame.size());
  std::copy(frame.begin(), frame.end(), text.begin());
  std::size_t length = sizeof(head) + frame.size();
  if (cipher_ != UdpCipher::None) {
    const auto tag = into.subspan(length).first<kUdpTagBytes>();
    if (!peer.keys.seal(options_.keys, head, text, tag)) return 0;
    length += kUdpTagBytes;
  }
  std::memcpy(into.data(), &head, sizeof(head));
  peer.allowance -= std::min<std::uint64_t>(peer.allowance, frame.size());
  return length;
}

std::optional<UdpPeers::Opened> UdpPeers::open(const sockaddr_storage& source, socklen_t source_bytes,
                                               std::span<std::byte> datagram, std::uint64_t now_ns) {
  const UdpRead read = read_datagram(datagram);
  if (read.fault != UdpFault::None) {
    ++(read.fault == UdpFault::Version ? counters_.version : counters_.malformed);
    return std::nullopt;
  }
  const UdpHead& head = read.head;
  const std::size_t extra = head.flags == kUdpSealed ? kUdpTagBytes : 0;
  if (read.body.size() > options_.frame_bytes + extra) {
    ++counters_.malformed;
    return std::nullopt;
  }
  if (session_ == 0 || head.to != self_ || head.from == self_ || !has(head.from)) {
    ++counters_.strangers;
    return std::nullopt;
  }
  Peer& peer = peers_[head.from];
  if (head.session != peer.session) {
    ++counters_.stale;
    return std::nullopt;
  }
  if (cipher_ == UdpCipher::None) {  // the address is all there is
    if (head.flags != 0 || to_endpoint(source, source_bytes) != peer.endpoint) {
      ++counters_.forged;
      return std::nullopt;
    }
    return Opened{head.from, read.body};
  }
  if (head.flags != kUdpSealed) {
    ++counters_.forged;
    return std::nullopt;
  }
  const std::span<std::byte> text = read.body.first(read.body.size() - kUdpTagBytes);
  switch (peer.keys.open(head, text, read.body.last<kUdpTagBytes>(), now_ns)) {
    case UdpOpened::Authentic: return Opened{head.from, text};
    case UdpOpened::UnknownEpoch: ++counters_.stale; break;
    case UdpOpened::Replayed: ++counters_.replayed; break;
    case UdpOpened::Forged: ++counters_.forged; break;
  }
  return std::nullopt;
}

}  // namespace stopbit::nic
