#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "host/nic/names.hpp"
#include "host/nic/transport/udp/peer_keys.hpp"

namespace stopbit::nic {

enum class UdpEncryption : std::uint8_t {
  Required,  ///< With a token; without one, only nodes of this host can join, in plain text.
  Off,       ///< Any host that reaches the port can join, read and forge. Only if asked for.
};

struct UdpOptions {
  /// HOST:PORT or [HOST]:PORT, a port of 0 being any: of the UDP socket, and at node 0 of the TCP socket with the same
  /// number at which others join. Node 0 must have one. Empty at others: the address from which node 0 is reached, and
  /// any port.
  std::string listen;
  /// The same at all nodes of a network: 16 to 1024 random bytes, because an eavesdropper who sees a node join can try
  /// guesses. It is never sent.
  std::string token;
  UdpEncryption encryption = UdpEncryption::Required;
  std::optional<UdpCipher> cipher;  ///< At node 0. Nothing: the one that is faster on its processor.
  std::string network = "stopbit";  ///< A joining node must give the same name; 1 to 31 bytes.
  std::optional<NodeId> node;       ///< Requested node number; unused at node 0. Nothing: any free number.
  std::size_t nodes = 64;           ///< 2 to 256, the same for all.
  /// The longest frame, the same for all; 256 to 65000. A datagram is 40 bytes longer, and its headers add 28 (IPv4) or
  /// 48 (IPv6): 1400 fits any Ethernet, 8900 jumbo frames, 65000 loopback. A datagram is never cut into fragments.
  std::size_t frame_bytes = 1400;
  std::size_t socket_bytes = std::size_t{4} << 20U;  ///< Wanted buffer of the socket, for each direction.
  std::uint64_t peer_bytes_per_second = 0;           ///< Most that is sent to one node; 0: no limit.
  std::uint64_t lease_ns = 20'000'000'000;           ///< A control connection that is silent for this time is closed.
  std::uint64_t patience_ns = 10'000'000'000;        ///< Time after which `join` gives up.
  std::uint64_t rekey_ns = 3'600'000'000'000;        ///< At node 0: new keys for all after this time.
  UdpKeyLimits keys;

  [[nodiscard]] bool is_sealed() const noexcept { return !token.empty(); }
};

/// Datagrams by what became of them, and nodes.
struct UdpCounters {
  std::uint64_t sent = 0;         ///< Given to the kernel.
  std::uint64_t received = 0;     ///< Given to the links.
  std::uint64_t no_room = 0;      ///< Not sent: the kernel takes no more now.
  std::uint64_t limited = 0;      ///< Not sent: over the rate limit of the peer.
  std::uint64_t absent = 0;       ///< Not sent: there is no such member.
  std::uint64_t keyless = 0;      ///< Not sent: the keys are used up.
  std::uint64_t broken = 0;       ///< The kernel refused it.
  std::uint64_t too_long = 0;     ///< Longer than the path takes, as the kernel or a router says.
  std::uint64_t unreachable = 0;  ///< Errors that hosts and routers reported (ICMP).
  std::uint64_t malformed = 0;    ///< No datagram of this carrier.
  std::uint64_t version = 0;      ///< Of another version.
  std::uint64_t strangers = 0;    ///< For another node, or from one that is no member.
  std::uint64_t stale = 0;        ///< Of another session, or under a key that is not known (yet, or any more).
  std::uint64_t replayed = 0;     ///< Has come before, or is too old to tell.
  std::uint64_t forged = 0;       ///< The seal is wrong, or the source address.
  std::uint64_t dropped = 0;      ///< By the kernel, because its buffer was full.
  std::uint64_t joined = 0;       ///< At node 0: nodes that were let in.
  std::uint64_t left = 0;         ///< At node 0: nodes that went, and said so.
  std::uint64_t died = 0;         ///< At node 0: nodes whose control connection ended, or was silent.
  std::uint64_t refused = 0;      ///< At node 0: nodes that were not let in.
  std::uint64_t wrong_token = 0;  ///< At node 0: handshakes that failed.
  std::uint64_t half_open = 0;    ///< At node 0: connections closed because they asked for nothing in time.
  std::uint64_t garbled = 0;      ///< Control connections that ended because of a malformed message.
  std::uint64_t rekeyed = 0;      ///< At node 0: how often new keys were made.
};

}  // namespace stopbit::nic
