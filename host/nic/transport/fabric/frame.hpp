#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/names.hpp"

namespace stopbit::nic {

/// Frames between the members of a network over libfabric (table: doc/nic-protocols.md). Little-endian. All frames
/// except Data end with a CRC-32C; Links check their own data. The layouts of Head, Join and Refused never change, so
/// that two versions can identify each other, except that the first version has no checksum.
inline constexpr std::uint32_t kFabricMagic = 0x4246'4253;  // "SBFB"
inline constexpr std::uint8_t kFabricVersion = 2;
inline constexpr std::uint8_t kFabricBareVersion = 1;
inline constexpr NodeId kNoNode = 0xFFFF;
inline constexpr std::size_t kFabricAddressBytes = 128;  ///< The longest address of an endpoint.
inline constexpr std::size_t kFabricNameBytes = 32;      ///< Of a network.
inline constexpr std::size_t kFabricChecksumBytes = 4;

/// What an endpoint calls an address that it can send to.
using FabricHandle = std::uint64_t;
inline constexpr FabricHandle kNoHandle = ~FabricHandle{0};

enum class FabricKind : std::uint8_t {
  Data = 0,     ///< A frame of Links follows.
  Join = 1,     ///< To node 0: let me in.
  Refused = 2,  ///< From node 0: no, and why.
  Offer = 3,    ///< From node 0: this is your place, if you can hear me.
  Alive = 4,    ///< To node 0, and its answer: sign of life, with the known version of the table.
  Peer = 5,     ///< From node 0: a line of the table.
  Leave = 6,    ///< To node 0: I go.
};

/// Why a node was not let in.
enum class FabricRefusal : std::uint8_t {
  None = 0,
  Version = 1,  ///< Node 0 speaks another version; its head says which.
  Network = 2,  ///< Another name of the network.
  Shape = 3,    ///< Another number of nodes, or length of frames.
  Full = 4,
  Taken = 5,    ///< The requested node has already joined and is alive.
  Address = 6,  ///< Node 0 cannot use its address.
};
inline constexpr std::uint8_t kFabricRefusals = 7;
/// "another version"
[[nodiscard]] const char* to_text(FabricRefusal refusal) noexcept;

/// In front of every frame.
struct FabricHead {
  std::uint32_t magic = kFabricMagic;
  std::uint8_t version = kFabricVersion;
  FabricKind kind = FabricKind::Data;
  NodeId node = kNoNode;          ///< Sender; none before it has joined.
  std::uint64_t incarnation = 0;  ///< The sender's: drawn at random when it starts, never 0.
};
static_assert(sizeof(FabricHead) == 16);

struct FabricJoin {
  FabricHead head;
  NodeId wanted = kNoNode;  ///< kNoNode: any.
  std::uint16_t nodes = 0;
  std::uint32_t frame_bytes = 0;
  std::array<char, kFabricNameBytes> network{};  ///< Padded with zeros.
  std::uint16_t address_bytes = 0;               ///< The address follows: where the answer goes.
  std::uint8_t reserved[6] = {};
};
static_assert(sizeof(FabricJoin) == 64);

struct FabricRefused {
  FabricHead head;
  FabricRefusal reason = FabricRefusal::None;
  std::uint8_t reserved[7] = {};
  std::uint64_t to = 0;  ///< Incarnation of the one who asked.
};
static_assert(sizeof(FabricRefused) == 32);

struct FabricOffer {
  FabricHead head;
  std::uint64_t to = 0;      ///< As above.
  std::uint64_t ticket = 0;  ///< Random: a node that repeats it has received this frame.
  NodeId node = kNoNode;     ///< The place.
  std::uint8_t reserved[6] = {};
};
static_assert(sizeof(FabricOffer) == 40);

struct FabricAlive {
  FabricHead head;
  std::uint64_t proof = 0;  ///< To node 0: the ticket. From it: the other's incarnation.
  std::uint64_t stamp = 0;  ///< To node 0: all changes of the table up to this are known. From it: the newest one.
};
static_assert(sizeof(FabricAlive) == 32);

struct FabricPeer {
  FabricHead head;
  std::uint64_t to = 0;     ///< Incarnation of the receiver.
  std::uint64_t after = 0;  ///< Between this stamp and the next one nothing else changed.
  std::uint64_t stamp = 0;
  std::uint64_t incarnation = 0;  ///< 0: the slot is free, and no address follows.
  NodeId node = 0;
  std::uint16_t address_bytes = 0;  ///< The address follows.
  std::uint8_t reserved[4] = {};
};
static_assert(sizeof(FabricPeer) == 56);

struct FabricLeave {
  FabricHead head;
  std::uint64_t ticket = 0;
};
static_assert(sizeof(FabricLeave) == 24);

/// Defect of a frame.
enum class FabricFault : std::uint8_t { None, Malformed, Version };

struct FabricRead {
  FabricFault fault = FabricFault::Malformed;
  FabricHead head;
  std::span<const std::byte> body;  ///< The frame, without its checksum, if it has one.
};
/// Looks at the head and the checksum, and whether the frame is as long as its kind wants it. A Join or a Refused of
/// another version is no fault, of the bare one a Join without a checksum; any other frame of one is.
[[nodiscard]] FabricRead read_head(std::span<const std::byte> frame) noexcept;
/// The address after a Join or Peer in whose body read_head found no fault.
[[nodiscard]] std::span<const std::byte> address_in(std::span<const std::byte> body) noexcept;
/// Content after `body`.
[[nodiscard]] std::uint32_t fabric_checksum(std::span<const std::byte> body) noexcept;

}  // namespace stopbit::nic
