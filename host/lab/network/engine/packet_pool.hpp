#pragma once

#include <memory>
#include <vector>

#include "host/lab/network/names.hpp"
#include "host/lab/network/routing/router.hpp"

namespace stopbit::network {

struct Packet {
  Cycle created = 0;
  Cycle injected = 0;
  Route route;
  HostId source = 0;
  std::uint32_t serial = 0;  ///< Changes whenever the packet moves, so that an old event does not hit it.
  std::uint32_t previous = kNone;
  std::uint32_t next = kNone;
  std::uint32_t stored = kNone;  ///< The packet in whose slots this one lies: itself, or the original of a copy.
  std::uint32_t group = kNone;   ///< Multicast.
  std::uint32_t frame = kNone;   ///< Of a carrier.
  ChannelId input = 0;
  std::uint16_t payload = 0;
  std::uint16_t cells = 0;
  std::uint8_t slots = 0;
  std::uint8_t copies = 0;  ///< Of an original: those still in the store.
  std::uint8_t traffic_class = 0;
  std::uint8_t vc = 0;  ///< On which it came.
  std::uint8_t out = 0;
  std::uint8_t out_vc = 0;
  std::uint8_t escape_port = 0;
  std::uint8_t escape_vc = 0;
  bool is_waiting = false;   ///< In a queue of a switch.
  bool is_adaptive = false;  ///< In a queue that it may leave.
  bool is_bad = false;       ///< Its end says that it is damaged.
};

/// All packets of a network, in chunks: a reference is valid until the packet is released.
class PacketPool {
 public:
  [[nodiscard]] std::uint32_t take() {
    std::uint32_t number = free_;
    if (number == kNone) {
      number = count_++;
      if (number >> kChunkBits == chunks_.size()) chunks_.push_back(std::make_unique<Packet[]>(kChunk));
    } else {
      free_ = (*this)[number].next;
    }
    Packet& packet = (*this)[number];
    const std::uint32_t serial = packet.serial + 1;
    packet = Packet{};
    packet.serial = serial;
    ++in_use_;
    return number;
  }
  void release(std::uint32_t number) noexcept {
    Packet& packet = (*this)[number];
    ++packet.serial;
    packet.is_waiting = false;
    packet.next = free_;
    free_ = number;
    --in_use_;
  }
  [[nodiscard]] Packet& operator[](std::uint32_t number) noexcept {
    return chunks_[number >> kChunkBits][number & (kChunk - 1)];
  }
  [[nodiscard]] const Packet& operator[](std::uint32_t number) const noexcept {
    return chunks_[number >> kChunkBits][number & (kChunk - 1)];
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return chunks_.size() * kChunk * sizeof(Packet); }

 private:
  static constexpr std::uint32_t kChunkBits = 10;
  static constexpr std::uint32_t kChunk = 1U << kChunkBits;

  std::vector<std::unique_ptr<Packet[]>> chunks_;
  std::uint32_t count_ = 0;
  std::uint32_t free_ = kNone;
  std::size_t in_use_ = 0;
};

}  // namespace stopbit::network
