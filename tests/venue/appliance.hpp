#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/appliance/agent.hpp"
#include "host/lab/venue/voice.hpp"
#include "host/market/map/map.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/venue/schedule.hpp"

namespace stopbit::venue_test {

/// The monotonic clock begins here; the wall clock is that of the exchange.
inline constexpr std::uint64_t kClockBegin = 1'000 * kSecond;

/// A datagram on its way to a port.
struct Arriving {
  std::uint64_t at_ns = 0;  ///< From the start.
  std::size_t stream = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

/// A port that hands out what a script says.
class ScriptedPort final : public ingest::Port {
 public:
  ScriptedPort(const Plan& plan, std::size_t line, const std::uint64_t& now_ns)
      : plan_(plan), line_(line), now_ns_(now_ns) {}

  /// In the order of time.
  void add(Arriving arriving) { script_.push_back(std::move(arriving)); }
  [[nodiscard]] std::uint64_t next_ns() const { return script_.empty() ? ~std::uint64_t{0} : script_.front().at_ns; }

  [[nodiscard]] Status join(const ingest::Membership&) override { return Done{}; }
  [[nodiscard]] std::size_t poll(std::span<ingest::Arrival> batch) noexcept override;
  [[nodiscard]] std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  [[nodiscard]] bool in_order() const noexcept override { return true; }
  [[nodiscard]] const ingest::PortCounters& counters() const noexcept override { return counters_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "script"; }

 private:
  const Plan& plan_;
  std::size_t line_;
  const std::uint64_t& now_ns_;
  std::deque<Arriving> script_;
  std::vector<Arriving> given_;
  ingest::PortCounters counters_;
  std::uint64_t complete_until_ns_ = kClockBegin;
};

/// The group to which a line of a stream sends.
[[nodiscard]] net::Endpoint group_of(const Plan& plan, std::size_t line, std::size_t stream);

/// The agent of an appliance with the books of one venue, in one thread, on a clock that the test turns.
class Appliance {
 public:
  using OnRecord = std::function<void(std::span<const record::Slot> record)>;
  /// `voice` says what there is to decode. Aborts if its templates do not fit its map: that is another test.
  Appliance(const Plan& plan, const venue::Voice& voice, OnRecord on_record);
  ~Appliance();
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;

  [[nodiscard]] ScriptedPort& port(std::size_t line) { return *ports_[line]; }
  std::size_t do_work(std::uint64_t now_ns);
  void finish() { agent_->finish(); }
  /// The first time at which it has something to do, if nothing arrives.
  [[nodiscard]] std::uint64_t next_deadline_ns() const;

  [[nodiscard]] const market::EventMaker& maker() const { return output_->load()->events->maker(); }
  [[nodiscard]] const market::Translator& translator() const { return maker().translator(); }
  [[nodiscard]] os::SpscQueue<appliance::AgentEvent>& notices() { return agent_->notices(); }

 private:
  void make_output(const venue::Voice& voice);
  void make_agent();

  const Plan& plan_;
  testing::Scratch folder_;   ///< Of its ring.
  std::uint64_t now_ns_ = 0;  ///< From the start.
  OnRecord on_record_;
  std::vector<feed::Channel> channels_;
  appliance::AgentCounterSet agent_counter_set_;
  std::vector<appliance::PortCounterSet> port_counter_sets_;
  std::vector<appliance::ChannelCounterSet> channel_counter_sets_;
  std::unique_ptr<appliance::RecordOutput> output_;
  std::optional<counters::Segment> segment_;
  std::vector<ScriptedPort*> ports_;  ///< The agent has them.
  std::unique_ptr<appliance::Agent> agent_;
};

}  // namespace stopbit::venue_test
