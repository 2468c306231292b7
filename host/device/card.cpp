#include "host/device/card.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "host/device/sim/sim_card.hpp"
#include "host/device/vfio/vfio_device.hpp"
#include "host/device/xrt/module.hpp"

namespace stopbit::device {
namespace {

constexpr std::string_view kSimulated = "sim";

class OpenedCard final : public Card {
 public:
  [[nodiscard]] Status connect(const CardOptions& options) {
    const bool is_vfio = !options.device.empty();
    std::unique_ptr<SimCard> simulated;  // its folder is needed until the connection exists
    const char* const said = std::getenv("STOPBIT_SIM_FEED");
    std::string feed = said != nullptr ? said : "";
    if ((is_vfio ? options.device : options.xclbin) == kSimulated) {
      if (options.has_own_port && feed.empty()) {
        return Failure{
            "frames for the simulated card's port come from the socket in STOPBIT_SIM_FEED, which is not set"};
      }
      auto prepared = SimCard::prepare(is_vfio ? Leaf::Vfio : Leaf::Xrt, options.has_own_port ? feed : std::string());
      if (!prepared) return Failure{prepared.message()};
      simulated = std::move(prepared).value();
      open_ = simulated->opener(options.index);
      feed = simulated->feed();
    } else if (feed.empty() && !options.has_own_port) {
      return Failure{
          "a card receives datagrams from its own network port only: set ingress = \"port\" in [card]; to decode "
          "captures, use the simulated card, xclbin 'sim' or device 'sim'"};
    } else if (is_vfio) {
      open_ = [vfio = VfioOptions{.address = options.device, .bar = options.bar, .offset = options.offset}] {
        return open_vfio(vfio, vfio::system_calls());
      };
    } else {
      open_ = [xrt = XrtOptions{.card = options.index, .xclbin = options.xclbin, .kernel = 0, .memory = 0}] {
        return open_xrt_module(xrt);
      };
    }
    if (const Status done = reopen(); !done) return done;
    if (options.has_own_port) return Done{};
    auto network = FeedNetwork::connect(feed);
    if (!network) return Failure{network.message()};
    network_ = std::move(network).value();
    return Done{};
  }

  [[nodiscard]] Status reset() override {
    if (device_ == nullptr) return Failure{"it is not open"};
    return device_->reset();
  }
  [[nodiscard]] Status reopen() override {
    if (device_ != nullptr) kept_ = device_->take_kept();
    device_.reset();
    auto opened = open_();
    if (!opened) return Failure{opened.message()};
    device_ = std::move(opened).value();
    for (auto& memory : std::exchange(kept_, {})) device_->keep(std::move(memory));
    return Done{};
  }
  [[nodiscard]] Result<std::vector<std::string>> obstacles(const Program& program,
                                                           const EngineOptions& options) override {
    const Result<Kernel> kernel = Kernel::open(*device_);
    if (!kernel) return Failure{kernel.message()};
    return device::obstacles(program, options, kernel.value().capabilities());
  }
  [[nodiscard]] Result<std::unique_ptr<DeviceEngine>> run(const Program& program,
                                                          const EngineOptions& options) override {
    return DeviceEngine::make(*device_, *network_, program, options);
  }
  [[nodiscard]] Result<FarRing> far_ring(const FarRingOptions& options) override {
    return FarRing::start(*device_, options);
  }
  [[nodiscard]] Result<Kernel> kernel() override {
    if (device_ == nullptr) return Failure{"it is not open"};
    return Kernel::open(*device_);
  }
  [[nodiscard]] Result<std::unique_ptr<LiveCard>> receive(const Program& program, const EngineOptions& options,
                                                          std::span<const feed::Channel> channels,
                                                          const LiveOptions& live) override {
    if (device_ == nullptr) return Failure{"it is not open"};
    return LiveCard::make(*device_, program, options, channels, live);
  }

 private:
  OpenDevice open_;
  std::vector<std::unique_ptr<HostBuffer>> kept_;  ///< By the device of before, while there is no other.
  std::unique_ptr<Device> device_;
  std::unique_ptr<Network> network_;  ///< Null: it has its own port.
};

}  // namespace

Result<std::unique_ptr<Card>> Card::open(const CardOptions& options) {
  auto card = std::make_unique<OpenedCard>();
  if (const Status connected = card->connect(options); !connected) return connected.failure();
  return std::unique_ptr<Card>(std::move(card));
}

}  // namespace stopbit::device
