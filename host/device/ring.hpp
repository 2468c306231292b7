#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/device/device.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::device {

/// What the device waits for. The values are those of the ring's register `mode`.
enum class RingMode : std::uint32_t {
  Lossy = 1,  ///< Nothing: a reader that falls behind loses records and learns how many.
  Stall = 2,  ///< For poll(): records wait in the device when it is behind by a whole ring.
  Drop = 3,   ///< For poll(), but a record that finds no room is dropped and counted.
};

struct RingOptions {
  std::uint32_t index = 0;            ///< Number of the kernel's ring.
  std::uint64_t slot_count = 65'536;  ///< A power of two, at least eight records of the program.
  RingMode mode = RingMode::Stall;
  std::uint32_t image_generation = 0;
  std::uint64_t segment_slots = 0;          ///< The device gets the ring in pieces of this size; 0: in one.
  std::uint32_t timeout_cycles = 0;         ///< A record whose next slot is later is withdrawn; 0: never.
  std::uint32_t credit_timeout_cycles = 0;  ///< Stall: how long a record waits for poll() before records are dropped
                                            ///< until poll() goes on; 0: for ever, and all rings with it.
};

struct RingCounters {
  bool running = false;
  bool starved = false;         ///< It drops, for poll() was too slow for credit_timeout_cycles.
  std::uint64_t number = 0;     ///< Of the slot after the last record.
  std::uint64_t records = 0;    ///< Published.
  std::uint64_t dropped = 0;    ///< They found no room, or the ring not running.
  std::uint64_t withdrawn = 0;  ///< Begun and taken back.
  std::uint64_t timeouts = 0;   ///< Of these, those whose slots did not come in time,
  std::uint64_t malformed = 0;  ///< and those whose slots contradicted each other.
  std::uint64_t stalled = 0;    ///< Cycles in which a record waited for poll().
};

/// A ring that a device writes, in memory of the host, and its only reader that counts. The layout is host/ring's,
/// header and image included. One thread.
class DeviceRing {
 public:
  /// Allocates, and begins the ring. The device must outlive the ring.
  [[nodiscard]] static Result<std::unique_ptr<DeviceRing>> start(Device& device, const Program& program,
                                                                 std::span<const std::byte> image,
                                                                 const RingOptions& options);
  /// Ends it, as stop(). If the device does not come to rest, it keeps the memory: it may still write.
  ~DeviceRing();
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;

  /// Takes the next record, if there is one: no system call, no register; but once in a quarter of the ring, in modes
  /// Stall and Drop, it sends the device the reader's position. If that fails, Poll::Damaged, and problem() says why.
  [[nodiscard]] ring::Poll poll();
  /// The record found by poll: a private copy, valid until the next poll.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return {copy_.data(), copied_}; }
  /// Records that the last Poll::Lost skipped.
  [[nodiscard]] std::uint64_t lost_records() const noexcept { return reader_.lost().records; }
  /// Records published before the next one.
  [[nodiscard]] std::uint64_t next_record() const noexcept { return reader_.next_record(); }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// How many records it can hold.
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return options_.slot_count; }

  [[nodiscard]] Result<RingCounters> counters();
  /// The device writes no new record. Published records can still be polled.
  [[nodiscard]] Status stop();

  [[nodiscard]] ring::Header& header() noexcept;

 private:
  DeviceRing(Device& device, const RingOptions& options) : device_(&device), options_(options) {}

  [[nodiscard]] std::uint32_t at(std::uint32_t offset) const;
  [[nodiscard]] Status set_up(std::uint64_t descriptors, std::uint64_t segments, std::uint32_t max_record_slots);
  [[nodiscard]] bool give_credit();

  Device* device_;
  RingOptions options_;
  std::unique_ptr<HostBuffer> memory_;
  ring::ReaderCore<ring::SharedMemory> reader_;
  std::vector<record::Slot> copy_;
  std::size_t copied_ = 0;
  std::uint64_t credited_ = 0;  ///< Position that the device knows.
  bool stopped_ = true;
  std::string problem_;
};

}  // namespace stopbit::device
