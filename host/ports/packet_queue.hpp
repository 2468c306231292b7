#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/ports/packet_source.hpp"

namespace stopbit::ingest {

/// Packets on their way from one thread to one or several others, each of which gets all of them, in order. Bounded:
/// the writer waits for the slowest reader. A reader sees a packet of a batch that is not yet full within `kPatience`,
/// so that a pipe through which little comes is not kept waiting.
///
/// Allocates when it is made, and for a packet longer than a batch.
class PacketQueue {
 public:
  struct Item {
    Packet packet;           ///< Its frame is valid until the reader asks for the next item.
    std::size_t source = 0;  ///< The number that the writer gave.
    bool is_fault = false;   ///< No packet: the source is damaged from here on.
    record::TimeQuality time_quality = record::TimeQuality::Synthetic;
  };

  explicit PacketQueue(std::size_t readers);
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;
  ~PacketQueue();

  /// The writing thread. Copies the frame; waits for room. False: cancelled.
  [[nodiscard]] bool push(const Item& item);
  /// The writing thread: there is no more.
  void close();

  /// Reader `reader`'s thread, both. The next item if it has come; null if it has not, or never will.
  [[nodiscard]] const Item* try_next(std::size_t reader) noexcept;
  /// Waits for the next item. Null at the end, and after cancel(). `is_stopped` is asked now and then while it waits;
  /// true ends the wait, with null.
  template <class Stopped>
  [[nodiscard]] const Item* next(std::size_t reader, const Stopped& is_stopped) {
    for (;;) {
      if (const Item* const item = try_next(reader)) return item;
      if (is_stopped() || !wait(reader)) return nullptr;
    }
  }

  /// Any thread. Writer and readers stop waiting; what is in the queue is lost.
  void cancel() noexcept;

 private:
  static constexpr std::size_t kBatches = 8;
  static constexpr std::size_t kBatchBytes = 256U << 10;
  static constexpr std::size_t kBatchItems = 2048;

  struct Batch {
    std::unique_ptr<std::byte[]> bytes = std::make_unique_for_overwrite<std::byte[]>(kBatchBytes);
    std::unique_ptr<Item[]> items = std::make_unique<Item[]>(kBatchItems);
    std::unique_ptr<std::byte[]> long_frame;  ///< Of a batch with one packet that no batch has room for.
    std::atomic<std::uint32_t> filled = 0;    ///< Items that readers may look at.
    std::atomic<bool> is_closed = false;      ///< No more come.
    std::size_t users = 0;                    ///< Readers that have not finished it. Guarded by mutex_.
  };
  struct alignas(128) ReaderPlace {
    std::uint64_t batch = 0;  ///< Counted from 0 for ever.
    std::uint32_t at = 0;
    bool is_open = false;  ///< The batch may be looked at.
  };

  [[nodiscard]] bool open_batch();
  void close_batch() noexcept;
  /// False: nothing will come any more.
  [[nodiscard]] bool wait(std::size_t reader);

  std::array<Batch, kBatches> batches_;
  std::vector<ReaderPlace> readers_;
  Batch* writing_ = nullptr;  ///< The writer's.
  std::size_t used_ = 0;      ///< Bytes of it.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> opened_ = 0;  ///< Batches that were opened. Written under the mutex.
  bool ended_ = false;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace stopbit::ingest
