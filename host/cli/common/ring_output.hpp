#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/record/sink.hpp"
#include "host/cli/common/command.hpp"
#include "host/ring/writer.hpp"
#include "microcode/program.hpp"

namespace stopbit::tools {

/// Arguments for the ring that records go to.
struct RingArguments {
  std::string name;  ///< Empty: no ring.
  std::optional<std::uint64_t> slots;
  std::optional<std::string> hold;
  std::optional<std::uint64_t> slot_rate;
  std::optional<std::uint64_t> lossless;  ///< Readers to wait for before the start.
  std::optional<std::string> patience;

  /// A ToolError of kExitUsage if an option is not what it may be, or goes without one that it needs. `has_events`: a
  /// ring of market events is written, too, or alone.
  void check(bool has_events = false) const;
  /// The same for a ring of another name.
  [[nodiscard]] RingArguments named(const std::string& other) const {
    RingArguments copy = *this;
    copy.name = other;
    return copy;
  }
  /// Whether the ring's size depends on the rate of records, which was not given.
  [[nodiscard]] bool wants_rate() const { return hold && !slot_rate; }
  [[nodiscard]] std::uint64_t hold_ns() const;
};

/// "100ms", as options take times, of at least a microsecond and at most an hour; a usage error that names the option
/// if it is none.
[[nodiscard]] std::uint64_t parse_time_ns(const std::string& option, const std::string& text);

[[nodiscard]] std::vector<Option> ring_options(RingArguments& arguments);

/// Finds out how many slots come within a time at most: records pass through and are counted by when they come.
class PeakSink final : public record::RecordSink {
 public:
  /// `speed` is the pace of the planned replay, a multiple of the capture's own; 0 = as fast as this one.
  PeakSink(record::RecordSink& inner, std::uint64_t window_ns, double speed);

  [[nodiscard]] Place open() noexcept override { return inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;

  /// Up to a tenth too much.
  [[nodiscard]] std::uint64_t slots() const noexcept { return peak_; }

 private:
  [[nodiscard]] std::uint64_t paced(std::uint64_t arrival_ns) noexcept;

  static constexpr std::uint64_t kParts = 10;  ///< Of the window; one more is counted, so that none is cut.

  record::RecordSink& inner_;
  std::uint64_t part_ns_;
  double speed_;
  std::uint64_t parts_[kParts + 1] = {};
  bool has_begun_ = false;
  std::uint64_t begin_ns_ = 0;  ///< Arrival of the first record.
  std::uint64_t part_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t peak_ = 0;
};

/// A complete ring without its name (ring::Writer::prepare). With wants_rate, `peak_slots` is the largest number of
/// slots in the time that the ring has to hold. Prints its size on stderr, and readers that join or end, unless
/// `quiet`; and always readers that were detached.
[[nodiscard]] ring::Writer prepare_ring(const RingArguments& arguments, const Program& program,
                                        std::uint64_t peak_slots, bool quiet);

/// Lossless: waits for the requested number of readers. False if a signal ended the wait.
[[nodiscard]] bool wait_for_readers(const RingArguments& arguments, ring::Writer& ring, bool quiet,
                                    const std::function<void()>& each);

}  // namespace stopbit::tools
