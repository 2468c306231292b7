#include "host/nic/transport/udp/secure_stream.hpp"

#include <openssl/err.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace stopbit::nic {
namespace {

constexpr std::string_view kIdentity = "stopbit-udp-1";
constexpr std::string_view kSalt = "stopbit udp token 1";
/// More than any honest handshake needs.
constexpr std::size_t kHandshakeBytes = 8192;

struct FreeSession {
  void operator()(SSL_SESSION* session) const noexcept { ::SSL_SESSION_free(session); }
};
using Session = std::unique_ptr<SSL_SESSION, FreeSession>;

}  // namespace

/// OpenSSL asks for the session of a pre-shared key.
struct UdpTlsCallbacks {
  static Session session_of(SSL* ssl) {
    constexpr std::array<unsigned char, 2> kSuite = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
    const auto* tls = static_cast<const UdpTls*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
    const SSL_CIPHER* suite = ::SSL_CIPHER_find(ssl, kSuite.data());
    Session session(::SSL_SESSION_new());
    if (suite == nullptr || session == nullptr ||
        ::SSL_SESSION_set1_master_key(session.get(), reinterpret_cast<const unsigned char*>(tls->key_.data()),
                                      tls->key_.size()) != 1 ||
        ::SSL_SESSION_set_cipher(session.get(), suite) != 1 ||
        ::SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1 ||
        ::SSL_SESSION_set1_id_context(session.get(), reinterpret_cast<const unsigned char*>(kIdentity.data()),
                                      kIdentity.size()) != 1) {
      return nullptr;
    }
    return session;
  }

  static int use(SSL* ssl, const EVP_MD* hash, const unsigned char** identity, std::size_t* identity_bytes,
                 SSL_SESSION** session) {
    *session = nullptr;
    if (hash != nullptr && ::EVP_MD_get_type(hash) != NID_sha256) return 1;  // the server chose another suite
    Session made = session_of(ssl);
    if (made == nullptr) return 0;
    *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *identity_bytes = kIdentity.size();
    *session = made.release();
    return 1;
  }

  static int find(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes, SSL_SESSION** session) {
    *session = nullptr;
    if (std::string_view(reinterpret_cast<const char*>(identity), identity_bytes) != kIdentity) return 1;
    *session = session_of(ssl).release();
    return *session == nullptr ? 0 : 1;
  }
};

Status UdpTls::open(const std::string& token) {
  if (token.empty()) return Done{};
  unsigned bytes = 0;
  if (::HMAC(::EVP_sha256(), kSalt.data(), static_cast<int>(kSalt.size()),
             reinterpret_cast<const unsigned char*>(token.data()), token.size(),
             reinterpret_cast<unsigned char*>(key_.data()), &bytes) == nullptr ||
      bytes != key_.size()) {
    return Failure{"OpenSSL cannot derive a key from the token"};
  }
  context_.reset(::SSL_CTX_new(::TLS_method()));
  SSL_CTX* const context = context_.get();
  if (context == nullptr || ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      ::SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
      ::SSL_CTX_set_num_tickets(context, 0) != 1 ||
      ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kIdentity.data()),
                                       kIdentity.size()) != 1) {
    return Failure{"OpenSSL has no TLS 1.3 with AES-128-GCM"};
  }
  (void)SSL_CTX_set_app_data(context, this);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // A server with a certificate instead of the key is refused: no authority is trusted.
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_psk_use_session_callback(context, UdpTlsCallbacks::use);
  ::SSL_CTX_set_psk_find_session_callback(context, UdpTlsCallbacks::find);
  return Done{};
}

UdpStream::UdpStream(const UdpTls& tls, Role role) {
  if (tls.context() == nullptr) {
    plain_in_.reset(::BIO_new(::BIO_s_mem()));
    plain_out_.reset(::BIO_new(::BIO_s_mem()));
    in_ = plain_in_.get();
    out_ = plain_out_.get();
    is_open_ = true;
    has_failed_ = in_ == nullptr || out_ == nullptr;
    return;
  }
  ssl_.reset(::SSL_new(tls.context()));
  in_ = ::BIO_new(::BIO_s_mem());
  out_ = ::BIO_new(::BIO_s_mem());
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) {
    ::BIO_free(in_);
    ::BIO_free(out_);
    in_ = out_ = nullptr;
    has_failed_ = true;
    return;
  }
  ::SSL_set_bio(ssl_.get(), in_, out_);
  if (role == Role::Server) {
    ::SSL_set_accept_state(ssl_.get());
  } else {
    ::SSL_set_connect_state(ssl_.get());
    shake_hands();
  }
}

void UdpStream::check(int result) {
  const int error = ::SSL_get_error(ssl_.get(), result);
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) has_failed_ = true;
  ::ERR_clear_error();
}

void UdpStream::shake_hands() {
  ::ERR_clear_error();
  if (const int result = ::SSL_do_handshake(ssl_.get()); result != 1) return check(result);
  // Both sides have proved that they know the key, or there was none.
  if (::SSL_session_reused(ssl_.get()) != 1) {
    has_failed_ = true;
    return;
  }
  is_open_ = true;
}

void UdpStream::take(std::span<const std::byte> wire) {
  if (has_failed_ || wire.empty()) return;
  if (!is_open_) {
    unauthenticated_bytes_ += wire.size();
    if (unauthenticated_bytes_ > kHandshakeBytes) {
      has_failed_ = true;
      return;
    }
  }
  if (::BIO_write(in_, wire.data(), static_cast<int>(wire.size())) != static_cast<int>(wire.size())) {
    has_failed_ = true;
    return;
  }
  if (!is_open_) shake_hands();
}

std::size_t UdpStream::read(std::span<std::byte> into) {
  if (!is_open() || into.empty()) return 0;
  if (ssl_ == nullptr)
    return static_cast<std::size_t>(std::max(0, ::BIO_read(in_, into.data(), static_cast<int>(into.size()))));
  std::size_t bytes = 0;
  ::ERR_clear_error();
  if (const int result = ::SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes); result != 1) {
    check(result);
    return 0;
  }
  return bytes;
}

void UdpStream::write(std::span<const std::byte> message) {
  if (!is_open()) return;
  std::size_t bytes = 0;
  ::ERR_clear_error();
  if (ssl_ == nullptr) {
    if (::BIO_write(out_, message.data(), static_cast<int>(message.size())) != static_cast<int>(message.size())) {
      has_failed_ = true;
    }
  } else if (::SSL_write_ex(ssl_.get(), message.data(), message.size(), &bytes) != 1) {
    has_failed_ = true;  // a memory BIO takes everything
    ::ERR_clear_error();
  }
}

std::span<const std::byte> UdpStream::waiting() const noexcept {
  char* data = nullptr;
  const long bytes = out_ == nullptr ? 0 : BIO_get_mem_data(out_, &data);
  return {reinterpret_cast<const std::byte*>(data), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

void UdpStream::sent(std::size_t bytes) {
  std::array<std::byte, 1024> gone;
  while (bytes > 0) {
    const int read = ::BIO_read(out_, gone.data(), static_cast<int>(std::min(bytes, gone.size())));
    if (read <= 0) {
      has_failed_ = true;
      return;
    }
    bytes -= static_cast<std::size_t>(read);
  }
}

}  // namespace stopbit::nic
