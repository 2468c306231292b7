#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/os/shm/folder.hpp"
#include "host/ring/reader.hpp"
#include "host/standby/merge.hpp"

namespace stopbit::standby {

/// Follows two rings of records by name, each over restarts of its writer, and merges them.
///
///     PairReader pair("md1", "md2", {}, output);
///     while (!stop) if (pair.poll(now_ns()) == 0) wait_a_little();   // now_ns: a monotonic clock
///
/// Both rings have the same layout of records. A ring of another layout is not followed while the other ring has a
/// writer; after that it is, and image() is another one. A reader of the rings as ring::Reader: the writers do not wait
/// for it. One thread.
class PairReader {
 public:
  PairReader(std::string first, std::string second, const MergeOptions& options, Output& output,
             os::Accepted accepted = os::Accepted());

  /// Takes what there is. @returns how many records that were, copies included. Of the time between two polls at most
  /// a quarter of the patience counts as patience.
  std::size_t poll(std::uint64_t now_ns);

  /// The image of the records that Output::record receives now, and how many there were up to this one; none until a
  /// ring was found.
  [[nodiscard]] const std::vector<std::byte>& image() const noexcept { return image_; }
  [[nodiscard]] std::size_t images() const noexcept { return images_; }
  /// Neither ring has a writer, and all of them was read.
  [[nodiscard]] bool has_ended() const noexcept { return images_ != 0 && !sides_[0].reader && !sides_[1].reader; }
  /// The same, and both writers died, or left a damaged ring.
  [[nodiscard]] bool has_died() const noexcept {
    return has_ended() && sides_[0].writer_has_died && sides_[1].writer_has_died;
  }
  /// A ring has market events, which are not followed.
  [[nodiscard]] bool has_market_events() const noexcept { return has_market_events_; }
  [[nodiscard]] bool is_open(Side side) const noexcept { return of(side).reader.has_value(); }
  /// Why a side is not followed; empty: it is.
  [[nodiscard]] const std::string& problem(Side side) const noexcept { return of(side).problem; }
  /// Records of a side that were overwritten before they were read here.
  [[nodiscard]] std::uint64_t lost(Side side) const noexcept { return of(side).lost; }
  [[nodiscard]] const Merge& merge() const noexcept { return merge_; }

 private:
  static constexpr std::uint64_t kLookNs = 10'000'000;   ///< How often a silent ring's writer is looked at.
  static constexpr std::uint64_t kOpenNs = 100'000'000;  ///< How often a ring is looked for.
  static constexpr std::size_t kBatches = 4;             ///< Of a ring in a turn.
  static constexpr std::uint64_t kTurnsOfPatience = 4;   ///< At least, before the patience is over.

  struct Ring {
    std::string name;
    std::optional<ring::Reader> reader;
    std::uint64_t epoch = 0;  ///< Of the ring that was read last.
    std::string problem = "not looked for yet";
    std::uint64_t lost = 0;
    bool has_records = false;  ///< Since it was opened.
    std::uint64_t next_look_ns = 0;
    std::uint64_t next_open_ns = 0;
    bool writer_has_ended = false;  ///< It is read to its end.
    bool writer_has_died = false;   ///< Or its ring is damaged.
  };
  [[nodiscard]] const Ring& of(Side side) const noexcept { return sides_[static_cast<std::size_t>(side)]; }
  [[nodiscard]] Ring& of(Side side) noexcept { return sides_[static_cast<std::size_t>(side)]; }
  void open(Side side, std::uint64_t now_ns);
  [[nodiscard]] bool yields_to(Side side, ring::Reader& reader, std::uint64_t now_ns);
  [[nodiscard]] std::size_t read(Side side, std::uint64_t now_ns);
  void close(Side side, std::string problem, std::uint64_t now_ns);

  os::Accepted accepted_;
  std::array<Ring, 2> sides_;
  std::vector<std::byte> image_;
  std::uint64_t layout_ = 0;
  std::size_t images_ = 0;
  bool has_market_events_ = false;
  const std::uint64_t longest_turn_ns_;
  std::uint64_t polled_ns_ = 0;
  std::uint64_t merge_ns_ = 0;  ///< The time of the merge: that of the polls, without their long breaks.
  Merge merge_;
};

}  // namespace stopbit::standby
