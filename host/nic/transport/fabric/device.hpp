#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/nic/queue/page.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/frame.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic {

/// The memory of frames: slots of one length. The first `receive` are for incoming frames, the others for outgoing
/// ones: `FabricOptions::tx_slots` for each node, and as many for receivers that are not nodes.
struct FabricSlots {
  explicit FabricSlots(const FabricOptions& options) noexcept
      : receive(options.rx_slots),
        shares(options.nodes + 1),
        total(options.rx_slots + (options.nodes + 1) * options.tx_slots),
        bytes(round_up<std::size_t>(sizeof(FabricHead) + options.frame_bytes, kLineBytes)) {}

  std::size_t receive;
  std::size_t shares;
  std::size_t total;
  std::size_t bytes;  ///< Of each.

  /// Of all together, whole pages.
  [[nodiscard]] std::size_t memory() const noexcept { return round_up<std::size_t>(total * bytes, kPageBytes); }
};
/// How many addresses are known at once: those of members, and of some that are refused.
[[nodiscard]] inline std::size_t fabric_addresses(const FabricOptions& options) noexcept {
  constexpr std::size_t kRefusals = 8;
  return options.nodes + kRefusals;
}

/// Addresses as the provider has them, at most kFabricAddressBytes long.
struct FabricNames {
  std::vector<std::byte> own;
  std::vector<std::byte> host;  ///< Of node 0; empty: this is it.
  std::string text;             ///< The own one, as `FabricOptions::listen`.
  bool knows_sources = false;   ///< The endpoint identifies the sender of a frame if its address was added.
  bool has_text_addresses = false;
};

/// An endpoint that sends and receives what lies in slots: in this process, or apart from it. No call waits. One
/// thread.
class FabricDevice {
 public:
  struct Event {
    enum class Kind : std::uint8_t { Arrived, Oversized, Sent, Broken };
    Kind kind = Kind::Sent;
    std::uint32_t slot = 0;  ///< Is the caller's again.
    FabricHandle source = kNoHandle;
    std::span<const std::byte> frame;  ///< Of one that has arrived; stays until its slot is posted.
  };

  FabricDevice() = default;
  FabricDevice(const FabricDevice&) = delete;
  FabricDevice& operator=(const FabricDevice&) = delete;
  virtual ~FabricDevice() = default;

  [[nodiscard]] virtual const FabricNames& names() const noexcept = 0;
  /// Where the frame of a slot for sending is written.
  [[nodiscard]] virtual std::byte* memory(std::uint32_t slot) noexcept = 0;
  /// kNoHandle: the provider does not want it.
  [[nodiscard]] virtual FabricHandle add(std::span<const std::byte> address) = 0;
  /// Ends the connection. Frames that are under way on it come back as broken.
  virtual void remove(FabricHandle handle) = 0;
  /// A slot for receiving. False: not now.
  [[nodiscard]] virtual bool post(std::uint32_t slot) = 0;
  /// Sends `length` bytes of a slot. False: not now, or not there.
  [[nodiscard]] virtual bool submit(std::uint32_t slot, FabricHandle to, std::size_t length) = 0;
  /// What time brings; about every millisecond.
  virtual void step(std::uint64_t /*now_ns*/) {}
  /// Next event, if any.
  [[nodiscard]] virtual bool poll(Event& event) = 0;
  [[nodiscard]] virtual const FabricDeaths& deaths() const noexcept = 0;
  /// Why nothing will ever be sent or heard again; empty: that is not so.
  [[nodiscard]] virtual std::string problem() const { return {}; }
};

}  // namespace stopbit::nic
