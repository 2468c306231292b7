#pragma once

#include <array>
#include <cstdint>

#include "host/feed/arbitrate/checks.hpp"
#include "host/feed/arbitrate/options.hpp"
#include "host/feed/arbitrate/sink.hpp"

namespace stopbit::arbitrate {

/// Cycles of a carousel: whether a packet is of the one that is followed.
///
/// Each line counts its own cycles. One line leads; the other's cycle is the same if its packets have the same bytes,
/// or, while nothing can be compared, if it began within the window of the leader's, before it or after. A line that is
/// out of step is ignored, as its numbers carry other data, until the leader is silent.
class Cycles {
 public:
  enum class Verdict : std::uint8_t {
    Ignore,
    Join,
    Begin,  ///< The packet begins the next cycle: `begin` is called.
  };
  /// What the run says of the packet.
  struct Seen {
    bool is_running = false;
    bool is_near_next = false;    ///< About where the leader is.
    bool is_silent = false;       ///< The leader has been silent for the switch silence.
    bool is_new_to_line = false;  ///< The line has not brought it yet, or not all of its chunks.
    Match match = Match::Unknown;
  };

  explicit Cycles(const Options& options) noexcept : options_(options) {}

  [[nodiscard]] Verdict judge(const Packet& packet, const Seen& seen) noexcept;
  void begin(const Packet& packet, Match match) noexcept;
  /// The line has come up to this packet of a stranger.
  void reach(const Packet& packet) noexcept;

 private:
  struct Cycle {
    bool is_known = false;
    bool has_been_led = false;  ///< Into its cycle, by the line that began it: it has not shown where in it it is.
    std::uint32_t number = 0;
    std::uint64_t highest = 0;
    std::uint64_t opened_ns = 0;
    std::uint64_t t_ns = 0;        ///< Arrival of its latest packet.
    std::uint64_t first_hash = 0;  ///< Of number 1, its first chunk; 0 = it did not come yet.
    std::uint64_t first_packet_ns = 0;
  };
  [[nodiscard]] bool opens(const Cycle& line, const Packet& packet, Match match, bool is_in_step) const noexcept;
  void note(Cycle& line, const Packet& packet, bool is_new) const noexcept;

  const Options& options_;
  std::array<Cycle, kLines> lines_;
  std::uint32_t present_ = 0;
  std::uint64_t began_ns_ = 0;
};

}  // namespace stopbit::arbitrate
