#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/device/card.hpp"

namespace stopbit::test {

/// A card with its own port, whose kernel is the test's. The device must outlive it.
class OneCard final : public device::Card {
 public:
  explicit OneCard(device::Device& device) : device_(device) {}
  Result<std::vector<std::string>> obstacles(const Program& program, const EngineOptions& options) override {
    const auto kernel = device::Kernel::open(device_);
    if (!kernel) return Failure{kernel.message()};
    return device::obstacles(program, options, kernel.value().capabilities());
  }
  Result<std::unique_ptr<device::DeviceEngine>> run(const Program&, const EngineOptions&) override {
    return Failure{"its datagrams come from its own port"};
  }
  Result<std::unique_ptr<device::LiveCard>> receive(const Program& program, const EngineOptions& options,
                                                    std::span<const feed::Channel> channels,
                                                    const device::LiveOptions& live) override {
    return device::LiveCard::make(device_, program, options, channels, live);
  }
  Status reset() override {
    ++resets;
    if (!resets_mend) return device_.reset();
    mends();
    return Done{};
  }
  Status reopen() override {
    ++reopened;
    if (mends) mends();
    return device::Kernel::open(device_).ok() ? Status(Done{}) : Status(Failure{"it does not answer"});
  }
  Result<device::FarRing> far_ring(const device::FarRingOptions& options) override {
    return device::FarRing::start(device_, options);
  }
  Result<device::Kernel> kernel() override { return device::Kernel::open(device_); }

  unsigned reopened = 0;
  unsigned resets = 0;
  bool resets_mend = false;     ///< A reset calls `mends`, too.
  std::function<void()> mends;  ///< Called as it is opened again; empty: nothing is.

 private:
  device::Device& device_;
};

}  // namespace stopbit::test
