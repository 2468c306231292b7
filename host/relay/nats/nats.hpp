#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/relay/message.hpp"
#include "host/relay/store.hpp"
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

/// Reads a stream from a message on.
class NatsStream {
 public:
  NatsStream() = default;
  NatsStream(const NatsStream&) = delete;
  NatsStream& operator=(const NatsStream&) = delete;
  virtual ~NatsStream() = default;

  enum class Start : std::uint8_t { Oldest, Newest };
  /// Connects. `start` is where the first session begins; later ones go on after the last message that `next` gave.
  [[nodiscard]] virtual Result<Done, StoreFailure> begin(Start start) = 0;
  /// A message; valid until the next call.
  struct Message {
    std::span<const std::byte> bytes;
    std::uint64_t sequence = 0;
    bool is_last = false;  ///< The stream had no later one when it was sent.
  };
  /// Waits up to `wait_ms`. Nothing: none has arrived. A failure ends the session.
  [[nodiscard]] virtual Result<std::optional<Message>, StoreFailure> next(std::uint64_t wait_ms) = 0;
  /// The image of a layout, as it was stored. The caller checks it.
  [[nodiscard]] virtual Result<std::vector<std::byte>, StoreFailure> layout(std::uint64_t name) = 0;
};
[[nodiscard]] Result<std::unique_ptr<NatsStream>> make_nats_stream(NatsAccess access);

}  // namespace stopbit::relay
