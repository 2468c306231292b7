// What an attacker's datagram costs: ten bytes that claim millions of elements, and random messages of every template
// set there is. The answers are checked before anything is timed.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "tests/attack/bombs.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"

namespace stopbit::bench {
namespace {

constexpr std::size_t kDatagrams = 225'000;  ///< Of each of the 45 feeds.
constexpr int kRepetitions = 5;              ///< The best of them counts: others were interrupted.
constexpr double kFreeNs = 1'000;            ///< Of each datagram, before bytes are charged.

void ignore(std::span<const record::Slot> /*record*/) {}

void run_bomb(benchmark::State& state, const attack::Feed& feed, const attack::Bomb& bomb) {
  const auto engine = make_engine(feed.program, {}, EngineKind::Quick).engine;
  record::BufferSink sink(feed.program.max_record_slots, ignore);
  if (engine->decode(bomb.bytes, {}, sink).error != ErrorCode::X2) {
    state.SkipWithError("it was not refused at its length");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(engine->decode(bomb.bytes, {}, sink).instructions);
}

void run_random(benchmark::State& state, const attack::Feed& feed) {
  using Clock = std::chrono::steady_clock;
  const std::vector<verify::TemplateCost> costs = verify::check(feed.program).costs;
  attack::Counts counts;
  attack::Target target(feed, costs, counts);
  cases::Random random(1);
  attack::Chatter chatter(feed.program, random);
  std::vector<attack::Bytes> datagrams;
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    datagrams.push_back(chatter.next());
    target.reset();
    (void)target.attack(datagrams.back());  // ends the program if a promise is broken
  }

  const auto engine = make_engine(feed.program, {}, EngineKind::Quick).engine;
  record::BufferSink sink(feed.program.max_record_slots, ignore);
  double worst = 0;
  double longest = 0;
  for (auto _ : state) {
    for (const attack::Bytes& datagram : datagrams) {
      double best = 1e9;
      for (int repetition = 0; repetition < kRepetitions; ++repetition) {
        engine->reset(0);
        const Clock::time_point begin = Clock::now();
        benchmark::DoNotOptimize(engine->decode(datagram, {}, sink).instructions);
        best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
      }
      longest = std::max(longest, best);
      worst = std::max(worst, (best - kFreeNs) / static_cast<double>(datagram.size()));
    }
  }
  state.counters["datagrams"] = static_cast<double>(kDatagrams);
  state.counters["longest_ns"] = longest;
  state.counters["worst_ns_per_byte_behind_1us"] = worst;
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit;
  using namespace stopbit::bench;
  const auto bomb_feed = attack::make_feed("bombs", attack::bomb_templates());
  const std::vector<attack::Bomb> bombs = attack::make_bombs();
  for (const attack::Bomb& bomb : bombs) {
    benchmark::RegisterBenchmark(("bomb/" + bomb.name).c_str(),
                                 [&](benchmark::State& state) { run_bomb(state, *bomb_feed, bomb); });
  }
  attack::Feeds feeds = attack::fixed_feeds();
  feeds.push_back(attack::sample_feed());
  for (auto& feed : attack::corpus_feeds()) feeds.push_back(std::move(feed));
  for (auto& feed : attack::random_feeds(1, 20)) feeds.push_back(std::move(feed));
  for (const auto& feed : feeds) {
    feed->reset = ResetRule::Packet;
    benchmark::RegisterBenchmark(("random/" + feed->name).c_str(), [&](benchmark::State& state) {
      run_random(state, *feed);
    })->Iterations(1);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
