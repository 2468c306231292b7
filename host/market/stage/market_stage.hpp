#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "host/feed/channel/stage.hpp"
#include "host/market/stage/translator.hpp"

namespace stopbit::market {

/// The stage that makes events of records. Records pass unchanged, and before their events: nothing that readers of
/// records wait for takes longer.
class MarketStage final : public feed::Stage {
 public:
  /// `channels`: whose records it takes, by number; empty: all.
  explicit MarketStage(Translator& translator, std::vector<bool> channels = {}) noexcept
      : translator_(translator), channels_(std::move(channels)) {}

  [[nodiscard]] Place open() noexcept override { return place_ = Stage::open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    next().commit(first, slots);
    if (!channels_.empty() && !takes(record::HeaderView(first).channel())) return;
    // The record is complete in its place, and still in the cache; the writer does not take the place again before the
    // next open().
    translator_.take(std::span<const record::Slot>(place_.slots, slots));
  }

 private:
  [[nodiscard]] bool takes(std::uint16_t channel) const noexcept {
    return channel < channels_.size() && channels_[channel];
  }

  Translator& translator_;
  std::vector<bool> channels_;  ///< By number; empty: all.
  Place place_;
};

}  // namespace stopbit::market
