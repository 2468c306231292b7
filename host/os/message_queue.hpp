#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

namespace stopbit::os {

/// A bounded queue of messages of any length from one thread to another, each with an Info: a ring of bytes. No lock;
/// allocates when it is made only.
template <class Info>
class MessageQueue {
  static_assert(std::is_trivially_copyable_v<Info>);

 public:
  struct Item {
    Info info;
    std::span<const std::byte> message;
  };

  /// `bytes`: a power of two. The longest message may have a quarter of it.
  explicit MessageQueue(std::size_t bytes) : bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes)), size_(bytes) {}

  /// Bytes that a message of this length takes at most, the rest of the ring before it included.
  [[nodiscard]] static constexpr std::size_t most_for(std::size_t message_bytes) noexcept {
    return 2 * frame_bytes(message_bytes);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return size_; }
  /// The writing thread only.
  [[nodiscard]] std::size_t room() const noexcept {
    return size_ - (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire));
  }
  /// The writing thread only; the message is `first` and then `second`. False: it has no room, and nothing has changed.
  [[nodiscard]] bool push(const Info& info, std::span<const std::byte> first,
                          std::span<const std::byte> second = {}) noexcept {
    const std::size_t message_bytes = first.size() + second.size();
    const std::size_t need = frame_bytes(message_bytes);
    std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t to_end = size_ - (tail & (size_ - 1));
    const std::size_t skipped = to_end < need ? to_end : 0;
    if (need > size_ / 4 || room() < need + skipped) return false;
    if (skipped != 0) {
      put(tail, Head{.bytes = kSkipped});
      tail += skipped;
    }
    put(tail, Head{.bytes = static_cast<std::uint32_t>(message_bytes), .info = info});
    std::byte* const to = std::copy(first.begin(), first.end(), at(tail) + sizeof(Head));
    std::copy(second.begin(), second.end(), to);
    tail_.store(tail + need, std::memory_order_release);
    return true;
  }

  // The reading thread only.

  /// The oldest message that was not taken; valid until release(). Nothing: there is none.
  [[nodiscard]] std::optional<Item> take() noexcept {
    const auto found = front();
    if (found) taken_ += frame_bytes(found->message.size());
    return found;
  }
  /// Gives the room of all that was taken back.
  void release() noexcept { head_.store(taken_, std::memory_order_release); }
  /// The same message as take(), which is not taken.
  [[nodiscard]] std::optional<Item> front() noexcept {
    if (taken_ == tail_.load(std::memory_order_acquire)) return std::nullopt;
    Head found = get(taken_);
    if (found.bytes == kSkipped) {
      taken_ += size_ - (taken_ & (size_ - 1));
      found = get(taken_);
    }
    return Item{.info = found.info, .message = {at(taken_) + sizeof(Head), found.bytes}};
  }
  /// After front() has returned a message: takes it, and gives its room back.
  void pop() noexcept {
    (void)take();
    release();
  }

 private:
  struct Head {
    std::uint32_t bytes = 0;  ///< kSkipped: the rest of the ring is unused.
    Info info = {};
  };
  /// Of a message with its head: the rest of the ring always has room for the head of a skip.
  static constexpr std::size_t kStep = (sizeof(Head) + 31) / 32 * 32;
  static constexpr std::uint32_t kSkipped = ~std::uint32_t{0};
  static constexpr std::size_t kLinePair = 128;
  static_assert((kStep & (kStep - 1)) == 0, "it must divide the ring");

  [[nodiscard]] static constexpr std::size_t frame_bytes(std::size_t message_bytes) noexcept {
    return (sizeof(Head) + message_bytes + kStep - 1) / kStep * kStep;
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
  alignas(kLinePair) std::size_t taken_ = 0;  ///< The reading thread's.
};

}  // namespace stopbit::os
