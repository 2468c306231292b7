#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>

#include "host/feed/arbitrate/account.hpp"
#include "host/feed/arbitrate/options.hpp"

namespace stopbit::arbitrate {

/// A bit per line, and all of them.
constexpr std::uint8_t bit_of(std::size_t line) noexcept {
  return static_cast<std::uint8_t>(1U << line);
}
constexpr std::uint64_t all_chunks(std::uint16_t chunks) noexcept {
  return ~std::uint64_t{0} >> (64 - chunks);
}

/// State of a number. All zero: unknown.
struct Entry {
  enum class State : std::uint8_t { Open, Delivered, Lost, Undecodable };

  std::uint64_t t_ns = 0;   ///< First copy; of a lost number: when it was given up.
  std::uint32_t held = 0;   ///< 1 + first of its held packets, by chunk.
  std::uint16_t check = 0;  ///< Of the first copy's bytes.
  State state : 2 = State::Open;
  std::uint8_t brought : 3 = 0;  ///< A bit per line that has brought it whole.
  std::uint8_t in_conflict : 1 = 0;
  std::uint8_t had_no_room : 1 = 0;  ///< A stranger that is the run's brought it, or a number near it, and dropped it.
  std::uint8_t is_of_candidate : 1 = 0;  ///< It came first from an address that was not the run's own yet.
  std::uint8_t chunks = 0;               ///< 0 = no copy yet.
};
static_assert(sizeof(Entry) == 16);

/// A bit per chunk that the line has brought.
using ChunkMasks = std::array<std::uint64_t, kLines>;
/// Checks of the bytes of the chunks 2 to 9: the first one's is in the entry, and messages of more are rare.
using ChunkChecks = std::array<std::uint16_t, 8>;

/// The latest numbers of the run, up to the highest that came: a ring. Allocates only when constructed.
class NumberTable {
 public:
  explicit NumberTable(const Options& options);

  [[nodiscard]] std::uint64_t top() const noexcept { return top_; }
  /// Numbers below are no longer remembered.
  [[nodiscard]] std::uint64_t oldest() const noexcept { return top_ + 1 - history_; }
  [[nodiscard]] std::uint64_t oldest_with(std::uint64_t top) const noexcept { return top + 1 - history_; }
  /// How far a number may be from the next one to have an entry, or get one.
  [[nodiscard]] std::int64_t reach() const noexcept { return history_ / 2 - 1; }
  /// Of a number at or below the top.
  [[nodiscard]] bool remembers(std::uint64_t number) const noexcept { return top_ - number < history_ - 1; }
  [[nodiscard]] Entry& operator[](std::uint64_t number) noexcept { return entries_[number & (history_ - 1)]; }
  [[nodiscard]] const Entry& operator[](std::uint64_t number) const noexcept {
    return entries_[number & (history_ - 1)];
  }
  [[nodiscard]] ChunkMasks& masks(std::uint64_t number) noexcept { return masks_[number & (history_ - 1)]; }
  /// A bit per chunk that has come, on any line; only with chunks.
  [[nodiscard]] std::uint64_t chunks_brought(std::uint64_t number) const noexcept {
    const ChunkMasks& seen = masks_[number & (history_ - 1)];
    return seen[0] | seen[1] | seen[2];
  }
  /// Whether the chunk has come, on any line, and its check is kept; only with chunks.
  [[nodiscard]] bool has_check(std::uint64_t number, std::uint16_t chunk) const noexcept {
    return chunk <= std::tuple_size_v<ChunkChecks> + 1 && (chunks_brought(number) >> (chunk - 1) & 1) != 0;
  }
  /// Check of the bytes of one of the first chunks; of a number that is whole, of its bytes.
  [[nodiscard]] std::uint16_t check(std::uint64_t number, std::uint16_t chunk) const noexcept {
    return chunk == 1 ? (*this)[number].check : checks_[number & (history_ - 1)][chunk - 2U];
  }
  void set_check(std::uint64_t number, std::uint16_t chunk, std::uint16_t check) noexcept {
    if (chunk == 1) {
      (*this)[number].check = check;
    } else if (chunk <= std::tuple_size_v<ChunkChecks> + 1) {
      checks_[number & (history_ - 1)][chunk - 2U] = check;
    }
  }
  /// Whether all chunks of the number have come.
  [[nodiscard]] bool is_whole(std::uint64_t number) const noexcept {
    if (!masks_) return true;
    const std::uint8_t chunks = (*this)[number].chunks;
    return chunks != 0 && chunks_brought(number) == all_chunks(chunks);
  }

  /// Forgets all; `top` is the highest from now on.
  void begin(std::uint64_t top) noexcept;
  /// The top without an entry: where numbers are not looked up.
  void set_top(std::uint64_t top) noexcept { top_ = top; }
  /// Makes room for the numbers up to `top`, which is above the present one.
  void advance(std::uint64_t top) noexcept;

 private:
  struct FreeDeleter {
    void operator()(Entry* entries) const noexcept;
  };
  void clear() noexcept;

  std::uint32_t history_;
  std::uint64_t top_ = 0;
  bool is_used_ = false;
  std::unique_ptr<Entry[], FreeDeleter> entries_;  ///< By number: (top_ - history, top_].
  std::unique_ptr<ChunkMasks[]> masks_;            ///< The same; only with chunks.
  std::unique_ptr<ChunkChecks[]> checks_;          ///< The same; valid where the masks say so.
};

}  // namespace stopbit::arbitrate
