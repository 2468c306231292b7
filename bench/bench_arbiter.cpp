// What arbitration costs a packet: in order, on one line and on two, and with gaps; by how many addresses the run comes
// from. What the arbiter delivers is checked before it is timed.

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/feed/arbitrate/arbiter.hpp"

namespace stopbit::bench {
namespace {

using arbitrate::Line;
using arbitrate::Packet;

constexpr std::uint64_t kNumbers = 4'096;  ///< Of a stream, which then goes on with the next ones.
constexpr std::uint64_t kIntervalNs = 10'000;
constexpr std::uint64_t kSkewNs = 1'000;  ///< Of line B.
constexpr std::uint64_t kLossEvery = 64;  ///< With gaps: numbers, in turn lost on A, on B and on both.
constexpr std::size_t kBytes = 200;       ///< Of a datagram.

enum Stream : std::int64_t { kOneLine, kTwoLines, kTwoLinesWithGaps };

struct Traffic {
  std::vector<Packet> packets;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
};

Traffic make_traffic(Stream stream, std::uint32_t addresses) {
  static const std::array<std::byte, kBytes> kPayload{};
  Traffic traffic;
  for (std::uint64_t number = 1; number <= kNumbers; ++number) {
    const bool is_hit = stream == kTwoLinesWithGaps && number % kLossEvery == 0;
    const std::uint64_t kind = number / kLossEvery % 3;
    const bool has[] = {!is_hit || kind == 1, stream != kOneLine && (!is_hit || kind == 0)};
    for (std::size_t line = 0; line < 2; ++line) {
      if (!has[line]) continue;
      Packet packet;
      packet.payload = kPayload;
      packet.preamble.sequence = number;
      packet.line = line == 0 ? Line::A : Line::B;
      packet.t_ns = number * kIntervalNs + line * kSkewNs;
      // Each sender of a line sends for a while.
      if (addresses != 0) packet.source = 1 + static_cast<std::uint32_t>((number / 16 * 2 + line) % addresses);
      traffic.packets.push_back(packet);
    }
    ++(has[0] || has[1] ? traffic.delivered : traffic.lost);
  }
  return traffic;
}

/// Checks the order, and counts.
class Counter final : public arbitrate::Sink {
 public:
  bool deliver(const Packet& packet, std::uint16_t /*epoch*/) noexcept override {
    is_right = is_right && packet.preamble.sequence == next;
    next = packet.preamble.sequence + 1;
    ++delivered;
    return true;
  }
  void gap(const arbitrate::Gap& gap) noexcept override {
    is_right = is_right && gap.first == next;
    next += gap.count;
    lost += gap.count;
  }
  void epoch(const arbitrate::NewRun& run) noexcept override { next = run.sequence; }
  void reset(const arbitrate::NewRun& /*run*/) noexcept override { is_right = false; }
  void conflict(const arbitrate::Conflict& /*conflict*/) noexcept override { is_right = false; }

  bool is_right = true;
  std::uint64_t next = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
};

/// Offers the stream, and moves it on to the next numbers.
void run_once(arbitrate::Arbiter& arbiter, Traffic& traffic, arbitrate::Sink& sink) {
  for (Packet& packet : traffic.packets) {
    arbiter.offer(packet, sink);
    arbiter.tick(packet.t_ns, sink);
    packet.preamble.sequence += kNumbers;
    packet.t_ns += kNumbers * kIntervalNs;
  }
}

void run(benchmark::State& state) {
  const auto stream = static_cast<Stream>(state.range(0));
  arbitrate::Options options;
  options.lines[1] = stream != kOneLine;
  options.ordered = state.range(2) != 0;
  arbitrate::Arbiter arbiter(options);
  Traffic traffic = make_traffic(stream, static_cast<std::uint32_t>(state.range(1)));
  Counter counter;
  constexpr std::uint64_t kRounds = 4;
  for (std::uint64_t i = 0; i < kRounds; ++i) run_once(arbiter, traffic, counter);
  const arbitrate::Account account = arbiter.total();
  const std::uint64_t accounted = counter.delivered + counter.lost + account.numbers.held;
  const std::uint64_t least = (kRounds - 1) * traffic.delivered;  // the last ones may still be held
  if (!counter.is_right || accounted != kRounds * kNumbers || counter.delivered < least || account.packets.late != 0 ||
      account.packets.malformed != 0 || counter.lost > kRounds * traffic.lost || !account.balanced()) {
    state.SkipWithError("not what was sent");
    return;
  }
  for (auto _ : state) run_once(arbiter, traffic, counter);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(traffic.packets.size()));
}

BENCHMARK(run)
    ->Name("arbiter")
    ->ArgNames({"stream", "addresses", "ordered"})
    ->ArgsProduct({{kOneLine, kTwoLines, kTwoLinesWithGaps}, {0, 1, 6}, {1, 0}});

}  // namespace
}  // namespace stopbit::bench

BENCHMARK_MAIN();
