#pragma once

#include <Vrtl_network_registers.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "clocks.hpp"
#include "generated/network_wires.hpp"
#include "host/device/generated/network_registers.hpp"
#include "register_host.hpp"

namespace stopbit::sim {

inline constexpr int kPatience = 64;
inline constexpr std::size_t kLinks = device::network_registers::link::kCount;
inline constexpr std::size_t kBusClock = 0;
inline constexpr std::size_t kCrossbarClock = 1;
inline constexpr std::size_t kLinkClock = 2;  // of the first link; the others follow
inline constexpr std::size_t kClocks = kLinkClock + kLinks;

/// A write to a command or a table, that its block may carry out.
struct PossibleCommand {
  BusRequest request;
  bool is_done = false;
};

/// The whole tree with its clocks, driven from its bus as a host does. Every answer is compared with what the registers
/// may be: what was written, or might have been written by an access that got an error.
class TreeBench {
 public:
  using Request = BusRequest;
  using Answer = BusAnswer;

  TreeBench(std::uint64_t seed, const std::array<std::uint64_t, kClocks>& periods, std::uint32_t stall = 0)
      : random_(seed), host_(random_, stall, kPatience) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed) + 1);
    for (const std::uint64_t period : periods) clocks_.add(period, random_.below(period));
    for (const Row& row : device::network_registers::kRegisters) rows_[row.address] = &row;
    for (const auto& wire : network_registers::kWires) wires_[wire.address] = &wire;
    host_.on_take = [this](const Request& request) { take(request); };
    host_.on_answer = [this](const Request& request, const Answer& answer) { see_answer(request, answer); };
    model_.clk_i = 0;
    model_.crossbar_clk_i = 0;
    model_.link_clk_i = 0;
    model_.awvalid_i = model_.wvalid_i = model_.arvalid_i = model_.bready_i = model_.rready_i = 0;
    set_reset(kBusClock, true);
    for (std::size_t i = kCrossbarClock; i < kClocks; ++i) set_reset(i, true);
    edges(200);
    for (std::size_t i = 0; i < kClocks; ++i) set_reset(i, false);
    edges(400);
  }
  ~TreeBench() { model_.final(); }
  TreeBench(const TreeBench&) = delete;
  TreeBench& operator=(const TreeBench&) = delete;

  Random& random() { return random_; }
  Clocks& clocks() { return clocks_; }
  Vrtl_network_registers& model() { return model_; }

  static std::size_t clock_of(std::uint32_t address) {
    if (address >= 0x4000 && address < 0x8000) return kCrossbarClock;
    if (address >= 0x8000 && address < 0x8000 + kLinks * 0x100) return kLinkClock + (address - 0x8000) / 0x100;
    return kBusClock;
  }
  /// Of the bus, or of the registers in a clock.
  void set_reset(std::size_t clock, bool on) {
    in_reset_[clock] = on;
    model_.rst_ni = !in_reset_[kBusClock];
    model_.crossbar_rst_ni = !in_reset_[kCrossbarClock];
    std::uint32_t links = 0;
    for (std::size_t i = 0; i < kLinks; ++i) links |= std::uint32_t{!in_reset_[kLinkClock + i]} << i;
    model_.link_rst_ni = static_cast<std::uint8_t>(links);
    if (on && clock == kBusClock) host_.reset();
  }
  [[nodiscard]] bool in_reset(std::size_t clock) const { return in_reset_[clock]; }

  /// Offers a request; its answer comes to `done`.
  void offer(const Request& request, std::function<void(const Request&, const Answer&)> done) {
    host_.offer(request, std::move(done));
  }
  [[nodiscard]] bool is_idle() const { return host_.is_idle(); }
  /// Drops what was offered, for a reset of the bus: it may have been done or not.
  std::vector<Request> forget() { return host_.forget(); }
  Answer access(const Request& request) {
    std::optional<Answer> answer;
    offer(request, [&](const Request&, const Answer& got) { answer = got; });
    for (int i = 0; !answer && i < 100'000; ++i) edge();
    if (!answer) ADD_FAILURE() << "no answer";
    return answer.value_or(Answer{});
  }
  Answer read(std::uint32_t address) { return access({.address = address}); }
  Answer write(std::uint32_t address, std::uint32_t data) {
    return access({.write = true, .address = address, .data = data});
  }

  void edges(int count) {
    for (int i = 0; i < count; ++i) edge();
  }
  /// One edge of some clocks.
  void edge() {
    const std::uint32_t edges = clocks_.next();
    if ((edges & 1) != 0) drive_bus();
    model_.eval();
    if ((edges & 1) != 0) see_bus();
    for (std::size_t i = kCrossbarClock; i < kClocks; ++i) {
      if ((edges >> i & 1) != 0) see_commands(i);
    }
    if ((edges & 1) != 0) model_.clk_i = 1;
    if ((edges >> kCrossbarClock & 1) != 0) model_.crossbar_clk_i = 1;
    model_.link_clk_i = static_cast<std::uint8_t>(edges >> kLinkClock);
    model_.eval();
    model_.clk_i = 0;
    model_.crossbar_clk_i = 0;
    model_.link_clk_i = 0;
    model_.eval();
    for (std::size_t i = 0; i < kClocks; ++i) {
      if ((edges >> i & 1) != 0) ++cycles_[i];
    }
    if (on_edge) on_edge(edges);
  }
  std::function<void(std::uint32_t)> on_edge;
  [[nodiscard]] std::uint64_t cycles(std::size_t clock) const { return cycles_[clock]; }

  /// Sets what a unit gives for a register: a level (Shown), or what it gives in each of its cycles.
  void give(std::uint32_t address, std::uint64_t value) {
    const auto& wire = *wires_.at(address);
    with(wire, [&](auto& port) { set_wire(port, wire.at, wire.width, value); });
  }
  [[nodiscard]] std::uint64_t written(std::uint32_t address) {
    const auto& wire = *wires_.at(address);
    std::uint64_t value = 0;
    with(wire, [&](auto& port) { value = wire_bits(port, wire.at, wire.width); });
    return value;
  }

  std::uint64_t refused = 0;  ///< Pulses of refused_o, gave_up_o.
  std::uint64_t gave_up = 0;
  std::uint64_t errors = 0;  ///< Answers.
  std::uint64_t answers = 0;
  std::uint64_t commands = 0;
  std::uint32_t last_error = 0;

 private:
  using Row = device::RegisterRow;
  using Possible = PossibleCommand;

  template <class Wire, class Visit>
  void with(const Wire& wire, Visit visit) {
    network_registers::for_each_port(model_, [&](network_registers::Port port, auto& signal) {
      if (port == wire.port) visit(signal);
    });
  }

  void drive_bus() {
    if (in_reset_[kBusClock]) {
      host_.drive_nothing(model_);
    } else {
      host_.drive(model_);
    }
  }

  void see_bus() {
    if (in_reset_[kBusClock]) return;
    if (model_.refused_o || model_.gave_up_o) {
      ASSERT_FALSE(model_.refused_o && model_.gave_up_o);
      ASSERT_TRUE(host_.is_waiting());
      ASSERT_EQ(model_.error_address_o, asked_.address);
      ASSERT_EQ(model_.error_write_o, asked_.write);
      (model_.refused_o ? refused : gave_up) += 1;
      is_error_ = true;
    }
    host_.see(model_);
  }
  void take(const Request& request) {
    asked_ = request;
    is_error_ = false;
    if (request.write && is_commanding(request)) maybe_[clock_of(request.address)].push_back({request});
  }
  void see_answer(const Request& request, const Answer& answer) {
    ASSERT_EQ(answer.error, is_error_);
    ++answers;
    if (is_error_) ++errors;
    settle_commands(request, answer);
  }

  // ------------------------------------------------------------------------------------------ commands: done once, or
  // not
  const Row* row_at(std::uint32_t address) const {
    const auto after = rows_.upper_bound(address);
    if (after == rows_.begin()) return nullptr;
    const Row* row = std::prev(after)->second;
    return address < row->address + row->bits / 8 * row->words ? row : nullptr;
  }
  [[nodiscard]] bool is_commanding(const Request& request) const {
    const Row* row = row_at(request.address);
    return row != nullptr && request.strobe == 0xF && request.address % 4 == 0 &&
           (row->kind == device::RegisterKind::Command || row->kind == device::RegisterKind::Table);
  }
  /// An answer without error says that the access was done: earlier ones that got an error can no longer be.
  void settle_commands(const Request& request, const Answer& answer) {
    auto& possible = maybe_[clock_of(request.address)];
    if (answer.error) return;
    if (request.write && is_commanding(request)) {
      ASSERT_FALSE(possible.empty());
      ASSERT_TRUE(possible.back().is_done) << std::hex << request.address << " was answered and not done";
    }
    possible.clear();
  }
  void see_commands(std::size_t clock) {
    for (const auto& wire : network_registers::kWires) {
      if (wire.bundle != Bundle::Command || clock_of(wire.address) != clock) continue;
      with(wire, [&](auto& port) {
        if (wire_bits(port, wire.valid, 1) == 0) return;
        ASSERT_FALSE(in_reset_[clock]);
        ++commands;
        const std::uint64_t index = wire.index_width > 0 ? wire_bits(port, wire.index, wire.index_width) : 0;
        const std::uint64_t data = wire_bits(port, wire.at, wire.width);
        const std::uint64_t mask = wire.width == 32 ? 0xFFFF'FFFF : (1ULL << wire.width) - 1;
        auto& possible = maybe_[clock];
        // Of several that are alike the last one.
        const auto found = std::find_if(possible.rbegin(), possible.rend(), [&](const Possible& one) {
          return !one.is_done && one.request.address == wire.address + 4 * index && (one.request.data & mask) == data;
        });
        const bool is_found = found != possible.rend();
        if (is_found) found->is_done = true;
        ASSERT_TRUE(is_found) << "a command that was not given, or twice: " << std::hex << wire.address;
      });
    }
  }

  Random random_;
  RegisterHost<Vrtl_network_registers> host_;
  Clocks clocks_;
  VerilatedContext context_;
  Vrtl_network_registers model_{&context_};
  std::array<bool, kClocks> in_reset_{};
  std::array<std::uint64_t, kClocks> cycles_{};
  std::map<std::uint32_t, const Row*> rows_;
  std::map<std::uint32_t, const RegisterWire<network_registers::Port>*> wires_;
  Request asked_;
  bool is_error_ = false;
  std::map<std::size_t, std::deque<Possible>> maybe_;
};

}  // namespace stopbit::sim
