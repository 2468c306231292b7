/// A ring on two multicast lines through the loopback interface: what goes out a second, and what arrives.
///
///   multicast/out/SLOTS     records of SLOTS slots, to two groups that no program has joined
///   multicast/through/SLOTS the same with a receiver of both, and the refill service for what its sockets lost
///
/// Each run sends a ring that is full, and the receiver's records are compared with it: a wrong or missing one is an
/// error, not a figure. Lost packets are refilled and counted.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/lib/ring_end.hpp"
#include "host/multicast/publisher.hpp"
#include "host/multicast/receiver.hpp"
#include "host/multicast/refill_server.hpp"
#include "host/os/clock.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;
/// Of one ring: three quarters of its slots, so that nothing is overwritten.
constexpr std::uint64_t kSlots = ring::kDefaultSlotCount / 4 * 3;

net::Endpoint group(int line) {
  // Other runs on this host have other groups.
  return {0xEFFF'0000U | static_cast<std::uint32_t>(::getpid() & 0x7F) << 8 | static_cast<std::uint32_t>(1 + line),
          static_cast<std::uint16_t>(20'000 + ::getpid() % 20'000)};
}

multicast::Publisher::Lines open_lines() {
  multicast::Publisher::Lines lines;
  for (int i = 0; i < 2; ++i) {
    auto line = multicast::open_line({.group = group(i), .interface = "lo", .loop = true});
    if (!line) throw std::runtime_error(line.message());
    lines[static_cast<std::size_t>(i)] = std::move(line).value();
  }
  return lines;
}

std::unique_ptr<multicast::Publisher> make_publisher(const std::string& ring) {
  multicast::PublisherOptions options;
  options.ring = ring;
  options.epoch_ns = os::wall_clock_ns();
  options.history_bytes = 256U << 20;
  return std::make_unique<multicast::Publisher>(std::move(options), open_lines(), [](const std::string&) {});
}

/// Compares each record with the one that was written.
class Checked final : public relay::StreamSink, public record::RecordSink {
 public:
  explicit Checked(std::uint32_t slots) : slots_(slots) {}
  Result<relay::StreamSink::Place> begin_ring(const relay::Head& /*head*/, std::span<const std::byte>) override {
    return relay::StreamSink::Place{this, 64};
  }
  void end_ring(relay::Ending /*ending*/) override {}
  record::RecordSink::Place open() noexcept override { return {room_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    bool is_right = slots == slots_;
    for (std::size_t word = 1; word < record::kValueWords; ++word) is_right &= first.words[word] == count_;
    for (std::uint32_t i = 1; i < slots && is_right; ++i) {
      for (std::size_t word = 0; word < record::kValueWords; ++word) {
        is_right &= room_[i].words[word] == count_ + word;
      }
    }
    wrong_ += is_right ? 0 : 1;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  std::uint32_t slots_;
  std::uint64_t count_ = 0;
  std::uint64_t wrong_ = 0;
  std::array<record::Slot, 64> room_;
};

struct NoEvents final : multicast::EventSink {
  void event(const market::SbeEvent& /*event*/) override {}
};

void out(benchmark::State& state) {
  const auto slots = static_cast<std::uint32_t>(state.range(0));
  const std::uint64_t records = kSlots / slots;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Ring ring("multicast");
    for (std::uint64_t i = 0; i < records; ++i) write(ring.writer(), slots, i);
    const auto publisher = make_publisher(ring.name());
    state.ResumeTiming();
    while (publisher->counts().records < records) (void)publisher->step(os::monotonic_clock_ns(), os::wall_clock_ns());
    state.PauseTiming();
    if (publisher->counts().lost + publisher->counts().missed != 0) state.SkipWithError("records did not go out");
    bytes += publisher->counts().lines[0].bytes;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records) * state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void through(benchmark::State& state) {
  const auto slots = static_cast<std::uint32_t>(state.range(0));
  const std::uint64_t records = kSlots / slots;
  std::uint64_t refilled = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Ring ring("multicast");
    for (std::uint64_t i = 0; i < records; ++i) write(ring.writer(), slots, i);
    const auto publisher = make_publisher(ring.name());
    auto server = multicast::RefillServer::open({.listen = {0x7F00'0001, 0}});
    if (!server) throw std::runtime_error(server.message());
    Checked sink(slots);
    NoEvents events;
    multicast::ReceiverOptions options;
    options.groups = {group(0), group(1)};
    options.interfaces = {"lo", "lo"};
    options.refill = server.value()->address();
    options.follows = true;
    auto receiver = multicast::Receiver::open(options, sink, events, [](const std::string&) {});
    if (!receiver) throw std::runtime_error(receiver.message());
    std::atomic<bool> is_over = false;
    state.ResumeTiming();
    std::thread sending([&] {
      while (!is_over) {
        const std::uint64_t now_ns = os::monotonic_clock_ns();
        (void)publisher->step(now_ns, os::wall_clock_ns());
        (void)server.value()->step(
            now_ns, {.history = publisher->history(), .layout = publisher->layout(), .image = publisher->image()});
      }
    });
    bool has_failed = false;
    for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; sink.count() < records && !has_failed;) {
      has_failed =
          receiver.value()->step(os::monotonic_clock_ns(), os::wall_clock_ns()) == multicast::Receiver::State::Failed ||
          os::monotonic_clock_ns() > end;
    }
    is_over = true;
    sending.join();
    state.PauseTiming();
    const multicast::ReceiverCounts& counts = receiver.value()->counts();
    if (has_failed || sink.wrong() != 0 || !counts.is_complete()) {
      state.SkipWithError("the records are not those of the ring");
    }
    refilled += counts.refilled;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records) * state.iterations());
  state.counters["refilled"] = benchmark::Counter(static_cast<double>(refilled), benchmark::Counter::kAvgIterations);
}

BENCHMARK(out)->Name("multicast/out")->Arg(1)->Arg(6)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(through)->Name("multicast/through")->Arg(1)->Arg(6)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stopbit::bench

BENCHMARK_MAIN();
