#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"
#include "decoder/record/views.hpp"
#include "host/standby/record_pool.hpp"
#include "host/standby/run.hpp"

/// Records of two appliances on the same feeds, as one stream.
namespace stopbit::standby {

/// One of the two appliances.
enum class Side : std::uint8_t { First, Second };
[[nodiscard]] constexpr Side other(Side side) noexcept {
  return side == Side::First ? Side::Second : Side::First;
}

/// Receives the one stream. Must not call the merge.
class Output {
 public:
  virtual ~Output() = default;
  /// Valid until the call returns. Its sender epoch is the number of the channel's run in this stream, from 0.
  virtual void record(std::span<const record::Slot> record, Side from) noexcept = 0;
};

struct MergeOptions {
  std::size_t slots = 65'536;  ///< Room for records that wait, of both sides.
  /// How long a loss of one side waits for the other one.
  std::uint64_t patience_ns = 100'000'000;
  /// Arrivals of one packet at both appliances differ by less than this, their clocks included.
  std::uint64_t skew_ns = 1'000'000'000;
  std::size_t max_record_slots = 65'535;
};

struct MergeCounts {
  std::array<std::uint64_t, 2> delivered{};  ///< By side.
  std::uint64_t copies = 0;                  ///< Records that the other side had brought.
  std::uint64_t filled = 0;                  ///< Delivered after they were reported lost, marked as recovered.
  std::uint64_t lost = 0;                    ///< Numbers reported lost.
  std::uint64_t dropped = 0;                 ///< Records that waited and found no room.
  std::uint64_t unsure = 0;                  ///< Runs that go on by their numbers alone: no record in common.
  std::uint64_t foreign = 0;  ///< Dropped records of a side that has none in common with the other one, or leaps.
  std::uint64_t refused = 0;  ///< Impossible ones, and those of runs that ended long ago.
};

/// Delivers each message that a side brings first, and drops the other one's copy:
///
///     First  ─► run? ─► new? ─┬─► Output
///     Second ─► run? ─► new? ─┘
///                 └───────┴─ waits: for a record that shows the run, or for what the other side may still bring
///
/// A message is known by its channel, run, number, and place in its packet. Epochs are numbers of a process, so the run
/// of an epoch is found by content: the first message of a number is the same record in both rings (same_record.hpp)
/// and arrived within `skew_ns`. Where the sides have nothing in common, numbers, arrival and day decide (`unsure`).
///
/// A leap of one side by more than 2^20 numbers is believed once the other side has leapt too, or is silent. Till then
/// its records are dropped, as one side must not end the other one's run.
///
/// A loss of one side (a gap, an error, the start of a process, records that were overwritten) waits for the other one,
/// at most `patience_ns`; what neither has is one gap. A message that comes after that is delivered with the flag
/// `recovered`. Other messages come in the order of their run, each once.
///
/// One thread. Allocates when it is made, and once for each channel.
class Merge {
 public:
  static constexpr std::size_t kMaxChannels = 1'024;

  Merge(const MergeOptions& options, Output& output);

  /// The side's process is a new one: its epochs begin anew.
  void began(Side side) noexcept;
  /// A record of a side, in the order of its ring. `now_ns` is monotonic.
  void take(Side side, std::span<const record::Slot> record, std::uint64_t now_ns);
  /// Records of the side were overwritten before they were read.
  void hole(Side side) noexcept;
  /// The side brings no more: nothing waits for it.
  void ended(Side side, std::uint64_t now_ns) noexcept;
  /// Time passes.
  void tick(std::uint64_t now_ns) noexcept;

  [[nodiscard]] const MergeCounts& counts() const noexcept { return counts_; }
  /// Records that wait.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

 private:
  static constexpr std::size_t kRuns = 3;
  static constexpr std::size_t kForgotten = 16;

  struct OfSide {
    std::uint32_t process = 0;
    std::uint32_t hole = 0;
    bool has_epoch = false;
    std::uint16_t epoch = 0;
    std::uint64_t run = 0;     ///< Of the epoch; 0: not known.
    std::uint64_t before = 0;  ///< The run of this process before.
    bool is_covered = false;   ///< Between what came and its next record nothing is missing, but for what it says.
    /// A message that waits after one that shows no run.
    struct Probe {
      bool exists = false;
      std::uint32_t number = 0;
      std::uint64_t hash = 0;
      std::uint64_t arrival_ns = 0;
    };
    Probe probe;
    RecordPool::Queue queue;  ///< Its records from the one on that waits.
    // Of the records as they come.
    bool has_number = false;
    bool was_last = false;  ///< The latest record was the last of its packet.
    std::uint32_t number = 0;
    std::uint32_t message = 0;
    std::uint16_t counted_epoch = 0;
    std::uint64_t heard_ns = 0;    ///< Monotonic: when `number` came; 0: none has.
    std::uint64_t arrival_ns = 0;  ///< Of the latest record.
  };
  struct Channel {
    std::uint64_t newest = 0;  ///< Run.
    std::array<Run, kRuns> runs{};
    std::array<Reach, kForgotten> forgotten{};  ///< Of the runs before these.
    std::array<OfSide, 2> sides{};
    bool has_blocks = false;  ///< Messages of a number came after one that said that it was the last.
    bool has_no_numbers = false;
    std::uint64_t heard_ns = 0;  ///< Without numbers: when the side came last that is delivered,
    Side owner = Side::First;    ///< which is this one.
  };
  /// A record, and what matters of it here.
  struct Item {
    enum class Kind : std::uint8_t { Message, Gap, Error, Reset, Other };
    Side side = Side::First;
    Kind kind = Kind::Other;
    std::span<const record::Slot> record;
    Place place;             ///< Of a gap: the first number.
    std::uint32_t last = 0;  ///< Of a gap: the last number; else the number.
    std::uint16_t epoch = 0;
    bool is_last = false;  ///< Of its packet.
    bool is_recovered = false;
    bool is_forced = false;  ///< It waits no longer.
    std::uint64_t arrival_ns = 0;
    RecordPool::Waiting waiting;
  };
  /// Numbers that one side does not have: from this message on up to the end of `last`.
  struct Hole {
    Place first;
    std::uint32_t last = 0;
  };
  enum class Fate : std::uint8_t { Done, Wait };

  [[nodiscard]] static OfSide& of(Channel& channel, Side side) noexcept {
    return channel.sides[static_cast<std::size_t>(side)];
  }
  [[nodiscard]] bool is_alive(Side side) const noexcept { return alive_[static_cast<std::size_t>(side)]; }
  [[nodiscard]] static Run* run_of(Channel& channel, std::uint64_t id) noexcept;
  [[nodiscard]] static Reach* forgotten_of(Channel& channel, std::uint64_t id) noexcept;
  [[nodiscard]] Channel* channel_of(std::uint16_t number);
  [[nodiscard]] static std::uint32_t count_message(OfSide& of, const record::HeaderView& header) noexcept;
  [[nodiscard]] static Item item_of(Side side, std::span<const record::Slot> record,
                                    const RecordPool::Waiting& waiting) noexcept;
  [[nodiscard]] bool take_unnumbered(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;

  // The run of a record.
  [[nodiscard]] static OfSide::Probe probe_of(const Item& item) noexcept;
  [[nodiscard]] std::uint64_t recognise(const Channel& channel, std::uint64_t before, const OfSide::Probe& probe,
                                        bool& is_contrary) const noexcept;
  [[nodiscard]] std::uint64_t recognise_waiting(const Channel& channel, Side side) noexcept;
  [[nodiscard]] std::uint64_t recognise_in_others(const Channel& channel, const Item& item) noexcept;
  [[nodiscard]] std::uint64_t beside(const Channel& channel, const Item& item) const noexcept;
  [[nodiscard]] bool is_last_of_epoch(const OfSide& mine, const Item& item) const noexcept;
  [[nodiscard]] std::uint64_t run_by_numbers(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;
  void note_probe(const Channel& channel, OfSide& mine, const Item& item) const noexcept;
  [[nodiscard]] Fate find_run(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;
  [[nodiscard]] static std::uint32_t shown_by(const Item& item) noexcept;
  [[nodiscard]] bool goes_on(const Run& run, const Item& item) const noexcept;
  static std::uint64_t begin_run(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;

  // What becomes of a record.
  [[nodiscard]] Fate step(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;
  [[nodiscard]] Fate step_in_run(Channel& channel, Run& run, const Item& item, std::uint64_t now_ns) noexcept;
  void step_in_forgotten(Channel& channel, Reach& run, const Item& item) noexcept;
  [[nodiscard]] std::optional<Fate> judge_leap(Channel& channel, const Run& run, const Item& item,
                                               std::uint64_t now_ns) noexcept;
  [[nodiscard]] static std::optional<Hole> hole_before(const Run& run, const OfSide& of, const Item& item) noexcept;
  [[nodiscard]] std::optional<Hole> others_hole(Channel& channel, const Run& run, Side side) noexcept;
  [[nodiscard]] Fate close_hole(Channel& channel, Run& run, const Item& item, const Hole& hole,
                                std::uint64_t now_ns) noexcept;
  void report(Run& run, const Item& item, const Hole& hole, std::uint64_t now_ns) noexcept;
  void say_lost(Run& run, const Item& item, const Place& first, std::uint32_t last) noexcept;
  [[nodiscard]] static bool ends_number(const Channel& channel, const Item& item) noexcept;
  void deliver(const Channel& channel, Run& run, const Item& item, std::uint64_t now_ns) noexcept;
  void send(std::uint64_t run, const Item& item, bool is_recovered) noexcept;

  void push(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept;
  void settle(Channel& channel, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool step_first(Channel& channel, Side side, bool is_forced, std::uint64_t now_ns) noexcept;
  void drain(Channel& channel, Side side, std::uint64_t now_ns) noexcept;
  void drain(Side side, std::uint64_t now_ns) noexcept;

  MergeOptions options_;
  Output& output_;
  RecordPool pool_;
  std::size_t waiting_ = 0;
  std::array<bool, 2> alive_{};
  std::array<std::uint32_t, 2> processes_{};
  std::array<std::uint32_t, 2> holes_{};
  std::array<bool, 2> known_{};       ///< The side's process had a record in common with the other one.
  std::array<bool, 2> ever_known_{};  ///< One of the side's processes had.
  std::vector<std::unique_ptr<Channel>> channels_;
  MergeCounts counts_;
  std::vector<record::Slot> out_;
};

}  // namespace stopbit::standby
