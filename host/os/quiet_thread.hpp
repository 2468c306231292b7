#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace stopbit::os {

/// A thread that signals to the process never reach: they interrupt the caller's thread, which knows what to do. Those
/// of its own faults do.
/// Throws std::system_error if there can be no more threads.
template <class Function>
[[nodiscard]] std::thread quiet_thread(Function function) {
  sigset_t most;
  sigset_t before;
  sigfillset(&most);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&most, fault);
  pthread_sigmask(SIG_SETMASK, &most, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread(std::move(function));
}

}  // namespace stopbit::os
