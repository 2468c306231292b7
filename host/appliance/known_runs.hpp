#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// The number that was delivered last of each channel, kept in a file, so that what passes while the appliance is down
/// is a gap and not nothing.
namespace stopbit::appliance {

/// A run of sequence numbers of a channel, identified by what every appliance can observe: its sender and its day
/// (UTC). The epoch in records is valid within one process only.
struct RunName {
  std::uint64_t sender = 0;
  std::uint64_t day = 0;  ///< Since 1970.
  bool operator==(const RunName&) const = default;
};

/// The day of a wall-clock time.
[[nodiscard]] constexpr std::uint64_t day_of_ns(std::uint64_t wall_ns) noexcept {
  return wall_ns / (std::uint64_t{86'400} * 1'000'000'000);
}

/// A channel's place in the file: a line of cache, one writer. A process that dies between two stores leaves a place
/// whose `check` is wrong, which counts as empty.
struct alignas(64) KnownRun {
  std::atomic<std::uint64_t> channel = 0;  ///< Hash of its name.
  std::atomic<std::uint64_t> sender = 0;
  std::atomic<std::uint64_t> day = 0;
  std::atomic<std::uint64_t> last = 0;   ///< Sequence number.
  std::atomic<std::uint64_t> check = 0;  ///< Of the four before; wrong: nothing was delivered yet.
  std::atomic<std::uint64_t> era = 0;    ///< Of its books (market::SyncChannel); 0: not known.
  std::atomic<std::uint64_t> era_check = 0;

  /// From the channel's thread, after each datagram; no system call.
  void store(const RunName& run, std::uint64_t last_sequence, std::uint64_t books_era = 0) noexcept;
};
static_assert(sizeof(KnownRun) == 64);

/// The file FOLDER/runs, mapped. Made at start-up, by one thread.
class KnownRuns {
 public:
  struct Known {
    RunName run;
    std::uint64_t last = 0;
    std::uint64_t era = 0;  ///< 0: not known.
  };
  KnownRuns() = default;
  KnownRuns(const KnownRuns&) = delete;
  KnownRuns& operator=(const KnownRuns&) = delete;

  /// Reads what another process has left, and maps the file anew for these channels, with its room on disk reserved. A
  /// place that is cut or damaged counts as empty. A file that is somebody else's or of another version is refused and
  /// stays as it is. On failure nothing is kept, and the text says why. `spare`: places for channels that come later.
  [[nodiscard]] Status open(const std::string& folder, std::span<const std::string_view> channels,
                            std::size_t spare = 0);
  /// Gives a place to a channel that has none of the name: by its index, beyond those of open. Null: there is none.
  /// What it had is forgotten.
  [[nodiscard]] KnownRun* take_place(std::size_t channel, std::string_view name);

  /// What another process has delivered last of a channel, by its index in open; nothing if it is not known.
  [[nodiscard]] std::optional<Known> known(std::size_t channel) const {
    return channel < known_.size() ? known_[channel] : std::nullopt;
  }
  /// Where the channel's thread stores. Null if nothing is kept.
  [[nodiscard]] KnownRun* place(std::size_t channel) const {
    return channel < places_.size() ? &places_[channel] : nullptr;
  }

 private:
  std::vector<std::optional<Known>> known_;
  std::span<KnownRun> places_;
  os::Mapping mapping_;
};

}  // namespace stopbit::appliance
