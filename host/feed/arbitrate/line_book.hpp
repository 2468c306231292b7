#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/feed/arbitrate/number_table.hpp"
#include "host/feed/arbitrate/numbering.hpp"
#include "host/feed/arbitrate/sink.hpp"

namespace stopbit::arbitrate {

constexpr std::size_t index(Line line) noexcept {
  return static_cast<std::size_t>(line);
}

/// What each line has brought: in the present run, and as statistics of all runs.
class LineBook {
 public:
  static constexpr std::uint64_t kAllSteps = ~std::uint64_t{0};

  LineBook(const Options& options, const Numbering& numbering, NumberTable& table) noexcept
      : options_(options), numbering_(numbering), table_(table) {}

  [[nodiscard]] const LineStats& stats(Line line) const noexcept { return stats_[index(line)]; }
  /// Whether the line has brought anything of the run.
  [[nodiscard]] bool has_heard(Line line) const noexcept { return lines_[index(line)].heard; }
  /// The highest number of the run that it has brought.
  [[nodiscard]] std::uint64_t highest(Line line) const noexcept { return lines_[index(line)].highest; }
  /// What a gap reports of the line.
  [[nodiscard]] Gap::Had had(std::size_t line, std::uint64_t after_gap) const noexcept;

  void begin_run(std::uint64_t first) noexcept;
  /// The run begins with a lower number.
  void begin_at(std::uint64_t first) noexcept;
  void note_arrival(const Packet& packet) noexcept;
  void note_number(Line line, std::uint64_t number) noexcept;
  /// The line has now brought the whole number. `first` is that of the run.
  void note_whole(const Packet& packet, std::uint64_t number, std::uint64_t first) noexcept;
  /// A number that was given up has come by a replay.
  void note_recovered(std::uint64_t number) noexcept;
  /// Counts what the line did not bring of the numbers before `until`. Numbers that are not remembered any longer were
  /// passed over by a jump.
  void judge(std::size_t line, std::uint64_t until, std::uint64_t max_steps) noexcept;
  void judge_all(std::uint64_t until) noexcept {
    for (std::size_t line = 0; line < options_.lines.size(); ++line) judge(line, until, kAllSteps);
  }

 private:
  struct State {
    bool heard = false;
    std::uint64_t highest = 0;
    std::uint64_t judged = 0;  ///< Numbers below are counted in missing and saved.
  };

  const Options& options_;
  const Numbering& numbering_;
  NumberTable& table_;
  std::array<State, kLines> lines_;
  std::array<LineStats, kLines> stats_;
};

}  // namespace stopbit::arbitrate
