#pragma once

#include <memory>
#include <string>

#include "host/cli/common/ring_output.hpp"
#include "host/market/stage/event_maker.hpp"

namespace stopbit::tools {

/// --events: the market events of a replay in a ring, beside the tables of its instruments and their states.
class EventRing {
 public:
  /// `ring` says how large and how patient the ring is. A ToolError if it, or a table, cannot be made.
  EventRing(const RingArguments& ring, market::Map map, const Program& program, bool quiet);

  [[nodiscard]] market::Translator& translator() noexcept { return maker_->translator(); }
  [[nodiscard]] ring::Writer& ring() noexcept { return ring_; }
  void beat(std::uint64_t now_ns) noexcept {
    ring_.beat(now_ns);
    maker_->beat(now_ns);
  }
  /// The end. Returns what was counted.
  std::string finish();

 private:
  market::Map map_;
  ring::Writer ring_;
  std::unique_ptr<market::EventMaker> maker_;
};

}  // namespace stopbit::tools
