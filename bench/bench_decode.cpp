// Decode speed: one benchmark per workload and engine, decode/<case>/<engine>. Records go to slots in memory. The
// answers are compared with the expected ones before anything is timed; a wrong answer is an error, not a number.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/sink.hpp"

namespace stopbit::bench {
namespace {

/// As much memory as a small ring has; records are written round and round.
constexpr std::size_t kRingRecords = 4;

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t fields = 0;
  std::uint64_t errors = 0;
};

Totals decode_all(const Workload& work, Engine& engine, record::RecordSink& sink) {
  Totals totals;
  for (const Workload::Datagram& datagram : work.datagrams) {
    const Outcome outcome = engine.decode({work.bytes.data() + datagram.offset, datagram.length}, datagram.info, sink);
    totals.messages += outcome.messages;
    totals.fields += outcome.fields;
    totals.errors += outcome.error != ErrorCode::None || outcome.dropped ? 1 : 0;
  }
  return totals;
}

/// Empty if the engine's answers are right.
std::string wrong_answer(const Workload& work, Engine& engine) {
  std::string text;
  const auto schema = record::Schema::make(work.program);
  if (!schema) return schema.message();
  record::JsonPrinter printer(schema.value());
  std::uint64_t unreadable = 0;
  record::BufferSink sink(work.program.max_record_slots, [&](std::span<const record::Slot> slots) {
    if (printer.print(slots, text) != record::ReadError::None) ++unreadable;
  });
  const Totals totals = decode_all(work, engine, sink);
  if (totals.errors != 0) return std::to_string(totals.errors) + " datagrams were not decoded";
  if (unreadable != 0) return std::to_string(unreadable) + " records cannot be read";
  if (work.expected_json && text != *work.expected_json) return "records differ from expected.jsonl";
  return {};
}

void run(benchmark::State& state, const Workload& work) {
  const auto engine = make_interpreter(work.program, work.options);
  if (const std::string wrong = wrong_answer(work, *engine); !wrong.empty()) {
    state.SkipWithError((work.name + ": " + wrong).c_str());
    return;
  }
  for (std::uint16_t channel = 0; channel < work.options.channels; ++channel) engine->reset(channel);
  std::uint64_t slots = 0;
  record::BufferSink sink(
      work.program.max_record_slots, [&](std::span<const record::Slot> record) { slots += record.size(); },
      kRingRecords * work.program.max_record_slots);
  Totals totals;
  for (auto _ : state) {
    const Totals pass = decode_all(work, *engine, sink);
    totals.messages += pass.messages;
    totals.fields += pass.fields;
    totals.errors += pass.errors;
  }
  if (totals.errors != 0) state.SkipWithError("a repeated pass had errors");
  const auto per = [](double count) {
    return benchmark::Counter(count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  };
  state.counters["ns_per_msg"] = per(static_cast<double>(totals.messages));
  state.counters["ns_per_field"] = per(static_cast<double>(totals.fields));
  state.counters["MB_per_s"] =
      benchmark::Counter(static_cast<double>(work.data_bytes) * static_cast<double>(state.iterations()) * 1e-6,
                         benchmark::Counter::kIsRate);
  state.counters["slots_per_msg"] = static_cast<double>(slots) / static_cast<double>(totals.messages);
}

struct Case {
  const char* name;
  const char* framing;
};

constexpr Case kCorpus[] = {
    {"complex30000", "none"}, {"cme-mdp-2012", "cme"}, {"moex-asts-trades-2019", "moex"}, {"eurex-rdi-2016", "t7"}};

void add(std::vector<std::unique_ptr<Workload>>& all, const std::string& name, const std::string& folder,
         const std::string& framing) {
  auto work = load_workload(name, folder, framing);
  if (!work) {
    std::fprintf(stderr, "bench_decode: %s: %s\n", name.c_str(), work.message().c_str());
    std::exit(1);
  }
  all.push_back(std::move(work).value());
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

  std::vector<std::unique_ptr<Workload>> all;
  add(all, "sample", STOPBIT_SAMPLE_FOLDER, "cme");
  if (const char* corpus = std::getenv("STOPBIT_CORPUS"); corpus != nullptr) {
    for (const Case& item : kCorpus) add(all, item.name, std::string(corpus) + '/' + item.name, item.framing);
  } else {
    std::fprintf(stderr, "bench_decode: STOPBIT_CORPUS is not set: only the bundled sample is measured\n");
  }
  for (const auto& work : all) {
    benchmark::RegisterBenchmark(("decode/" + work->name + "/interp").c_str(), [&work](benchmark::State& state) {
      run(state, *work);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
