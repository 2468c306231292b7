#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/appliance/counter_set.hpp"
#include "host/appliance/save_queue.hpp"
#include "host/device/card.hpp"
#include "host/feed/channel/datagram_decoder.hpp"
#include "host/feed/channel/session_stage.hpp"
#include "host/feed/channel/stage.hpp"
#include "host/market/stage/event_ring.hpp"
#include "host/market/stage/saver.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::appliance {

/// Counts what is published.
class CountingStage final : public feed::Stage {
 public:
  CountingStage(const RecordOutputCounterSet& counter_set, std::vector<counters::Counter> templates)
      : counter_set_(counter_set), templates_(std::move(templates)) {}

  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const auto index = static_cast<std::uint16_t>(first.words[0]);
    next().commit(first, slots);
    counter_set_.records.add();
    counter_set_.slots.add(slots);
    (index < templates_.size() ? templates_[index] : counter_set_.events).add();
  }

 private:
  const RecordOutputCounterSet& counter_set_;
  std::vector<counters::Counter> templates_;  ///< By template index.
};

/// How the market events of an output are made.
struct EventPlan {
  std::string map;          ///< A file; empty: no market events.
  std::uint32_t depth = 0;  ///< Of books whose instruments have no definition that says it; 0: not known.
  std::string ring;         ///< Of the events; the tables have its name.
  std::uint64_t slots = 0;  ///< Of the ring.
  std::optional<ring::Patience> lossless;
  market::MarketRoom room;
  market::RecoveryOptions recovery;
  std::vector<bool> channels;  ///< By number: whose records are translated.
};

/// What an image needs to run: engines, and a ring that carries it. Made by a thread that may take its time, then given
/// to the thread that decodes, between two datagrams.
struct Load {
  std::string name;  ///< For people.
  std::string note;  ///< Why native code cannot run here; empty: it runs, or was not requested.
  std::shared_ptr<const Program> program;
  std::uint16_t generation = 0;
  std::uint64_t layout_hash = 0;
  std::array<std::unique_ptr<Engine>, 3> engines;  ///< By ResetRule; null where no channel has the rule.
  const device::DeviceEngine* on_card = nullptr;   ///< One of them, if it is a card's.
  std::optional<ring::Writer> ring;                ///< Nothing: `memory` takes the records.
  std::unique_ptr<record::RecordSink> memory;
  std::unique_ptr<market::EventRing> events;  ///< Null: there is no map.
  feed::Stages stages;
  feed::SessionStage* session = nullptr;     ///< One of them, if the program has messages for it.
  record::RecordSink* sink = nullptr;        ///< Where the engines write: the first stage.
  std::unique_ptr<record::Builder> builder;  ///< For events.
};

/// How the loads of an output are made.
struct RecordOutputPlan {
  std::uint32_t index = 0;  ///< In the appliance.
  std::string ring;         ///< Empty: records are decoded and thrown away.
  std::uint64_t slots = 0;
  std::optional<ring::Patience> lossless;  ///< The ring's writer waits for attached readers. Nothing: it never waits.
  std::array<bool, 3> rules{};             ///< Reset rules of its channels.
  std::uint16_t channels = 1;              ///< One more than the highest channel number.
  EngineKind engine = EngineKind::Native;
  bool strict = false;
  EngineLimits limits;
  EventPlan events;
};

/// Where the records of some channels of one image go. One thread, but for `prepare`.
class RecordOutput {
 public:
  RecordOutput(RecordOutputPlan plan, std::string label) : plan_(std::move(plan)), label_(std::move(label)) {}

  /// Prepares a load of a verified program. Its ring replaces the present one by name; readers of the present ring
  /// continue until it ends. With `card` the program runs on the card; why_not_on must be empty. `map` is that of the
  /// plan, compiled for the program; nothing if it has none. Any thread.
  [[nodiscard]] Result<std::unique_ptr<Load>> prepare(std::string name, std::shared_ptr<const Program> program,
                                                      std::uint16_t generation, std::optional<market::Map> map = {},
                                                      device::Card* card = nullptr) const;
  /// Why the card cannot run the program for these channels; empty if it can.
  [[nodiscard]] Result<std::string> why_not_on(device::Card& card, const Program& program) const;
  /// Lets the card receive these channels, all of the output, from its own port; why_not_on is empty.
  [[nodiscard]] Result<std::unique_ptr<device::LiveCard>> receive_on(device::Card& card, const Program& program,
                                                                     std::span<const feed::Channel> channels,
                                                                     const device::LiveOptions& live) const;

  /// Switches to this load, between two datagrams. Ends the ring of the previous load and returns it, so that another
  /// thread can destroy it.
  [[nodiscard]] std::unique_ptr<Load> start(std::unique_ptr<Load> load, std::uint64_t now_ns) noexcept;

  /// What decodes the channels whose engine has this rule. Its address stays the same, `start` changes it.
  [[nodiscard]] const feed::Target& target(ResetRule rule) const noexcept {
    return targets_[static_cast<std::size_t>(rule)];
  }
  [[nodiscard]] std::uint16_t generation() const noexcept { return load_->generation; }
  [[nodiscard]] const Load* load() const noexcept { return load_.get(); }
  /// `is_present`: arrivals are of this time, so it passes for books; else they are those of a capture.
  void beat(std::uint64_t now_ns, bool is_present) noexcept {
    if (load_->ring) load_->ring->beat(now_ns);
    if (!load_->events) return;
    load_->events->beat(now_ns);
    if (is_present) load_->events->tick(now_ns);
  }
  /// Takes what a gap has done to books, if there is news of one. `is_last`: before the load ends.
  [[nodiscard]] bool next_effect(market::LossEffect& effect, bool is_last) noexcept {
    return load_ && load_->events && load_->events->translator().next_effect(effect, is_last);
  }

  /// Takes lost messages of which a replay is wanted, if there are some.
  [[nodiscard]] bool next_asked(market::Asked& asked) noexcept {
    return load_ && load_->events && load_->events->translator().next_asked(asked);
  }
  /// Of these, those that found no room.
  [[nodiscard]] std::uint64_t asked_lost() const noexcept {
    return load_ && load_->events ? load_->events->maker().translator().asked_lost() : 0;
  }
  /// Every book is right: what was lost is not missed any more.
  [[nodiscard]] bool has_healed() const noexcept {
    if (!load_ || !load_->events) return false;
    const market::BookSet& books = load_->events->maker().books();
    return books.defined() != 0 && books.count_of(market::Standing::Suspect) == 0 &&
           books.count_of(market::Standing::Stale) == 0;
  }

  // Books over a restart of the process.

  /// Before it decodes: they are saved.
  void enable_saving() { saving_ = std::make_unique<SaveQueue>(); }
  /// After release(), and when no writer has the queue any more.
  void end_saving() noexcept { saving_.reset(); }
  /// Null: they are not.
  [[nodiscard]] SaveQueue* save_queue() const noexcept { return saving_.get(); }
  /// Of the load that runs.
  [[nodiscard]] market::SavedHead saved_head(std::uint64_t now_ns) const noexcept;
  /// By the thread that decodes, between two datagrams: copies some of what is wanted, `budget` slots or one row.
  void save(std::uint32_t budget, std::uint64_t now_ns) noexcept {
    if (is_saving()) save_some(budget, now_ns);
  }
  /// Whether a save is wanted or under way.
  [[nodiscard]] bool is_saving() const noexcept { return saving_ && (saver_.is_running() || saving_->is_wanted()); }
  /// After that thread has ended: everything.
  template <class Out>
  void save_all(Out& out, std::uint64_t now_ns) const {
    if (!load_ || !load_->events) return;
    const market::EventMaker& maker = load_->events->maker();
    market::BookSaver saver;
    saver.begin();
    while (saver.is_running()) {
      if (!maker.translator().is_settled()) return;
      saver.step(maker.translator(), maker.instruments().count(), saved_head(now_ns), ~0U, ~0U, out);
    }
  }
  /// See market::Translator. Null: there are no market events.
  [[nodiscard]] market::Translator* translator() const noexcept {
    return load_ && load_->events ? &load_->events->translator() : nullptr;
  }
  [[nodiscard]] std::uint64_t era(std::uint16_t channel) const noexcept {
    return saving_ && translator() != nullptr ? translator()->era(channel) : 0;
  }

  /// After the thread that decodes has given it up for good: takes down engines and rings.
  void release() noexcept { load_.reset(); }

  /// Brings the counters of market events up to date.
  void publish() const noexcept;
  void finish() noexcept {
    if (load_ && load_->ring) load_->ring->finish();
    if (!load_ || !load_->events) return;
    load_->events->finish();
    publish();
  }

  [[nodiscard]] const RecordOutputPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  RecordOutputCounterSet& counter_set() noexcept { return counter_set_; }
  MarketCounterSet& market_counter_set() noexcept { return market_counter_set_; }
  std::map<std::string, counters::Counter>& templates() noexcept { return templates_; }

 private:
  void save_some(std::uint32_t budget, std::uint64_t now_ns) noexcept;
  /// The rule of its channels; the first one, if they have several.
  [[nodiscard]] std::size_t first_rule() const noexcept;
  [[nodiscard]] EngineOptions engine_options(std::size_t rule, std::uint16_t generation) const;

  RecordOutputPlan plan_;
  std::string label_;  ///< Of its counters.
  RecordOutputCounterSet counter_set_;
  MarketCounterSet market_counter_set_;
  std::map<std::string, counters::Counter> templates_;  ///< By name, of the first image.
  std::unique_ptr<Load> load_;
  std::unique_ptr<SaveQueue> saving_;
  market::BookSaver saver_;
  market::SavedHead saved_;              ///< Of the save that is under way.
  std::uint16_t saved_generation_ = 0;   ///< The same.
  std::array<feed::Target, 3> targets_;  ///< By ResetRule.
};

}  // namespace stopbit::appliance
