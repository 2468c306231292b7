#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host/nic/error.hpp"
#include "host/nic/names.hpp"

/// What a client and the broker of its node say to each other: one request, one reply, over a Unix socket of packets
/// (SOCK_SEQPACKET), so that each is whole. Little-endian, of one host. Nothing of it is on the way of data.
namespace stopbit::nic {

inline constexpr std::uint32_t kBrokerMagic = 0x4E42'4253;  // "SBBN"
inline constexpr std::uint16_t kBrokerVersion = 1;
inline constexpr std::size_t kFeedNameBytes = 64;

enum class BrokerCall : std::uint8_t {
  Open = 1,         ///< A port, the first request of all. With the reply comes the descriptor of its pages.
  Share = 2,        ///< `bytes` of the sealed memory whose descriptor comes with it. The reply has its address.
  Unshare = 3,      ///< The memory at `address`, whole; its windows are closed.
  OpenWindow = 4,   ///< On `bytes` of shared memory from `address` on. The reply has its name.
  CloseWindow = 5,  ///< `window`.
  Attach = 6,       ///< The feed `name`. The reply has a window of its own to it, and a descriptor to read it from.
  Detach = 7,       ///< The feed's `window`.
  Segments = 8,   ///< The mailbox of priority `window` (0 low, 1 high) lies in segments of `slot_bytes`, whose list has
                  ///< `bytes` places at `address`; it may hold messages for `limit` us.
  Subscribe = 9,  ///< The reply names the port that copies the feed `name` for this client when requested by message.
  ShareFile = 10,  ///< The first `bytes` of the file whose descriptor comes with it, as unpinned memory with at most
                   ///< `limit` resident pages. The reply has its address; Unshare takes it back.
};

struct BrokerRequest {
  std::uint32_t magic = kBrokerMagic;
  std::uint16_t version = kBrokerVersion;
  BrokerCall call = {};
  Access access = Access::Read;  ///< Share, ShareFile, OpenWindow.
  std::uint64_t id = 0;          ///< Comes back.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint16_t window = 0;
  std::uint16_t slot_bytes = 64;   ///< Open: of the mailboxes, 64 or 128. Segments: 16 to 128.
  std::uint32_t limit = 0;         ///< Segments, ShareFile; else 0.
  char name[kFeedNameBytes] = {};  ///< Ends at the first zero, or at its end.
};
static_assert(sizeof(BrokerRequest) == 104 && std::is_trivially_copyable_v<BrokerRequest>);

struct BrokerReply {
  std::uint32_t magic = kBrokerMagic;
  std::uint16_t version = kBrokerVersion;
  BrokerCall call = {};
  Error error = Error::None;
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  Capability capability = 0;
  std::uint16_t window = 0;
  NodeId node = 0;  ///< Open: this one. Attach: where the feed is,
  Vpid vpid = 0;    ///< and the port that owns the window. Open: the client's own.
  std::uint16_t reserved = 0;
  char text[80] = {};  ///< Why it was refused.
};
static_assert(sizeof(BrokerReply) == 128 && std::is_trivially_copyable_v<BrokerReply>);

}  // namespace stopbit::nic
