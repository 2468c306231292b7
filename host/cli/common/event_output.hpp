#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/printing_sink.hpp"
#include "host/cli/common/ring_output.hpp"
#include "host/market/stage/event_maker.hpp"
#include "host/market/stage/event_ring.hpp"

namespace stopbit::tools {

/// --events: the market events of a replay. They go to a ring, beside the tables of its instruments and their states,
/// to another output, or to both.
class EventOutput {
 public:
  /// `ring` says how large and how patient the ring is; none: events and instruments are in private memory. A ToolError
  /// if the ring, or a table, cannot be made. Until market::take_names those of the name are others, or none.
  EventOutput(market::Map map, const Program& program, const std::optional<RingArguments>& ring, bool quiet,
              const market::RecoveryOptions& recovery);

  EventOutput(const EventOutput&) = delete;
  EventOutput& operator=(const EventOutput&) = delete;

  /// Before the first event: `output` gets them, too.
  void set_output(RecordDestination& output) noexcept { sink_->set_output(output); }
  [[nodiscard]] market::Translator& translator() noexcept {
    return ring_ != nullptr ? ring_->translator() : maker_->translator();
  }
  [[nodiscard]] const market::InstrumentView& instruments() const noexcept { return maker().instruments().view(); }
  /// Null: none.
  [[nodiscard]] market::EventRing* ring() noexcept { return ring_.get(); }
  void beat(std::uint64_t now_ns) noexcept {
    if (ring_ != nullptr) ring_->beat(now_ns);
  }
  /// The end. Returns what was counted.
  std::string finish();

 private:
  struct Ignore {
    void operator()(std::span<const record::Slot> /*event*/) const noexcept {}
  };
  [[nodiscard]] const market::EventMaker& maker() const noexcept { return ring_ != nullptr ? ring_->maker() : *maker_; }

  record::BufferSink<Ignore> memory_{1, Ignore()};
  std::optional<PrintingSink> sink_;
  std::unique_ptr<market::EventRing> ring_;
  market::Map map_;                            ///< Without a ring,
  std::unique_ptr<market::EventMaker> maker_;  ///< as this.
};

}  // namespace stopbit::tools
