#include "tests/attack/shrink.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace stopbit::attack {
namespace {

constexpr std::size_t kMaxQuestions = 4'000;
constexpr std::chrono::seconds kMaxTime(30);
constexpr unsigned kSecondsPerQuestion = 5;

/// Takes runs of items out, long ones first.
template <class T, class StillFails>
bool take_out(std::vector<T>& items, StillFails still_fails) {
  bool any = false;
  for (std::size_t length = (items.size() + 1) / 2; length > 0; length /= 2) {
    for (std::size_t at = 0; at < items.size();) {
      std::vector<T> fewer = items;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(length, items.size() - at)));
      if (still_fails(fewer)) {
        items = std::move(fewer);
        any = true;
      } else {
        at += length;
      }
    }
  }
  return any;
}

}  // namespace

std::vector<Move> shrink(std::vector<Move> moves, const std::function<bool(const std::vector<Move>&)>& still_fails) {
  std::size_t questions = 0;
  const auto end = std::chrono::steady_clock::now() + kMaxTime;
  const auto has_time = [&] { return questions < kMaxQuestions && std::chrono::steady_clock::now() < end; };
  const auto ask = [&](const std::vector<Move>& fewer) { return has_time() && ++questions != 0 && still_fails(fewer); };
  for (bool any = true; any && has_time();) {
    any = take_out(moves, ask);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      Bytes bytes = moves[i].bytes;
      const auto with = [&](const Bytes& fewer) {
        std::vector<Move> changed = moves;
        changed[i].bytes = fewer;
        return ask(changed);
      };
      if (take_out(bytes, with)) any = true;
      moves[i].bytes = bytes;
    }
  }
  return moves;
}

bool fails_from_the_start(const Feed& feed, const std::vector<Move>& moves) {
  const pid_t child = fork();
  if (child == 0) {
    attacked_is(nullptr);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(number, SIG_DFL);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);  // a handler that asks has its signal blocked
    alarm(kSecondsPerQuestion);
    Duel duel(feed);
    for (const Move& move : moves) {
      Outcome outcome;
      if (move.is_reset) {
        duel.reset(move.channel);
      } else if (!duel.decode(move.channel, move.bytes, outcome).empty()) {
        _exit(1);
      }
    }
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

}  // namespace stopbit::attack
