#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "decoder/record/layout.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// Records that a ring no longer has, and what is known of them.
struct MissingRecords {
  std::uint64_t epoch = 0;  ///< Of the ring: no record is older.
  std::span<const std::byte> image;
  std::uint32_t image_generation = 0;
  std::uint64_t slot_count = 0;  ///< Of the ring.
  std::uint32_t max_record_slots = 0;
  std::uint64_t first = 0;              ///< Number of the slot at which the first of them began, or padding before it.
  std::uint64_t end = 0;                ///< Number of the first slot of the record after them.
  std::uint64_t count = 0;              ///< How many they are.
  std::span<const record::Slot> after;  ///< The record after them, and maybe more.
};

/// Records that were found, in their order.
class FoundRecords {
 public:
  FoundRecords() = default;
  FoundRecords(const FoundRecords&) = delete;
  FoundRecords& operator=(const FoundRecords&) = delete;
  virtual ~FoundRecords() = default;

  /// Whole records as they were in the ring, word for word; valid until the next call. Empty: there are no more.
  [[nodiscard]] virtual Result<std::span<const record::Slot>> next() = 0;
};

/// A second source of a ring's records, for those that the ring no longer has.
class Refill {
 public:
  Refill() = default;
  Refill(const Refill&) = delete;
  Refill& operator=(const Refill&) = delete;
  virtual ~Refill() = default;

  /// All of them, or a failure that says why not. May take minutes.
  [[nodiscard]] virtual Result<std::unique_ptr<FoundRecords>> find(const MissingRecords& missing) = 0;
};

}  // namespace stopbit::relay
