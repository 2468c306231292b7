#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/nic/notify/events.hpp"
#include "host/nic/queue/command_queue.hpp"

namespace stopbit::nic {

/// A port that takes part in a barrier.
struct BarrierMember {
  NodeId node = 0;
  Vpid vpid = 0;
};

/// No member passes before all have arrived: a barrier of up to 256 ports of one host or of several, made of signals
/// alone.
///
/// In round k each member signals the one 2^k after it and waits for the one 2^k before it, so all are through after as
/// many rounds as the number of members has bits. Each round has an event of its own at every member, `first_event` and
/// the following ones, used for nothing else. Events are counted and none is lost, so the next barrier may begin at
/// once.
///
/// When a member has died, its node reports it (kNotifyRefusal, with `tag`) in the port's notifications; no member
/// passes any more. One thread. Allocates in the constructor only. `events` must outlive it.
class Barrier {
 public:
  static constexpr std::size_t kMaxMembers = 256;

  /// `self` is the index of this port in `members`, which all members must know in the same order.
  Barrier(const CommandQueue& queue, EventCounters& events, std::vector<BarrierMember> members, std::size_t self,
          std::uint8_t first_event, std::uint64_t tag = 0) noexcept;

  /// How many events it uses at each member.
  [[nodiscard]] static std::size_t rounds_of(std::size_t members) noexcept;
  /// Whether members and events are within bounds; an unsound barrier never lets a member pass.
  [[nodiscard]] bool is_sound() const noexcept { return is_sound_; }

  /// This member has arrived; `step` continues. Call it only when the last barrier is complete.
  void arrive() noexcept;
  /// Goes on as far as it can, without waiting. True: all have arrived.
  [[nodiscard]] bool step() noexcept;
  /// Arrives, if it has not, and sleeps until all have. False: not in this time; go on with `wait` or `step`.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) noexcept;

 private:
  [[nodiscard]] std::size_t event() const noexcept { return first_event_ + round_; }

  CommandQueue queue_;
  EventCounters& events_;
  std::vector<BarrierMember> members_;
  std::size_t self_;
  std::size_t rounds_;
  std::uint8_t first_event_;
  std::uint64_t tag_;
  bool is_sound_;
  bool has_arrived_ = false;
  bool is_signalled_ = false;  ///< In this round.
  std::size_t round_ = 0;
};

}  // namespace stopbit::nic
