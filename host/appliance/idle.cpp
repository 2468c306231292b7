#include "host/appliance/idle.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

#include "host/ring/spin.hpp"

namespace stopbit::appliance {

void idle(const AgentSettings& settings, std::uint32_t quiet_turns) {
  constexpr std::uint32_t kSpins = 4'096;  // some tens of microseconds
  constexpr std::uint32_t kYields = 256;
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

}  // namespace stopbit::appliance
