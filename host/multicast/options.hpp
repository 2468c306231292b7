#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "host/feed/packet/packet.hpp"
#include "host/market/state/followed_books.hpp"

/// What settings say about a ring on multicast lines.
namespace stopbit::multicast {

inline constexpr std::size_t kLines = 2;  ///< A and B.

inline constexpr std::size_t kMinPacketBytes = 512;
inline constexpr std::size_t kMaxPacketBytes = 65'507;  ///< What a datagram of IPv4 can carry.

struct LineOptions {
  net::Endpoint group;
  std::string interface = {};               ///< Empty: the kernel's choice.
  std::uint8_t ttl = 1;                     ///< Routers that a datagram may pass, plus one.
  std::uint8_t dscp = 0;                    ///< 0 to 63.
  bool loop = false;                        ///< Programs of this host get it, too.
  std::uint64_t buffer_bytes = 4ULL << 20;  ///< Of the socket, as far as the host's limits allow.
};

struct PublisherOptions {
  std::string ring = {};
  std::size_t packet_bytes = 1'472;          ///< The longest packet: the path's MTU less 28.
  std::uint64_t heartbeat_ns = 250'000'000;  ///< A packet is sent at least this often.
  std::uint64_t bytes_per_second = 0;        ///< On each line; 0: no limit.
  std::uint64_t patience_ns = 2'000'000;     ///< How long a packet waits for room in a line's socket buffer.
  std::uint64_t epoch_ns = 0;                ///< Wall clock: when this publisher started.
  std::size_t history_bytes = 0;             ///< Of packets that are kept to be sent again; 0: none.
  bool keeps_state = false;                  ///< Of a ring of market events: its books, for late readers.
  market::FollowedRoom books = {};           ///< For that.
};

struct RefillOptions {
  net::Endpoint listen = {};
  std::size_t clients = 16;             ///< At once.
  std::size_t clients_per_address = 4;  ///< At once, of one address.
  std::uint64_t bytes_per_second = 0;   ///< To each client; 0: no limit.
};

}  // namespace stopbit::multicast
