#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/gap_log.hpp"

/// Which line had which numbers around a gap, and what that says. Knows nothing of files.
namespace stopbit::tools {

class GapAccount {
 public:
  /// `around`: numbers before and after the gap that belong to it.
  GapAccount(const appliance::GapEntry& gap, std::uint64_t around);

  /// Whether a packet of that number and arrival time belongs to this gap; numbers recur after a reset.
  [[nodiscard]] bool wants(std::uint64_t sequence, std::uint64_t time_ns) const noexcept;
  /// From here on packets belong to the gap by their numbers alone: an appliance that plays a capture has recorded
  /// the times of the capture.
  void ignore_times() noexcept { ignores_times_ = true; }
  /// A packet of the gap. `place`: where it is kept, from 1; 0: it is not.
  void note(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns, std::uint64_t place) noexcept;

  [[nodiscard]] const appliance::GapEntry& gap() const noexcept { return gap_; }
  [[nodiscard]] std::uint64_t packets(std::size_t line) const noexcept { return packets_[line]; }
  [[nodiscard]] bool is_empty() const noexcept { return packets_[0] + packets_[1] == 0; }
  /// What a packet is to the gap; empty: it is only near it.
  [[nodiscard]] std::string comment_on(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns) const;
  /// Range, time and cause of the gap, lines of text.
  [[nodiscard]] std::string head() const;
  /// What the packets say about the cause, sentences.
  [[nodiscard]] std::string conclusion() const;
  /// Consecutive numbers about which the same is known.
  struct Row {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::array<std::uint64_t, 2> time_ns{};  ///< By line; 0: it was not seen there.
    bool is_missing = false;                 ///< Of the gap.
  };
  /// At most `most` of them; `is_whole` is false if there are more.
  [[nodiscard]] std::vector<Row> rows(std::size_t most, bool& is_whole) const;
  /// The same for people, a line each.
  [[nodiscard]] std::string table() const;
  /// Places of the packets to look at: the last one before the gap, those of its own numbers, and the first one after
  /// it.
  [[nodiscard]] std::vector<std::uint64_t> remarkable() const;

 private:
  struct Seen {
    std::uint64_t time_ns = 0;  ///< 0: not seen.
    std::uint64_t place = 0;
  };
  using Lines = std::array<Seen, 2>;
  [[nodiscard]] bool is_missing(std::uint64_t sequence) const noexcept {
    return sequence >= gap_.first && sequence - gap_.first < gap_.count;
  }

  appliance::GapEntry gap_;
  std::uint64_t first_ = 0;  ///< Numbers that belong to it.
  std::uint64_t last_ = 0;
  bool ignores_times_ = false;
  std::array<std::uint64_t, 2> packets_{};
  std::vector<Lines> seen_;  ///< By number from first_ on; of a very long gap the first ones.
};

inline constexpr std::array<std::string_view, 2> kLineNames = {"A", "B"};
/// A gap's packets arrive within this time of its entry.
inline constexpr std::uint64_t kAroundGapNs = 60'000'000'000;

}  // namespace stopbit::tools
