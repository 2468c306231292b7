#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

namespace stopbit::appliance {

/// A message from a replay service, on its way to the thread that decodes.
struct ReplayAnswer {
  std::uint32_t channel = 0;     ///< Of the agent.
  std::uint16_t epoch = 0;       ///< Of the run in which it was asked for.
  std::uint64_t number = 0;      ///< As on the wire.
  std::uint64_t arrival_ns = 0;  ///< Wall clock.
  std::span<const std::byte> message;
};

/// A bounded queue of messages of any length from one thread to another: a ring of bytes. No lock; allocates when it is
/// made only.
class AnswerQueue {
 public:
  /// `bytes`: a power of two. The longest message may have a quarter of it.
  explicit AnswerQueue(std::size_t bytes) : bytes_(std::make_unique<std::byte[]>(bytes)), size_(bytes) {}

  /// Bytes that a message of this length takes at most, the rest of the ring before it included.
  [[nodiscard]] static constexpr std::size_t most_for(std::size_t message_bytes) noexcept {
    return 2 * frame_bytes(message_bytes);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return size_; }
  /// The writing thread only.
  [[nodiscard]] std::size_t room() const noexcept {
    return size_ - (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire));
  }
  /// The writing thread only. False: it has no room, and nothing has changed.
  [[nodiscard]] bool push(const ReplayAnswer& answer) noexcept {
    const std::size_t need = frame_bytes(answer.message.size());
    std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t to_end = size_ - (tail & (size_ - 1));
    const std::size_t skipped = to_end < need ? to_end : 0;
    if (need > size_ / 4 || room() < need + skipped) return false;
    if (skipped != 0) {
      put(tail, Head{.bytes = kSkipped});
      tail += skipped;
    }
    put(tail, Head{.bytes = static_cast<std::uint32_t>(answer.message.size()),
                   .channel = answer.channel,
                   .number = answer.number,
                   .arrival_ns = answer.arrival_ns,
                   .epoch = answer.epoch});
    std::copy(answer.message.begin(), answer.message.end(), at(tail) + sizeof(Head));
    tail_.store(tail + need, std::memory_order_release);
    return true;
  }
  /// The reading thread only: the oldest message, valid until pop(). Nothing: there is none.
  [[nodiscard]] std::optional<ReplayAnswer> front() noexcept {
    std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return std::nullopt;
    Head found = get(head);
    if (found.bytes == kSkipped) {
      head += size_ - (head & (size_ - 1));
      head_.store(head, std::memory_order_release);
      found = get(head);
    }
    return ReplayAnswer{.channel = found.channel,
                        .epoch = found.epoch,
                        .number = found.number,
                        .arrival_ns = found.arrival_ns,
                        .message = {at(head) + sizeof(Head), found.bytes}};
  }
  /// After front() has returned a message.
  void pop() noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    head_.store(head + frame_bytes(get(head).bytes), std::memory_order_release);
  }

 private:
  struct Head {
    std::uint32_t bytes = 0;  ///< kSkipped: the rest of the ring is unused.
    std::uint32_t channel = 0;
    std::uint64_t number = 0;
    std::uint64_t arrival_ns = 0;
    std::uint16_t epoch = 0;
    std::uint16_t padding[3] = {};
  };
  static_assert(sizeof(Head) == 32);
  static constexpr std::uint32_t kSkipped = ~std::uint32_t{0};
  static constexpr std::size_t kLinePair = 128;

  [[nodiscard]] static constexpr std::size_t frame_bytes(std::size_t message_bytes) noexcept {
    return sizeof(Head) + (message_bytes + sizeof(Head) - 1) / sizeof(Head) * sizeof(Head);
  }
  [[nodiscard]] std::byte* at(std::size_t position) noexcept { return bytes_.get() + (position & (size_ - 1)); }
  void put(std::size_t position, const Head& head) noexcept { std::memcpy(at(position), &head, sizeof(head)); }
  [[nodiscard]] Head get(std::size_t position) noexcept {
    Head head;
    std::memcpy(&head, at(position), sizeof(head));
    return head;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
  alignas(kLinePair) std::atomic<std::size_t> head_ = 0;
  alignas(kLinePair) std::atomic<std::size_t> tail_ = 0;
};

}  // namespace stopbit::appliance
