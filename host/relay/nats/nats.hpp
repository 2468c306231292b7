#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/relay/books/key_values.hpp"
#include "host/relay/store.hpp"
#include "host/relay/stream.hpp"
#include "microcode/base/result.hpp"

/// Streams of NATS JetStream. Built without libnats, everything here fails and says so.
namespace stopbit::relay {

/// Whether this program was built with libnats.
[[nodiscard]] bool has_nats() noexcept;

/// nats://HOST[:PORT]/STREAM
struct NatsAddress {
  std::string server;  ///< "nats://HOST:PORT"
  std::string stream;
};
[[nodiscard]] bool is_nats_address(std::string_view text) noexcept;
/// `text` is such an address. A stream's name has letters, digits, '_' and '-' only.
[[nodiscard]] Result<NatsAddress> parse_nats_address(const std::string& text);
/// Whether the text can be a stream's name, or one part of a subject.
[[nodiscard]] bool is_nats_name(std::string_view text) noexcept;

/// How to reach a server.
struct NatsAccess {
  NatsAddress address;
  std::string user;
  std::string password;
  std::string token;
  std::string credentials;  ///< File of a user's JWT and key.
  bool uses_tls = false;
  std::string ca;           ///< File of certificates; empty: those of the system.
  std::string certificate;  ///< File of this client's certificate, and of its key.
  std::string key;
};

/// What a relay writes.
struct NatsStreamOptions {
  NatsAccess access;
  std::string
      subject;  ///< Subjects are SUBJECT.CHANNEL, SUBJECT.ring and, in the stream of layouts, SUBJECT.layout.*.*
  /// Of a stream that does not exist yet. 0: no limit.
  std::uint64_t max_bytes = 0;
  std::uint64_t replicas = 1;
  bool keeps_oldest = false;  ///< A full stream takes no new message, instead of dropping the oldest.
};
[[nodiscard]] Result<std::unique_ptr<Store>> make_nats_store(NatsStreamOptions options);

[[nodiscard]] Result<std::unique_ptr<Stream>> make_nats_stream(NatsAccess access);

/// A bucket of key-value; `access.address.stream` is its name. It is made, in files, if it does not exist.
[[nodiscard]] Result<std::unique_ptr<KeyValues>> make_nats_key_values(NatsAccess access, std::uint64_t replicas);

}  // namespace stopbit::relay
