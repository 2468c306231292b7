/// From a record to its events in a ring, with books and state rows: what a message and an entry of real feeds cost,
/// and how much longer a capture takes with books than without.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/lib/histogram.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/event_ring.hpp"
#include "host/market/stage/market_stage.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/replay/replay.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::bench {
namespace {

using namespace market;  // NOLINT(google-build-using-namespace): it is what is measured

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_market: %s\n", what.c_str());
  std::exit(1);
}

/// A capture whose messages have a map.
struct Source {
  std::string folder;
  std::string capture;
  std::string map;
  std::string group;
  std::uint16_t depth = 0;  ///< Of books; 0: the map says it.
  // What has to come out: of CME's capture with the books that the test corpus.books compares, of the sample as it was
  // when the bench was written.
  std::uint64_t entries = 0;
  std::uint64_t events = 0;
};

/// What is read once of a source.
class Feed {
 public:
  explicit Feed(const Source& source) : source_(source) {
    Diagnostics diagnostics;
    const auto file = [](const std::string& path) { return stopbit::testing::file_text(path); };
    const std::string templates = source.folder + "/templates.xml";
    auto program = templates::compile({std::make_shared<SourceBuffer>(templates, file(templates))}, {}, diagnostics);
    auto text = read_map(source.map, file(source.map), diagnostics);
    if (!program || !text) fail(diagnostics.format());
    program_ = std::move(*program);
    auto map = compile_map(std::move(*text), program_, diagnostics);
    if (!map) fail(diagnostics.format());
    map_ = std::move(*map);
    if (source.depth != 0) map_.books[0].depth = source.depth;
    channel_.framing = net::parse_framing("cme").value();
    channel_.window = feed::default_window(channel_.role);
    channel_.lines[0] = feed::Line{.group = net::parse_endpoint(source.group).value(), .source = std::nullopt};
  }

  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] const Program& program() const { return program_; }

  /// Decodes the capture into `sink`; seconds.
  double decode(record::RecordSink& sink) const {
    replay::Options options;
    options.feed = {&channel_};
    const MadeEngine made = make_engine(program_, replay::engine_options(options), EngineKind::Native);
    replay::Replay replay(program_, *made.engine, sink, options);
    std::vector<std::unique_ptr<ingest::PacketSource>> sources;
    auto opened = ingest::open_capture(source_.folder + "/" + source_.capture);
    if (!opened) fail(opened.message());
    sources.push_back(std::move(opened).value());
    const auto begin = std::chrono::steady_clock::now();
    const replay::Summary summary = replay.run(sources);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (summary.error_count() != 0) fail("the capture has errors");
    return time.count();
  }

  /// Empty books, tables and ring, in shared memory as an appliance has them.
  [[nodiscard]] std::unique_ptr<EventRing> fresh(const testing::Scratch& scratch) const {
    EventRing::Options options;
    options.name = scratch.path("market");
    options.ring.slot_count = 1U << 16;
    options.room.instruments = 1'024;
    auto made = EventRing::prepare(options, map_, program_);
    if (!made) fail(made.message());
    return std::move(made).value();
  }

 private:
  const Source& source_;
  Program program_;
  Map map_;
  feed::Channel channel_;
};

void check(const EventRing& ring, const Source& source) {
  const MarketCounts counts = ring.maker().translator().counts();
  if (counts.entries != source.entries || counts.events != source.events) {
    fail("there are " + std::to_string(counts.entries) + " entries and " + std::to_string(counts.events) + " events");
  }
  for (std::size_t i = 1; i < kFaults; ++i) {
    if (ring.maker().books().faults(static_cast<Fault>(i)) != 0) fail("a book has a fault");
  }
}

void add_percentiles(benchmark::State& state, const Histogram& times, const TickClock& clock) {
  state.counters["p50"] = clock.ns(static_cast<double>(times.percentile(0.5)));
  state.counters["p90"] = clock.ns(static_cast<double>(times.percentile(0.9)));
  state.counters["p99"] = clock.ns(static_cast<double>(times.percentile(0.99)));
}

/// Records that are in the cache, each timed alone.
void record_to_event(benchmark::State& state, const Source& source) {
  const Feed feed(source);
  const testing::Scratch scratch;
  std::vector<record::Slot> slots;
  std::vector<std::size_t> ends;
  record::BufferSink keep(feed.program().max_record_slots, [&](std::span<const record::Slot> record) {
    slots.insert(slots.end(), record.begin(), record.end());
    ends.push_back(slots.size());
  });
  (void)feed.decode(keep);

  const TickClock clock;
  Histogram messages;
  Histogram entries;
  std::vector<double> totals;
  bool is_checked = false;
  for (auto _ : state) {
    const auto ring = feed.fresh(scratch);
    Translator& translator = ring->translator();
    std::uint64_t taken = 0;
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      const std::span<const record::Slot> record(slots.data() + first, end - first);
      first = end;
      // In the cache, as if it had been decoded just now.
      std::uint64_t tags = 0;
      for (const record::Slot& slot : record) tags ^= slot.words[record::kTagWord];
      benchmark::DoNotOptimize(tags);
      const std::uint64_t events_before = translator.counts().entries;
      const std::uint64_t begin = ticks_begin();
      translator.take(record);
      const std::uint64_t time = clock.between(begin, ticks_end());
      const std::uint64_t count = translator.counts().entries - events_before;
      taken += time;
      if (!is_checked || count == 0) continue;
      messages.record(time);
      for (std::uint64_t i = 0; i < count; ++i) entries.record(time / count);
    }
    translator.finish();
    if (!is_checked) {
      check(*ring, source);  // nothing is timed before the answer is known to be right
      is_checked = true;
    } else {
      totals.push_back(clock.ns(static_cast<double>(taken)) / static_cast<double>(source.entries));
    }
    state.SetIterationTime(1e-9);
  }
  if (totals.empty()) fail("a benchmark needs two iterations: the first one is checked");
  std::sort(totals.begin(), totals.end());
  state.counters["ns"] = totals[totals.size() / 2];
  state.counters["best"] = totals.front();
  add_percentiles(state, entries, clock);
  state.counters["message_p50"] = clock.ns(static_cast<double>(messages.percentile(0.5)));
  state.counters["message_p99"] = clock.ns(static_cast<double>(messages.percentile(0.99)));
}

/// The whole capture with and without books, in turns; what an entry adds to the faster ones of both.
void capture_to_books(benchmark::State& state, const Source& source) {
  const Feed feed(source);
  const testing::Scratch scratch;
  std::vector<double> without;
  std::vector<double> with;
  for (auto _ : state) {
    record::BufferSink end(feed.program().max_record_slots, [](std::span<const record::Slot>) {});
    without.push_back(feed.decode(end));
    const auto ring = feed.fresh(scratch);
    feed::Stages stages;
    stages.add(std::make_unique<MarketStage>(ring->translator()));
    with.push_back(feed.decode(stages.connect(end)));
    ring->translator().finish();
    check(*ring, source);
    state.SetIterationTime(1e-9);
  }
  const double least_without = *std::min_element(without.begin(), without.end());
  const double least_with = *std::min_element(with.begin(), with.end());
  state.counters["ns"] = (least_with - least_without) * 1e9 / static_cast<double>(source.entries);
  state.counters["decode_ms"] = least_without * 1e3;
  state.counters["books_ms"] = least_with * 1e3;
}

std::vector<Source> sources() {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  std::vector<Source> all = {{.folder = sample,
                              .capture = "capture.pcap.gz",
                              .map = sample + "/map.toml",
                              .group = "239.20.1.1:20001",
                              .entries = 21'899,
                              .events = 21'617}};
  if (const char* const corpus = std::getenv("STOPBIT_CORPUS"); corpus != nullptr && *corpus != '\0') {
    all.push_back({.folder = std::string(corpus) + "/cme-mdp-2012",
                   .capture = "capture.pcap",
                   .map = std::string(STOPBIT_MAPS_FOLDER) + "/cme-mdp2.toml",
                   .group = "224.0.31.1:10001",
                   .depth = 10,
                   .entries = 15'102,
                   .events = 15'176});
  } else {
    std::fprintf(stderr, "bench_market: STOPBIT_CORPUS is not set: no captures of real exchanges\n");
  }
  return all;
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const std::vector<Source> all = sources();
  const char* const names[] = {"sample", "cme-mdp-2012"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = names[i];
    benchmark::RegisterBenchmark(("record_to_event/" + name).c_str(),
                                 [&source = all[i]](benchmark::State& state) { record_to_event(state, source); })
        ->UseManualTime()
        ->Iterations(21);
    benchmark::RegisterBenchmark(("capture_to_books/" + name).c_str(),
                                 [&source = all[i]](benchmark::State& state) { capture_to_books(state, source); })
        ->UseManualTime()
        ->Iterations(21);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
