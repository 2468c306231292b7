#include "tests/runner/run_encoder.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/json_reader.hpp"
#include "decoder/record/schema.hpp"
#include "tests/lib/hex.hpp"
#include "tests/lib/recording_sink.hpp"

namespace stopbit::cases {
namespace {

std::string code_or_error(ErrorCode code) {
  return code == ErrorCode::None ? "error" : std::string(code_text(code));
}

}  // namespace

void run_encoder_case(const CaseFile& file, const Program& program, const EngineOptions& options, Report& report) {
  const Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) return report.fail("no schema: " + schema.message());
  record::JsonReader reader(schema.value());
  encode::Encoder encoder(program, {options.reset, options.strict, options.limits});
  encoder.begin_datagram();

  std::vector<std::string> datagrams(1);
  std::vector<std::string> errors;
  std::size_t number = 0;
  const auto finish_datagram = [&](const std::string& place) {
    if (encoder.owed_bytes() != 0) {
      errors.push_back("X2 before line " + place + ", " + std::to_string(encoder.owed_bytes()) + " bytes owed");
    }
  };
  for (const std::string& line : file.lines(file.find("json"))) {
    const std::string place = std::to_string(++number);
    if (line == "packet") {
      finish_datagram(place);
      datagrams.emplace_back();
      encoder.begin_datagram();
      continue;
    }
    RecordingSink sink(program);
    switch (reader.read(line, sink)) {
      case record::JsonReader::Line::Event: continue;
      case record::JsonReader::Line::Error: {
        const record::JsonReader::Problem& problem = reader.problem();
        errors.push_back(code_or_error(problem.code) + " at " + place + ":" + std::to_string(problem.offset + 1));
        if (problem.message.empty()) report.fail("an error of a JSON line without a message");
        continue;
      }
      case record::JsonReader::Line::Message: break;
    }
    for (const std::string& problem : sink.problems()) report.fail("record of a JSON line: " + problem);
    const encode::Outcome outcome = encoder.encode(sink.records().at(0));
    if (outcome.unreadable != record::ReadError::None) {
      report.fail("the encoder cannot read a record of ours: " + encode::error_text(schema.value(), outcome));
    } else if (!outcome.ok()) {
      const SchemaNode* node = schema.value().owner(outcome.template_index, outcome.block, outcome.word);
      const std::size_t column = reader.offset_of(outcome.slot, outcome.word) + 1;
      errors.push_back(code_or_error(outcome.error) + " at " + place + ":" + std::to_string(column) +
                       (node == nullptr ? "" : " field " + std::string(schema.value().owner_name(*node))));
    }
    const std::string bytes = testing::hex(outcome.bytes);  // none of a message that is refused
    std::string& datagram = datagrams.back();
    if (!datagram.empty() && !bytes.empty()) datagram += ' ';
    datagram += bytes;
  }
  finish_datagram(std::to_string(number + 1));
  if (errors.empty() || file.find("encoded")) report.compare("encoded", datagrams, "encoder");
  report.compare("error", errors, "encoder");
}

}  // namespace stopbit::cases
