#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/feed/arbitrate/account.hpp"
#include "host/feed/framing/framing.hpp"

/// What goes into an arbiter, and what comes out of it.
namespace stopbit::arbitrate {

/// A packet as it arrived, and as it is delivered.
struct Packet {
  std::span<const std::byte> payload;  ///< The datagram, preamble included.
  net::Preamble preamble;
  Line line = Line::A;
  record::TimeQuality time_quality = record::TimeQuality::Synthetic;
  std::uint64_t arrival_ns = 0;  ///< Wall clock: for records, gaps and logs.
  std::uint64_t t_ns = 0;        ///< Arrival by the monotonic clock: for every decision here.
  std::uint64_t number = 0;      ///< In its source; for messages about it.
  /// IPv4 address that it came from; 0 = unknown. Not the port: a sender may use another with each start.
  std::uint32_t source = 0;
};

/// Why missing numbers were given up.
enum class GapReason : std::uint8_t {
  Window,     ///< The packet after them waited for the whole window.
  Count,      ///< As many packets as the window allows waited for them.
  Room,       ///< No room was left for packets that wait, or a packet was too long to wait.
  Overtaken,  ///< Fast mode: a later packet came first.
  Leap,       ///< The run went on far ahead, and nothing came in between.
  Switch,     ///< They passed while another run had the channel.
  Down,       ///< They passed while the appliance was down.
  End,        ///< The run has ended.
};

/// Missing numbers that were given up.
struct Gap {
  std::uint64_t first = 0;  ///< As on the wire; the range may wrap.
  std::uint64_t count = 0;
  std::uint16_t epoch = 0;
  GapReason reason = GapReason::Window;
  /// Wall clock: arrival of the packet that showed the gap, plus the window if that is the reason.
  std::uint64_t wall_ns = 0;
  std::uint64_t before_t_ns = 0;  ///< Monotonic: arrival of the number before the range; 0 = unknown.
  std::uint64_t after_t_ns = 0;   ///< Monotonic: arrival of the packet that showed the gap.
  struct Had {
    bool heard = false;               ///< The line has brought something in this run.
    bool passed = false;              ///< It has brought a number after the range: the range is lost on this line.
    std::uint64_t last_sequence = 0;  ///< The highest it has brought.
    std::uint64_t last_t_ns = 0;      ///< Monotonic: of anything, 0 = never.
  };
  std::array<Had, 2> lines;  ///< A and B.
};

/// A run of numbers begins. The first number may still become a lower one while packets are gathered in ordered mode.
struct NewRun {
  enum class Reason : std::uint8_t {
    Start,          ///< The first packet of the channel.
    Sender,         ///< Another sender, after a fail-over.
    Cycle,          ///< Of a carousel.
    SequenceReset,  ///< The same sender began anew.
    Back,           ///< The run before the last switch goes on: that switch was wrong.
  };
  Reason reason = Reason::Start;
  std::uint16_t epoch = 0;  ///< Counts runs; wraps.
  std::uint64_t sender = 0;
  std::uint64_t sequence = 0;  ///< Of the packet that began it.
  std::uint64_t wall_ns = 0;   ///< Arrival of that packet, wall clock.
  std::uint64_t packet = 0;    ///< Packet::number of that packet.
  Account before;              ///< Of the run that has ended; empty at the start.
};

/// Two copies of one number whose bytes differ.
struct Conflict {
  Line line = Line::A;         ///< That brought the second copy.
  std::uint64_t sequence = 0;  ///< As on the wire.
  std::uint64_t wall_ns = 0;   ///< Arrival of the second copy.
};

/// Receives the merged packets. Called from offer, tick and finish; must not call the arbiter.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The next packet in order. Its payload is valid until the call returns. Chunks of a number come one after another.
  /// @returns false if it did not decode, and the other line's copy is worth a try; such a copy is delivered, too, if
  /// it comes before the number after it is delivered.
  virtual bool deliver(const Packet& packet, std::uint16_t epoch) noexcept = 0;
  virtual void gap(const Gap& gap) noexcept = 0;
  /// Start, another sender, or a cycle.
  virtual void epoch(const NewRun& run) noexcept = 0;
  /// The sequence was reset, or the run before goes on.
  virtual void reset(const NewRun& run) noexcept = 0;
  /// Once for each number of which the copies differ.
  virtual void conflict(const Conflict& /*conflict*/) noexcept {}
  /// A packet is dropped whose number, or range of numbers, was given up `late_ns` ago.
  virtual void late(const Packet& /*packet*/, std::uint64_t /*late_ns*/) noexcept {}
};

}  // namespace stopbit::arbitrate
