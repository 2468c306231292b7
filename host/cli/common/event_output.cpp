#include "host/cli/common/event_output.hpp"

#include "host/cli/common/market_source.hpp"

namespace stopbit::tools {

EventOutput::EventOutput(market::Map map, const Program& program, const std::optional<RingArguments>& ring, bool quiet,
                         const market::RecoveryOptions& recovery)
    : map_(std::move(map)) {
  if (ring) ring_.emplace(prepare_ring(*ring, program, 0, quiet));
  sink_.emplace(ring_ ? static_cast<record::RecordSink&>(*ring_) : memory_, nullptr, 0);
  Result<std::unique_ptr<market::EventMaker>> maker = market::EventMaker::prepare(
      map_, program,
      {.name = ring ? ring->name : std::string(), .recovery = recovery, .ring_epoch = ring_ ? ring_->epoch() : 0},
      *sink_);
  if (!maker) throw ToolError(kExitEnvironment, maker.message());
  maker_ = std::move(maker).value();
}

Status EventOutput::check_names() const {
  if (!ring_) return Done{};
  Status free = ring_->check_name();
  return free ? maker_->check_names() : free;
}

Status EventOutput::take_names() {
  if (!ring_) return Done{};
  Status taken = maker_->take_names();
  return taken ? ring_->take_name() : taken;
}

std::string EventOutput::finish() {
  maker_->finish();
  if (ring_) ring_->finish();
  return market_summary(*maker_);
}

}  // namespace stopbit::tools
