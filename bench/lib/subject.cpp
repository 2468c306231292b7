#include "bench/lib/subject.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/schema.hpp"

namespace stopbit::bench {
namespace {

using record::Slot;

/// Of all words of all slots, in order.
class Checksum {
 public:
  void add(std::span<const Slot> slots) noexcept {
    for (const Slot& slot : slots) {
      for (const std::uint64_t word : slot.words) {
        sum_ = (sum_ ^ word) * 0x9E37'79B9'7F4A'7C15U;
        sum_ ^= sum_ >> 29;
      }
    }
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

struct Answer {
  std::string text;
  std::uint64_t checksum = 0;
  std::uint64_t slots = 0;
  std::uint64_t unreadable = 0;
  Totals totals;
};

Answer answer_of(const Workload& work, const record::Schema& schema, Engine& engine) {
  Answer answer;
  record::JsonPrinter printer(schema);
  Checksum checksum;
  record::BufferSink sink(
      work.program.max_record_slots,
      [&](std::span<const Slot> slots) {
        checksum.add(slots);
        answer.slots += slots.size();
        if (printer.print(slots, answer.text) != record::ReadError::None) ++answer.unreadable;
      },
      ring_slots(work));
  answer.totals = decode_all(work, engine, sink);
  answer.checksum = checksum.value();
  for (std::uint16_t channel = 0; channel < work.options.channels; ++channel) engine.reset(channel);
  return answer;
}

/// Empty if the answer is right.
std::string fault_of(const Workload& work, const Answer& answer, const Answer& reference) {
  if (answer.totals.errors != 0) return std::to_string(answer.totals.errors) + " datagrams were not decoded";
  if (answer.unreadable != 0) return std::to_string(answer.unreadable) + " records cannot be read";
  if (work.expected_json && answer.text != *work.expected_json) return "records differ from the expected ones";
  if (answer.checksum != reference.checksum) return "slots differ from the interpreter's";
  return {};
}

}  // namespace

Totals decode_all(const Workload& work, Engine& engine, record::RecordSink& sink) {
  Totals totals;
  for (std::size_t i = 0; i < work.datagrams.size(); ++i) {
    totals.add(engine.decode(work.datagram(i), work.datagrams[i].info, sink));
  }
  return totals;
}

void for_workloads(const Arguments& arguments, Report& report, std::span<const char* const> names,
                   const std::function<void(const Workload& work)>& take) {
  for (const WorkloadSource& source : workload_sources()) {
    if (!names.empty() && std::find(names.begin(), names.end(), source.name) == names.end()) continue;
    if (!arguments.wants(source.name)) continue;
    const auto work = source.make();
    if (work) {
      take(*work.value());
    } else {
      report.problem(source.name + ": " + work.message());
    }
  }
}

std::vector<Subject> make_subjects(const Workload& work, Report& report) {
  std::vector<Subject> subjects;
  const auto schema = record::Schema::make(work.program);
  if (!schema) {
    report.problem(work.name + ": " + schema.message());
    return subjects;
  }
  Answer reference;
  for (const EngineKind kind : {EngineKind::Interp, EngineKind::Quick, EngineKind::Native}) {
    MadeEngine made = make_engine(work.program, work.options, kind);
    if (made.kind != kind) {
      report.note("native is not measured: " + made.why_not_native);
      continue;
    }
    const Answer answer = answer_of(work, schema.value(), *made.engine);
    if (kind == EngineKind::Interp) {
      reference = answer;  // it checks the answer and is not measured
      continue;
    }
    const std::string name(engine_name(kind));
    if (const std::string fault = fault_of(work, answer, reference); !fault.empty()) {
      report.problem(work.name + '/' + name + ": " + fault);
      continue;
    }
    subjects.push_back({name, std::move(made.engine)});
  }
  const auto messages = static_cast<double>(reference.totals.messages);
  report.fact(work.name, "messages", messages);
  report.fact(work.name, "datagrams", static_cast<double>(work.datagrams.size()));
  report.fact(work.name, "bytes per message", static_cast<double>(work.data_bytes) / messages);
  report.fact(work.name, "fields per message", static_cast<double>(reference.totals.fields) / messages);
  report.fact(work.name, "slots per message", static_cast<double>(reference.slots) / messages);
  return subjects;
}

}  // namespace stopbit::bench
