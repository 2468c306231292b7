#pragma once

#include <array>
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

/// Where a process receives over a network: an IPv6 address, or IPv4 as IPv6 maps it, and a port of UDP. Zeros in
/// shared memory.
struct Place {
  std::array<std::uint8_t, 16> host{};
  std::uint16_t port = 0;
  std::uint16_t reserved[3] = {};
  friend bool operator==(const Place&, const Place&) = default;
};

/// The address that fi_getname gives and fi_av_insert takes. Little-endian.
struct Name {
  static constexpr std::uint32_t kMagic = 0x4946'4253;  // "SBFI"
  static constexpr std::uint32_t kVersion = 3;
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t network = 0;  ///< Carrier::network: in another, the numbers are of other processes.
  PeerName peer;
  Place place;
};
static_assert(sizeof(Name) == 48);

enum class Kind : std::uint8_t {
  Eager = 1,  ///< A message with its bytes. Low channel, as Offer: messages keep their order.
  Offer = 2,  ///< A long message; its bytes stay with the sender until a receive matches.
  Ask = 3,    ///< High channel, from here on. The receiver wants the first `tag` bytes; `data` is its own number.
  Piece = 4,  ///< Bytes of the message at `tag`, for the receiver's `request`.
  Done = 5,   ///< The receiver has the message, or never will: `error`. The same ends remote access.

  // Remote memory access. Low channel: applied at the target in the order of sending, also after earlier messages.
  Write = 6,      ///< RemoteBody, then the bytes.
  LongWrite = 7,  ///< RemoteBody, OfferBody: the bytes stay with the writer until the target takes them.
  Read = 8,       ///< RemoteBody, OfferBody, of which only `length` and the process space count.
  Atomic = 9,     ///< RemoteBody, operands, values to compare with. `tag` says which (AtomicCode).
  // High channel.
  Result = 10,  ///< What a short Read, or an Atomic, has found. Ends the operation.
  Grant = 11,   ///< The reader may copy the region: `tag` is its address, `data` its process and the target's number.
  Copied = 12,  ///< The reader has copied it, and Done will say whether it was still there; or `error`: send it.
  WritePiece = 13,  ///< As Piece: for the target's number of a LongWrite,
  ReadPiece = 14,   ///< and for the reader's number of a Read.
};
/// Requests, which their receiver may refuse for now; everything else is taken on arrival.
[[nodiscard]] constexpr bool is_request(Kind kind) noexcept {
  return kind == Kind::Eager || kind == Kind::Offer || (kind >= Kind::Write && kind <= Kind::Atomic);
}
inline constexpr std::uint8_t kTagged = 1;
inline constexpr std::uint8_t kHasData = 2;    ///< `data` is the sender's, for the completion.
inline constexpr std::uint8_t kWantsDone = 4;  ///< The sender waits for Done.
inline constexpr std::uint8_t kRemote = 8;     ///< `request` is a number of remote access, not of a message.

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

/// Where remote access goes.
struct RemoteBody {
  std::uint64_t key = 0;
  std::uint64_t address = 0;  ///< In the region: from its beginning, or as the target's program addresses it.
};
static_assert(sizeof(RemoteBody) == 16);

}  // namespace stopbit::nic::provider
