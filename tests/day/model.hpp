#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/framing/framing.hpp"

/// What a simulated day consists of: channels that an exchange sends, the copies of their packets on the way to a
/// machine, and what became of each. Data only; times are monotonic nanoseconds of the machine.
namespace stopbit::day {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint32_t kStranger = std::numeric_limits<std::uint32_t>::max();  ///< In place of a run.
inline constexpr std::size_t kMaxPorts = 4;
inline constexpr std::size_t kMaxChunks = 4;

/// What is counted over all schedules; each must have occurred often enough.
enum class Count : std::uint8_t {
  Packets,        ///< Of the true runs, before they are copied to the lines.
  HandedOut,      ///< Datagrams that ports gave to the appliance.
  Delivered,      ///< Packets of the true runs.
  LostOnLines,    ///< Numbers given up that no line brought, by their window or their count.
  LostLineDown,   ///< The same while a line was down.
  LostKernel,     ///< Numbers given up that a full socket buffer cost.
  LostStall,      ///< Numbers given up that the card dropped, uncounted, in a pause.
  LostLate,       ///< Numbers given up whose copy came after the window.
  LostRoom,       ///< Numbers given up because nothing more could be held.
  LostLeap,       ///< Numbers that the run left out.
  LostSwitch,     ///< Numbers that passed while another run had the channel.
  LostDown,       ///< Numbers that passed while the appliance was down.
  Overtaken,      ///< Numbers given up in fast mode.
  Late,           ///< Packets told as late.
  Starts,         ///< Runs begun: the first of a channel.
  Senders,        ///< Runs begun: by another sender.
  Resets,         ///< Runs begun: the numbers began anew.
  Cycles,         ///< Runs begun: cycles of a carousel.
  Backs,          ///< Runs gone back to.
  WrongSwitches,  ///< Runs of strangers that got the channel.
  Wraps16,
  Wraps32,
  Wraps64,
  StrangerPackets,
  WildNear,
  WildFar,
  WildTurned,
  Conflicts,   ///< Told.
  Truncated,   ///< Handed out.
  Headless,    ///< Handed out, too short for their preamble.
  Fragments,   ///< Refused by the port.
  Oversized,   ///< Handed out, too long to be held.
  Chunked,     ///< Handed out, a part of a number.
  Duplicates,  ///< Second copies on one line.
  KernelDrops,
  CardDrops,
  LinesDown,
  LinesLate,
  Memberships,  ///< Lost and regained.
  PortsDown,
  Stalls,
  Pauses,
  ClockSteps,
  Clamped,  ///< Arrivals whose stamp a step had made impossible.
  Kills,
  Announced,
  Moves,     ///< The same numbers go on from another address.
  Spoofers,  ///< Strangers with the address of the true sender.
};
using Counts = std::array<std::uint64_t, static_cast<std::size_t>(Count::Spoofers) + 1>;
[[nodiscard]] const char* to_text(Count count) noexcept;

enum class Mode : std::uint8_t { Ordered, Fast, Carousel };

enum class Body : std::uint8_t {
  Whole,
  Truncated,  ///< Its preamble is whole, its message is not.
  Headless,   ///< Too short for its preamble.
  Fragment,   ///< Of a datagram that came in pieces: a port refuses it.
  Oversized,  ///< Longer than what can be held.
};

/// What became of a packet on a line.
enum class Fate : std::uint8_t {
  Nothing,   ///< The line does not carry it.
  Network,   ///< Lost on its way.
  LineDown,  ///< The line was down, or its group left.
  Kernel,    ///< No room in the socket's buffer; counted.
  Card,      ///< No room in the card; not counted.
  Down,      ///< The appliance was down.
  Refused,   ///< The port or the preamble refused it.
  HandedOut,
};

/// One datagram on its way to a port.
struct Copy {
  std::uint64_t t_ns = 0;    ///< Arrival at the card.
  std::uint64_t number = 0;  ///< As the exchange counts; the low bits are on the wire.
  std::uint32_t run = 0;
  std::uint32_t salt = 0;  ///< Another one in copies that differ.
  std::uint32_t sender = 0;
  std::uint32_t source = 0;  ///< Address that it comes from.
  std::uint8_t channel = 0;
  std::uint8_t line = 0;
  std::uint8_t chunk = 1;
  std::uint8_t chunks = 1;
  Body body = Body::Whole;
  std::uint8_t announces = 0;  ///< The feed says with it that its numbers begin at 1.
  bool is_near = false;        ///< Of a stranger whose number the true run has, or soon will have.
};

/// A number of a true run: what was sent, what arrived, what was made of it.
struct Number {
  std::uint8_t chunks = 1;
  bool is_tainted = false;  ///< A stranger sent one with the same number.
  bool is_altered = false;  ///< Its copies differ.
  std::array<Fate, 2> fate{};
  std::uint64_t sent_ns = 0;
  // By chunk; times within which the machine can have seen its first good copy. In this life of the appliance.
  std::array<std::uint64_t, kMaxChunks> low_ns{kNever, kNever, kNever, kNever};
  std::array<std::uint64_t, kMaxChunks> high_ns{kNever, kNever, kNever, kNever};
  std::array<std::uint32_t, kMaxChunks> order{~0U, ~0U, ~0U, ~0U};  ///< Of its being handed out.
  // Any copy, those that do not decode and those of strangers included.
  std::uint64_t any_low_ns = kNever;
  std::uint32_t any_order = ~0U;
  bool has_broken_copy = false;
  bool has_oversized_copy = false;
  // Told.
  enum class Told : std::uint8_t { Nothing, Delivered, Broken, Lost } told = Told::Nothing;
  arbitrate::GapReason reason = arbitrate::GapReason::Window;
  bool is_aside = false;              ///< Handed out while another run had the channel,
  bool is_aside_of_wrong = false;     ///< a stranger's, and not long after it went on,
  bool has_waited = false;            ///< or before the other run had been silent for long enough.
  bool has_died = false;              ///< An appliance had it and was killed.
  bool is_of_new_address = false;     ///< Handed out first from an address that had brought nothing of the run.
  bool is_far = false;                ///< Handed out when the run had come to less than what is believed at once.
  bool is_leapt = false;              ///< Told lost together with more numbers than what is believed at once.
  bool is_leapt_by_stranger = false;  ///< Told lost by a gap that a stranger made in the true run.
  std::uint32_t fused_in = 0;         ///< Delivered in a cycle told that began with another one: its count.
  std::uint32_t delivered_in = 0;     ///< Runs told until it was delivered.
  bool is_by_stranger = false;        ///< What was delivered was a stranger's packet with this number.
  std::uint8_t timeless = 0;          ///< A bit per line on which its arrival is not known to within a window.
  bool is_round = false;              ///< Delivered before strangers led the channel round all numbers.
  std::uint64_t again_ns = 0;         ///< Arrival of its last second copy on a channel of one line; 0 = there was none.
  bool is_told_late = false;
  bool is_told_conflict = false;
  std::uint8_t chunks_told = 0;
  std::uint32_t lost_order = 0;    ///< How much had been handed out when it was given up,
  std::uint32_t lost_handed = 0;   ///< and in its channel;
  std::uint32_t handed = 0;        ///< the same when it was handed out first.
  std::uint32_t lost_foreign = 0;  ///< How often strangers had got the channel when it was given up.
  std::uint32_t lost_in = 0;       ///< How many runs had been reported when it was given up.
  std::uint32_t spoofed = 0;       ///< Packets of strangers with the true address, when it was handed out first,
  std::uint32_t lost_spoofed = 0;  ///< and when it was given up.
};

struct Run {
  std::uint32_t sender = 0;
  std::uint64_t first = 0;
  std::vector<Number> numbers;
  std::set<std::uint32_t> sources;  ///< Addresses that have brought some of them.
};

/// A span of time.
struct Span {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  [[nodiscard]] bool has(std::uint64_t t_ns) const { return t_ns >= begin_ns && t_ns < end_ns; }
};

struct ChannelPlan {
  net::Framing framing;
  Mode mode = Mode::Ordered;
  arbitrate::Options options;
  std::uint8_t lines = 2;
  std::array<std::uint8_t, 2> port{};
  std::uint64_t interval_ns = 100'000;
  std::array<std::uint64_t, 2> delay_ns{};
  std::uint64_t jitter_ns = 0;
  std::array<double, 2> loss{};
  std::array<double, 2> burst{};
  double duplicate = 0;
  double reorder = 0;
};

struct PortPlan {
  bool has_stamps = true;
  std::size_t buffer = 1'024;  ///< Datagrams.
  std::size_t ring = 256;      ///< Of the card: it takes this many while nothing empties it.
};

struct Step {
  std::uint64_t t_ns = 0;
  std::int64_t by_ns = 0;
};

/// One schedule: made from its seed, then run.
struct Day {
  std::uint64_t seed = 0;
  std::vector<ChannelPlan> channels;
  std::vector<std::vector<Run>> runs;  ///< By channel.
  std::vector<PortPlan> ports;
  std::vector<std::vector<Copy>> copies;  ///< By port, by arrival.
  std::vector<Span> stalls;               ///< The poller does nothing.
  std::vector<Span> pauses;               ///< The machine does nothing; its card fills up.
  std::vector<Span> kills;                ///< The appliance is down.
  std::vector<Step> steps;                ///< Of the wall clock.
  std::size_t batch = 32;
  std::uint64_t end_ns = 0;
};

inline constexpr std::uint64_t kBegin = 5'000'000'000'000;              ///< Monotonic.
inline constexpr std::uint64_t kWallBegin = 1'790'000'000'000'000'000;  ///< Wall clock then.

/// What the exchange sends and what happens to the machine, from a seed alone.
[[nodiscard]] Day make_day(std::uint64_t seed, Counts& counts);

/// The datagram of a copy.
void write_datagram(const ChannelPlan& channel, const Copy& copy, std::vector<std::byte>& to);

/// What the message of a datagram says of itself.
struct Identity {
  bool is_whole = false;  ///< Nothing else is set if not.
  std::uint8_t channel = 0;
  std::uint32_t run = 0;
  std::uint64_t number = 0;
  std::uint8_t chunk = 0;
  std::uint32_t salt = 0;
  std::uint8_t announces = 0;
};
[[nodiscard]] Identity read_message(std::span<const std::byte> message) noexcept;
[[nodiscard]] Identity read_message(const ChannelPlan& channel, const arbitrate::Packet& packet) noexcept;

}  // namespace stopbit::day
