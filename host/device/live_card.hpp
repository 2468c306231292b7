#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "decoder/engine/engine.hpp"
#include "host/device/card_clock.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/feed/description/description.hpp"
#include "host/os/clock.hpp"
#include "microcode/program.hpp"

namespace stopbit::device {

struct LiveOptions {
  std::uint64_t ring_slots = 65'536;          ///< At least; enough for eight records of the program.
  bool fcs = false;                           ///< Frames end with their FCS, which the card checks; else the MAC has.
  bool mac_clock = false;                     ///< Arrival times come from the MAC; else from the card's clock.
  std::uint64_t patience_ns = 2'000'000'000;  ///< A card with datagrams that executes nothing for this time has failed.
  std::uint64_t clock_every_ns = 1'000'000'000;             ///< How often its clock is corrected,
  std::function<std::uint64_t()> wall = os::wall_clock_ns;  ///< to this one.
};

/// A card that receives frames from its own port, picks groups, reads preambles, chooses between lines, and decodes:
/// records and events of all channels come out of one ring, in order. The host polls the ring and looks at registers
/// now and then.
///
/// One thread at a time. Device and program must outlive it.
class LiveCard {
 public:
  /// Loads the program, and sets groups, framings, line rules and intake; there are no obstacles (engine.hpp,
  /// intake.hpp). Nothing is received yet.
  [[nodiscard]] static Result<std::unique_ptr<LiveCard>> make(Device& device, const Program& program,
                                                              const EngineOptions& options,
                                                              std::span<const feed::Channel> channels,
                                                              const LiveOptions& live);
  /// The card receives no more, and its ring ends.
  ~LiveCard();
  LiveCard(const LiveCard&) = delete;
  LiveCard& operator=(const LiveCard&) = delete;

  /// From now on it receives.
  [[nodiscard]] Status begin();
  /// The card receives no more. What it has decoded can still be polled.
  void end() noexcept;

  /// Takes the next record, event records of gaps and errors included; memory only, but for DeviceRing's credit. Lost
  /// and Damaged: the card has failed, see problem().
  [[nodiscard]] ring::Poll poll() { return ring_->poll(); }
  /// Valid until the next poll.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return ring_->record(); }
  /// Why poll() has failed.
  [[nodiscard]] std::string problem() const;

  /// Reads counters and errors, about 70 register accesses, and corrects the clock if that is due. A failure says why
  /// the card is of no use any more. `now_ns` is the monotonic clock.
  [[nodiscard]] Status look(std::uint64_t now_ns);
  /// Since begin(), as of the last look.
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const CardClock& clock() const noexcept { return clock_; }
  /// Sentences for errors that the card has reported and lives with; empty: none.
  [[nodiscard]] std::string errors() const { return Kernel::describe_errors(errors_); }

 private:
  LiveCard(Kernel kernel, const LiveOptions& live) : kernel_(kernel), clock_(kernel_), live_(live) {}
  [[nodiscard]] Status set_up(Device& device, const Program& program, const EngineOptions& options,
                              std::span<const feed::Channel> channels);
  [[nodiscard]] Status set_clock();
  [[nodiscard]] Status look_at_work(const Counters& now, std::uint64_t now_ns);

  Kernel kernel_;
  CardClock clock_;
  LiveOptions live_;
  std::unique_ptr<DeviceRing> ring_;
  Counters before_;  ///< When it began.
  Counters counters_;
  std::uint32_t errors_ = 0;
  std::uint64_t moved_ns_ = 0;  ///< It had executed something, or had nothing to do; 0: never looked.
  std::uint64_t next_clock_ns_ = 0;
};

}  // namespace stopbit::device
