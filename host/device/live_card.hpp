#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "decoder/engine/engine.hpp"
#include "host/device/card_clock.hpp"
#include "host/device/card_station.hpp"
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
  /// With a value the card joins its groups itself; without one the switch must be configured for them.
  std::optional<StationOptions> station = {};
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
  /// How many records can wait for poll().
  [[nodiscard]] std::uint64_t room() const noexcept { return ring_->slot_count(); }
  /// How many decode cores it has.
  [[nodiscard]] std::uint32_t engines() const noexcept { return kernel_.engines(); }
  /// How many templates its program has.
  [[nodiscard]] std::size_t templates() const noexcept { return templates_; }
  /// Valid until the next poll.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return ring_->record(); }
  /// Why poll() has failed.
  [[nodiscard]] std::string problem() const;

  /// Register reads of one step of a look, each of which takes a microsecond on PCIe and keeps the thread from records.
  static constexpr unsigned kReadsOfStep = 2;
  /// Does the next step of a look at the registers, which takes kLookSteps of them: signs of life, errors, the clock if
  /// it is due (with four writes), then one counter after the other. @returns whether the look is complete. A failure
  /// says why the card is of no use any more, and ends the look. `now_ns` is the monotonic clock.
  [[nodiscard]] Result<bool> look(std::uint64_t now_ns);
  static constexpr std::size_t kLookSteps = kCounters + 4;
  /// Whether a look has begun and is not complete.
  [[nodiscard]] bool is_looking() const noexcept { return step_ != 0; }
  /// Joins its groups, and answers queries and requests: a step that reads as much as one of a look, if one is due. Not
  /// in a turn with a step of a look. @returns whether more steps are due at once.
  [[nodiscard]] Result<bool> serve(std::uint64_t now_ns) { return station_ ? station_->step(now_ns) : false; }
  /// At the end, after end(): the network hears that it leaves its groups.
  void leave(std::uint64_t now_ns) noexcept {
    if (station_) station_->leave(now_ns);
  }
  /// What it has heard and said in doing so.
  [[nodiscard]] StationCounters station() const noexcept { return station_ ? station_->counters() : StationCounters(); }
  /// Since begin(), as of the last complete look.
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const CardClock& clock() const noexcept { return clock_; }
  /// Sentences for errors that the card has reported and lives with; empty: none.
  [[nodiscard]] std::string errors() const { return Kernel::describe_errors(errors_); }

 private:
  LiveCard(Kernel kernel, const LiveOptions& live) : kernel_(kernel), clock_(kernel_), live_(live) {}
  [[nodiscard]] Status set_up(Device& device, const Program& program, const EngineOptions& options,
                              std::span<const feed::Channel> channels);
  [[nodiscard]] Status wait_until_idle();
  [[nodiscard]] Status set_clock();
  [[nodiscard]] Status do_step(std::size_t step, std::uint64_t now_ns);
  [[nodiscard]] Status look_at_errors();
  [[nodiscard]] Status correct_clock(std::uint64_t now_ns);
  [[nodiscard]] Status end_look(std::uint64_t now_ns);

  Kernel kernel_;
  CardClock clock_;
  LiveOptions live_;
  std::optional<CardStation> station_;
  std::unique_ptr<DeviceRing> ring_;
  std::size_t templates_ = 0;
  Counters before_;  ///< When it began.
  Counters last_;    ///< As the registers had them at the last complete look,
  Counters next_;    ///< and at the present one.
  Counters counters_;
  std::size_t step_ = 0;  ///< Of the present look; 0: none has begun.
  std::uint32_t errors_ = 0;
  std::uint64_t moved_ns_ = 0;  ///< It had executed something, or had nothing to do; 0: never looked.
  std::uint64_t next_clock_ns_ = 0;
};

}  // namespace stopbit::device
