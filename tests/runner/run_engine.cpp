#include "tests/runner/run_engine.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/json_reader.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/guarded_memory.hpp"
#include "tests/lib/profiled.hpp"
#include "tests/lib/record_text.hpp"
#include "tests/lib/recording_sink.hpp"

namespace stopbit::cases {
namespace {

constexpr std::size_t kMaxGuardedBytes = 1U << 20;
constexpr std::size_t kMaxMutatedBytes =
    160;  // longer datagrams are not turned bit by bit: their cases are about length

struct Run {
  std::vector<Outcome> outcomes;  ///< One per step; empty for resets.
  std::vector<Record> records;
  std::vector<std::string> problems;
};

bool is_event(const Record& record) {
  return (record[0].words[0] & 0xFFFF) == record::kEventIndex;
}

/// The event record must tell what the outcome tells.
std::string event_problem(const Record& record, const Outcome& outcome, std::uint64_t packet_number) {
  const std::uint64_t word4 = record[0].words[4];
  const auto kind = static_cast<record::EventKind>(word4 & 0xFF);
  const auto expected = outcome.dropped ? record::EventKind::Dropped : record::EventKind::DecodeError;
  if (kind != expected) return "the event has another kind than the outcome";
  if (record[0].words[6] != packet_number) return "the event names another packet";
  if (outcome.dropped) return {};
  if ((word4 >> 8 & 0xFF) != static_cast<std::uint64_t>(outcome.error)) return "the event has another code";
  if ((word4 >> 16 & 0xFFFF) != outcome.template_index) return "the event names another template";
  if ((word4 >> 32 & 0xFFFF) != outcome.block) return "the event names another block";
  if ((word4 >> 48 & 0xFF) != outcome.word) return "the event names another word";
  if ((record[0].words[5] & 0xFFFF'FFFF) != outcome.offset_bytes) return "the event has another offset";
  if (outcome.error == ErrorCode::D9 && record[0].words[5] >> 32 != outcome.template_id) {
    return "the event names another template identifier";
  }
  return {};
}

/// What must hold for any datagram, good or bad. `first` is the first record of the datagram.
void check_outcome(const Run& run, std::size_t first, const Outcome& outcome, std::size_t size, std::uint64_t number,
                   std::vector<std::string>& problems) {
  const std::string where = "datagram " + std::to_string(number) + ": ";
  if (outcome.offset_bytes > size) problems.push_back(where + "the offset is behind the datagram");
  if (outcome.error == ErrorCode::None && !outcome.dropped && outcome.offset_bytes != size) {
    problems.push_back(where + "not decoded to its end, and no error");
  }
  const bool wants_event = outcome.error != ErrorCode::None;
  const std::size_t made = run.records.size() - first;
  std::size_t events = 0;
  for (std::size_t i = first; i < run.records.size(); ++i) events += is_event(run.records[i]) ? 1U : 0U;
  if (made - events != outcome.messages) problems.push_back(where + "as many messages as records were promised");
  if (wants_event && (events == 0 || !is_event(run.records.back()))) {
    problems.push_back(where + "an error, and no event record at the end");
  } else if (wants_event || (outcome.dropped && events == 1)) {
    const std::string problem = event_problem(run.records.back(), outcome, number);
    if (!problem.empty()) problems.push_back(where + problem);
  } else if (events != 0) {
    problems.push_back(where + "an event record without an error");
  }
}

/// What a case's datagrams are decoded by.
struct Bench {
  const Program& program;
  const EngineOptions& options;
  const record::Schema& schema;
  const std::vector<verify::TemplateCost> costs;
  const std::vector<TestedEngine> engines;  ///< The first is the reference.
  /// The same, of the program with profile programs for the case's own maps.
  const std::vector<verify::TemplateCost> profiled_costs;
  const std::vector<TestedEngine> profiled_engines;
  /// The same, of the program with hints.
  const std::vector<TestedEngine> hinted_engines;

  const GuardedMemory guarded;
};

/// On fresh channels.
Run run(const Bench& bench, const TestedEngine& tested, const std::vector<verify::TemplateCost>& costs,
        const std::vector<Step>& steps) {
  Run result;
  RecordingSink sink(bench.program);
  Engine& engine = *tested.engine;
  for (std::uint16_t channel = 0; channel < bench.options.channels; ++channel) engine.reset(channel);
  std::uint64_t number = 0;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::Reset) {
      engine.reset(step.channel);
      result.outcomes.emplace_back();
      continue;
    }
    // Memory of exactly this size, so that a sanitizer sees a read outside; and once more in front of a guard, for code
    // that no sanitizer sees.
    const auto copy = std::make_unique<std::byte[]>(step.bytes.size());
    std::copy(step.bytes.begin(), step.bytes.end(), copy.get());
    std::span<const std::byte> datagram(copy.get(), step.bytes.size());
    if (tested.name != bench.engines.front().name) datagram = bench.guarded.place(datagram);
    PacketInfo info;
    info.number = ++number;
    info.channel = step.channel;
    const std::size_t first = result.records.size();
    result.outcomes.push_back(engine.decode(datagram, info, sink));
    result.records = sink.records();
    if (result.outcomes.back().instructions >
        verify::instruction_bound(costs, static_cast<std::uint32_t>(step.bytes.size()))) {
      result.problems.push_back("datagram " + std::to_string(number) + ": more instructions than the verifier's bound");
    }
    check_outcome(result, first, result.outcomes.back(), step.bytes.size(), number, result.problems);
  }
  for (const std::string& problem : sink.problems()) result.problems.push_back(problem);
  return result;
}

/// Name of the field or length at the place of the error, after the names of the groups and sequences around it. Empty
/// if there is none.
std::string field_name(const record::Schema& schema, const Outcome& outcome) {
  const SchemaNode* owner = schema.owner(outcome.template_index, outcome.block, outcome.word);
  if (owner == nullptr) return {};
  const std::size_t index = schema.index_of(*owner);
  std::string path;
  for (std::size_t i = schema.find(outcome.template_index)->first_node; i < index; ++i) {
    const SchemaNode& node = schema.node(i);
    if (node.kind != NodeKind::Field && node.end > index) path += std::string(schema.name(node.name)) + ".";
  }
  path += schema.name(owner->name);
  if (path.ends_with('.')) path.pop_back();  // a value of a vector has no name
  return path;
}

/// The records as cases write them, by way of their JSON lines. Events too must print.
std::vector<std::string> record_lines(const record::Schema& schema, const Run& result,
                                      std::vector<std::string>& problems) {
  record::JsonPrinter printer(schema);
  std::vector<std::string> lines;
  for (const Record& record : result.records) {
    std::string json;
    if (const record::ReadError error = printer.print(record, json); error != record::ReadError::None) {
      problems.push_back("the record cannot be read: " + std::string(record::error_text(error)));
      continue;
    }
    if (is_event(record)) continue;
    const std::optional<std::string> text = record_text(json);
    if (!text) problems.push_back("not a JSON line of a record: " + json);
    lines.push_back(text.value_or(json));
  }
  return lines;
}

/// "D2 at 3", then " in datagram 2" if there are several. The field follows where the case names one.
std::vector<std::string> error_lines(const CaseFile& file, const record::Schema& schema, const std::vector<Step>& steps,
                                     const Run& result) {
  const std::vector<std::string> expected = file.lines(file.find("error"));
  const auto is_datagram = [](const Step& step) { return step.kind == Step::Kind::Datagram; };
  const bool several = std::count_if(steps.begin(), steps.end(), is_datagram) > 1;
  std::vector<std::string> lines;
  std::size_t number = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_datagram(steps[i])) continue;
    ++number;
    const Outcome& outcome = result.outcomes[i];
    const std::string where = several ? " in datagram " + std::to_string(number) : "";
    if (outcome.dropped) {
      lines.push_back("dropped" + where);
    } else if (outcome.error != ErrorCode::None) {
      std::string line = std::string(code_text(outcome.error)) + " at " + std::to_string(outcome.offset_bytes) + where;
      const bool names_field =
          lines.size() >= expected.size() || expected[lines.size()].find(" field ") != std::string::npos;
      const std::string field = field_name(schema, outcome);
      if (names_field && !field.empty()) line += " field " + field;
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

/// What an engine does differently from the reference; empty if nothing.
std::string difference(const Run& reference, const Run& other) {
  for (std::size_t i = 0; i < reference.outcomes.size(); ++i) {
    const std::string text = cases::difference(reference.outcomes[i], other.outcomes[i]);
    if (!text.empty()) return "step " + std::to_string(i + 1) + ": " + text;
  }
  return cases::difference(reference.records, other.records);
}

/// The reference's run of these steps. Whatever the other engines do differently is reported.
Run run_all(const Bench& bench, const std::vector<Step>& steps, const std::string& what, Report& report) {
  Run reference = run(bench, bench.engines.front(), bench.costs, steps);
  const auto compare = [&](const TestedEngine& tested, const std::vector<verify::TemplateCost>& costs,
                           const char* variant) {
    const Run other = run(bench, tested, costs, steps);
    const std::string name = std::string(tested.name) + variant + what + ": ";
    for (const std::string& problem : other.problems) report.fail(name + problem);
    const std::string text = difference(reference, other);
    if (!text.empty()) report.fail(name + text);
  };
  for (std::size_t i = 1; i < bench.engines.size(); ++i) compare(bench.engines[i], bench.costs, "");
  for (const TestedEngine& tested : bench.profiled_engines) compare(tested, bench.profiled_costs, " with profiles");
  for (const TestedEngine& tested : bench.hinted_engines) compare(tested, bench.costs, " with hints");
  return reference;
}

/// The bytes an encoder makes of the decoded records, datagram by datagram. Nothing if a message was refused.
std::optional<std::vector<Step>> encode_again(const Bench& bench, const std::vector<Step>& steps, const Run& decoded,
                                              Report& report) {
  const EngineOptions& options = bench.options;
  const encode::EncodeOptions encode_options{options.reset, options.strict, options.limits};
  std::vector<std::unique_ptr<encode::Encoder>> encoders;
  for (std::uint16_t i = 0; i < options.channels; ++i) {
    encoders.push_back(std::make_unique<encode::Encoder>(bench.program, encode_options));
  }
  std::vector<Step> encoded = steps;
  std::size_t record = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    encode::Encoder& encoder = *encoders[steps[i].channel];
    if (steps[i].kind == Step::Kind::Reset) {
      encoder.reset();
      continue;
    }
    encoder.begin_datagram();
    encoded[i].bytes.clear();
    for (std::uint32_t message = 0; message < decoded.outcomes[i].messages; ++message) {
      const encode::Outcome outcome = encoder.encode(decoded.records[record++]);
      if (!outcome.ok()) {
        report.fail("encoder: " + encode::error_text(bench.schema, outcome));
        return std::nullopt;
      }
      encoded[i].bytes.insert(encoded[i].bytes.end(), outcome.bytes.begin(), outcome.bytes.end());
    }
    if (encoder.owed_bytes() != 0) return std::nullopt;  // only padding that we do not write made it long enough
    // Under this rule a template that resets names itself always.
    const bool may_grow = options.reset == ResetRule::Template;
    if (!may_grow && encoded[i].bytes.size() > steps[i].bytes.size()) {
      report.fail("encoder: " + std::to_string(encoded[i].bytes.size()) + " bytes for a datagram of " +
                  std::to_string(steps[i].bytes.size()));
    }
  }
  return encoded;
}

/// Without what depends on the place in a datagram or a ring.
Record values_of(Record record) {
  record[0].words[0] &= 0xFFFF'FFFF;
  record[0].words[1] = 0;
  record[0].words[2] = 0;
  record[0].words[3] = 0;
  for (record::Slot& slot : record) slot.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
  return record;
}

/// A record's JSON line must give the record again.
void read_again(const Bench& bench, const Run& decoded, Report& report) {
  record::JsonPrinter printer(bench.schema);
  record::JsonReader reader(bench.schema);
  for (const Record& record : decoded.records) {
    std::string line;
    if (printer.print(record, line) != record::ReadError::None) continue;  // told by record_lines
    line.pop_back();
    RecordingSink sink(bench.program);
    if (reader.read(line, sink) != record::JsonReader::Line::Message) {
      report.fail("the JSON line " + line + " is refused: " + reader.problem().message);
      continue;
    }
    for (const std::string& problem : sink.problems()) report.fail("record of a JSON line: " + problem);
    const bool lost_bytes = line.find("\xEF\xBF\xBD") != std::string::npos;  // U+FFFD stands for what was no UTF-8
    if (lost_bytes) continue;
    const std::string text = cases::difference({values_of(record)}, {values_of(sink.records().at(0))});
    if (!text.empty()) report.fail("the JSON line gives another record: " + line + ": " + text);
  }
}

/// Messages decoded without an error must come back from the encoder's bytes.
void run_encoder(const Bench& bench, const std::vector<Step>& steps, const Run& decoded, Report& report) {
  const auto is_clean = [](const Outcome& outcome) { return outcome.error == ErrorCode::None && !outcome.dropped; };
  if (!std::all_of(decoded.outcomes.begin(), decoded.outcomes.end(), is_clean)) return;
  read_again(bench, decoded, report);
  if (is_projected(bench.program)) return;  // from such records nothing can be encoded
  const std::optional<std::vector<Step>> encoded = encode_again(bench, steps, decoded, report);
  if (!encoded) return;
  const Run again = run_all(bench, *encoded, ", the encoder's bytes", report);
  const std::string text = cases::difference(decoded.records, again.records);
  if (!text.empty()) report.fail("encoder: its bytes give other records: " + text);
}

/// Prefixes and single-bit errors of each datagram, each on a fresh channel and followed by the datagram as it is,
/// which shows what became of the dictionary.
void run_mutations(const Bench& bench, const std::vector<Step>& steps, Report& report) {
  const auto check = [&](const std::vector<std::byte>& bytes, const Step& original, const std::string& what) {
    Step step;
    step.bytes = bytes;
    Step next;
    next.bytes = original.bytes;
    const Run result = run_all(bench, {step, next}, ", " + what, report);
    std::vector<std::string> problems = result.problems;
    record_lines(bench.schema, result, problems);
    for (const std::string& problem : problems) report.fail(what + ": " + problem);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<std::byte>& bytes = steps[i].bytes;
    if (bytes.size() > kMaxMutatedBytes) continue;
    const std::string name = "step " + std::to_string(i + 1);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      check({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}, steps[i],
            name + " cut to " + std::to_string(length) + " bytes");
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::vector<std::byte> turned = bytes;
      turned[bit / 8] ^= std::byte{1} << (bit % 8);
      check(turned, steps[i],
            name + " with bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " turned");
    }
  }
}

}  // namespace

void run_engines(const CaseFile& file, const Program& program, const EngineOptions& options,
                 const std::vector<Step>& steps, Report& report) {
  for (const Step& step : steps) {
    if (step.channel >= options.channels) return report.fail("'-- options' wants a line 'channels N'");
  }
  const Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) return report.fail("no schema: " + schema.message());
  std::vector<Datagram> datagrams;
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::Reset) datagrams.push_back({step.bytes, step.channel});
  }
  const Program profiled = with_profiles(program, options, datagrams);
  EngineOptions every_program = options;
  every_program.least_saved = 0;
  const verify::Report checked = verify::check(profiled);
  for (const verify::Finding& finding : checked.findings) {
    report.fail("with profiles: " + finding.where + ": " + finding.message);
  }
  if (!checked.ok()) return;
  const Program hinted = with_hints(program);
  const Bench bench{program,
                    options,
                    schema.value(),
                    verify::check(program).costs,
                    make_engines(program, options),
                    checked.costs,
                    make_engines(profiled, every_program),
                    make_engines(hinted, options),
                    GuardedMemory(kMaxGuardedBytes)};
  Run result = run_all(bench, steps, "", report);
  report.compare("records", record_lines(bench.schema, result, result.problems), "reference");
  report.compare("error", error_lines(file, bench.schema, steps, result), "reference");
  for (const std::string& problem : result.problems) report.fail(problem);
  run_encoder(bench, steps, result, report);
  run_mutations(bench, steps, report);
}

}  // namespace stopbit::cases
