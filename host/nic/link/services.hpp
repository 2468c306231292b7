#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/link/links.hpp"

namespace stopbit::nic {

/// First byte of every packet: the unit that it is for.
enum class Service : std::uint8_t { Rma = 1, Message = 2 };
inline constexpr std::size_t kServices = 3;

/// Passes packets to the unit that their first byte names. A packet without a unit is counted and dropped: its sender
/// must not wait for it. Reports lost and reconnected nodes to all units. One thread.
class Services final : public PacketSink {
 public:
  /// `sink` must outlive this object.
  void attach(Service service, PacketSink& sink) noexcept { sinks_[static_cast<std::size_t>(service)] = &sink; }

  [[nodiscard]] std::uint8_t early(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override {
    PacketSink* const sink = sink_of(packet);
    return sink == nullptr ? 0 : sink->early(from, channel, packet);
  }
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t early_status) override {
    PacketSink* const sink = sink_of(packet);
    if (sink != nullptr) return sink->ordered(from, channel, packet, early_status);
    ++unknown_;
    return true;
  }
  void lost(NodeId peer) override {
    for (PacketSink* const sink : sinks_) {
      if (sink != nullptr) sink->lost(peer);
    }
  }
  void rejoined(NodeId peer) override {
    for (PacketSink* const sink : sinks_) {
      if (sink != nullptr) sink->rejoined(peer);
    }
  }

  /// Packets for a unit that is not here.
  [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }

 private:
  [[nodiscard]] PacketSink* sink_of(std::span<const std::byte> packet) const noexcept {
    const std::size_t service = packet.empty() ? 0 : static_cast<std::size_t>(packet.front());
    return service < kServices ? sinks_[service] : nullptr;
  }

  std::array<PacketSink*, kServices> sinks_{};
  std::uint64_t unknown_ = 0;
};

}  // namespace stopbit::nic
