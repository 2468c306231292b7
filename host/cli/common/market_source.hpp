#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/command.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/stage/event_maker.hpp"

/// Shared by the commands that make books of captures.
namespace stopbit::tools {

/// A feed map, compiled for a program: a name of an installed map, or a file. Its errors are printed and end the
/// command. `depth`: of its direct book instead of the map's own.
[[nodiscard]] market::Map load_map(const std::string& name, const Program& program,
                                   std::optional<std::uint64_t> depth = {});

/// The multicast groups of the captures, each as a channel with one line. Reads the captures once: stdin is kept in an
/// unnamed file, from which it is read again.
[[nodiscard]] feed::Description channels_of(const std::vector<std::string>& captures, const net::Framing& framing);

/// Which map translates which channels.
struct MapChoice {
  std::string map;
  std::optional<std::uint64_t> depth;
  std::vector<bool> mapped;  ///< Channels by number; empty: all.
  market::RecoveryOptions recovery = {};
};

/// --map for all channels, or, if it is empty, the feed's own map for those that have it. A ToolError if there is none.
[[nodiscard]] MapChoice choose_map(const std::string& map, std::optional<std::uint64_t> depth,
                                   const feed::Description& feed);

/// --map and --depth.
[[nodiscard]] Option map_option(std::string& target);
[[nodiscard]] Option depth_option(std::optional<std::uint64_t>& target);

/// What was counted, one line each; empty if nothing was.
[[nodiscard]] std::string market_summary(const market::EventMaker& maker);

/// Everything from records to events, in private memory. `on_event` gets each event in order. The engine that makes the
/// records must not be disturbed: what `on_event` throws is kept until check().
class Market {
 public:
  using OnEvent = std::function<void(const market::Event&)>;
  Market(const market::Map& map, const Program& program, std::uint32_t instruments,
         const market::RecoveryOptions& recovery, OnEvent on_event);

  Market(const Market&) = delete;
  Market& operator=(const Market&) = delete;

  [[nodiscard]] market::Translator& translator() noexcept { return maker_->translator(); }
  [[nodiscard]] const market::Translator& translator() const noexcept { return std::as_const(*maker_).translator(); }
  [[nodiscard]] const market::InstrumentTable& instruments() const noexcept { return maker_->instruments(); }
  [[nodiscard]] const market::BookSet& books() const noexcept { return maker_->books(); }
  /// Something was thrown; no further event is given.
  [[nodiscard]] bool failed() const noexcept { return error_ != nullptr; }
  /// Throws it again.
  void check() const;
  /// Calls `action`, and keeps what it throws.
  template <class Action>
  void guarded(const Action& action) noexcept {
    if (error_) return;
    try {
      action();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  /// As one JSON line, with the instrument's key.
  void append_event(const market::Event& event, std::string& out) const;
  /// What was counted, one line each; empty if nothing was.
  [[nodiscard]] std::string summary() const { return market_summary(*maker_); }

 private:
  struct Take {
    Market* self;
    void operator()(std::span<const record::Slot> slots) const noexcept {
      self->guarded([&] { self->on_event_(market::Event::from(slots[0])); });
    }
  };
  OnEvent on_event_;
  std::exception_ptr error_;
  record::BufferSink<Take> sink_;
  std::unique_ptr<market::EventMaker> maker_;
};

/// What `stopbit book` and `stopbit instruments` read: captures, their program and framing, a map.
struct MarketArguments {
  std::vector<std::string> captures;
  std::string feed;
  ProgramSource program;
  std::string framing;
  std::string reset;
  std::string map;
  std::optional<std::uint64_t> depth;
  std::string engine;
  EngineArguments engine_arguments;
  std::optional<std::uint64_t> instruments;
  std::optional<std::uint64_t> limit;
  std::string output = "-";
  bool merge = false;
  bool quiet = false;
};
/// Whether they name, instead of captures, a ring of market events that a process writes or has written.
[[nodiscard]] bool names_live_market(const MarketArguments& arguments);
[[nodiscard]] std::vector<Option> market_options(MarketArguments& target);
[[nodiscard]] std::string market_text();

/// A capture that is being turned into events. Channels are arbitrated: those of --feed, or each multicast group of the
/// captures as one channel with one line.
class MarketRun {
 public:
  MarketRun(const MarketArguments& arguments, Market::OnEvent on_event);

  /// Called with each record before its events are made.
  using BeforeRecord = std::function<void(const record::HeaderView&)>;
  void set_before_record(BeforeRecord before_record) { before_record_ = std::move(before_record); }

  [[nodiscard]] const market::Map& map() const noexcept { return *map_; }
  [[nodiscard]] Market& market() noexcept { return *market_; }
  [[nodiscard]] const Market& market() const noexcept { return *market_; }
  [[nodiscard]] std::vector<std::string> inputs() const;
  [[nodiscard]] const std::vector<feed::Channel>& channels() const noexcept { return description_->channels; }
  /// Reads everything. Prints the summary of the replay unless it is quiet. Returns the exit status.
  int run(bool prints_to_terminal);
  /// After run(): of the last packet.
  [[nodiscard]] std::uint64_t last_arrival_ns() const noexcept { return last_arrival_ns_; }
  /// After run(): a signal has ended it before the end of the captures.
  [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }

 private:
  const MarketArguments& arguments_;
  std::optional<feed::Description> description_;
  std::optional<Program> program_;
  std::optional<market::Map> map_;
  std::vector<bool> mapped_;  ///< Channels, by number, whose records are translated; empty: all.
  replay::Options options_;
  std::unique_ptr<Market> market_;
  BeforeRecord before_record_;
  std::uint64_t last_arrival_ns_ = 0;
  bool was_stopped_ = false;
};

}  // namespace stopbit::tools
