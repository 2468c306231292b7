#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "host/appliance/appliance.hpp"
#include "host/appliance/housekeeper.hpp"

namespace stopbit::tools {

/// Finds the packets of a gap in what the appliance records, and explains them, as `stopbit gaps --cut` does, for the
/// page of the appliance. It works in small steps on the housekeeper's thread, reads files only, one gap at a time and
/// at most kMostPackets, and keeps at most kMostBytes.
class GapDesk {
 public:
  static constexpr std::chrono::milliseconds kStep{10};
  static constexpr std::uint64_t kMostPackets = 20'000'000;
  static constexpr std::size_t kMostBytes = 2U << 20;
  static constexpr std::size_t kMostKept = 128;            ///< Packets.
  static constexpr std::uint64_t kAround = 5;              ///< Numbers before and after the gap.
  static constexpr std::size_t kMostRows = 100;            ///< Of the table of numbers.
  static constexpr std::size_t kMostTextBytes = 8U << 10;  ///< Of one explanation.
  static constexpr std::size_t kMostAnswers = 16;
  static constexpr std::chrono::seconds kAnswerAge{30};  ///< What is recorded later may change an answer.

  /// Both outlive it.
  GapDesk(const appliance::Appliance& appliance, const appliance::Housekeeper& housekeeper);
  GapDesk(const GapDesk&) = delete;
  GapDesk& operator=(const GapDesk&) = delete;
  ~GapDesk();

  /// What a page calls a gap by: its time, epoch and first number, as text, as browsers know no such numbers.
  [[nodiscard]] static std::string key_of(const appliance::GapEntry& gap);
  /// Reads on for kStep, or explains one packet. That takes milliseconds.
  void step();
  /// JSON. {"state":"reading","packets":N}: ask again; {"state":"waiting"}: another gap is read, ask again;
  /// {"state":"done",...}: with what was found; {"error":"..."}. `channel` and `key` name one of the recent gaps.
  [[nodiscard]] std::string page(std::string_view channel, std::string_view key);

 private:
  struct Work;
  struct Answer {
    std::string channel, key, text;
    std::chrono::steady_clock::time_point made;
  };
  [[nodiscard]] std::string begin(const appliance::GapEntry& gap, std::string_view key);
  [[nodiscard]] const appliance::GapEntry* find(std::string_view channel, std::string_view key) const;
  void finish();

  const appliance::Appliance& appliance_;
  const appliance::Housekeeper& housekeeper_;
  std::unique_ptr<Work> work_;  ///< Null: there is none.
  std::deque<Answer> answers_;  ///< The oldest first.
};

}  // namespace stopbit::tools
