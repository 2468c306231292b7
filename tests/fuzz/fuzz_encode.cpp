// Records from a stranger: what datagrams decode to, with slots changed anywhere. The encoder makes a message or an
// error of them; a message decodes to the values that a reader finds in the record, and an error leaves no trace.
//
// Input: template set (from 128 on: a random one), options, number of changes, each change as slot (2), byte (1), value
// (1); then datagrams.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/json.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/property/random_case.hpp"

namespace {

using namespace stopbit;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMaxRecords = 64;

void change(std::vector<cases::Record>& records, fuzz::Input& input) {
  const std::uint16_t slot = input.half();
  const std::uint8_t place = input.byte();
  const std::uint8_t value = input.byte();
  cases::Record& record = records[slot % records.size()];
  auto* bytes = reinterpret_cast<unsigned char*>(record[slot / records.size() % record.size()].words);
  bytes[place % sizeof(record::Slot)] = value;
}

/// Random templates, compiled once each.
const Program& random_program(std::uint8_t seed) {
  static std::array<std::unique_ptr<Program>, 256> programs;
  if (programs[seed] == nullptr) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<SourceBuffer>("random.xml", cases::random_case(seed).template_text);
    auto program = templates::compile({source}, {}, diagnostics);
    fuzz::require(program.has_value(), "random templates are good", diagnostics.format());
    programs[seed] = std::make_unique<Program>(std::move(*program));
  }
  return *programs[seed];
}

/// Decimals with a constant half are rescaled: the same number, another exponent.
bool rescales(const Program& program) {
  return std::any_of(program.code.begin(), program.code.end(), [](const isa::Instruction& in) {
    const isa::Type type = isa::type_of(in.op);
    return isa::operator_of(in.op) == isa::Operator::Con && (isa::is_exponent(type) || isa::is_mantissa(type));
  });
}

Bytes copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// The record's line; empty if it cannot be read.
std::string line_of(record::JsonPrinter& printer, const cases::Record& record) {
  std::string line;
  if (printer.print(record, line) != record::ReadError::None) line.clear();
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr unsigned kMaxChanges = 16;
  fuzz::Input input({data, size});
  const std::uint8_t set = input.byte();
  const Program& program = set < 128 ? fuzz::fixed_program(set) : random_program(set);
  const EngineOptions options = fuzz::engine_options(input.byte());
  const unsigned changes = input.byte() % (kMaxChanges + 1);
  fuzz::Input change_input = input;
  static_cast<void>(input.take(std::size_t{4} * changes));

  std::vector<cases::Record> records = fuzz::run_datagrams(program, options, fuzz::take_datagrams(input)).records;
  if (records.empty()) return 0;
  records.resize(std::min(records.size(), kMaxRecords));
  for (unsigned i = 0; i < changes; ++i) change(records, change_input);

  const record::Schema schema = record::Schema::make(program).value();
  record::JsonPrinter printer(schema);
  const encode::EncodeOptions encode_options{options.reset, options.strict, options.limits};
  encode::Encoder encoder(program, encode_options);
  encode::Encoder never_failed(program, encode_options);
  std::vector<Bytes> datagrams;
  std::string lines;
  for (const cases::Record& record : records) {
    // Memory of exactly this size, so that the sanitizer sees a read past its end.
    const auto slots = std::make_unique<record::Slot[]>(record.size());
    std::copy(record.begin(), record.end(), slots.get());
    encoder.begin_datagram();
    never_failed.begin_datagram();
    const encode::Outcome outcome = encoder.encode({slots.get(), record.size()});
    if (!outcome.ok()) {
      fuzz::require(!encode::error_text(schema, outcome).empty(), "an error has a text");
      continue;
    }
    const Bytes bytes = copy_of(outcome.bytes);
    const encode::Outcome again = never_failed.encode({slots.get(), record.size()});
    fuzz::require(again.ok() && copy_of(again.bytes) == bytes, "an error leaves no trace in the dictionary");
    const std::string line = line_of(printer, record);
    fuzz::require(!line.empty(), "what can be encoded can be read");
    if (encoder.owed_bytes() != 0) return 0;
    lines += line;
    datagrams.push_back(bytes);
  }

  const fuzz::Run run = fuzz::run_datagrams(program, options, datagrams);
  std::string decoded;
  for (const cases::Record& record : run.records) decoded += line_of(printer, record);
  fuzz::require(run.records.size() == datagrams.size(), "a message decodes without an error", lines);
  fuzz::require(decoded == lines || rescales(program), "a message decodes to the values of its record",
                lines + "but\n" + decoded);
  return 0;
}
