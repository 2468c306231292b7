#pragma once

#include <memory>
#include <string>
#include <vector>

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

/// The simulated card that comes with stopbit: a driver for the XRT library whose card is the Verilated kernel
/// (fpga/xrt/README.md). It lies in a folder `lib/stopbit/sim_card` beside the folder of the running program, or where
/// STOPBIT_SIM_CARD says.
///
/// The XRT library looks for its driver in the environment, so making one of these changes that of the process, which
/// must have one thread and must not have used XRT before.
class SimCard {
 public:
  /// `feed`: where it listens; empty: in a folder of its own.
  [[nodiscard]] static Result<std::unique_ptr<SimCard>> prepare(const std::string& feed = {});
  /// Removes the folder of its socket.
  ~SimCard();
  SimCard(const SimCard&) = delete;
  SimCard& operator=(const SimCard&) = delete;

  [[nodiscard]] const std::string& xclbin() const noexcept { return xclbin_; }
  /// Path of the feed's socket, once the card is open.
  [[nodiscard]] const std::string& feed() const noexcept { return feed_; }

 private:
  SimCard() = default;
  std::string folder_;  ///< Empty: none.
  std::string feed_;
  std::string xclbin_;
};

}  // namespace stopbit::device
