// Whatever bytes reach a control connection of the carrier udp, in pieces of any length: messages that are read are
// written alike, reading ends, a handshake that fails stays failed, and no stranger opens a sealed stream.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/nic/transport/udp/control_message.hpp"
#include "host/nic/transport/udp/secure_stream.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

const UdpTls& tls_with(bool has_token) {
  static const UdpTls* const both = [] {
    auto* const made = new UdpTls[2];
    require(made[0].open("").ok() && made[1].open("0123456789abcdef").ok());
    return made;
  }();
  return both[has_token ? 1 : 0];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool has_token = (data[0] & 1U) != 0;
  const bool is_client = (data[0] & 2U) != 0;
  const bool seals_messages = (data[0] & 4U) != 0;  // with the right checksum, so that more is reached
  const std::size_t piece = data[1] + std::size_t{1};
  std::vector<std::byte> bytes(size - 2);
  if (!bytes.empty()) std::memcpy(bytes.data(), data + 2, bytes.size());
  if (seals_messages && !has_token) {
    std::vector<std::byte> written;
    for (std::size_t at = 0; at + 2 <= bytes.size();) {
      const auto kind = static_cast<UdpMessageKind>(bytes[at]);
      const std::size_t length = std::min(
          {static_cast<std::size_t>(bytes[at + 1]), bytes.size() - at - 2, kUdpMessageBytes - sizeof(UdpMessageHead)});
      UdpMessageBuffer buffer;
      const auto message = write_message(buffer, kind, std::span<const std::byte>(bytes).subspan(at + 2, length));
      written.insert(written.end(), message.begin(), message.end());
      at += 2 + length;
    }
    bytes = std::move(written);
  }
  UdpStream stream(tls_with(has_token), is_client ? UdpStream::Role::Client : UdpStream::Role::Server);
  UdpMessageReader reader;
  bool was_good = true;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    stream.take(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    stream.sent(stream.waiting().size());
    require(stream.waiting().empty());
    require(was_good || !stream.is_good());
    was_good = stream.is_good();
    require(!has_token || !stream.is_open());
    for (;;) {
      if (const std::optional<UdpMessage> message = reader.next()) {
        UdpMessageBuffer buffer;
        const auto again = write_message(buffer, message->kind, message->body);
        require(again.size() == sizeof(UdpMessageHead) + message->body.size());
        require(std::ranges::equal(std::span<const std::byte>(again).subspan(sizeof(UdpMessageHead)), message->body));
        continue;
      }
      if (reader.is_malformed()) return 0;
      require(!reader.room().empty());
      const std::size_t read = stream.read(reader.room());
      if (read == 0) break;
      reader.filled(read);
    }
  }
  return 0;
}
