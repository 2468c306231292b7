#include "host/appliance/idle.hpp"

#include <sched.h>
#include <sys/epoll.h>

#include <thread>

#include "host/ring/spin.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint32_t kSpins = 4'096;  // milliseconds, as a rule: each turn asks the ports
constexpr std::uint32_t kYields = 256;

}  // namespace

bool may_rest(const AgentSettings& settings, std::uint32_t quiet_turns) noexcept {
  return settings.idle == Idle::Backoff && quiet_turns >= kSpins + kYields;
}

void idle(const AgentSettings& settings, std::uint32_t quiet_turns) {
  Idle idle = settings.idle;
  if (idle == Idle::Backoff) {
    idle = quiet_turns < kSpins ? Idle::Spin : quiet_turns < kSpins + kYields ? Idle::Yield : Idle::Sleep;
  }
  switch (idle) {
    case Idle::Spin: ring::Spin::pause(); break;
    case Idle::Yield: ::sched_yield(); break;
    case Idle::Backoff:
    case Idle::Sleep: std::this_thread::sleep_for(std::chrono::nanoseconds(settings.sleep_ns)); break;
  }
}

bool wait_for(int descriptor, std::chrono::milliseconds longest) noexcept {
  epoll_event event{};
  return ::epoll_wait(descriptor, &event, 1, static_cast<int>(longest.count())) > 0;
}

}  // namespace stopbit::appliance
