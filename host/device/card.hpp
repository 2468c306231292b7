#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/device/engine.hpp"
#include "host/device/far_ring.hpp"
#include "host/device/live_card.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

struct CardOptions {
  // A card is opened by XRT or by VFIO. "sim" in place of xclbin or device: the simulated card that comes with stopbit.
  std::string xclbin;         ///< XRT: the file that holds the kernel,
  std::uint32_t index = 0;    ///< and the number of the card, as in `xbutil examine`.
  std::string device;         ///< VFIO: the PCI function, with
  std::uint32_t bar = 0;      ///< the BAR that has the kernel's registers,
  std::uint64_t offset = 0;   ///< and where they begin in it.
  bool has_own_port = false;  ///< It receives from its own port: `receive`, else `run`.
};

/// An open card. One engine runs on it at a time, or it receives from its own port.
class Card {
 public:
  /// A real card takes datagrams from its own network port, and nothing can send there: so without `has_own_port`
  /// it is "sim", or the environment names the socket of another simulated card's network (STOPBIT_SIM_FEED);
  /// with it that variable says where the simulated card listens for frames. The process must have one thread, and must
  /// not have used XRT before.
  [[nodiscard]] static Result<std::unique_ptr<Card>> open(const CardOptions& options);
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  virtual ~Card() = default;

  /// Why the card cannot do what an engine with these options does, one reason a line; empty if it can. A failure is
  /// the card's. `program` has passed verify::check.
  [[nodiscard]] virtual Result<std::vector<std::string>> obstacles(const Program& program,
                                                                   const EngineOptions& options) = 0;
  /// There are no obstacles, and the previous engine is destroyed. Program and card must outlive the engine.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceEngine>> run(const Program& program,
                                                                  const EngineOptions& options) = 0;
  /// Begins a ring whose records the card sends to subscribers on other nodes; it must not outlive the card.
  [[nodiscard]] virtual Result<FarRing> far_ring(const FarRingOptions& options) = 0;
  /// Brings a card that does not answer back without opening anything, as a confined process has to. What was made of
  /// it stays, but for its state in the card.
  [[nodiscard]] virtual Status reset() { return Failure{"it cannot be reset"}; }
  /// Opens the card anew, with its xclbin loaded again if that is possible. Nothing that was made of it is left. After
  /// a failure everything fails until it has succeeded.
  [[nodiscard]] virtual Status reopen() = 0;
  /// The card's kernel, beside an engine that runs on it: for filters of subscribers. The same thread.
  [[nodiscard]] virtual Result<Kernel> kernel() = 0;
  /// The same for a card that receives these channels from its own port; intake_obstacles has none, either.
  [[nodiscard]] virtual Result<std::unique_ptr<LiveCard>> receive(const Program& program, const EngineOptions& options,
                                                                  std::span<const feed::Channel> channels,
                                                                  const LiveOptions& live) = 0;
};

}  // namespace stopbit::device
