#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/model_check/choices.hpp"
#include "tests/lib/model_check/fibers.hpp"

namespace stopbit::model_check {

/// Runs a few threads on shared words, one step at a time, in an order that is chosen outside. Each operation on a word
/// is one step. Stores wait in a buffer of their thread, as in a processor, until a step of their own.
class Machine {
 public:
  using Thread = std::function<void(Machine&)>;
  /// Chooses one of `count` branches; `count` is at least 1.
  using Choose = std::function<std::size_t(std::size_t count)>;

  explicit Machine(Choose choose) : choose_(std::move(choose)) {}

  /// Returns what went wrong, or nothing.
  std::string run(const std::vector<Thread>& threads) {
    threads_.resize(threads.size());
    for (const Thread& thread : threads) fibers_.add([this, &thread] { thread(*this); });
    while (failure_.empty()) {
      std::vector<std::size_t> ways;  // 2 i: a step of thread i; 2 i + 1: the oldest store of its buffer
      bool all_done = true;
      for (std::size_t i = 0; i < threads_.size(); ++i) {
        all_done = all_done && fibers_.is_done(i);
        if (!fibers_.is_done(i) && !threads_[i].is_asleep) ways.push_back(2 * i);
        if (!threads_[i].stores.empty()) ways.push_back(2 * i + 1);
      }
      if (ways.empty()) return all_done ? failure_ : "somebody sleeps for ever";
      const std::size_t way = ways[choose_(ways.size())];
      if (way % 2 != 0) {
        flush_one(threads_[way / 2]);
      } else {
        fibers_.resume(way / 2);
      }
    }
    return failure_;
  }
  void fail(const std::string& what) { failure_ = what; }

  // What the protocols ask of a memory.
  std::uint64_t load(std::size_t word) {
    fibers_.pause();
    const auto& stores = me().stores;
    for (auto store = stores.rbegin(); store != stores.rend(); ++store) {
      if (store->first == word) return store->second;
    }
    return words_[word];
  }
  void store(std::size_t word, std::uint64_t value) {
    fibers_.pause();
    me().stores.emplace_back(word, value);
  }
  void add(std::size_t word, std::uint64_t value) { change(word) += value; }
  void fetch_or(std::size_t word, std::uint64_t bits) { change(word) |= bits; }
  std::uint64_t exchange(std::size_t word, std::uint64_t value) { return std::exchange(change(word), value); }
  bool wait(std::size_t word, std::uint64_t seen, int) {
    if (change(word) != seen) return true;
    me().is_asleep = true;
    me().asleep_at = word;
    fibers_.pause();
    return true;
  }
  void wake(std::size_t word) {
    (void)change(word);
    for (State& thread : threads_) {
      if (thread.is_asleep && thread.asleep_at == word) thread.is_asleep = false;
    }
  }

 private:
  struct State {
    bool is_asleep = false;
    std::size_t asleep_at = 0;
    std::deque<std::pair<std::size_t, std::uint64_t>> stores;
  };

  State& me() { return threads_[fibers_.current()]; }
  void flush_one(State& thread) {
    words_[thread.stores.front().first] = thread.stores.front().second;
    thread.stores.pop_front();
  }
  /// One step that reads and writes; its thread's stores are out before.
  std::uint64_t& change(std::size_t word) {
    fibers_.pause();
    while (!me().stores.empty()) flush_one(me());
    return words_[word];
  }

  Choose choose_;
  Fibers fibers_{16 * 1024};
  std::vector<State> threads_;
  std::array<std::uint64_t, 256> words_{};
  std::string failure_;
};

struct Exploration {
  std::uint64_t orders = 0;
  std::string failure;  ///< Of the first order that went wrong.
};

/// Runs every order, depth first. `make` returns fresh threads for each.
inline Exploration explore_orders(const std::function<std::vector<Machine::Thread>()>& make) {
  Exploration result;
  Choices choices;
  do {
    const std::vector<Machine::Thread> threads = make();
    Machine machine([&](std::size_t count) { return choices.choose(count); });
    result.failure = machine.run(threads);
    ++result.orders;
  } while (result.failure.empty() && choices.next());
  return result;
}

}  // namespace stopbit::model_check
