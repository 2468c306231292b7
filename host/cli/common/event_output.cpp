#include "host/cli/common/event_output.hpp"

#include <utility>

#include "host/cli/common/market_source.hpp"

namespace stopbit::tools {

EventOutput::EventOutput(market::Map map, const Program& program, const std::optional<RingArguments>& ring, bool quiet,
                         const market::RecoveryOptions& recovery) {
  const auto through = [&](record::RecordSink& inner) -> record::RecordSink& {
    return sink_.emplace(inner, nullptr, 0);
  };
  if (ring) {
    auto made = market::EventRing::around(prepare_ring(*ring, program, 0, quiet),
                                          {.name = ring->name, .ring = {}, .recovery = recovery}, std::move(map),
                                          program, through);
    if (!made) throw ToolError(kExitEnvironment, made.message());
    ring_ = std::move(made).value();
    return;
  }
  map_ = std::move(map);
  auto made = market::EventMaker::prepare(map_, program, {.recovery = recovery}, through(memory_));
  if (!made) throw ToolError(kExitEnvironment, made.message());
  maker_ = std::move(made).value();
}

std::string EventOutput::finish() {
  if (ring_ != nullptr) {
    ring_->finish();
  } else {
    maker_->finish();
  }
  return market_summary(maker());
}

}  // namespace stopbit::tools
