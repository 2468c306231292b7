#include "host/cli/common/event_ring.hpp"

#include "host/cli/common/market_source.hpp"

namespace stopbit::tools {

EventRing::EventRing(const RingArguments& ring, market::Map map, const Program& program, bool quiet)
    : map_(std::move(map)), ring_(create_ring(ring, program, 0, quiet)) {
  Result<std::unique_ptr<market::EventMaker>> maker =
      market::EventMaker::make(map_, program, {.name = ring.name}, ring_);
  if (!maker) throw ToolError(kExitEnvironment, maker.message());
  maker_ = std::move(maker).value();
}

std::string EventRing::finish() {
  maker_->finish();
  ring_.finish();
  return market_summary(*maker_);
}

}  // namespace stopbit::tools
