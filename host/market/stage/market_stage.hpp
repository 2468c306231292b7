#pragma once

#include <cstdint>
#include <span>

#include "host/feed/channel/stage.hpp"
#include "host/market/stage/translator.hpp"

namespace stopbit::market {

/// The stage that makes events of records. Records pass unchanged, and before their events: nothing that readers of
/// records wait for takes longer.
class MarketStage final : public feed::Stage {
 public:
  explicit MarketStage(Translator& translator) noexcept : translator_(translator) {}

  [[nodiscard]] Place open() noexcept override { return place_ = Stage::open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    next().commit(first, slots);
    // The record is complete in its place, and still in the cache; the writer does not take the place again before the
    // next open().
    translator_.take(std::span<const record::Slot>(place_.slots, slots));
  }

 private:
  Translator& translator_;
  Place place_;
};

}  // namespace stopbit::market
