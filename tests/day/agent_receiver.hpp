#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/appliance/agent.hpp"
#include "host/appliance/known_runs.hpp"
#include "tests/day/machine.hpp"
#include "tests/day/receiver.hpp"

namespace stopbit::day {

/// The appliance's own agent: lines, arbiters, engines, stages and a sink, on the ports and the clocks of the day. What
/// it says is what a client and the log of a real one get: records, event records, and notices. From these alone the
/// listener learns what was delivered.
///
/// Kept numbers are in the file that the appliance has for them, in a folder that outlives it.
class AgentReceiver final : public Receiver {
 public:
  AgentReceiver(const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock, Listener& listener,
                const std::string& state_folder);
  ~AgentReceiver() override;

  std::size_t do_work() override;
  void finish() override;
  void idle_until(std::uint64_t /*t_ns*/) override {}
  [[nodiscard]] std::uint64_t longest_idle_ns() const override { return 700'000; }  // more is a stall to an agent
  [[nodiscard]] std::uint64_t next_deadline() const override;
  [[nodiscard]] const arbitrate::Arbiter& arbiter(std::size_t channel) const override;

 private:
  class PortView;
  struct Keep;
  /// What a channel has said.
  struct Heard {
    std::uint16_t epoch = 0;
    bool is_running = false;
    std::uint64_t next = 0;  ///< The number that comes next, as on the wire.
    int message = -1;        ///< Of the present datagram, the last one.
    std::uint8_t chunk = 0;  ///< Of the present datagram, the last one that was handed on; 0 = none was.
    void ends_datagram() {
      message = -1;
      chunk = 0;
    }
    bool has_gap_event = false;
    arbitrate::Gap gap_event;
    bool has_reset_event = false;
    std::uint16_t reset_epoch = 0;
  };

  void take_record(std::span<const record::Slot> record);
  void take_event(std::size_t channel, const record::Slot& slot);
  void take_identity(std::size_t channel, std::span<const record::Slot> record);
  void take_broken(std::size_t channel, const record::Slot& slot);
  void take_notices();
  void take_gap(const appliance::AgentEvent& notice);
  void follow_cycles(std::size_t channel, std::uint16_t epoch, std::uint64_t sequence);
  void expect_no_events();
  /// Every datagram that the ports have handed out so far is about to be taken.
  void about_to_take();

  const Day& day_;
  const std::vector<std::unique_ptr<ModelPort>>& ports_;
  Clock& clock_;
  Listener& listener_;
  std::vector<feed::Channel> descriptions_;
  std::vector<Heard> heard_;
  std::vector<std::byte> bytes_;
  appliance::KnownRuns runs_;
  appliance::AgentCounterSet agent_counter_set_;
  std::vector<appliance::PortCounterSet> port_counter_sets_;
  std::vector<appliance::ChannelCounterSet> channel_counter_sets_;
  std::unique_ptr<appliance::RecordOutput> output_;
  std::optional<counters::Segment> segment_;
  std::unique_ptr<appliance::Agent> agent_;
};

}  // namespace stopbit::day
