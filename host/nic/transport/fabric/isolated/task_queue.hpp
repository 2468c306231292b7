#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "host/nic/names.hpp"

namespace stopbit::nic {

/// One message between two processes about the slots they share.
struct FabricTask {
  enum class Kind : std::uint32_t {
    // To the server of the endpoint.
    Add = 0,     ///< The address of `handle` is in the table.
    Remove = 1,  ///< `handle` is over.
    Post = 2,    ///< Receive into `slot`.
    Submit = 3,  ///< Send `length` bytes of `slot` to `handle`.
    // From it.
    Arrived = 4,    ///< `slot` has `length` bytes from `handle`, or from an unknown sender.
    Oversized = 5,  ///< The frame for `slot` was longer than the slot.
    Sent = 6,
    Broken = 7,  ///< `slot` could not be sent, or received into.
  };
  Kind kind = Kind::Add;
  std::uint32_t slot = 0;
  std::uint64_t handle = 0;
  std::uint32_t length = 0;
  std::uint32_t reserved[3] = {};
};
static_assert(sizeof(FabricTask) == 32);

/// One end of a queue in shared memory, between one who writes and one who reads. Neither believes the other: whatever
/// the other stores there, this end reads and writes within the memory, and says that the queue is broken.
class TaskQueue {
 public:
  /// Two lines of counters, then the tasks; `capacity` is a power of two.
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t capacity) noexcept {
    return 2 * kLineBytes + capacity * sizeof(FabricTask);
  }

  TaskQueue() = default;
  /// Of zeros: nothing was written yet.
  TaskQueue(std::byte* memory, std::size_t capacity) noexcept : memory_(memory), capacity_(capacity) {}

  /// False: there is no room, or the other end is not to be believed.
  [[nodiscard]] bool push(const FabricTask& task) noexcept {
    if (own_ - other_ == capacity_ && !look(kReadAt, other_, own_ - capacity_, own_)) return false;
    if (own_ - other_ == capacity_) return false;
    std::memcpy(place(own_), &task, sizeof(task));
    word(kWrittenAt).store(++own_, std::memory_order_release);
    return true;
  }
  /// Nothing: there is none, or the other end is not to be believed.
  [[nodiscard]] std::optional<FabricTask> pop() noexcept {
    if (own_ == other_ && !look(kWrittenAt, other_, own_, own_ + capacity_)) return std::nullopt;
    if (own_ == other_) return std::nullopt;
    FabricTask task;
    std::memcpy(&task, place(own_), sizeof(task));
    word(kReadAt).store(++own_, std::memory_order_release);
    return task;
  }
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

 private:
  static constexpr std::size_t kWrittenAt = 0;
  static constexpr std::size_t kReadAt = kLineBytes;

  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at) const noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory_ + at));
  }
  [[nodiscard]] std::byte* place(std::uint64_t number) const noexcept {
    return memory_ + 2 * kLineBytes + (number & (capacity_ - 1)) * sizeof(FabricTask);
  }
  /// Reads the other's counter, which cannot be outside of `lowest` to `highest`, and never goes back.
  [[nodiscard]] bool look(std::size_t at, std::uint64_t& known, std::uint64_t lowest, std::uint64_t highest) noexcept {
    const std::uint64_t now = word(at).load(std::memory_order_acquire);
    if (now - lowest > highest - lowest) {
      is_broken_ = true;
      return false;
    }
    known = now;
    return true;
  }

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t own_ = 0;    ///< Tasks that this end has written, or read.
  std::uint64_t other_ = 0;  ///< The other's counter, as last seen.
  bool is_broken_ = false;
};

}  // namespace stopbit::nic
