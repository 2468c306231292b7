#include "bench/lib/cpu.hpp"

#include <sched.h>

#include <thread>

namespace stopbit::bench {
namespace {

constexpr int kPriority = 40;

bool set_policy(int policy, int priority) {
  sched_param param{};
  param.sched_priority = priority;
  return ::sched_setscheduler(0, policy, &param) == 0;
}

}  // namespace

std::optional<std::pair<int, int>> two_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return std::nullopt;
  std::optional<int> first;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(static_cast<unsigned>(processor), &set)) continue;
    if (first) return std::pair(*first, processor);
    first = processor;
  }
  return std::nullopt;
}

bool pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  return ::sched_setaffinity(0, sizeof(set), &set) == 0;
}

Undisturbed::Undisturbed() : active_(set_policy(SCHED_FIFO, kPriority)), begin_(std::chrono::steady_clock::now()) {}

Undisturbed::~Undisturbed() {
  if (!active_) return;
  set_policy(SCHED_OTHER, 0);
  std::this_thread::sleep_for((std::chrono::steady_clock::now() - begin_) / 10);
}

bool Undisturbed::is_possible() {
  return Undisturbed().active_;
}

}  // namespace stopbit::bench
