#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/transport/udp/replay_window.hpp"
#include "host/nic/transport/udp/seal.hpp"

namespace stopbit::nic {

/// What node 0 hands to one of two nodes; the other gets the same, with the keys exchanged. Overwritten at its end.
struct UdpPairKeys {
  std::uint32_t epoch = 0;  ///< Never 0.
  UdpKey send{};
  UdpKey receive{};

  UdpPairKeys() = default;
  UdpPairKeys(const UdpPairKeys&) = default;
  UdpPairKeys& operator=(const UdpPairKeys&) = default;
  ~UdpPairKeys() {
    wipe(send);
    wipe(receive);
  }
};

struct UdpKeyLimits {
  std::uint64_t datagrams = std::uint64_t{1} << 32U;  ///< Under one key, at most.
  std::uint64_t switch_ns = 5'000'000'000;    ///< New keys are used for sending after this, or when the peer does.
  std::uint64_t overlap_ns = 30'000'000'000;  ///< Old keys are accepted for this time after that.
};

enum class UdpOpened : std::uint8_t { Authentic, UnknownEpoch, Replayed, Forged };

/// The keys between this node and one other, over time: those of the newest epoch and of the one before it.
class UdpPeerKeys {
 public:
  /// Allocates. An epoch that is not newer than the newest one is ignored. False: OpenSSL cannot do it.
  [[nodiscard]] bool install(UdpCipher cipher, const UdpPairKeys& keys, std::uint64_t now_ns);
  void clear() noexcept;
  /// What time brings: switches, and forgets.
  void step(const UdpKeyLimits& limits, std::uint64_t now_ns) noexcept;

  /// Fills in epoch and sequence, and encrypts. False: no key, or its limit.
  [[nodiscard]] bool seal(const UdpKeyLimits& limits, UdpHead& head, std::span<std::byte> text,
                          std::span<std::byte, kUdpTagBytes> tag);
  /// Nothing changes unless it is authentic.
  [[nodiscard]] UdpOpened open(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag,
                               std::uint64_t now_ns);
  /// Half of the datagrams that the key may seal have been sealed, and no newer keys have come.
  [[nodiscard]] bool wants_newer(const UdpKeyLimits& limits) const noexcept {
    return !is_switching_ && sealed_ >= limits.datagrams / 2;
  }
  [[nodiscard]] std::uint32_t sending_epoch() const noexcept { return epochs_[sending_].epoch; }

 private:
  struct Epoch {
    std::uint32_t epoch = 0;  ///< 0: none.
    UdpSeal send;
    UdpSeal receive;
    ReplayWindow arrived;
  };
  void switch_over(std::uint64_t now_ns) noexcept;
  static void clear(Epoch& epoch) noexcept;

  std::array<Epoch, 2> epochs_;
  std::size_t newest_ = 0;
  std::size_t sending_ = 0;    ///< The newest one, except while switching.
  bool is_switching_ = false;  ///< The newest keys are accepted, but not used yet.
  std::uint64_t sealed_ = 0;   ///< Under the key for sending; the last sequence number.
  std::uint64_t installed_ns_ = 0;
  std::uint64_t switched_ns_ = 0;
};

}  // namespace stopbit::nic
