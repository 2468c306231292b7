#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "host/appliance/refill/answer_reader.hpp"
#include "host/appliance/refill/link.hpp"
#include "host/refill/client.hpp"

namespace stopbit::appliance {

/// The connection of a replay service: one at a time. None of these calls the service back.
class ReplayWire {
 public:
  virtual ~ReplayWire() = default;
  virtual void connect() = 0;
  virtual void send(std::span<const char> bytes) = 0;
  virtual void close() = 0;
};

/// What a channel wants of a replay service, and the way of the answers to the agent. Of the thread that asks, but for
/// set_program().
class ReplayFeed final : private refill::ClientSink {
 public:
  /// `channel`: of the agent. References must outlive it.
  ReplayFeed(std::unique_ptr<refill::Dialect> dialect, const refill::Limits& limits, std::uint32_t channel,
             ReplayLink& link, std::shared_ptr<const Program> program, const EngineLimits& engine_limits,
             ReplayWire& wire);

  [[nodiscard]] std::uint32_t channel() const noexcept { return channel_; }
  [[nodiscard]] const ReplayLink& link() const noexcept { return link_; }
  [[nodiscard]] refill::Client& client() noexcept { return client_; }
  [[nodiscard]] const refill::Client& client() const noexcept { return client_; }
  /// From any thread: answers of the next connection are read with this program.
  void set_program(std::shared_ptr<const Program> program);

  void take(const ReplayWant& want, const Now& now);
  /// Whether the agent's queue takes all messages that `bytes` of a connection can bring, or is empty.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
  void bytes(std::span<const std::byte> bytes, const Now& now);

  struct Counts {
    std::uint64_t no_quota = 0;     ///< Numbers given up: no connection was left,
    std::uint64_t not_brought = 0;  ///< the service did not bring them,
    std::uint64_t no_room = 0;      ///< too many ranges were missing.
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  void connect() override;
  void send(std::span<const char> bytes) override;
  void close() override { wire_.close(); }
  [[nodiscard]] refill::Answer read(std::span<const std::byte> answer) override { return reader_->read(answer); }
  [[nodiscard]] bool message(std::uint64_t number, std::span<const std::byte> answer) override;
  void given_up(refill::Range range, refill::GivenUp why) override;

  std::unique_ptr<refill::Dialect> dialect_;
  std::uint32_t channel_;
  ReplayLink& link_;
  ReplayWire& wire_;
  EngineLimits engine_limits_;
  std::size_t answer_bytes_;
  std::unique_ptr<AnswerReader> reader_;
  std::mutex mutex_;  ///< For next_program_.
  std::shared_ptr<const Program> next_program_;
  std::uint16_t epoch_ = 0;
  std::uint64_t arrival_ns_ = 0;  ///< Of the bytes that are read.
  Counts counts_;
  refill::Client client_;
};

}  // namespace stopbit::appliance
