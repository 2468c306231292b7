#include "host/tools/signals.hpp"

#include <signal.h>

#include <atomic>

namespace stopbit::tools {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void request_stop(int) {
  stop.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() noexcept {
  return stop.load(std::memory_order_relaxed);
}

}  // namespace stopbit::tools
