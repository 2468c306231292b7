#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STOPBIT_FIBERS_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define STOPBIT_FIBERS_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define STOPBIT_FIBERS_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define STOPBIT_FIBERS_TSAN
#endif
#ifdef STOPBIT_FIBERS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace stopbit::model_check {

/// ThreadSanitizer takes the stacks for one thread that races with itself.
#ifdef STOPBIT_FIBERS_TSAN
inline constexpr bool kCanSwitchStacks = false;
#else
inline constexpr bool kCanSwitchStacks = true;
#endif

/// A few calls in one thread, each on a stack of its own. A call that has not ended when this is destroyed is left
/// where it is: nothing on its stack may need to be destroyed.
class Fibers {
 public:
  explicit Fibers(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  void add(std::function<void()> call) {
    Fiber& fiber = fibers_.emplace_back();
    fiber.call = std::move(call);
    fiber.stack = std::make_unique_for_overwrite<char[]>(stack_bytes_);
    ucontext_t& context = fiber.place.context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = stack_bytes_;
    context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32U),
                static_cast<unsigned>(self));
  }
  [[nodiscard]] std::size_t size() const { return fibers_.size(); }
  [[nodiscard]] bool is_done(std::size_t index) const { return fibers_[index].is_done; }
  /// The one that runs, or ran last.
  [[nodiscard]] std::size_t current() const { return current_; }

  /// Lets this one go on until it pauses or ends.
  void resume(std::size_t index) {
    current_ = index;
    Fiber& fiber = fibers_[index];
#ifdef STOPBIT_FIBERS_ASAN
    __sanitizer_start_switch_fiber(&scheduler_stack_, fiber.stack.get(), stack_bytes_);
#endif
    change(scheduler_, fiber.place);
#ifdef STOPBIT_FIBERS_ASAN
    __sanitizer_finish_switch_fiber(scheduler_stack_, nullptr, nullptr);
#endif
  }
  /// Called by the one that runs: returns to resume().
  void pause() {
    leave(fibers_[current_], false);
  }

 private:
  /// Where a stack goes on.
  struct Stop {
    ucontext_t context{};
    std::array<void*, 5> registers{};
    bool has_registers = false;
  };
  struct Fiber {
    Stop place;
    std::unique_ptr<char[]> stack;
    std::function<void()> call;
    void* sanitizer_stack = nullptr;
    bool is_done = false;
  };

  /// Leaves `from` and goes on at `to`. swapcontext() saves the signal mask: a system call for each step of millions.
  [[gnu::noinline]] static void change(Stop& from, Stop& to) {
#if defined(STOPBIT_FIBERS_ASAN) || !defined(__x86_64__)
    swapcontext(&from.context, &to.context);
#else
    if (__builtin_setjmp(from.registers.data()) != 0) return;
    from.has_registers = true;
    go_on(to);
#endif
  }
  [[gnu::noinline, noreturn]] static void go_on(Stop& to) {
    if (to.has_registers) __builtin_longjmp(to.registers.data(), 1);
    setcontext(&to.context);  // its first step
    std::abort();
  }

  static void enter(unsigned high, unsigned low) {
    // makecontext() hands on integers only. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* const fibers = reinterpret_cast<Fibers*>(std::uintptr_t{high} << 32U | low);
    Fiber& fiber = fibers->fibers_[fibers->current_];
    fibers->arrive(fiber);
    fiber.call();
    fiber.is_done = true;
    fibers->leave(fiber, true);
  }
  void leave(Fiber& fiber, [[maybe_unused]] bool for_good) {
#ifdef STOPBIT_FIBERS_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fiber.sanitizer_stack, caller_stack_, caller_bytes_);
#endif
    change(fiber.place, scheduler_);
    arrive(fiber);
  }
  void arrive([[maybe_unused]] Fiber& fiber) {
#ifdef STOPBIT_FIBERS_ASAN
    __sanitizer_finish_switch_fiber(fiber.sanitizer_stack, &caller_stack_, &caller_bytes_);
#endif
  }

  std::size_t stack_bytes_;
  std::deque<Fiber> fibers_;
  Stop scheduler_;
  std::size_t current_ = 0;
#ifdef STOPBIT_FIBERS_ASAN
  void* scheduler_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_bytes_ = 0;
#endif
};

}  // namespace stopbit::model_check
