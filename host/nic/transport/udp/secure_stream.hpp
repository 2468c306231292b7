#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "host/nic/transport/udp/seal.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// TLS 1.3 between nodes that know the same token, which is its external pre-shared key, with an ephemeral
/// Diffie-Hellman exchange: without certificates, and forward secret. A node without a token speaks plain text.
class UdpTls {
 public:
  /// `token`: empty for plain text.
  [[nodiscard]] Status open(const std::string& token);
  UdpTls() = default;
  UdpTls(const UdpTls&) = delete;
  UdpTls& operator=(const UdpTls&) = delete;
  ~UdpTls() { wipe(key_); }

  [[nodiscard]] SSL_CTX* context() const noexcept { return context_.get(); }

 private:
  friend struct UdpTlsCallbacks;
  struct Free {
    void operator()(SSL_CTX* context) const noexcept { ::SSL_CTX_free(context); }
  };

  UdpKey key_{};
  std::unique_ptr<SSL_CTX, Free> context_;
};

/// One end of a control connection, apart from its socket: bytes of the wire in and out, bytes of messages in and out.
class UdpStream {
 public:
  enum class Role : std::uint8_t { Server, Client };
  /// `tls` must outlive it.
  UdpStream(const UdpTls& tls, Role role);

  /// False: the stream is over.
  [[nodiscard]] bool is_good() const noexcept { return !has_failed_; }
  /// It is over because of the handshake: the other side has another token, or none, or is no node.
  [[nodiscard]] bool was_refused() const noexcept { return has_failed_ && !is_open_; }
  [[nodiscard]] bool is_open() const noexcept { return is_open_ && !has_failed_; }

  /// Bytes that have come over the wire.
  void take(std::span<const std::byte> wire);
  /// Bytes of messages, at most the room.
  [[nodiscard]] std::size_t read(std::span<std::byte> into);
  /// Bytes of a message, if it is open.
  void write(std::span<const std::byte> message);
  /// What has to go over the wire, from its beginning; and how much of it has gone.
  [[nodiscard]] std::span<const std::byte> waiting() const noexcept;
  void sent(std::size_t bytes);

 private:
  struct Free {
    void operator()(SSL* ssl) const noexcept { ::SSL_free(ssl); }
  };
  void shake_hands();
  void check(int result);

  std::unique_ptr<SSL, Free> ssl_;  ///< None: plain text.
  BIO* in_ = nullptr;               ///< Owned by `ssl_`, or by `plain_in_`.
  BIO* out_ = nullptr;
  struct FreeBio {
    void operator()(BIO* bio) const noexcept { ::BIO_free(bio); }
  };
  std::unique_ptr<BIO, FreeBio> plain_in_;
  std::unique_ptr<BIO, FreeBio> plain_out_;
  std::size_t unauthenticated_bytes_ = 0;
  bool is_open_ = false;
  bool has_failed_ = false;
};

}  // namespace stopbit::nic
