#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/engine/make_engine.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/record/sink.hpp"
#include "host/appliance/tally.hpp"
#include "host/device/card.hpp"
#include "host/net/framing.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::appliance {

/// The reset rule that an engine for this framing needs: a datagram of blocks is several runs of the engine, and the
/// reset before it is the caller's.
[[nodiscard]] inline ResetRule engine_rule(const net::Framing& framing) noexcept {
  return framing.blocks && framing.reset == ResetRule::Packet ? ResetRule::Template : framing.reset;
}

/// Counts what is published. A synchroniser, which holds back what is not yet known to be right, will stand here,
/// between the engine and the ring: whatever goes through is a record or an event of a channel, in order.
class Stage final : public record::RecordSink {
 public:
  Stage(record::RecordSink& next, const OutletTally& tally, std::vector<counters::Counter> templates)
      : next_(next), tally_(tally), templates_(std::move(templates)) {}

  [[nodiscard]] Place open() noexcept override { return next_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const auto index = static_cast<std::uint16_t>(first.words[0]);
    next_.commit(first, slots);
    tally_.records.add();
    tally_.slots.add(slots);
    (index < templates_.size() ? templates_[index] : tally_.events).add();
  }

 private:
  record::RecordSink& next_;
  const OutletTally& tally_;
  std::vector<counters::Counter> templates_;  ///< By template index.
};

/// What an image needs to run: engines, and a ring that carries it. Made by a thread that may take its time, then given
/// to the thread that decodes, between two datagrams.
struct Load {
  std::string name;  ///< For people.
  std::shared_ptr<const Program> program;
  std::uint16_t generation = 0;
  std::uint64_t layout_hash = 0;
  std::array<std::unique_ptr<Engine>, 3> engines;  ///< By ResetRule; null where no channel has the rule.
  const device::DeviceEngine* on_card = nullptr;   ///< One of them, if it is a card's.
  std::optional<ring::Writer> ring;                ///< Nothing: `memory` takes the records.
  std::unique_ptr<record::RecordSink> memory;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<record::Builder> builder;  ///< For events.
};

/// How the loads of an outlet are made.
struct OutletPlan {
  std::uint32_t index = 0;  ///< In the appliance.
  std::string ring;         ///< Empty: records are decoded and thrown away.
  std::uint64_t slots = 0;
  std::optional<ring::Patience> lossless;  ///< The ring's writer waits for readers with a seat. Nothing: for nobody.
  std::array<bool, 3> rules{};             ///< Which reset rules its channels have.
  std::uint16_t channels = 1;              ///< One more than the highest channel number.
  EngineKind engine = EngineKind::Native;
  bool strict = false;
  EngineLimits limits;
};

/// Where the records of some channels of one image go. One thread, but for `prepare`.
class Outlet {
 public:
  Outlet(OutletPlan plan, std::string label) : plan_(std::move(plan)), label_(std::move(label)) {}

  /// Makes a load of a verified program. The ring of the load that runs is replaced by name; who reads that goes on
  /// until it is told that it has ended. `note` is set if native code cannot run here. With `card` the program runs
  /// there, and why_not_on is empty. Any thread.
  [[nodiscard]] Result<std::unique_ptr<Load>> prepare(std::string name, std::shared_ptr<const Program> program,
                                                      std::uint16_t generation, std::string& note,
                                                      device::Card* card = nullptr) const;
  /// Why the card cannot run the program for these channels; empty if it can.
  [[nodiscard]] Result<std::string> why_not_on(device::Card& card, const Program& program) const;

  /// From here on this load runs. The one before is told that its layout has ended, and given back, so that another
  /// thread can take it down. Between two datagrams.
  [[nodiscard]] std::unique_ptr<Load> start(std::unique_ptr<Load> load, std::uint64_t now_ns) noexcept;

  [[nodiscard]] Engine& engine(ResetRule rule) const noexcept {
    return *load_->engines[static_cast<std::size_t>(rule)];
  }
  [[nodiscard]] record::RecordSink& stage() const noexcept { return *load_->stage; }
  [[nodiscard]] std::uint16_t generation() const noexcept { return load_->generation; }
  [[nodiscard]] const Load* load() const noexcept { return load_.get(); }
  void write_event(const record::Header& header, const record::Event& event) const noexcept {
    load_->builder->write_event(*load_->stage, header, event, 0);
  }
  void beat(std::uint64_t now_ns) noexcept {
    if (load_->ring) load_->ring->beat(now_ns);
  }
  void finish() noexcept {
    if (load_ && load_->ring) load_->ring->finish();
  }

  [[nodiscard]] const OutletPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  OutletTally& tally() noexcept { return tally_; }
  std::map<std::string, counters::Counter>& templates() noexcept { return templates_; }

 private:
  [[nodiscard]] EngineOptions engine_options(std::size_t rule, std::uint16_t generation) const;

  OutletPlan plan_;
  std::string label_;  ///< Of its counters.
  OutletTally tally_;
  std::map<std::string, counters::Counter> templates_;  ///< By name, of the first image.
  std::unique_ptr<Load> load_;
};

}  // namespace stopbit::appliance
