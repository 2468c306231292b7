#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/appliance/counter_set.hpp"
#include "host/appliance/refill/quota_file.hpp"
#include "host/appliance/refill/replay_feed.hpp"

namespace stopbit::appliance {

/// A replay service, and the channels that ask it. They share its connections of a day, and have one at a time.
///
/// No sockets and no clocks: the owner connects (ReplayWire), reads, and turns time. One thread.
class ReplayService final : private ReplayWire {
 public:
  struct Options {
    std::string name;
    refill::Limits limits;
    std::size_t place = 0;  ///< In the file of quotas.
  };
  ReplayService(Options options, QuotaFile& quota, const ReplayCounterSet& counter_set, ReplayWire& wire,
                const Now& now);
  ReplayService(const ReplayService&) = delete;
  ReplayService& operator=(const ReplayService&) = delete;

  /// At set-up: a channel of an agent.
  ReplayFeed& add(std::unique_ptr<refill::Dialect> dialect, std::uint32_t channel, ReplayLink& link,
                  std::shared_ptr<const Program> program, const EngineLimits& engine_limits);

  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  /// Of the channel of an agent; null: it asks another service, or none.
  [[nodiscard]] ReplayFeed* feed_of(const ReplayLink& link, std::uint32_t channel) noexcept;

  /// Time passes: connections begin and end here, and counters are brought up to date.
  void step(const Now& now);

  // What connect() has led to.
  void connected(const Now& now);
  void failed(const Now& now);
  void closed(const Now& now);
  /// Whether that many bytes may be read now: the agent has room for all that they can bring.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
  void bytes(std::span<const std::byte> bytes, const Now& now);
  [[nodiscard]] bool is_idle() const noexcept { return active_ == nullptr; }

 private:
  void connect() override;
  void send(std::span<const char> bytes) override { wire_.send(bytes); }
  void close() override { wire_.close(); }

  void share_quota(const Now& now);
  void note_end();
  void publish() const noexcept;

  Options options_;
  QuotaFile& quota_;
  const ReplayCounterSet& counter_set_;
  ReplayWire& wire_;
  std::vector<std::unique_ptr<ReplayFeed>> feeds_;
  ReplayFeed* active_ = nullptr;  ///< Whose connection it is.
  std::size_t turn_ = 0;          ///< Of the channel that may connect first.
  QuotaFile::Used used_;
  Now now_;
  bool was_refused_ = false;  ///< The connection was not made: its quota could not be stored.
  std::uint64_t not_stored_ = 0;
};

}  // namespace stopbit::appliance
