#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/device/device.hpp"
#include "host/device/network.hpp"
#include "host/device/sim/feed.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

/// The feed's socket of a simulated card, as a network.
class FeedNetwork final : public Network {
 public:
  /// The card is open: it listens at `path`.
  [[nodiscard]] static Result<std::unique_ptr<FeedNetwork>> connect(const std::string& path);

  [[nodiscard]] Status send(std::span<const std::byte> datagram, std::uint16_t channel,
                            std::uint64_t arrival_ns) override;
  /// A frame that the card has sent; empty if there is none at present.
  [[nodiscard]] std::vector<std::byte> receive() { return feed_.receive(); }

 private:
  explicit FeedNetwork(sim::Feed feed) : feed_(std::move(feed)) {}
  sim::Feed feed_;
};

/// What a card is opened by.
enum class Leaf : std::uint8_t { Xrt, Vfio };

/// Opens a card, again if it was closed.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>()>;

/// The simulated card that comes with stopbit, the Verilated kernel: under the real XRT library (fpga/xrt/README.md),
/// or on the bus of a machine with a simulated VFIO (fpga/vfio/README.md). Both are in a folder `lib/stopbit/sim_card`
/// beside the folder of the running program, or where STOPBIT_SIM_CARD says.
///
/// XRT and the card read the environment, so making one of these changes that of the process, which must have one
/// thread and must not have used XRT before.
class SimCard {
 public:
  /// `feed`: where it listens; empty: in a folder of its own.
  [[nodiscard]] static Result<std::unique_ptr<SimCard>> prepare(Leaf leaf, const std::string& feed = {});
  /// Removes the folder of its socket.
  ~SimCard();
  SimCard(const SimCard&) = delete;
  SimCard& operator=(const SimCard&) = delete;

  /// Opens it; outlives this. `index`: of XRT's card.
  [[nodiscard]] OpenDevice opener(std::uint32_t index = 0) const;
  /// Path of the feed's socket, once the card is open.
  [[nodiscard]] const std::string& feed() const noexcept { return feed_; }

 private:
  SimCard() = default;
  Leaf leaf_ = Leaf::Xrt;
  std::string folder_;  ///< Empty: none.
  std::string feed_;
  std::string file_;  ///< The xclbin, or the library with the simulated VFIO.
};

}  // namespace stopbit::device
