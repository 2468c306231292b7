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
#include "host/standby/slot_queue.hpp"

/// Records of two appliances on the same feeds, as one stream.
namespace stopbit::standby {

/// Which of the two.
enum class Side : std::uint8_t { First, Second };
[[nodiscard]] constexpr Side other(Side side) noexcept {
  return side == Side::First ? Side::Second : Side::First;
}

/// Receives the one stream. Must not call the merge.
class Output {
 public:
  virtual ~Output() = default;
  /// Valid until the call returns.
  virtual void record(std::span<const record::Slot> record, Side from) noexcept = 0;
};

struct MergeOptions {
  std::size_t slots = 262'144;  ///< Of the standby's records that the active side has not brought yet.
  std::uint64_t patience_ns =
      100'000'000;  ///< A record that only the standby has brought for this long: it takes over.
};

struct MergeCounts {
  std::uint64_t delivered = 0;
  std::uint64_t copies = 0;  ///< Records that the other side had brought.
  std::uint64_t filled = 0;  ///< Of a gap of the active side, delivered from the standby.
  std::uint64_t switches = 0;
  std::uint64_t dropped = 0;  ///< Records of the standby that found no room; they may be missing after a switch.
  std::uint64_t unsure = 0;   ///< Runs that went on by their numbers alone: the sides had no record in common.
  std::uint64_t refused = 0;  ///< Records of channels beyond kMaxChannels.
};

/// Delivers the records of the active side, keeps those of the other one until the active one has brought them, and
/// goes on with them when the active one ends or falls silent:
///
///     active ──► is it new? ──► Output
///     standby ─► queue: until it is not new, or the active side has lost it, or nothing comes any more
///
/// A record is known by channel, run, number of its packet, and place in the packet. The runs of the two appliances
/// have other epochs: an epoch of one is that of the other when both have a record that is the same (same_record.hpp).
/// What the active side has given up as a gap is delivered from the standby, marked as recovered.
///
/// Within a channel the numbers rise, but for records marked as recovered; no record comes twice.
///
/// One thread. Allocates when it is made, and once for each channel.
class Merge {
 public:
  static constexpr std::size_t kMaxChannels = 1'024;

  Merge(const MergeOptions& options, Output& output);

  /// A record of a side, in the order of its ring.
  void take(Side side, std::span<const record::Slot> record, std::uint64_t now_ns);
  /// Time passes: the standby takes over if the active side has been silent for too long.
  void tick(std::uint64_t now_ns);
  /// The active side has ended, or cannot be read: the other one takes over.
  void switch_over();
  /// The side's process is another one: its epochs begin anew.
  void restarted(Side side) noexcept;

  [[nodiscard]] Side active() const noexcept { return active_; }
  [[nodiscard]] const MergeCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return queue_.count(); }

 private:
  /// Which numbers were told to be missing. Bounded: the oldest range is forgotten, and what no appliance remembers.
  class Missing {
   public:
    void add(std::uint32_t first, std::uint32_t last) noexcept;
    void remove(std::uint32_t number) noexcept;
    /// Numbers far below `high` come no more.
    void forget_before(std::uint32_t high) noexcept;
    [[nodiscard]] bool contains(std::uint32_t number) const noexcept;
    void clear() noexcept { count_ = 0; }

   private:
    static constexpr std::size_t kRoom = 256;
    static constexpr std::uint32_t kRemembered = 65'536;  ///< As arbiters do.
    struct Range {
      std::uint32_t first = 0;
      std::uint32_t last = 0;
    };
    std::array<Range, kRoom> ranges_{};
    std::size_t count_ = 0;
  };
  /// A place in a channel's run.
  struct Place {
    std::uint32_t number = 0;
    std::int32_t message = -1;  ///< The last of the packet: kWhole.
  };
  static constexpr std::int32_t kWhole = 0x7FFF'FFFF;
  struct Seen {
    std::uint32_t number = 0;
    std::uint16_t message = 0;
    std::uint16_t epoch = 0;
    std::uint64_t hash = 0;
  };
  struct Known {
    std::uint16_t epoch = 0;
    std::uint64_t run = 0;  ///< 0: none.
  };
  /// What is known of one side's records of a channel.
  struct OfSide {
    std::array<Known, 4> epochs{};  ///< The latest ones that belong to a run.
    std::size_t next_epoch = 0;
    std::array<Seen, 128> seen{};
    std::size_t seen_count = 0;
  };
  struct Channel {
    std::uint64_t run = 0;  ///< The present one; 0: nothing has come.
    Place high;             ///< Up to here everything was delivered, or told to be missing.
    bool has_high = false;
    bool has_reset = false;  ///< The reset that began the run was delivered.
    Side high_from = Side::First;
    std::uint64_t high_arrival_ns = 0;
    Missing missing;
    Place recovered;  ///< Of a packet that comes late, up to here.
    std::array<OfSide, 2> sides{};
  };

  [[nodiscard]] Channel* channel_of(const record::HeaderView& header);
  [[nodiscard]] static OfSide& of(Channel& channel, Side side) noexcept {
    return channel.sides[static_cast<std::size_t>(side)];
  }
  [[nodiscard]] static std::uint64_t run_of(const OfSide& side, std::uint16_t epoch) noexcept;
  [[nodiscard]] static bool has_run(const OfSide& side, std::uint64_t run) noexcept;
  static void put_run(OfSide& side, std::uint16_t epoch, std::uint64_t run) noexcept;
  void note(Channel& channel, Side side, std::span<const record::Slot> record) noexcept;
  void match(Channel& channel, Side side, const Seen& seen) noexcept;
  void enter_run(Channel& channel, Side side, const record::HeaderView& header) noexcept;
  static void begin_run(Channel& channel) noexcept;
  static void rise(Channel& channel, Side side, const Place& high, std::uint64_t arrival_ns) noexcept;

  enum class Fate : std::uint8_t {
    New,      ///< Nothing has brought it.
    Copy,     ///< It was delivered.
    Missing,  ///< The readers were told that it is missing.
    Unknown,  ///< Its run is not known.
  };
  [[nodiscard]] static Fate fate_of(Channel& channel, Side side, const record::Slot& first) noexcept;
  [[nodiscard]] static Fate fate_of_event(const Channel& channel, Side side, const record::Slot& slot) noexcept;
  void deliver(Channel& channel, Side side, std::span<const record::Slot> record) noexcept;
  void deliver_gap(Channel& channel, Side side, const record::Slot& slot) noexcept;
  void send(std::span<const record::Slot> record, Side side) noexcept;
  void go_on(Side side, std::span<const record::Slot> record) noexcept;
  void prune() noexcept;

  MergeOptions options_;
  Output& output_;
  Side active_ = Side::First;
  SlotQueue queue_;
  std::vector<std::unique_ptr<Channel>> channels_;
  MergeCounts counts_;
  std::vector<record::Slot> scratch_;  ///< Of a record that is marked.
};

}  // namespace stopbit::standby
