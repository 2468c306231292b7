#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/feed/arbitrate/numbering.hpp"
#include "host/feed/arbitrate/sources.hpp"

namespace stopbit::arbitrate {

/// Where a run that had the channel before would go on, or the present one before a leap. Strangers lead from one
/// leap to the next, so there may be many; those of long runs are kept longest.
struct OldRun {
  bool is_leap = false;  ///< It was left by a leap.
  std::uint64_t sender = 0;
  std::uint64_t next = 0;
  std::uint64_t packets = 0;  ///< That were delivered on the way there, since it began, or since its last leap.
  std::uint64_t left_t_ns = 0;
  Sources sources = {};

  /// A run of eight packets without a leap is hardly ever made of random numbers.
  [[nodiscard]] bool is_long() const noexcept { return packets >= 8; }
};

class OldRuns {
 public:
  /// The latest first.
  [[nodiscard]] std::span<const OldRun> all() const noexcept { return {runs_.data(), count_}; }
  /// Whether one of them has come from both.
  [[nodiscard]] bool join(std::uint32_t source, const Sources& sources) const noexcept;
  [[nodiscard]] bool meet(const Sources& sources) const noexcept;

  /// A full list loses the oldest place of the short ones: they are a stranger's most of the time.
  void remember(const OldRun& run) noexcept;
  /// One of `all`, which is entered again.
  void forget(const OldRun& run) noexcept;

 private:
  std::array<OldRun, 24> runs_;
  std::size_t count_ = 0;
};

/// The numbers that the run's last leap has left out.
struct LeaptRange {
  bool has_leapt = false;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t t_ns = 0;
  std::uint64_t before_t_ns = 0;  ///< Arrival of the number before the range; 0 = unknown.

  [[nodiscard]] bool has(std::uint64_t number) const noexcept {
    return has_leapt && !before(number, from) && before(number, to);
  }
};

}  // namespace stopbit::arbitrate
