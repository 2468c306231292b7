#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"

namespace stopbit::replay {

/// Brings the records of several threads, the parts, into one order. Each part writes records in the order of their
/// keys into blocks of its own; the merging thread takes the least key of all. A part without records says how far it
/// is, so that nothing waits for it. Bounded: a part that is ahead waits for the merging thread to give a block back.
///
/// Allocates when it is made.
class RecordMerge {
 public:
  /// Records of a packet have its number; within it, `within` decides. No two parts use the same key.
  struct Key {
    std::uint64_t packet = 0;
    std::uint32_t within = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::uint32_t begin = 0;  ///< First slot in the block.
    std::uint32_t slots = 0;
    std::size_t lane = 0;  ///< The caller's.
  };
  struct Block {
    std::vector<record::Slot> slots;
    std::vector<Entry> entries;
    std::size_t used = 0;  ///< Slots.
  };

  RecordMerge(std::size_t parts, std::size_t block_slots);
  RecordMerge(const RecordMerge&) = delete;
  RecordMerge& operator=(const RecordMerge&) = delete;

  // The thread of a part.
  /// An empty block. Waits for one; null after cancel().
  [[nodiscard]] Block* take_block(std::size_t part);
  /// Hands a block of the part over (null: none). All its records of packets up to `complete` have now been handed
  /// over.
  void publish(std::size_t part, Block* block, std::uint64_t complete);
  /// The part's last call.
  void close(std::size_t part);

  // The merging thread.
  enum class Next : std::uint8_t { Record, Wait, End };
  struct Record {
    std::size_t lane = 0;
    std::span<const record::Slot> slots;  ///< Valid until the next call.
  };
  /// `Wait`: a part is not far enough; call wait().
  [[nodiscard]] Next next(Record& record);
  /// Returns when a part has published, or soon.
  void wait();

  /// Any thread. All waits end; records are lost.
  void cancel() noexcept;
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBlocks = 4;  ///< Of each part.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Part {
    std::vector<std::unique_ptr<Block>> blocks;
    // Guarded by the mutex.
    std::vector<Block*> free;
    std::vector<Block*> ready;  ///< In order; at most kBlocks.
    std::uint64_t complete = 0;
    // The merging thread's.
    Block* block = nullptr;  ///< With entries left.
    std::size_t at = 0;
    std::uint64_t seen_complete = 0;
  };

  [[nodiscard]] bool refill(Part& part);
  [[nodiscard]] bool choose();

  std::vector<Part> parts_;
  Part* chosen_ = nullptr;
  Key until_;  ///< The chosen part's records below this are next, without a look at the others.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;  ///< Of what the merging thread sees.
  std::uint64_t seen_changes_ = 0;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace stopbit::replay
