#include "host/nic/transport/fabric/frame.hpp"

#include <algorithm>
#include <cstring>

#include "microcode/image/crc32c.hpp"

namespace stopbit::nic {
namespace {

template <class Frame>
Frame frame_of(std::span<const std::byte> bytes) noexcept {
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof(frame));
  return frame;
}

template <std::size_t kBytes>
bool is_zero(const std::uint8_t (&bytes)[kBytes]) noexcept {
  return std::all_of(std::begin(bytes), std::end(bytes), [](std::uint8_t byte) { return byte == 0; });
}

bool has_address(std::size_t length, std::size_t fixed, std::size_t address_bytes) noexcept {
  return address_bytes <= kFabricAddressBytes && length == fixed + address_bytes;
}

bool is_join(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(FabricJoin)) return false;
  const auto join = frame_of<FabricJoin>(bytes);
  return join.address_bytes != 0 && has_address(bytes.size(), sizeof(join), join.address_bytes) &&
         is_zero(join.reserved);
}

bool is_refused(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != sizeof(FabricRefused)) return false;
  const auto refused = frame_of<FabricRefused>(bytes);
  const auto reason = static_cast<std::uint8_t>(refused.reason);
  return reason != 0 && reason < kFabricRefusals && is_zero(refused.reserved);
}

bool is_peer(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(FabricPeer)) return false;
  const auto peer = frame_of<FabricPeer>(bytes);
  return has_address(bytes.size(), sizeof(peer), peer.address_bytes) && is_zero(peer.reserved) &&
         (peer.incarnation != 0) == (peer.address_bytes != 0) && peer.stamp > peer.after;
}

bool is_whole(FabricKind kind, std::span<const std::byte> bytes) noexcept {
  switch (kind) {
    case FabricKind::Data: return bytes.size() > sizeof(FabricHead);
    case FabricKind::Join: return is_join(bytes);
    case FabricKind::Refused: return is_refused(bytes);
    case FabricKind::Offer:
      return bytes.size() == sizeof(FabricOffer) && is_zero(frame_of<FabricOffer>(bytes).reserved);
    case FabricKind::Alive: return bytes.size() == sizeof(FabricAlive);
    case FabricKind::Peer: return is_peer(bytes);
    case FabricKind::Leave: return bytes.size() == sizeof(FabricLeave);
  }
  return false;
}

}  // namespace

const char* to_text(FabricRefusal refusal) noexcept {
  switch (refusal) {
    case FabricRefusal::None: break;
    case FabricRefusal::Version: return "it has another protocol version";
    case FabricRefusal::Network: return "it is node 0 of another network";
    case FabricRefusal::Shape: return "its network has another number of nodes or frame size";
    case FabricRefusal::Full: return "the network has its maximum of nodes";
    case FabricRefusal::Taken: return "the node has already joined";
    case FabricRefusal::Address: return "it cannot use the address of this node";
  }
  return "?";
}

FabricRead read_head(std::span<const std::byte> frame) noexcept {
  FabricRead read;
  if (frame.size() < sizeof(FabricHead)) return read;
  read.head = frame_of<FabricHead>(frame);
  if (read.head.magic != kFabricMagic || read.head.incarnation == 0) return read;
  const bool is_in_all_versions = read.head.kind == FabricKind::Join || read.head.kind == FabricKind::Refused;
  if (read.head.version != kFabricVersion && !is_in_all_versions) {
    read.fault = FabricFault::Version;
    return read;
  }
  read.body = frame;
  // The bare version has no refusals: its node 0 cannot read our Join.
  const bool is_bare = read.head.version == kFabricBareVersion && read.head.kind == FabricKind::Join;
  if (read.head.kind != FabricKind::Data && !is_bare) {
    if (frame.size() < sizeof(FabricHead) + kFabricChecksumBytes) return read;
    read.body = frame.first(frame.size() - kFabricChecksumBytes);
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, frame.last(kFabricChecksumBytes).data(), sizeof(checksum));
    if (checksum != fabric_checksum(read.body)) return read;
  }
  if (is_whole(read.head.kind, read.body)) read.fault = FabricFault::None;
  return read;
}

std::span<const std::byte> address_in(std::span<const std::byte> body) noexcept {
  const auto kind = static_cast<FabricKind>(body[offsetof(FabricHead, kind)]);
  return body.subspan(kind == FabricKind::Join ? sizeof(FabricJoin) : sizeof(FabricPeer));
}

std::uint32_t fabric_checksum(std::span<const std::byte> body) noexcept {
  return image::crc32c(body);
}

}  // namespace stopbit::nic
