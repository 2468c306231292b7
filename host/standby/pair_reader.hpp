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

/// Follows two rings by name, each over restarts of its writer, and merges their records.
///
///     PairReader pair("md1", "md2", {}, output);
///     while (!stop) if (pair.poll(os::monotonic_clock_ns()) == 0) wait_a_little();
///
/// Both rings have the same image: one with another one is not followed, and `problem` says so. A reader of the rings
/// as ring::Reader: the writers do not wait for it. One thread.
class PairReader {
 public:
  PairReader(std::string first, std::string second, const MergeOptions& options, Output& output,
             os::Accepted accepted = os::Accepted());

  /// Takes what there is. @returns how many records that were, copies included.
  std::size_t poll(std::uint64_t now_ns);

  /// The image of the rings; empty as long as none was found.
  [[nodiscard]] const std::vector<std::byte>& image() const noexcept { return image_; }
  /// Neither ring has a writer, and all of them was read.
  [[nodiscard]] bool has_ended() const noexcept { return has_begun_ && !sides_[0].reader && !sides_[1].reader; }
  [[nodiscard]] bool is_open(Side side) const noexcept { return of(side).reader.has_value(); }
  /// Why a side is not followed; empty: it is, or has no ring yet.
  [[nodiscard]] const std::string& problem(Side side) const noexcept { return of(side).problem; }
  /// Records that were overwritten before they were read here.
  [[nodiscard]] std::uint64_t lost(Side side) const noexcept { return of(side).lost; }
  [[nodiscard]] const Merge& merge() const noexcept { return merge_; }

 private:
  static constexpr std::uint64_t kLookNs = 10'000'000;   ///< How often a ring's writer is looked at.
  static constexpr std::uint64_t kOpenNs = 100'000'000;  ///< How often a ring is looked for.
  static constexpr std::size_t kBatches = 4;             ///< Of a ring in a turn.

  struct Ring {
    std::string name;
    std::optional<ring::Reader> reader;
    std::uint64_t epoch = 0;  ///< Of the ring that was read last.
    std::string problem;
    std::uint64_t lost = 0;
    std::uint64_t next_look_ns = 0;
    std::uint64_t next_open_ns = 0;
    bool writer_has_ended = false;  ///< It is read to its end.
  };
  [[nodiscard]] const Ring& of(Side side) const noexcept { return sides_[static_cast<std::size_t>(side)]; }
  [[nodiscard]] Ring& of(Side side) noexcept { return sides_[static_cast<std::size_t>(side)]; }
  void open(Side side, std::uint64_t now_ns);
  std::size_t read(Side side, std::uint64_t now_ns);
  void look(Side side, std::uint64_t now_ns);
  void close(Side side);

  os::Accepted accepted_;
  std::array<Ring, 2> sides_;
  std::vector<std::byte> image_;
  bool has_begun_ = false;
  Merge merge_;
};

}  // namespace stopbit::standby
