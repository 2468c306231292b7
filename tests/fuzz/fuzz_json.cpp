// JSON lines from a stranger: a place and a reason, or a sound record; and then the line that is printed of it gives
// the record again, and what the encoder makes of it decodes to the same.
//
// Input: template set, options, then lines.

#include <cstring>
#include <string>
#include <string_view>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/json_reader.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

namespace {

using namespace stopbit;

std::string print(record::JsonPrinter& printer, const cases::Record& record) {
  std::string line;
  const record::ReadError error = printer.print(record, line);
  fuzz::require(error == record::ReadError::None, "a record of a line can be read", record::error_text(error));
  return line;
}

/// The record of a line, if it is a message.
std::vector<cases::Record> read(record::JsonReader& reader, const Program& program, std::string_view line) {
  cases::RecordingSink sink(program);
  const record::JsonReader::Line kind = reader.read(line, sink);
  for (const std::string& problem : sink.problems()) fuzz::require(false, "records of lines are sound", problem);
  const bool is_message = kind == record::JsonReader::Line::Message;
  fuzz::require(sink.records().size() == (is_message ? 1U : 0U), "a message gives a record, nothing else does");
  if (kind == record::JsonReader::Line::Error) {
    fuzz::require(!reader.problem().message.empty(), "an error has a reason");
    fuzz::require(reader.problem().offset <= line.size(), "an error is inside the line");
  }
  return sink.records();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const Program& program = fuzz::fixed_program(input.byte());
  const EngineOptions options = fuzz::engine_options(input.byte());
  const std::span<const std::byte> rest = input.rest();
  std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());

  const record::Schema schema = record::Schema::make(program).value();
  record::JsonReader reader(schema);
  record::JsonPrinter printer(schema);
  encode::Encoder encoder(program, {options.reset, options.strict, options.limits});
  std::vector<std::vector<std::byte>> datagrams;
  std::string lines;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<cases::Record> records = read(reader, program, line);
    if (records.empty()) continue;
    const std::string printed = print(printer, records[0]);
    const std::vector<cases::Record> again =
        read(reader, program, std::string_view(printed).substr(0, printed.size() - 1));
    fuzz::require(!again.empty() && print(printer, again[0]) == printed, "a printed line gives itself again", printed);

    encoder.begin_datagram();
    const encode::Outcome outcome = encoder.encode(records[0]);
    fuzz::require(outcome.unreadable == record::ReadError::None, "the encoder can read records of lines", printed);
    fuzz::require(reader.offset_of(outcome.slot, outcome.word) < printed.size(),
                  "an encoder's error is inside the line");
    if (!outcome.ok() || encoder.owed_bytes() != 0) return 0;
    datagrams.emplace_back(outcome.bytes.begin(), outcome.bytes.end());
    lines += printed;
  }
  const fuzz::Run run = fuzz::run_datagrams(program, options, datagrams);
  std::string decoded;
  for (const cases::Record& record : run.records) decoded += print(printer, record);
  fuzz::require(decoded == lines, "a line decodes to itself", lines + "but\n" + decoded);
  return 0;
}
