#include "host/nic/notify/events.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>

#include "host/os/deadline.hpp"

namespace stopbit::nic {
namespace {

static_assert(EventLayout::signals(EventLayout::kEvents - 1) < 64, "a bit for each word that can be slept on");
static_assert(std::endian::native == std::endian::little, "the futex is the low half of a word");

}  // namespace

// The futex compares 32 bits: a thread that sleeps through 2^32 occurrences of one event would not be woken by the
// last.
bool EventMemory::wait(std::size_t word, std::uint64_t seen, const Deadline& deadline) const noexcept {
  const auto left = deadline - std::chrono::steady_clock::now();
  if (left.count() <= 0) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec time{static_cast<std::time_t>(seconds.count()),
                      static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
  const long result = ::syscall(SYS_futex, page_.address(PageLayout::kEventsAt, word), FUTEX_WAIT,
                                static_cast<std::uint32_t>(seen), &time, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

void EventMemory::wake(std::size_t word) const noexcept {
  (void)::syscall(SYS_futex, page_.address(PageLayout::kEventsAt, word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool EventSource::signal(std::uint64_t event) noexcept {
  if (event >= EventLayout::kEvents) return false;
  if (event == 0) return true;
  if (!defers_) {
    signal_event(memory_, event, ++counts_[event], counts_[EventLayout::kDoorbell]);
    return true;
  }
  Deferred deferred{memory_, waiting_};
  signal_event(deferred, event, ++counts_[event], counts_[EventLayout::kDoorbell]);
  return true;
}

void EventSource::wake() noexcept {
  if (waiting_ == 0) return;
  // In turn: the one after the last.
  const std::uint64_t later = waiting_ & ~((std::uint64_t{2} << last_) - 1);
  last_ = static_cast<unsigned>(std::countr_zero(later != 0 ? later : waiting_));
  waiting_ &= ~(std::uint64_t{1} << last_);
  memory_.wake(EventLayout::signals(last_));
}

bool EventCounters::poll(std::size_t event) noexcept {
  if (pending(event) == 0) return false;
  ++taken_[event];
  return true;
}

bool EventCounters::spin(std::size_t event, std::chrono::nanoseconds timeout) noexcept {
  const auto deadline = os::deadline_after(timeout);
  while (!poll(event)) {
    if (std::chrono::steady_clock::now() >= deadline) return poll(event);
  }
  return true;
}

bool EventCounters::wait(std::size_t event, std::chrono::nanoseconds timeout) noexcept {
  return await(event, timeout) && poll(event);
}

bool EventCounters::await(std::size_t event, std::chrono::nanoseconds timeout) noexcept {
  return pending(event) != 0 || await_event(memory_, event, taken_[event], os::deadline_after(timeout));
}

void EventCounters::arm(std::size_t event, Handler handler) {
  handlers_[event] = std::move(handler);
  handled_ |= std::uint64_t{1} << event;
  watched_ &= ~handled_;
  ready_ &= watched_;
  arm_event(memory_, event);
}

void EventCounters::disarm(std::size_t event) {
  const std::uint64_t bit = std::uint64_t{1} << event;
  disarm_event(memory_, event);
  handled_ &= ~bit;
  watched_ &= ~bit;
  ready_ &= ~bit;
}

void EventCounters::watch(std::size_t event) {
  disarm(event);
  watched_ |= std::uint64_t{1} << event;
  arm_event(memory_, event);
}

std::size_t EventCounters::next() noexcept {
  const std::size_t event = next_event(memory_, taken_.data(), ready_, last_, watched_, handled_);
  if (event != 0) last_ = event;
  return event;
}

std::size_t EventCounters::next(std::chrono::nanoseconds timeout) noexcept {
  const auto deadline = os::deadline_after(timeout);
  for (bool in_time = true; in_time;) {
    const std::uint64_t seen = memory_.load(EventLayout::signals(EventLayout::kDoorbell));
    if (const std::size_t event = next(); event != 0) return event;
    in_time = await_event(memory_, EventLayout::kDoorbell, seen, deadline);
  }
  return next();
}

std::size_t EventCounters::dispatch() {
  return dispatch_events(
      memory_, taken_.data(), [this](std::size_t event) { handlers_[event](event); }, handled_, watched_);
}

std::size_t EventCounters::dispatch(std::chrono::nanoseconds timeout) {
  const auto deadline = os::deadline_after(timeout);
  for (bool in_time = true; in_time;) {
    const std::uint64_t seen = memory_.load(EventLayout::signals(EventLayout::kDoorbell));
    if (const std::size_t calls = dispatch(); calls != 0) return calls;
    // The bell may ring for what has been handled already: then once more.
    in_time = await_event(memory_, EventLayout::kDoorbell, seen, deadline);
  }
  return dispatch();
}

}  // namespace stopbit::nic
