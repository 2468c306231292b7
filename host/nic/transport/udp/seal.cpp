#include "host/nic/transport/udp/seal.hpp"

#include <openssl/crypto.h>

#include <cstring>

namespace stopbit::nic {
namespace {

constexpr std::size_t kNonceBytes = 12;

unsigned char* bytes_of(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

struct FreeCipher {
  void operator()(EVP_CIPHER* cipher) const noexcept { ::EVP_CIPHER_free(cipher); }
};

}  // namespace

UdpCipher best_cipher() noexcept {
#if defined(__x86_64__)
  const bool has_aes = __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#else
  const bool has_aes = false;
#endif
  return has_aes ? UdpCipher::Aes128Gcm : UdpCipher::ChaCha20Poly1305;
}

void wipe(std::span<std::byte> secret) noexcept {
  ::OPENSSL_cleanse(secret.data(), secret.size());
}

bool UdpSeal::set(UdpCipher cipher, Use use, const UdpKey& key) {
  clear();
  const std::unique_ptr<EVP_CIPHER, FreeCipher> found(
      ::EVP_CIPHER_fetch(nullptr, cipher == UdpCipher::Aes128Gcm ? "AES-128-GCM" : "ChaCha20-Poly1305", nullptr));
  if (context_ == nullptr) context_.reset(::EVP_CIPHER_CTX_new());
  has_key_ =
      cipher != UdpCipher::None && found != nullptr && context_ != nullptr &&
      ::EVP_CipherInit_ex(context_.get(), found.get(), nullptr, reinterpret_cast<const unsigned char*>(key.data()),
                          nullptr, use == Use::Seal ? 1 : 0) == 1;
  if (!has_key_) clear();
  return has_key_;
}

void UdpSeal::clear() noexcept {
  has_key_ = false;
  if (context_ != nullptr) ::EVP_CIPHER_CTX_reset(context_.get());  // which overwrites the key
}

bool UdpSeal::transform(const UdpHead& head, std::span<std::byte> text) {
  std::array<unsigned char, kNonceBytes> nonce;
  std::memcpy(nonce.data(), &head.epoch, sizeof(head.epoch));
  std::memcpy(nonce.data() + sizeof(head.epoch), &head.sequence, sizeof(head.sequence));
  int length = 0;
  return has_key_ && ::EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(), -1) == 1 &&
         ::EVP_CipherUpdate(context_.get(), nullptr, &length, reinterpret_cast<const unsigned char*>(&head),
                            sizeof(head)) == 1 &&
         ::EVP_CipherUpdate(context_.get(), bytes_of(text.data()), &length, bytes_of(text.data()),
                            static_cast<int>(text.size())) == 1;
}

bool UdpSeal::seal(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag) {
  int length = 0;
  return transform(head, text) &&
         ::EVP_CipherFinal_ex(context_.get(), bytes_of(text.data() + text.size()), &length) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kUdpTagBytes, tag.data()) == 1;
}

bool UdpSeal::open(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag) {
  int length = 0;
  return transform(head, text) &&
         ::EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kUdpTagBytes, tag.data()) == 1 &&
         ::EVP_CipherFinal_ex(context_.get(), bytes_of(text.data() + text.size()), &length) == 1;
}

}  // namespace stopbit::nic
