// What it costs to read a record: the generated view of the bundled sample against record::Reader, which goes by the
// schema. All of them add up the same fields, and a wrong sum is an error, not a number.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "bench/sample_view.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/reader.hpp"
#include "decoder/select/make_engine.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

using record::Slot;

/// The records of the sample, in memory.
struct Records {
  Program program;
  std::vector<Slot> slots;
  std::vector<std::span<const Slot>> all;
};

Records load_records() {
  auto work = load_workload("sample", STOPBIT_SAMPLE_FOLDER, "cme");
  if (!work) {
    std::fprintf(stderr, "bench_views: %s\n", work.message().c_str());
    std::exit(1);
  }
  Records records;
  std::vector<std::size_t> ends;
  const auto engine = make_engine(work.value()->program, work.value()->options, EngineKind::Quick).engine;
  record::BufferSink sink(work.value()->program.max_record_slots, [&](std::span<const Slot> record) {
    records.slots.insert(records.slots.end(), record.begin(), record.end());
    ends.push_back(records.slots.size());
  });
  for (const Workload::Datagram& datagram : work.value()->datagrams) {
    (void)engine->decode({work.value()->bytes.data() + datagram.offset, datagram.length}, datagram.info, sink);
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    records.all.emplace_back(records.slots.data() + begin, end - begin);
    begin = end;
  }
  records.program = std::move(work.value()->program);
  return records;
}

/// Of every book update: mantissas of prices, sizes and levels.
struct ByReader : record::Visitor {
  std::uint64_t sum = 0;
  bool is_update = false;
  void field(const SchemaNode& node, const record::Value& value) {
    if (is_update && (node.id == 270 || node.id == 271 || node.id == 1023)) sum += value.bits;
  }
};

struct ByView {
  std::uint64_t sum = 0;
  void operator()(const sample::BookUpdate& view) {
    for (const auto& entry : view.Entries()) {
      sum += static_cast<std::uint64_t>(entry.Price().mantissa) + entry.Size().value_or(0) + entry.Level().value_or(0);
    }
  }
};

std::uint64_t read_all(const Records& records) {
  const record::Schema schema = record::Schema::make(records.program).value();
  record::Reader reader(schema);
  ByReader visitor;
  for (const auto record : records.all) {
    visitor.is_update = record::HeaderView(record[0]).template_index() == sample::BookUpdate::kTemplateIndex;
    if (reader.read(record, visitor) != record::ReadError::None) return 0;
  }
  return visitor.sum;
}

std::uint64_t check_and_visit_all(const Records& records, const sample::Feed& feed) {
  ByView visitor;
  for (const auto record : records.all) {
    if (feed.read(record, visitor) != record::ReadError::None) return 0;
  }
  return visitor.sum;
}

std::uint64_t visit_all(const Records& records, const sample::Feed& feed) {
  ByView visitor;
  for (const auto record : records.all) feed.visit(record, visitor);
  return visitor.sum;
}

/// The least that reading the same words can cost: by hand, with the numbers that `stopbit info` prints.
std::uint64_t by_hand(const Records& records) {
  std::uint64_t sum = 0;
  for (const auto record : records.all) {
    if (static_cast<std::uint16_t>(record[0].words[0]) != sample::BookUpdate::kTemplateIndex) continue;
    const std::uint64_t count = record[0].words[6];
    for (std::uint64_t i = 0; i < count; ++i) {
      const Slot* const element = &record[1 + 2 * i];
      sum += element[0].words[6] + static_cast<std::uint32_t>(element[1].words[0]) +
             static_cast<std::uint32_t>(element[0].words[4]);
    }
  }
  return sum;
}

template <class Read>
void run(benchmark::State& state, const Records& records, std::uint64_t expected, Read read) {
  if (read() != expected) {
    state.SkipWithError("the sum is wrong");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(read());
  state.counters["ns_per_msg"] =
      benchmark::Counter(static_cast<double>(records.all.size()) * static_cast<double>(state.iterations()) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const Records records = load_records();
  const auto feed = sample::Feed::open(stopbit::layout_hash(records.program)).value();
  const std::uint64_t expected = read_all(records);
  if (expected == 0) return std::fprintf(stderr, "bench_views: the records cannot be read\n"), 1;
  const auto add = [&](const char* name, auto read) {
    benchmark::RegisterBenchmark(name, [&records, expected, read](benchmark::State& state) {
      run(state, records, expected, read);
    })->Unit(benchmark::kMicrosecond);
  };
  add("read/sample/reader", [&] { return read_all(records); });
  add("read/sample/view_checked", [&] { return check_and_visit_all(records, feed); });
  add("read/sample/view", [&] { return visit_all(records, feed); });
  add("read/sample/by_hand", [&] { return by_hand(records); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
