#include "host/nic/transport/udp/control_message.hpp"

#include <cstring>

#include "microcode/image/crc32c.hpp"

namespace stopbit::nic {
namespace {

/// Of its body; nothing: there is no such kind.
std::optional<std::size_t> length_of(UdpMessageKind kind) noexcept {
  switch (kind) {
    case UdpMessageKind::Hello: return sizeof(UdpHello);
    case UdpMessageKind::Welcome: return sizeof(UdpWelcome);
    case UdpMessageKind::Refused: return sizeof(UdpRefused);
    case UdpMessageKind::Peer: return sizeof(UdpPeerLine);
    case UdpMessageKind::Complete:
    case UdpMessageKind::Alive:
    case UdpMessageKind::Rekey:
    case UdpMessageKind::Leave: return 0;
  }
  return std::nullopt;
}

template <class Body>
Body read(std::span<const std::byte> bytes) noexcept {
  return body_of<Body>(UdpMessage{.body = bytes});
}

/// Fields whose values do not depend on anything else.
bool is_good(UdpMessageKind kind, std::span<const std::byte> body) noexcept {
  switch (kind) {
    case UdpMessageKind::Hello: {
      const auto hello = read<UdpHello>(body);
      return hello.magic == kUdpControlMagic && hello.incarnation != 0 && hello.network.back() == 0;
    }
    case UdpMessageKind::Welcome: {
      const auto welcome = read<UdpWelcome>(body);
      return welcome.magic == kUdpControlMagic && welcome.session != 0 &&
             static_cast<std::uint8_t>(welcome.cipher) < kUdpCiphers;
    }
    case UdpMessageKind::Refused: {
      const auto refused = read<UdpRefused>(body);
      const auto reason = static_cast<std::uint8_t>(refused.reason);
      return refused.magic == kUdpControlMagic && reason != 0 && reason < kUdpRefusals;
    }
    case UdpMessageKind::Peer:
    case UdpMessageKind::Complete:
    case UdpMessageKind::Alive:
    case UdpMessageKind::Rekey:
    case UdpMessageKind::Leave: return true;
  }
  return false;
}

/// Of a message whose checksum is in its head.
std::uint32_t checksum_of(std::span<std::byte> message) noexcept {
  UdpMessageHead head;
  std::memcpy(&head, message.data(), sizeof(head));
  const std::uint32_t kept = head.checksum;
  head.checksum = 0;
  std::memcpy(message.data(), &head, sizeof(head));
  const std::uint32_t checksum = image::crc32c(message);
  head.checksum = kept;
  std::memcpy(message.data(), &head, sizeof(head));
  return checksum;
}

}  // namespace

const char* to_text(UdpRefusal refusal) noexcept {
  switch (refusal) {
    case UdpRefusal::None: break;
    case UdpRefusal::Version: return "it has another protocol version";
    case UdpRefusal::Network: return "it is node 0 of another network";
    case UdpRefusal::Shape: return "its network has another number of nodes or frame size";
    case UdpRefusal::Full: return "the network has its maximum of nodes";
    case UdpRefusal::Taken: return "the node has already joined";
  }
  return "?";
}

std::span<std::byte> write_message(UdpMessageBuffer& into, UdpMessageKind kind,
                                   std::span<const std::byte> body) noexcept {
  UdpMessageHead head;
  head.kind = kind;
  head.bytes = static_cast<std::uint16_t>(sizeof(head) + body.size());
  const std::span<std::byte> message = std::span(into).first(head.bytes);
  std::copy(body.begin(), body.end(), message.begin() + sizeof(head));
  std::memcpy(message.data(), &head, sizeof(head));
  head.checksum = checksum_of(message);
  std::memcpy(message.data(), &head, sizeof(head));
  return message;
}

std::optional<UdpMessage> UdpMessageReader::next() noexcept {
  if (taken_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + taken_, filled_ - taken_);
    filled_ -= taken_;
    wipe(std::span(buffer_).subspan(filled_));
    taken_ = 0;
  }
  UdpMessageHead head;
  if (is_malformed_ || filled_ < sizeof(head)) return std::nullopt;
  std::memcpy(&head, buffer_.data(), sizeof(head));
  const std::optional<std::size_t> length = length_of(head.kind);
  is_malformed_ = !length || head.bytes != sizeof(head) + *length || head.reserved != 0;
  if (is_malformed_ || filled_ < head.bytes) return std::nullopt;
  const std::span<std::byte> message = std::span(buffer_).first(head.bytes);
  is_malformed_ = checksum_of(message) != head.checksum || !is_good(head.kind, message.subspan(sizeof(head)));
  if (is_malformed_) return std::nullopt;
  taken_ = head.bytes;
  return UdpMessage{head.kind, message.subspan(sizeof(head))};
}

}  // namespace stopbit::nic
