#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "host/arbitrate/arbiter.hpp"

namespace stopbit::appliance {

/// Something that happened on the data path and that people are told of: it is put into words by another thread.
struct Notice {
  enum class Kind : std::uint8_t {
    Gap,        ///< Numbers are given up.
    Late,       ///< A number that was given up has come all the same.
    Run,        ///< A run of numbers begins.
    Stale,      ///< Datagrams of the channel do not decode.
    Recovered,  ///< They do again.
    Image,      ///< Another image is used from here on.
  };
  Kind kind = Kind::Gap;
  std::uint32_t channel = 0;  ///< Index in the appliance. Image: index of the outlet.
  std::uint64_t time_ns = 0;
  std::uint64_t first = 0;  ///< Gap, Late, Run: sequence number. Image: generation.
  std::uint64_t count = 0;  ///< Gap: numbers. Late: ns after it was given up. Stale: datagrams.
  std::uint16_t epoch = 0;
  std::uint8_t detail = 0;  ///< Run: NewRun::Reason. Stale: ErrorCode.
  /// Gap: what the lines had, and whether the machine itself has just dropped packets.
  std::array<arbitrate::Gap::Had, 2> lines{};
  bool dropped_here = false;
};

/// From one thread to another, bounded, without locks. What finds no room is counted and lost.
template <class T>
class Queue {
 public:
  /// `size` is a power of two.
  explicit Queue(std::size_t size) : items_(std::make_unique<T[]>(size)), mask_(size - 1) {}

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

  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kLinePair = 128;

  std::unique_ptr<T[]> items_;
  std::size_t mask_;
  alignas(kLinePair) std::atomic<std::size_t> head_ = 0;
  alignas(kLinePair) std::atomic<std::size_t> tail_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace stopbit::appliance
