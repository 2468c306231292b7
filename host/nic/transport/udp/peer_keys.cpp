#include "host/nic/transport/udp/peer_keys.hpp"

namespace stopbit::nic {

bool UdpPeerKeys::install(UdpCipher cipher, const UdpPairKeys& keys, std::uint64_t now_ns) {
  if (keys.epoch <= epochs_[newest_].epoch) return true;
  const bool is_first = epochs_[newest_].epoch == 0;
  if (is_switching_) switch_over(now_ns);
  Epoch& next = epochs_[1 - newest_];
  clear(next);
  if (!next.send.set(cipher, UdpSeal::Use::Seal, keys.send) ||
      !next.receive.set(cipher, UdpSeal::Use::Open, keys.receive)) {
    clear(next);
    return false;
  }
  next.epoch = keys.epoch;
  newest_ = 1 - newest_;
  is_switching_ = true;
  installed_ns_ = now_ns;
  if (is_first) switch_over(now_ns);
  return true;
}

void UdpPeerKeys::clear() noexcept {
  for (Epoch& epoch : epochs_) clear(epoch);
  is_switching_ = false;
  sending_ = newest_;
  sealed_ = 0;
}

void UdpPeerKeys::clear(Epoch& epoch) noexcept {
  epoch.send.clear();
  epoch.receive.clear();
  epoch.epoch = 0;
  epoch.arrived = {};
}

void UdpPeerKeys::switch_over(std::uint64_t now_ns) noexcept {
  epochs_[sending_].send.clear();
  sending_ = newest_;
  sealed_ = 0;
  is_switching_ = false;
  switched_ns_ = now_ns;
}

void UdpPeerKeys::step(const UdpKeyLimits& limits, std::uint64_t now_ns) noexcept {
  if (is_switching_ && now_ns - installed_ns_ >= limits.switch_ns) switch_over(now_ns);
  Epoch& old = epochs_[1 - newest_];
  if (!is_switching_ && old.epoch != 0 && now_ns - switched_ns_ >= limits.overlap_ns) clear(old);
}

bool UdpPeerKeys::seal(const UdpKeyLimits& limits, UdpHead& head, std::span<std::byte> text,
                       std::span<std::byte, kUdpTagBytes> tag) {
  Epoch& epoch = epochs_[sending_];
  if (epoch.epoch == 0 || sealed_ >= limits.datagrams) return false;
  head.flags = kUdpSealed;
  head.epoch = epoch.epoch;
  head.sequence = ++sealed_;  // a number is used once, whatever comes of it
  return epoch.send.seal(head, text, tag);
}

UdpOpened UdpPeerKeys::open(const UdpHead& head, std::span<std::byte> text, std::span<std::byte, kUdpTagBytes> tag,
                            std::uint64_t now_ns) {
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    Epoch& epoch = epochs_[i];
    if (head.epoch == 0 || epoch.epoch != head.epoch) continue;
    if (!epoch.arrived.is_new(head.sequence)) return UdpOpened::Replayed;
    if (!epoch.receive.open(head, text, tag)) return UdpOpened::Forged;
    epoch.arrived.accept(head.sequence);
    if (is_switching_ && i == newest_) switch_over(now_ns);
    return UdpOpened::Authentic;
  }
  return UdpOpened::UnknownEpoch;
}

}  // namespace stopbit::nic
