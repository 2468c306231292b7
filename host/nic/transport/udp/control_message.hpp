#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/nic/transport/udp/endpoint.hpp"
#include "host/nic/transport/udp/peer_keys.hpp"

namespace stopbit::nic {

/// Messages between a member and node 0, over their control connection (doc/nic-protocols.md). Little-endian: a head,
/// and a body whose length follows from the kind. The layouts of the head, of Hello and of Refused never change, so
/// that two versions can identify each other.
inline constexpr std::uint32_t kUdpControlMagic = 0x4344'5553;  // "SUDC"
inline constexpr NodeId kUdpNoNode = 0xFFFF;
inline constexpr std::size_t kUdpNameBytes = 32;  ///< Of a network.

enum class UdpMessageKind : std::uint8_t {
  Hello = 1,     ///< To node 0: let me in.
  Welcome = 2,   ///< From node 0: this is your number; the table follows.
  Refused = 3,   ///< From node 0: no, and why.
  Peer = 4,      ///< From node 0: a line of the table, with the keys for it.
  Complete = 5,  ///< From node 0: the table has been sent.
  Alive = 6,     ///< Both.
  Rekey = 7,     ///< To node 0: a key is used up soon.
  Leave = 8,     ///< To node 0: I go.
};

enum class UdpRefusal : std::uint8_t {
  None = 0,
  Version = 1,
  Network = 2,  ///< Another name of the network.
  Shape = 3,    ///< Another number of nodes, or length of frames.
  Full = 4,
  Taken = 5,  ///< The requested node is another's.
};
inline constexpr std::uint8_t kUdpRefusals = 6;
/// "the network has its maximum of nodes"
[[nodiscard]] const char* to_text(UdpRefusal refusal) noexcept;

struct UdpMessageHead {
  std::uint16_t bytes = 0;  ///< With the head.
  UdpMessageKind kind = UdpMessageKind::Alive;
  std::uint8_t reserved = 0;
  std::uint32_t checksum = 0;  ///< CRC-32C of the message, with 0 in this field.
};
static_assert(sizeof(UdpMessageHead) == 8);

struct UdpHello {
  std::uint32_t magic = kUdpControlMagic;
  std::uint8_t version = kUdpVersion;
  std::uint8_t reserved = 0;
  NodeId wanted = kUdpNoNode;                 ///< kUdpNoNode: any.
  std::uint64_t incarnation = 0;              ///< Drawn at random when the member starts, never 0.
  std::uint16_t nodes = 0;                    ///< Of the network.
  std::uint16_t port = 0;                     ///< Of the member's UDP socket, at the address of this connection.
  std::uint32_t frame_bytes = 0;              ///< The longest frame.
  std::array<char, kUdpNameBytes> network{};  ///< Padded with zeros.
};
static_assert(sizeof(UdpHello) == 56);

struct UdpWelcome {
  std::uint32_t magic = kUdpControlMagic;
  std::uint8_t version = kUdpVersion;
  UdpCipher cipher = UdpCipher::None;
  NodeId node = 0;
  std::uint32_t session = 0;  ///< In the heads of the member's datagrams; never 0.
  std::uint32_t reserved = 0;
};
static_assert(sizeof(UdpWelcome) == 16);

struct UdpRefused {
  std::uint32_t magic = kUdpControlMagic;
  std::uint8_t version = kUdpVersion;
  UdpRefusal reason = UdpRefusal::None;
  std::uint16_t frame_bytes = 0;  ///< Of the longest frame in this network, if the reason is Shape; else 0.
};
static_assert(sizeof(UdpRefused) == 8);

struct UdpPeerLine {
  NodeId node = 0;
  std::uint16_t port = 0;     ///< 0 for node 0, which is where the member has found it.
  std::uint32_t session = 0;  ///< 0: there is no such member now, and all that follows is 0.
  std::array<std::uint8_t, 16> host{};
  std::uint32_t epoch = 0;  ///< 0: plain datagrams, and the keys are 0.
  std::uint32_t reserved = 0;
  UdpKey send{};
  UdpKey receive{};
};
static_assert(sizeof(UdpPeerLine) == 96);

inline constexpr std::size_t kUdpMessageBytes = sizeof(UdpMessageHead) + sizeof(UdpPeerLine);  ///< The longest one.
using UdpMessageBuffer = std::array<std::byte, kUdpMessageBytes>;

/// Writes a message and returns its part of the buffer. `body`: of the kind, or nothing.
[[nodiscard]] std::span<std::byte> write_message(UdpMessageBuffer& into, UdpMessageKind kind,
                                                 std::span<const std::byte> body = {}) noexcept;
template <class Body>
[[nodiscard]] std::span<std::byte> write_message(UdpMessageBuffer& into, UdpMessageKind kind,
                                                 const Body& body) noexcept {
  return write_message(into, kind, std::as_bytes(std::span(&body, 1)));
}

struct UdpMessage {
  UdpMessageKind kind = UdpMessageKind::Alive;
  std::span<const std::byte> body;  ///< As long as the kind wants it; valid until the next call of the reader.
};
template <class Body>
[[nodiscard]] Body body_of(const UdpMessage& message) noexcept {
  Body body;
  std::copy_n(message.body.begin(), sizeof(body), std::as_writable_bytes(std::span(&body, 1)).begin());
  return body;
}

/// Cuts a stream of bytes into messages. Keeps at most one message.
class UdpMessageReader {
 public:
  ~UdpMessageReader() { wipe(buffer_); }
  /// Where the next bytes of the stream go, and how many there may be; never empty after `next` returned nothing.
  [[nodiscard]] std::span<std::byte> room() noexcept { return std::span(buffer_).subspan(filled_); }
  void filled(std::size_t bytes) noexcept { filled_ += bytes; }
  /// The next whole message. Nothing: more bytes are needed, or the stream is malformed.
  [[nodiscard]] std::optional<UdpMessage> next() noexcept;
  /// The stream has no messages any more.
  [[nodiscard]] bool is_malformed() const noexcept { return is_malformed_; }

 private:
  UdpMessageBuffer buffer_{};
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;  ///< Of the message that was returned last.
  bool is_malformed_ = false;
};

}  // namespace stopbit::nic
