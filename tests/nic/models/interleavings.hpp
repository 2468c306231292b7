#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stopbit::nic {

/// Sanitizers lose their way when stacks are switched.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kCanSwitchStacks = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kCanSwitchStacks = false;
#else
inline constexpr bool kCanSwitchStacks = true;
#endif
#else
inline constexpr bool kCanSwitchStacks = true;
#endif

/// Runs a few threads on shared words, one step at a time, in an order that is chosen outside: each order there is, or
/// random ones. Each operation on a word is one step. With `is_buffered`, stores wait in a buffer of their thread, as
/// in a processor, until a step of their own; with that one sees what plain stores would do.
class Machine {
 public:
  using Thread = std::function<void(Machine&)>;
  /// Which of `count` ways to go; `count` is at least 1.
  using Choose = std::function<std::size_t(std::size_t count)>;

  Machine(bool is_buffered, Choose choose) : is_buffered_(is_buffered), choose_(std::move(choose)) {}

  /// Empty, or what went wrong.
  std::string run(const std::vector<Thread>& threads) {
    for (const Thread& thread : threads) {
      Fiber& fiber = fibers_.emplace_back();
      fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
      fiber.run = &thread;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      const auto self = reinterpret_cast<std::uintptr_t>(this);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
    }
    while (failure_.empty()) {
      std::vector<std::size_t> ways;  // 2 i: a step of thread i; 2 i + 1: the oldest store of its buffer
      bool all_done = true;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        all_done = all_done && fibers_[i].is_done;
        if (!fibers_[i].is_done && !fibers_[i].is_asleep) ways.push_back(2 * i);
        if (!fibers_[i].stores.empty()) ways.push_back(2 * i + 1);
      }
      if (ways.empty()) return all_done ? failure_ : "somebody sleeps for ever";
      const std::size_t way = ways[choose_(ways.size())];
      if (way % 2 != 0) {
        flush_one(fibers_[way / 2]);
        continue;
      }
      current_ = way / 2;
      swapcontext(&scheduler_, &fibers_[current_].context);
    }
    return failure_;
  }
  void fail(const std::string& what) { failure_ = what; }

  // What the protocols ask of a memory.
  std::uint64_t load(std::size_t word) {
    yield();
    const auto& stores = me().stores;
    for (auto store = stores.rbegin(); store != stores.rend(); ++store) {
      if (store->first == word) return store->second;
    }
    return words_[word];
  }
  void store(std::size_t word, std::uint64_t value) {
    yield();
    if (is_buffered_) {
      me().stores.emplace_back(word, value);
    } else {
      words_[word] = value;
    }
  }
  void add(std::size_t word, std::uint64_t value) { change(word) += value; }
  void fetch_or(std::size_t word, std::uint64_t bits) { change(word) |= bits; }
  std::uint64_t exchange(std::size_t word, std::uint64_t value) { return std::exchange(change(word), value); }
  bool wait(std::size_t word, std::uint64_t seen, int) {
    if (change(word) != seen) return true;
    me().is_asleep = true;
    me().asleep_at = word;
    swapcontext(&me().context, &scheduler_);
    return true;
  }
  void wake(std::size_t word) {
    (void)change(word);
    for (Fiber& fiber : fibers_) {
      if (fiber.is_asleep && fiber.asleep_at == word) fiber.is_asleep = false;
    }
  }

 private:
  static constexpr std::size_t kStackBytes = 16 * 1024;

  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    const Thread* run = nullptr;
    bool is_done = false;
    bool is_asleep = false;
    std::size_t asleep_at = 0;
    std::deque<std::pair<std::size_t, std::uint64_t>> stores;
  };

  static void enter(unsigned high, unsigned low) {
    auto* machine = reinterpret_cast<Machine*>(std::uintptr_t{high} << 32 | low);
    Fiber& fiber = machine->me();
    (*fiber.run)(*machine);
    fiber.is_done = true;
    swapcontext(&fiber.context, &machine->scheduler_);
  }
  Fiber& me() { return fibers_[current_]; }
  void yield() { swapcontext(&me().context, &scheduler_); }
  void flush_one(Fiber& fiber) {
    words_[fiber.stores.front().first] = fiber.stores.front().second;
    fiber.stores.pop_front();
  }
  /// One step that reads and writes; its thread's stores are out before.
  std::uint64_t& change(std::size_t word) {
    yield();
    while (!me().stores.empty()) flush_one(me());
    return words_[word];
  }

  bool is_buffered_;
  Choose choose_;
  std::deque<Fiber> fibers_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
  std::array<std::uint64_t, 256> words_{};
  std::string failure_;
};

struct Exploration {
  std::uint64_t orders = 0;
  std::string failure;  ///< Of the first order that went wrong.
};

/// Every order, depth first. `make` gives fresh threads for each.
inline Exploration explore_all(bool is_buffered, const std::function<std::vector<Machine::Thread>()>& make) {
  Exploration result;
  std::vector<std::pair<std::size_t, std::size_t>> path;  // chosen, of
  for (;;) {
    std::size_t depth = 0;
    Machine machine(is_buffered, [&](std::size_t count) {
      if (depth == path.size()) path.emplace_back(0, count);
      return path[depth++].first;
    });
    result.failure = machine.run(make());
    ++result.orders;
    if (!result.failure.empty()) return result;
    while (!path.empty() && path.back().first + 1 == path.back().second) path.pop_back();
    if (path.empty()) return result;
    ++path.back().first;
  }
}

/// So many random orders.
inline Exploration explore_random(bool is_buffered, std::uint64_t seed, std::uint64_t orders,
                                  const std::function<std::vector<Machine::Thread>()>& make) {
  Exploration result;
  std::mt19937_64 random(seed);
  for (; result.orders < orders && result.failure.empty(); ++result.orders) {
    Machine machine(is_buffered, [&](std::size_t count) { return random() % count; });
    result.failure = machine.run(make());
  }
  return result;
}

}  // namespace stopbit::nic
