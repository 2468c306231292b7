#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace stopbit::os {

/// A bounded lock-free queue from one thread to another. Items that do not fit are dropped and counted.
template <class T>
class SpscQueue {
 public:
  /// `size` is a power of two.
  explicit SpscQueue(std::size_t size) : items_(std::make_unique<T[]>(size)), mask_(size - 1) {}

  /// The writing thread only.
  bool push(T item) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    items_[tail & mask_] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// The reading thread only.
  bool pop(T& item) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    item = std::move(items_[head & mask_]);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Items that fit now. The writing thread only.
  [[nodiscard]] std::size_t room() const noexcept {
    return mask_ + 1 - (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire));
  }

  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kLinePair = 128;

  std::unique_ptr<T[]> items_;
  std::size_t mask_;
  alignas(kLinePair) std::atomic<std::size_t> head_ = 0;
  alignas(kLinePair) std::atomic<std::size_t> tail_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace stopbit::os
