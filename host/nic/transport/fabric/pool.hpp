#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/device.hpp"
#include "host/nic/transport/fabric/membership.hpp"

namespace stopbit::nic {

/// Frames over a device: copied in and out of its slots, of which each node has its share. No call waits. One thread.
class FabricPool final : public FabricWires {
 public:
  /// Of an endpoint in this process, or apart from it if `options.program` says so. `host`: the name of node 0; empty:
  /// this is it.
  [[nodiscard]] Status open(const FabricOptions& options, const std::string& host, FabricCounters& counters);
  /// Over any device, for tests.
  void use(const FabricOptions& options, std::unique_ptr<FabricDevice> device, FabricCounters& counters);

  [[nodiscard]] const FabricNames& names() const noexcept { return device_->names(); }
  [[nodiscard]] const FabricDeaths& deaths() const noexcept { return device_->deaths(); }
  [[nodiscard]] std::string problem() const { return device_->problem(); }
  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override;
  void remove(FabricHandle handle) override;
  [[nodiscard]] bool send(std::size_t share, FabricHandle to, std::span<const std::byte> frame) override {
    return send(share, to, frame, {}, 0);
  }
  /// `head` and `body`, if after that `spare` places are left in the share.
  [[nodiscard]] bool send(std::size_t share, FabricHandle to, std::span<const std::byte> head,
                          std::span<const std::byte> body, std::size_t spare);
  /// Nothing of a share is under way.
  [[nodiscard]] bool is_idle(std::size_t share) const noexcept {
    return shares_[share].free.size() == options_.tx_slots;
  }

  /// What time brings; about every millisecond.
  void step(std::uint64_t now_ns) { device_->step(now_ns); }

  struct Arrived {
    FabricHandle source = kNoHandle;
    std::span<const std::byte> frame;  ///< Stays until it is given back.
    std::uint32_t slot = 0;
  };
  /// The next frame that has come, if there is one. Looks at no more than a few of the device's events.
  [[nodiscard]] bool poll(Arrived& arrived);
  /// The frame has been read.
  void give_back(std::uint32_t slot);

 private:
  struct Share {
    std::vector<std::uint32_t> free;
  };
  struct Known {
    std::size_t uses = 0;
    FabricHandle handle = kNoHandle;
    std::vector<std::byte> address;
  };
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::free(memory); }
  };

  void give_back_sent(std::uint32_t slot);

  FabricOptions options_;
  FabricCounters* counters_ = nullptr;
  std::unique_ptr<std::byte, Free> memory_;  ///< Of the slots, if the device has none of its own.
  std::unique_ptr<FabricDevice> device_;
  std::vector<Share> shares_;
  std::vector<std::uint32_t> unposted_;
  std::vector<Known> known_;
};

}  // namespace stopbit::nic
