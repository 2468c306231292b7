#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/day/machine.hpp"
#include "tests/day/model.hpp"

namespace stopbit::day {

/// What a gap is put down to.
enum class Cause : std::uint8_t { Lines, LineDown, LocalDrop, Stall, Room, Leap, Switch, Down, Overtaken, End };
[[nodiscard]] const char* to_text(Cause cause) noexcept;

/// What the appliance says of why numbers are missing.
struct Blame {
  Cause cause = Cause::Lines;
  std::uint64_t stall_ns = 0;  ///< How long its thread did not run meanwhile.
  bool is_told = false;        ///< By the product; else the test's own guess.
  bool knows_before = false;   ///< When the number before the gap came.
};

/// Hears what the appliance says, in its order.
class Listener {
 public:
  virtual ~Listener() = default;
  /// @returns false if the packet does not decode.
  virtual bool delivered(std::size_t channel, const arbitrate::Packet& packet, std::uint16_t epoch) = 0;
  virtual void gap(std::size_t channel, const arbitrate::Gap& gap, const Blame& blame) = 0;
  virtual void run(std::size_t channel, const arbitrate::NewRun& run) = 0;
  virtual void conflict(std::size_t channel, const arbitrate::Conflict& conflict) = 0;
  /// Every port has been read up to here; what is told next is told by that.
  virtual void horizon(std::uint64_t until_ns) = 0;
  virtual void late(std::size_t channel, const arbitrate::Packet& packet, std::uint64_t late_ns) = 0;
  /// So many numbers of the gap that begins at `first` have come late, so far.
  virtual void late_of_gap(std::size_t channel, std::uint64_t first, std::uint64_t count, std::uint16_t epoch) = 0;
  /// What was said cannot be right, whatever was sent.
  virtual void contradiction(std::size_t channel, const std::string& what) = 0;
};

/// The appliance, in one of its lives.
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;

  /// Takes a batch from each port. @returns how many datagrams there were.
  virtual std::size_t do_work() = 0;
  virtual void finish() = 0;
  /// Nothing arrived until then; it polled all the time.
  virtual void idle_until(std::uint64_t t_ns) = 0;
  /// How long it may be left alone without being kept from its work.
  [[nodiscard]] virtual std::uint64_t longest_idle_ns() const = 0;
  /// The first time at which a tick has something to do.
  [[nodiscard]] virtual std::uint64_t next_deadline() const = 0;
  [[nodiscard]] virtual const arbitrate::Arbiter& arbiter(std::size_t channel) const = 0;
};

/// What outlives the appliance: the last number of each channel.
struct Kept {
  std::uint64_t sender = 0;
  std::uint64_t last = 0;
};

/// The arbiters alone: polls its ports one after another, offers each datagram to the arbiter of its channel, and then
/// says up to when every port was read. The shape of appliance::Agent::do_work, without engines and rings.
class ArbiterReceiver final : public Receiver {
 public:
  ArbiterReceiver(const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock,
                  Listener& listener, const std::vector<std::optional<Kept>>& kept);
  ~ArbiterReceiver() override;

  std::size_t do_work() override;
  void finish() override;
  void idle_until(std::uint64_t t_ns) override { worked_ns_ = t_ns > worked_ns_ ? t_ns : worked_ns_; }
  [[nodiscard]] std::uint64_t longest_idle_ns() const override { return kNever; }
  [[nodiscard]] std::uint64_t next_deadline() const override;
  [[nodiscard]] const arbitrate::Arbiter& arbiter(std::size_t channel) const override;
  [[nodiscard]] std::vector<std::optional<Kept>> kept() const;

 private:
  class Line;
  const Day& day_;
  const std::vector<std::unique_ptr<ModelPort>>& ports_;
  Clock& clock_;
  Listener& listener_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::map<std::uint32_t, std::pair<std::size_t, arbitrate::Line>> targets_;  ///< By group.
  std::vector<ingest::Arrival> batch_;
  std::vector<std::uint64_t> drops_;  ///< By port, at the last look.
  std::uint64_t until_ns_ = kBegin;
  std::uint64_t worked_ns_ = kBegin;
  std::uint64_t packets_ = 0;

 public:
  // What gaps are put down to.
  std::uint64_t dropped_here_ns = 0;
  std::uint64_t stall_begin_ns = 0;
  std::uint64_t stall_end_ns = 0;
};

}  // namespace stopbit::day
