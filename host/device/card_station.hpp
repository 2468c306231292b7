#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/device/device.hpp"
#include "host/ports/igmp/station.hpp"

namespace stopbit::device {

/// How a card is known in its network.
struct StationOptions {
  ingest::StationAddress own;
  std::uint64_t seed = 0;  ///< Of the random delays of its answers.
};

/// What a card has said and heard as a station, since begin().
struct StationCounters {
  ingest::Station::Counts frames;
  std::uint64_t lost = 0;      ///< Frames for the host that found no room on the card.
  std::uint64_t stuck_ns = 0;  ///< For this long the MAC has not taken the last frame; 0: it takes them.
};

[[nodiscard]] inline StationCounters operator+(StationCounters one, const StationCounters& other) noexcept {
  one.frames.queries += other.frames.queries;
  one.frames.reports += other.frames.reports;
  one.frames.requests += other.frames.requests;
  one.frames.replies += other.frames.replies;
  one.frames.refused += other.frames.refused;
  one.lost += other.lost;
  return one;
}

/// Joins the groups of a card that receives from its own port, and answers for it: brings what the kernel keeps
/// (registers::station) to an ingest::Station, and its frames to the MAC.
///
/// A step costs at most kReadsOfStep register reads, or kWritesOfStep writes; a frame is begun at most each kPollNs, so
/// a flood of frames costs the thread no more than that: what is not fetched is lost on the card, and counted.
///
/// One thread at a time, that of the kernel. Allocates in the constructor only. The device must outlive it.
class CardStation {
 public:
  static constexpr std::uint64_t kPollNs = 10'000'000;
  static constexpr unsigned kReadsOfStep = 2;
  static constexpr unsigned kWritesOfStep = 8;
  /// A longer frame is neither a query nor a request.
  static constexpr std::size_t kMostBytes = 1'518;

  CardStation(Device& device, std::span<const net::Membership> memberships, const StationOptions& options);

  /// Tells the kernel its addresses, and forgets what was kept or half written for an earlier process: the kernel may
  /// then show errors.send_refused.
  [[nodiscard]] Status begin();
  /// Does the next step, if one is due; the first one joins the groups. @returns whether it is in the middle of a
  /// frame.
  [[nodiscard]] Result<bool> step(std::uint64_t now_ns);
  /// Leaves the groups: as far as the MAC takes frames at once. Takes a register write for each four bytes of the
  /// reports. The kernel may receive no more.
  void leave(std::uint64_t now_ns) noexcept;

  [[nodiscard]] const StationCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool is_version_2(std::uint64_t now_ns) const noexcept { return station_.is_version_2(now_ns); }

 private:
  enum class State : std::uint8_t { Rests, Reads, NextWord, Writes };
  [[nodiscard]] Status look(std::uint64_t now_ns);
  [[nodiscard]] Status read_pieces(std::uint64_t now_ns);
  [[nodiscard]] Status look_at_next_word(std::uint64_t now_ns);
  [[nodiscard]] Status write_words(unsigned most);
  void begin_word(std::uint32_t state) noexcept;
  void end_frame(std::uint64_t now_ns) noexcept;
  void begin_sending(std::span<const std::byte> frame) noexcept;

  Device* device_;
  ingest::Station station_;
  StationOptions options_;
  State state_ = State::Rests;
  std::uint64_t next_ns_ = 0;  ///< Of the next frame.
  unsigned looks_ = 0;
  bool has_joined_ = false;
  std::uint32_t lost_before_ = 0;
  std::uint64_t waits_since_ns_ = 0;  ///< The MAC has not taken a frame; 0: it has.
  // The frame that is read.
  std::array<std::byte, kMostBytes> heard_{};
  std::size_t heard_bytes_ = 0;
  bool is_too_long_ = false;
  unsigned words_ = 0;
  std::size_t word_bytes_ = 0;
  bool is_last_word_ = false;
  std::size_t piece_ = 0;
  // The frame that is written.
  std::array<std::byte, kMostBytes + 2> said_{};
  std::size_t said_bytes_ = 0;
  std::size_t said_at_ = 0;
  StationCounters counters_;
};

}  // namespace stopbit::device
