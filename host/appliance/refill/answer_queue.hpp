#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/os/message_queue.hpp"

namespace stopbit::appliance {

/// A message from a replay service, on its way to the thread that decodes.
struct ReplayAnswer {
  std::uint32_t channel = 0;     ///< Of the agent.
  std::uint16_t epoch = 0;       ///< Of the run in which it was asked for.
  std::uint64_t number = 0;      ///< As on the wire.
  std::uint64_t arrival_ns = 0;  ///< Wall clock.
  std::span<const std::byte> message;
};

/// Answers from the thread that asks to the one that decodes; see os::MessageQueue.
class AnswerQueue {
  struct Info {
    std::uint64_t number = 0;
    std::uint64_t arrival_ns = 0;
    std::uint32_t channel = 0;
    std::uint16_t epoch = 0;
  };
  using Queue = os::MessageQueue<Info>;

 public:
  explicit AnswerQueue(std::size_t bytes) : queue_(bytes) {}

  [[nodiscard]] static constexpr std::size_t most_for(std::size_t message_bytes) noexcept {
    return Queue::most_for(message_bytes);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return queue_.capacity(); }
  [[nodiscard]] std::size_t room() const noexcept { return queue_.room(); }
  [[nodiscard]] bool push(const ReplayAnswer& answer) noexcept {
    return queue_.push(
        {.number = answer.number, .arrival_ns = answer.arrival_ns, .channel = answer.channel, .epoch = answer.epoch},
        answer.message);
  }
  /// The oldest message, valid until pop(). Nothing: there is none.
  [[nodiscard]] std::optional<ReplayAnswer> front() noexcept {
    const auto item = queue_.front();
    if (!item) return std::nullopt;
    return ReplayAnswer{.channel = item->info.channel,
                        .epoch = item->info.epoch,
                        .number = item->info.number,
                        .arrival_ns = item->info.arrival_ns,
                        .message = item->message};
  }
  /// After front() has returned a message.
  void pop() noexcept { queue_.pop(); }

 private:
  Queue queue_;
};

}  // namespace stopbit::appliance
