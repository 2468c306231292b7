#pragma once

#include <verilated.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "clock_pair.hpp"

namespace stopbit::sim {

// Periods of a MAC's 64-bit stream at 25 Gbit/s and at 10 Gbit/s.
inline constexpr std::uint64_t kMac25Ps = 2'560;
inline constexpr std::uint64_t kMac10Ps = 6'400;

/// A frame without its FCS, as a MAC gives it.
struct MacFrame {
  std::vector<std::uint8_t> bytes;
  bool bad = false;
  std::uint64_t arrival = 0;  ///< The time beside its first beat, which no other beat has.
};

inline std::vector<std::uint8_t> bytes_of(Random& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

/// A model with the ports of stopbit_mac_input, between the clock of a MAC, which does not wait, and that of a kernel.
template <class Model>
class MacDriver {
 public:
  MacDriver(std::uint64_t seed, std::uint64_t mac_period, std::uint64_t kernel_period)
      : random_(seed), clocks_(mac_period, kernel_period, random_.below(kernel_period)) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed));
    model_.mac_clk_i = 0;
    model_.clk_i = 0;
    model_.mac_valid_i = 0;
    model_.ready_i = 0;
    model_.rst_ni = 0;
    model_.mac_abort_i = 1;
  }
  virtual ~MacDriver() { model_.final(); }
  MacDriver(const MacDriver&) = delete;
  MacDriver& operator=(const MacDriver&) = delete;

  std::uint32_t gaps = 0;  ///< Percent of the cycles in which the MAC has nothing.

  Random& random() { return random_; }
  Model& model() { return model_; }
  ClockPair& clocks() { return clocks_; }
  [[nodiscard]] const std::vector<MacFrame>& sent() const { return sent_; }

  /// First of all.
  void start() {
    rest(20);
    model_.mac_abort_i = 0;
    reset();
  }
  /// What was sent and received is forgotten.
  void reset(int edges = 100) {
    model_.rst_ni = 0;
    rest(edges);
    model_.rst_ni = 1;
    rest(100);
    sent_.clear();
    forget();
  }
  /// Edges of both clocks, in which the MAC has nothing.
  void rest(int edges) {
    for (int i = 0; i < edges; ++i) edge();
  }
  /// `odd_beat`: its `keep` is this one, which makes the frame bad.
  void send(std::vector<std::uint8_t> bytes, bool error = false, int odd_beat = -1, std::uint8_t odd_keep = 0) {
    MacFrame frame{.bytes = std::move(bytes), .bad = error || odd_beat >= 0, .arrival = 0};
    const std::size_t beats = (frame.bytes.size() + 7) / 8;
    for (std::size_t beat = 0; beat < beats; ++beat) {
      std::uint8_t keep = 0xFF;
      if (beat + 1 == beats) keep = static_cast<std::uint8_t>(0xFF >> (8 * beats - frame.bytes.size()));
      if (static_cast<int>(beat) == odd_beat) keep = odd_keep;
      show(frame, beat, keep, beat + 1 == beats, error);
    }
    sent_.push_back(std::move(frame));
  }
  /// The first beats of a frame, and then the link goes down, in the last of them or after it.
  void send_aborted(std::vector<std::uint8_t> bytes, bool in_the_last) {
    MacFrame frame{.bytes = std::move(bytes), .bad = true, .arrival = 0};
    const std::size_t beats = (frame.bytes.size() + 7) / 8;
    for (std::size_t beat = 0; beat < beats; ++beat) {
      show(frame, beat, 0xFF, false, false, in_the_last && beat + 1 == beats);
    }
    if (!in_the_last) pulse_abort();
    // Ended in its first beat, it never began.
    if (!in_the_last || beats > 1) sent_.push_back(std::move(frame));
  }
  void pulse_abort() {
    model_.mac_abort_i = 1;
    mac_cycle();
    model_.mac_abort_i = 0;
  }
  /// A beat of a frame that the bench does not expect.
  void show_stray(bool last) {
    MacFrame frame{.bytes = std::vector<std::uint8_t>(8), .bad = false, .arrival = 0};
    show(frame, 0, 0xFF, last, false);
  }

 private:
  virtual void forget() {}
  /// Outputs have settled; an edge of the kernel's clock follows.
  virtual void before_kernel_edge() = 0;
  /// Sets what the kernel's side gives.
  virtual void after_kernel_edge() = 0;

  void show(MacFrame& frame, std::size_t beat, std::uint8_t keep, bool last, bool error, bool abort = false) {
    model_.mac_valid_i = 0;
    while (random_.chance(gaps)) mac_cycle();
    std::uint64_t data = random_.bits();
    for (std::size_t i = 0; i < 8 && 8 * beat + i < frame.bytes.size(); ++i) {
      data = (data & ~(std::uint64_t{0xFF} << 8 * i)) | std::uint64_t{frame.bytes[8 * beat + i]} << 8 * i;
    }
    model_.mac_valid_i = 1;
    model_.mac_data_i = data;
    model_.mac_keep_i = keep;
    model_.mac_last_i = last;
    model_.mac_error_i = last ? error : random_.chance(50);
    model_.mac_abort_i = abort;
    model_.mac_time_ns_i = ++time_ << 20 | random_.below(1 << 20);
    if (beat == 0) frame.arrival = model_.mac_time_ns_i;
    mac_cycle();
    model_.mac_valid_i = 0;
    model_.mac_abort_i = 0;
  }
  void mac_cycle() {
    while (!edge().first) {
    }
  }
  ClockPair::Edge edge() {
    const ClockPair::Edge edge = clocks_.next();
    model_.eval();
    if (edge.second) before_kernel_edge();
    if (edge.first) model_.mac_clk_i = 1;
    if (edge.second) model_.clk_i = 1;
    model_.eval();
    if (edge.first) model_.mac_clk_i = 0;
    if (edge.second) model_.clk_i = 0;
    model_.eval();
    if (edge.second) after_kernel_edge();
    return edge;
  }

  Random random_;
  ClockPair clocks_;
  VerilatedContext context_;
  Model model_{&context_};
  std::uint64_t time_ = 0;
  std::vector<MacFrame> sent_;
};

}  // namespace stopbit::sim
