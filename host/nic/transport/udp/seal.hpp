#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/nic/transport/udp/datagram.hpp"

namespace stopbit::nic {

/// How datagrams of a network are sealed; node 0 decides.
enum class UdpCipher : std::uint8_t { None = 0, Aes128Gcm = 1, ChaCha20Poly1305 = 2 };
inline constexpr std::uint8_t kUdpCiphers = 3;
/// The faster one on this processor.
[[nodiscard]] UdpCipher best_cipher() noexcept;

inline constexpr std::size_t kUdpKeyBytes = 32;  ///< AES-128 uses the first 16.
using UdpKey = std::array<std::byte, kUdpKeyBytes>;
/// Overwrites it, whatever the compiler thinks of that.
void wipe(std::span<std::byte> secret) noexcept;

/// One key of one direction between two nodes, for one epoch. The nonce is the epoch and the sequence number, so a
/// number must never be used twice. `seal` and `open` do not allocate.
class UdpSeal {
 public:
  enum class Use : std::uint8_t { Seal, Open };

  /// Allocates. False: OpenSSL cannot do it.
  [[nodiscard]] bool set(UdpCipher cipher, Use use, const UdpKey& key);
  /// Forgets the key.
  void clear() noexcept;
  [[nodiscard]] bool has_key() const noexcept { return has_key_; }

  /// Encrypts in place; the head is authenticated, too.
  [[nodiscard]] bool seal(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag);
  /// Decrypts in place. False: forged; `text` is then worthless.
  [[nodiscard]] bool open(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag);

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const noexcept { ::EVP_CIPHER_CTX_free(context); }
  };
  [[nodiscard]] bool transform(const UdpHead& head, std::span<std::byte> text);

  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
  bool has_key_ = false;
};

}  // namespace stopbit::nic
