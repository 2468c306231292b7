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

/// Hears what the appliance says, in its order.
class Listener {
 public:
  virtual ~Listener() = default;
  /// @returns false if the packet does not decode.
  virtual bool delivered(std::size_t channel, const arbitrate::Packet& packet, std::uint16_t epoch) = 0;
  virtual void gap(std::size_t channel, const arbitrate::Gap& gap, Cause cause) = 0;
  virtual void run(std::size_t channel, const arbitrate::NewRun& run) = 0;
  virtual void conflict(std::size_t channel, const arbitrate::Conflict& conflict) = 0;
  /// Every port has been read up to here; what is told next is told by that.
  virtual void horizon(std::uint64_t until_ns) = 0;
  virtual void late(std::size_t channel, const arbitrate::Packet& packet, std::uint64_t late_ns) = 0;
};

/// What outlives the appliance: the last number of each channel.
struct Kept {
  std::uint64_t sender = 0;
  std::uint64_t last = 0;
};

/// The appliance: polls its ports one after another, offers each datagram to the arbiter of its channel, and then says
/// up to when every port was read. The shape of appliance::Agent::do_work, without engines and rings.
class Receiver {
 public:
  Receiver(const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock, Listener& listener,
           const std::vector<std::optional<Kept>>& kept);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Takes a batch from each port. @returns how many datagrams there were.
  std::size_t do_work();
  void finish();
  /// Nothing arrived until then; it polled all the time.
  void idle_until(std::uint64_t t_ns) { worked_ns_ = t_ns > worked_ns_ ? t_ns : worked_ns_; }
  /// The first time at which a tick has something to do.
  [[nodiscard]] std::uint64_t next_deadline() const;
  /// Every port has been read up to here.
  [[nodiscard]] std::uint64_t until() const { return until_ns_; }
  [[nodiscard]] const arbitrate::Arbiter& arbiter(std::size_t channel) const;
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
