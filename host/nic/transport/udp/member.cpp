#include "host/nic/transport/udp/member.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/nic/transport/udp/sockets.hpp"
#include "host/os/random.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kFirstPauseNs = 50'000'000;
constexpr std::uint64_t kLongestPauseNs = 1'000'000'000;
constexpr std::uint64_t kPatienceNs = 5'000'000'000;  ///< For one attempt.
constexpr std::uint64_t kKeysEveryNs = 1'000'000'000;
constexpr std::size_t kIpv4Headers = 28;
constexpr std::size_t kIpv6Headers = 48;

}  // namespace

UdpMember::UdpMember(const UdpOptions& options, const UdpTls& tls, UdpPeers& peers, UdpCounters& counters,
                     const UdpEndpoint& host, const UdpEndpoint& own)
    : options_(options),
      tls_(tls),
      peers_(peers),
      counters_(counters),
      host_(host),
      own_(own),
      pause_ns_(kFirstPauseNs) {
  while (incarnation_ == 0) incarnation_ = os::random_word();
}

void UdpMember::connect(std::uint64_t now_ns) {
  has_asked_ = is_welcome_ = is_wrong_ = false;
  Result<os::Descriptor> socket = connect_tcp(own_.host, host_);
  if (!socket) {
    reason_ = socket.message();
    retry_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
    return;
  }
  connection_ =
      std::make_unique<UdpConnection>(std::move(socket).value(), tls_, UdpStream::Role::Client, host_, now_ns);
}

void UdpMember::lose(std::uint64_t now_ns) {
  const UdpConnection& connection = *connection_;
  if (connection.was_refused()) {
    reason_ = "node 0 refuses the handshake: its token is another one, or it has none";
  } else if (connection.is_malformed() || is_wrong_) {
    ++counters_.garbled;
    reason_ = "what answers at that address is not node 0 of a network over UDP";
    // An alert of TLS is no message of this carrier.
    if (!options_.is_sealed()) reason_ += ", or it requires a token";
  } else if (!connection.has_connected() && connection.error() != 0) {
    reason_ = std::string("no connection to that address: ") + std::strerror(connection.error());
  } else if (is_joined_) {
    reason_ = "the connection to node 0 has ended";
  } else if (connection.is_over()) {
    reason_ = options_.is_sealed() ? "node 0 has closed the connection: perhaps it has no token"
                                   : "node 0 has closed the connection: perhaps it requires a token";
  }
  // If the node has never been in, this is final. Later, node 0 may just be restarting.
  if (!has_been_in_ && connection.was_refused()) {
    problem_ = reason_;
    is_token_refused_ = true;
  }
  connection_.reset();
  is_joined_ = false;
  retry_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
}

void UdpMember::check_path() {
  int mtu = 0;
  socklen_t bytes = sizeof(mtu);
  const bool is_ipv4 = host_.host.is_ipv4();
  if (::getsockopt(connection_->socket(), is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_MTU : IPV6_MTU, &mtu,
                   &bytes) != 0) {
    return;  // the kernel does not know
  }
  const std::size_t extra = (is_ipv4 ? kIpv4Headers : kIpv6Headers) + kUdpExtraBytes;
  if (options_.frame_bytes + extra > static_cast<std::size_t>(mtu)) {
    problem_ = "a frame of " + std::to_string(options_.frame_bytes) +
               " bytes does not fit the path to node 0, whose MTU is " + std::to_string(mtu) +
               ": set the frame size of all nodes to at most " +
               std::to_string(static_cast<std::size_t>(mtu) - std::min(extra, static_cast<std::size_t>(mtu)));
  }
}

void UdpMember::take_welcome(const UdpWelcome& welcome) {
  const bool is_sealed = welcome.cipher != UdpCipher::None;
  const bool fits = welcome.version == kUdpVersion && welcome.node != 0 && welcome.node < options_.nodes &&
                    is_sealed == options_.is_sealed() && !is_welcome_;
  if (!fits) return wrong();
  if (has_been_in_ && welcome.node != node_) return lose_number();
  node_ = welcome.node;
  cipher_ = welcome.cipher;
  is_welcome_ = true;
  peers_.enter(node_, welcome.session, cipher_);
}

void UdpMember::take_refused(const UdpRefused& refused) {
  reason_ = std::string("node 0 refuses: ") + to_text(refused.reason);
  if (refused.reason == UdpRefusal::Shape) frame_bytes_of_host_ = refused.frame_bytes;
  // A number that this node had is its own as long as node 0 knows this incarnation: another node has it now.
  if (has_been_in_ && refused.reason == UdpRefusal::Taken) return lose_number();
  const bool may_change = refused.reason == UdpRefusal::Full || refused.reason == UdpRefusal::Taken;
  if (!may_change) problem_ = reason_;
}

void UdpMember::take_line(const UdpPeerLine& line, std::uint64_t now_ns) {
  if (!is_welcome_ || line.node >= options_.nodes || line.node == node_) return wrong();
  if (line.session == 0) return peers_.remove(line.node);
  if ((line.epoch != 0) != (cipher_ != UdpCipher::None)) return wrong();
  const UdpEndpoint endpoint = line.node == 0 ? host_ : UdpEndpoint{{line.host}, line.port};
  if (endpoint.port == 0 || endpoint.host.is_ipv4() != host_.host.is_ipv4()) return wrong();
  if (!peers_.set(line, endpoint, now_ns)) problem_ = "OpenSSL cannot use the keys of node 0";
}

void UdpMember::take(const UdpMessage& message, std::uint64_t now_ns) {
  switch (message.kind) {
    case UdpMessageKind::Welcome: return take_welcome(body_of<UdpWelcome>(message));
    case UdpMessageKind::Refused: return take_refused(body_of<UdpRefused>(message));
    case UdpMessageKind::Peer: {
      auto line = body_of<UdpPeerLine>(message);
      take_line(line, now_ns);
      wipe(line.send);
      wipe(line.receive);
      return;
    }
    case UdpMessageKind::Complete:
      if (!is_welcome_) return wrong();
      check_path();
      if (!problem_.empty()) return;
      is_joined_ = has_been_in_ = true;
      pause_ns_ = kFirstPauseNs;
      return;
    case UdpMessageKind::Alive: return;
    case UdpMessageKind::Hello:
    case UdpMessageKind::Rekey:
    case UdpMessageKind::Leave: return wrong();
  }
}

void UdpMember::step(std::uint64_t now_ns) {
  if (!problem_.empty()) return connection_.reset();
  if (connection_ == nullptr) {
    if (now_ns >= retry_ns_) connect(now_ns);
    return;
  }
  UdpConnection& connection = *connection_;
  connection.pump(now_ns);
  while (const std::optional<UdpMessage> message = connection.next()) {
    take(*message, now_ns);
    if (!problem_.empty() || is_wrong_) break;
  }
  if (!problem_.empty()) {
    is_joined_ = false;
    return connection_.reset();
  }
  const std::uint64_t patience_ns = is_joined_ ? options_.lease_ns : kPatienceNs;
  if (is_wrong_ || connection.is_over() || now_ns - connection.heard_ns() >= patience_ns) return lose(now_ns);
  if (!connection.is_open()) return;
  if (!has_asked_) {
    UdpHello hello;
    hello.wanted = has_been_in_ ? node_ : options_.node.value_or(kUdpNoNode);
    hello.incarnation = incarnation_;
    hello.nodes = static_cast<std::uint16_t>(options_.nodes);
    hello.port = own_.port;
    hello.frame_bytes = static_cast<std::uint32_t>(options_.frame_bytes);
    options_.network.copy(hello.network.data(), hello.network.size() - 1);
    connection.say(UdpMessageKind::Hello, hello);
    has_asked_ = true;
    said_ns_ = now_ns;
    return connection.pump(now_ns);
  }
  if (!connection.has_room()) return;
  if (is_joined_ && now_ns - said_ns_ >= options_.lease_ns / 8) {
    connection.say(UdpMessageKind::Alive);
    said_ns_ = now_ns;
  }
  if (is_joined_ && peers_.wants_keys() && now_ns - asked_for_keys_ns_ >= kKeysEveryNs) {
    connection.say(UdpMessageKind::Rekey);
    asked_for_keys_ns_ = now_ns;
  }
}

void UdpMember::leave(std::uint64_t now_ns) {
  if (connection_ == nullptr || !connection_->is_open()) return;
  connection_->say(UdpMessageKind::Leave);
  connection_->pump(now_ns);
}

}  // namespace stopbit::nic
