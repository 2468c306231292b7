#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/market/stage/recovery_options.hpp"
#include "host/market/stage/shapes.hpp"
#include "host/market/stage/sync_channel.hpp"

namespace stopbit::market {

/// Which channel's synchroniser a record and an instrument belong to. Where nothing says what a channel is, its
/// messages do. One thread; allocates when it is made only.
class Recovery {
 public:
  Recovery(const RecoveryOptions& options, ScopeOf scope, const Market& market, Shapes& shapes);

  /// That of a channel whose records have its numbers; null: none is known.
  [[nodiscard]] SyncChannel* of(std::uint16_t channel) noexcept {
    const std::uint16_t at = by_channel_[channel];
    return at != 0 && channels_[at - 1U]->has_increments() ? channels_[at - 1U].get() : nullptr;
  }
  /// The same of a channel that has a message of increments; null: there is no room for another one.
  [[nodiscard]] SyncChannel* of_increments(std::uint16_t channel) noexcept;
  /// That of an instrument's snapshots; null: it cannot be told.
  [[nodiscard]] SyncChannel* of_snapshot(std::uint32_t row, std::uint16_t channel) noexcept;
  /// That of an instrument that has one; null: none.
  [[nodiscard]] SyncChannel* of_row(std::uint32_t row) noexcept {
    return homes_[row].at == 0 ? nullptr : channels_[homes_[row].at - 1U].get();
  }
  /// Calls take(channel) for each channel of increments that is known.
  template <class Take>
  void for_each_channel(const Take& take) {
    for (std::size_t i = 0; i < bound_; ++i) take(*channels_[i]);
  }
  [[nodiscard]] const SyncChannel* of_row(std::uint32_t row) const noexcept {
    return homes_[row].at == 0 ? nullptr : channels_[homes_[row].at - 1U].get();
  }
  [[nodiscard]] bool has_increments(std::uint32_t row) const noexcept { return homes_[row].has_increments; }
  /// The instrument's books belong to the channel from here on. False: its increments come on another channel.
  [[nodiscard]] bool settle(std::uint32_t row, SyncChannel& channel, bool is_increment) noexcept {
    Home& home = homes_[row];
    if (home.at == channel.index()) [[likely]] {
      home.has_increments |= is_increment;
      return true;
    }
    return settle_anew(row, channel, is_increment);
  }
  /// The instrument has other books than before: they begin anew.
  void reshape(std::uint32_t row) noexcept;

  /// Nothing is known any more, on any channel.
  void forget(Cause cause) noexcept;
  void tick(std::uint64_t now_ns) noexcept;
  /// The clock of arrivals was set back.
  void set_back(std::int64_t by_ns) noexcept;
  /// Tells the synchronisers which books a fault has ended.
  void distrust_faulty() noexcept;
  /// Adds what the synchronisers have counted.
  void add_counts(MarketCounts& to) const noexcept;
  /// The cycle of snapshots that is longest, measured by what is announced; null: none has begun.
  [[nodiscard]] const SnapshotCycle* slowest_cycle(std::uint64_t now_ns) const noexcept;

 private:
  struct Home {
    std::uint16_t at = 0;  ///< Of channels_, from 1; 0: none.
    bool has_increments = false;
  };

  [[nodiscard]] bool settle_anew(std::uint32_t row, SyncChannel& channel, bool is_increment) noexcept;
  [[nodiscard]] SyncChannel* bind(std::uint16_t channel, bool has_increments) noexcept;
  void move(SyncChannel& from, std::uint16_t channel) noexcept;
  void begin_anew(std::uint32_t row, const SyncChannel& home) noexcept;

  const ScopeOf scope_;
  const bool is_planned_;
  const Market market_;
  Shapes& shapes_;
  std::vector<std::unique_ptr<SyncChannel>> channels_;
  std::size_t bound_ = 0;                        ///< The first ones have a channel.
  std::unique_ptr<std::uint16_t[]> by_channel_;  ///< From 1; 0: none.
  std::unique_ptr<std::uint16_t[]> recovers_;    ///< Of channels of snapshots, likewise.
  std::unique_ptr<Home[]> homes_;                ///< By row.
};

}  // namespace stopbit::market
