#pragma once

#include <cstddef>
#include <cstdint>

#include "host/nic/names.hpp"

/// What the endpoints of two processes say to each other, and the names by which programs exchange endpoints.
namespace stopbit::nic::provider {

/// An endpoint of a process. `birth` tells a process from an earlier one with the same number.
struct PeerName {
  NodeId node = 0;
  std::uint16_t endpoint = 0;
  std::uint32_t birth = 0;
  friend bool operator==(const PeerName&, const PeerName&) = default;
};

/// The address that fi_getname gives and fi_av_insert takes. Little-endian.
struct Name {
  static constexpr std::uint32_t kMagic = 0x4946'4253;  // "SBFI"
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t network = 0;  ///< Hash of network and host: elsewhere, the numbers are of other processes.
  PeerName peer;
};
static_assert(sizeof(Name) == 24);

enum class Kind : std::uint8_t {
  Eager = 1,  ///< A message with its bytes. Low channel, as Offer: messages keep their order.
  Offer = 2,  ///< A long message; its bytes stay with the sender until a receive matches.
  Ask = 3,    ///< High channel, from here on. The receiver wants the first `tag` bytes; `data` is its own number.
  Piece = 4,  ///< Bytes of the message at `tag`, for the receiver's `request`.
  Done = 5,   ///< The receiver has the message, or never will: `error`.
};
inline constexpr std::uint8_t kTagged = 1;
inline constexpr std::uint8_t kHasData = 2;    ///< `data` is the sender's, for the completion.
inline constexpr std::uint8_t kWantsDone = 4;  ///< The sender waits for Done.

/// In front of every packet. The bytes of Eager and Piece follow it, those of an Offer after OfferBody.
struct Head {
  Kind kind = {};
  std::uint8_t flags = 0;
  std::uint16_t source = 0;  ///< Endpoints.
  std::uint16_t target = 0;
  std::uint16_t error = 0;  ///< Of Done: an errno.
  std::uint32_t source_birth = 0;
  std::uint32_t target_birth = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint32_t request = 0;  ///< Number of the send, or for a Piece of the receive, at the end that has it.
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Head) == 40);

/// Of an Offer. The address lets a receiver on the same host copy the message with one system call.
struct OfferBody {
  std::uint64_t length = 0;
  std::uint64_t address = 0;        ///< 0: the message is in several pieces, and must be asked for.
  std::uint32_t process = 0;        ///< In the sender's process space.
  std::uint32_t process_space = 0;  ///< Inode of its pid namespace: in another, `process` is another process.
};
static_assert(sizeof(OfferBody) == 24);

}  // namespace stopbit::nic::provider
