#include "host/cli/common/signals.hpp"

#include <signal.h>

#include <atomic>

namespace stopbit::tools {
namespace {

std::atomic<int> stop = 0;  ///< The signal.
std::atomic<bool> hangup = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void request_stop(int signal) {
  stop.store(signal, std::memory_order_relaxed);
}

void note_hangup(int) {
  hangup.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  // Without SA_RESTART: a call that waits ends, and the caller looks whether it should stop.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void catch_hangups() {
  struct sigaction action = {};
  action.sa_handler = note_hangup;
  sigemptyset(&action.sa_mask);
  sigaction(SIGHUP, &action, nullptr);
}

bool take_hangup() noexcept {
  return hangup.exchange(false, std::memory_order_relaxed);
}

bool stop_requested() noexcept {
  return stop.load(std::memory_order_relaxed) != 0;
}

int interrupted_status() noexcept {
  constexpr int kFirst = 128;
  return kFirst + stop.load(std::memory_order_relaxed);
}

}  // namespace stopbit::tools
