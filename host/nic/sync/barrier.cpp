#include "host/nic/sync/barrier.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "host/os/deadline.hpp"

namespace stopbit::nic {

Barrier::Barrier(const CommandQueue& queue, EventCounters& events, std::vector<BarrierMember> members, std::size_t self,
                 std::uint8_t first_event, std::uint64_t tag) noexcept
    : queue_(queue),
      events_(events),
      members_(std::move(members)),
      self_(self),
      rounds_(rounds_of(members_.size())),
      first_event_(first_event),
      tag_(tag),
      is_sound_(self_ < members_.size() && members_.size() <= kMaxMembers && first_event != 0 &&
                first_event + rounds_ <= EventLayout::kEvents) {}

std::size_t Barrier::rounds_of(std::size_t members) noexcept {
  return members < 2 ? 0 : static_cast<std::size_t>(std::bit_width(members - 1));
}

void Barrier::arrive() noexcept {
  has_arrived_ = true;
  is_signalled_ = false;
  round_ = 0;
}

bool Barrier::step() noexcept {
  if (!is_sound_ || !has_arrived_) return false;
  for (; round_ < rounds_; ++round_, is_signalled_ = false) {
    if (!is_signalled_) {
      const BarrierMember& next = members_[(self_ + (std::size_t{1} << round_)) % members_.size()];
      Command command;
      command.operation = Operation::Signal;
      command.modifiers = kNotifyRefusal;
      command.target_node = next.node;
      command.target_vpid = next.vpid;
      command.tag = tag_;
      command.more = event();
      if (queue_.insert({&command, 1}).accepted == 0) return false;  // later
      is_signalled_ = true;
    }
    if (!events_.poll(event())) return false;
  }
  has_arrived_ = false;
  return true;
}

bool Barrier::wait(std::chrono::nanoseconds timeout) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(1);  // at a ring that had no room
  const auto deadline = os::deadline_after(timeout);
  if (!is_sound_) return false;
  if (!has_arrived_) arrive();
  while (!step()) {
    const std::chrono::nanoseconds left = deadline - Clock::now();
    if (left.count() <= 0) return step();
    (void)events_.await(event(), is_signalled_ ? left : std::min(left, kLook));
  }
  return true;
}

}  // namespace stopbit::nic
