// From datagrams to text and columns, on one core: output/<workload>/<format>, ns per value. Decoding is in it, the
// file system is not, but for columns.

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/csv.hpp"
#include "decoder/record/fix.hpp"
#include "decoder/record/json.hpp"
#include "host/replay/columns/column_writer.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

using record::Slot;

/// Text that goes nowhere, in blocks as a file gets them.
struct Text {
  static constexpr std::size_t kBlockBytes = 256 * 1024;
  std::string block;
  std::uint64_t bytes = 0;
  void flush_if_full() {
    if (block.size() >= kBlockBytes) flush();
  }
  void flush() {
    bytes += block.size();
    block.clear();
  }
};

/// Decodes the workload once; each record goes to `take`.
template <class Take>
Totals pass(const Workload& work, Engine& engine, Take take) {
  record::BufferSink sink(work.program.max_record_slots, std::move(take));
  return decode_all(work, engine, sink);
}

template <class Printer>
std::uint64_t print_all(const Workload& work, Engine& engine, Printer& printer) {
  Text text;
  bool is_good = true;
  (void)pass(work, engine, [&](std::span<const Slot> record) {
    is_good = printer.print(record, text.block) == record::ReadError::None && is_good;
    text.flush_if_full();
  });
  text.flush();
  return is_good ? text.bytes : 0;
}

/// Passes until a folder holds this much: what it costs to make and to end a folder is little then.
constexpr std::uint64_t kColumnBytes = 256U << 20;

std::uint64_t columns_of_all(const Workload& work, Engine& engine, const record::Schema& schema, std::uint64_t passes) {
  const testing::Scratch scratch;
  const auto folder = replay::ColumnFolder::open(scratch.path("columns"), false);
  if (!folder) return 0;
  replay::ColumnWriter writer(*folder.value(), {{"", schema}});
  bool is_good = true;
  for (std::uint64_t i = 0; i < passes; ++i) {
    (void)pass(work, engine, [&](std::span<const Slot> record) {
      is_good = writer.add(0, record) == record::ReadError::None && is_good;
    });
  }
  return writer.finish(true) && is_good ? folder.value()->bytes_written() : 0;
}

void measure(const std::string& name, std::uint64_t values, bool quick, Report& report,
             const std::function<std::uint64_t()>& run) {
  const std::uint64_t bytes = run();
  if (bytes == 0) return report.problem(name + ": a record cannot be read, or a file cannot be written");
  report.fact(name, "bytes per value", static_cast<double>(bytes) / static_cast<double>(values));
  std::vector<double> samples;
  double best = 0;
  for (int repetition = 0; repetition < (quick ? 3 : 6); ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    if (run() != bytes) return report.problem(name + ": another length than before");
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    samples.push_back(time.count() / static_cast<double>(values));
    best = std::max(best, static_cast<double>(bytes) / time.count());
  }
  report.fact(name, "GB/s, the best", best);
  report.add(name, "ns/value", std::move(samples));
}

void measure_all(const Workload& work, bool quick, Report& report) {
  const std::string name = "output/" + work.name;
  const record::Schema schema = record::Schema::make(work.program).value();
  // Their JSON lines were checked: nothing else is timed.
  const std::vector<Subject> subjects = make_subjects(work, report);
  if (subjects.empty()) return;
  Engine* const engine = subjects.back().engine.get();
  record::JsonPrinter json(schema);
  const std::uint64_t values = pass(work, *engine, [](std::span<const Slot>) {}).fields;
  if (values == 0) return report.problem(name + ": no values");
  measure(name + "/jsonl", values, quick, report, [&] { return print_all(work, *engine, json); });
  measure(name + "/csv", values, quick, report, [&] {
    record::CsvPrinter csv(schema);  // it numbers its messages
    return print_all(work, *engine, csv);
  });
  record::FixPrinter fix(schema, record::FixStyle::Readable);
  measure(name + "/fix", values, quick, report, [&] { return print_all(work, *engine, fix); });
  const std::uint64_t bytes = columns_of_all(work, *engine, schema, 1);
  const std::uint64_t passes = bytes == 0 || quick ? 1 : 1 + kColumnBytes / bytes;
  measure(name + "/columns", values * passes, quick, report,
          [&] { return columns_of_all(work, *engine, schema, passes); });
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "From datagrams to text and columns, on one core.");
  Report report;
  if (const auto processors = two_processors()) pin(processors->second);
  for (const WorkloadSource& source : workload_sources()) {
    if (!arguments.wants(source.name)) continue;
    const auto work = source.make();
    if (!work) {
      report.problem(source.name + ": " + work.message());
      continue;
    }
    measure_all(*work.value(), arguments.quick, report);
  }
  return report.finish(arguments.json);
}
