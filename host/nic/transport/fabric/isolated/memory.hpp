#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/nic/transport/fabric/device.hpp"
#include "host/nic/transport/fabric/isolated/task_queue.hpp"
#include "host/os/doorbell.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic {

/// What a process and the server of its endpoint share: one page of what is wanted, one of what is, the two queues, the
/// table of addresses, and the slots. Only zeros in the beginning, and when the server starts again, but for what is
/// wanted.
///
/// The process believes nothing of it, for the server, which has talked to strangers, may write all. The server
/// believes the process: so a new one finds nothing there that the last one has written.
class IsolatedMemory {
 public:
  static constexpr std::size_t kTextBytes = 256;

  /// Page 0, from the process.
  struct Wanted {
    std::uint64_t nodes = 0;
    std::uint64_t frame_bytes = 0;
    std::uint64_t tx_slots = 0;
    std::uint64_t rx_slots = 0;
    std::array<char, kTextBytes> provider{};
    std::array<char, kTextBytes> listen{};
    std::array<char, kTextBytes> host{};
  };
  enum class State : std::uint32_t { Opening = 0, Serves = 1, Failed = 2 };
  /// Page 1, from the server.
  struct Answer {
    std::uint32_t state = 0;  ///< Stored last.
    std::uint32_t own_bytes = 0;
    std::uint32_t host_bytes = 0;
    std::uint8_t knows_sources = 0;
    std::uint8_t has_text_addresses = 0;
    std::uint8_t reserved[2] = {};
    std::uint64_t beat = 0;    ///< Counts its turns.
    std::uint32_t asleep = 0;  ///< The server sleeps until it is rung for.
    std::array<std::byte, kFabricAddressBytes> own{};
    std::array<std::byte, kFabricAddressBytes> host{};
    std::array<char, kTextBytes> text{};
    std::array<char, kTextBytes> problem{};
  };
  /// A line of the table, from the process.
  struct Address {
    std::uint64_t handle = 0;  ///< Of whom it is the address: stored last, and 0 while it changes.
    std::uint64_t bytes = 0;
    std::array<std::byte, kFabricAddressBytes> address{};
  };

  IsolatedMemory() = default;
  /// Over memory of at least bytes(options).
  IsolatedMemory(std::span<std::byte> memory, const FabricOptions& options) noexcept
      : memory_(memory.data()), slots_(options), addresses_(fabric_addresses(options)) {}

  [[nodiscard]] static std::size_t bytes(const FabricOptions& options) noexcept {
    const IsolatedMemory memory({}, options);
    return memory.slots_at() + memory.slots_.memory();
  }

  [[nodiscard]] Wanted& wanted() const noexcept { return *reinterpret_cast<Wanted*>(memory_); }
  [[nodiscard]] Answer& answer() const noexcept { return *reinterpret_cast<Answer*>(memory_ + kPageBytes); }
  [[nodiscard]] std::atomic_ref<std::uint32_t> state() const noexcept {
    return std::atomic_ref<std::uint32_t>(answer().state);
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> beat() const noexcept {
    return std::atomic_ref<std::uint64_t>(answer().beat);
  }
  /// For the process, when it has new tasks.
  [[nodiscard]] os::Doorbell bell() const noexcept { return os::Doorbell(answer().asleep); }
  /// A new end of the queue to the server, and of the one from it.
  [[nodiscard]] TaskQueue to_server() const noexcept { return {memory_ + to_server_at(), to_server_capacity()}; }
  [[nodiscard]] TaskQueue from_server() const noexcept { return {memory_ + from_server_at(), from_server_capacity()}; }
  [[nodiscard]] Address& address(std::size_t index) const noexcept {
    return *reinterpret_cast<Address*>(memory_ + addresses_at() + index * sizeof(Address));
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> handle(std::size_t index) const noexcept {
    return std::atomic_ref<std::uint64_t>(address(index).handle);
  }
  [[nodiscard]] std::size_t addresses() const noexcept { return addresses_; }
  [[nodiscard]] const FabricSlots& slots() const noexcept { return slots_; }
  [[nodiscard]] std::byte* slot(std::size_t number) const noexcept {
    return memory_ + slots_at() + number * slots_.bytes;
  }
  [[nodiscard]] std::span<std::byte> slot_memory() const noexcept { return {slot(0), slots_.memory()}; }
  /// All but the slots.
  [[nodiscard]] std::span<std::byte> control() const noexcept { return {memory_, slots_at()}; }

 private:
  static constexpr std::size_t kQueuesAt = 2 * kPageBytes;
  static_assert(sizeof(Wanted) <= kPageBytes && sizeof(Answer) <= kPageBytes);

  [[nodiscard]] static std::size_t pages(std::size_t bytes) noexcept {
    return round_up<std::size_t>(bytes, kPageBytes);
  }
  /// Each slot is in one queue at most; and each address may come and go a few times before the server looks.
  [[nodiscard]] std::size_t to_server_capacity() const noexcept { return std::bit_ceil(slots_.total + 8 * addresses_); }
  [[nodiscard]] std::size_t from_server_capacity() const noexcept { return std::bit_ceil(slots_.total); }
  [[nodiscard]] std::size_t to_server_at() const noexcept { return kQueuesAt; }
  [[nodiscard]] std::size_t from_server_at() const noexcept {
    return to_server_at() + pages(TaskQueue::bytes(to_server_capacity()));
  }
  [[nodiscard]] std::size_t addresses_at() const noexcept {
    return from_server_at() + pages(TaskQueue::bytes(from_server_capacity()));
  }
  [[nodiscard]] std::size_t slots_at() const noexcept { return addresses_at() + pages(addresses_ * sizeof(Address)); }

  std::byte* memory_ = nullptr;
  FabricSlots slots_{FabricOptions{}};
  std::size_t addresses_ = 0;
};

}  // namespace stopbit::nic
