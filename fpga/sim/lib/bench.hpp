#pragma once

#include <verilated.h>

#include <cstdint>
#include <memory>
#include <random>

/// What the benches of fpga/sim share: a clock around a Verilated model, and random traffic that can be repeated.
namespace stopbit::sim {

/// Random numbers that are the same for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From 0 to `bound` - 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  [[nodiscard]] bool chance(std::uint32_t percent) { return below(100) < percent; }
  [[nodiscard]] std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// Decides for each cycle whether one side of a valid/ready port is willing: closed in `stall_percent` of the cycles,
/// and now and then, unless that is 0, for a long while.
class Gate {
 public:
  Gate(Random& random, std::uint32_t stall_percent) : random_(random), stall_percent_(stall_percent) {}

  [[nodiscard]] bool open() {
    if (gap_ > 0) {
      --gap_;
      return false;
    }
    if (stall_percent_ > 0 && random_.below(200) == 0) gap_ = random_.below(60);
    return !random_.chance(stall_percent_);
  }

 private:
  Random& random_;
  std::uint32_t stall_percent_;
  std::uint64_t gap_ = 0;
};

/// A model with clock `clk_i` and reset `rst_ni`. Registers without a reset begin with random bits.
///
/// A cycle: set inputs, settle(), look at outputs, step(). An assertion of the model that fails ends the program.
template <class Model>
class Bench {
 public:
  explicit Bench(std::uint64_t seed) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed % 0x7FFFFFFF) + 1);
    model_ = std::make_unique<Model>(&context_);
    model_->clk_i = 0;
    model_->rst_ni = 1;
  }
  ~Bench() {
    // Of several benches in a thread another one may have been the last: a model leaves the context of the thread.
    Verilated::threadContextp(&context_);
    model_->final();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Model* operator->() { return model_.get(); }

  /// Lets what depends on inputs without a register follow them.
  void settle() { model_->eval(); }

  /// One rising edge.
  void step() {
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
    context_.timeInc(1);
    ++cycles_;
  }

  /// Inputs keep their values meanwhile.
  void reset(int cycles = 3) {
    model_->rst_ni = 0;
    for (int i = 0; i < cycles; ++i) step();
    model_->rst_ni = 1;
    settle();
  }

  /// Of a model that takes input only some time after a reset: waits until it does.
  void reset_until_ready() {
    reset();
    while (!model_->ready_o) step();
  }

  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::uint64_t cycles_ = 0;
};

}  // namespace stopbit::sim
