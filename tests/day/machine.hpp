#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "host/ports/port.hpp"
#include "tests/day/model.hpp"

namespace stopbit::day {

/// The clocks of the machine: the monotonic one goes on, the wall clock steps.
class Clock {
 public:
  explicit Clock(const std::vector<Step>& steps) : steps_(steps) {}
  std::uint64_t now_ns = kBegin;
  [[nodiscard]] std::uint64_t wall(std::uint64_t t_ns) const;
  [[nodiscard]] std::uint64_t wall() const { return wall(now_ns); }
  /// Whether the wall clock was stepped after `from_ns`, up to now.
  [[nodiscard]] bool stepped_since(std::uint64_t from_ns) const;

 private:
  const std::vector<Step>& steps_;
};

/// A datagram as a port has handed it out, and when it can have arrived for all the machine knows.
struct HandOut {
  const Copy* copy = nullptr;
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
};

/// A port of the machine: a card with a ring, the kernel's buffer, and a poller that takes what is there.
class ModelPort final : public ingest::Port {
 public:
  using OnHandOut = std::function<void(const HandOut&)>;
  using OnDrop = std::function<void(const Copy&, Fate)>;

  ModelPort(const Day& day, std::size_t index, Clock& clock, OnHandOut on_hand_out, OnDrop on_drop);

  [[nodiscard]] Status join(const ingest::Membership&) override { return Done{}; }
  [[nodiscard]] std::size_t poll(std::span<ingest::Arrival> batch) noexcept override;
  [[nodiscard]] std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  [[nodiscard]] bool in_order() const noexcept override { return plan_.has_stamps; }
  [[nodiscard]] const ingest::PortCounters& counters() const noexcept override { return counters_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "model"; }

  /// Nothing was done but polling in vain, up to this time.
  void idle_until(std::uint64_t t_ns);
  /// The appliance is down until now: nothing that has come so far is left.
  void forget();
  [[nodiscard]] std::uint64_t next_arrival() const;
  [[nodiscard]] bool has_queued() const { return !queue_.empty(); }

 private:
  struct Given {
    std::vector<std::byte> bytes;
  };
  void receive();

  const Day& day_;
  const std::vector<Copy>& copies_;
  const PortPlan& plan_;
  Clock& clock_;
  OnHandOut on_hand_out_;
  OnDrop on_drop_;
  ingest::PortCounters counters_;
  std::size_t next_ = 0;  ///< The copy that arrives next.
  std::size_t pause_ = 0;
  std::size_t in_ring_ = 0;
  std::deque<const Copy*> queue_;
  std::vector<Given> given_;
  std::uint64_t empty_ns_ = kBegin;  ///< When it was last seen to be empty.
  std::uint64_t last_t_ns_ = kBegin;
  std::uint64_t complete_until_ns_ = kBegin;
};

/// Where a copy comes from and goes to: group and source of its line.
[[nodiscard]] net::Endpoint group_of(std::uint8_t channel, std::uint8_t line);

}  // namespace stopbit::day
