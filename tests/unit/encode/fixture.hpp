#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/json_reader.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/hex.hpp"
#include "tests/lib/recording_sink.hpp"

namespace stopbit::encode::testing {

inline Program compile(const std::string& body) {
  const auto source = std::make_shared<const SourceBuffer>("test.xml", "<templates>" + body + "</templates>");
  Diagnostics diagnostics;
  auto program = templates::compile({source}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program ? *std::move(program) : Program{};
}

/// A program, and an encoder of its messages, which are given as JSON lines.
class Feed {
 public:
  explicit Feed(const std::string& body, const EncodeOptions& options = {})
      : program(compile(body)),
        schema(record::Schema::make(program).value()),
        reader(schema),
        encoder(program, options) {}

  cases::Record record(std::string_view line) {
    cases::RecordingSink sink(program);
    EXPECT_EQ(reader.read(line, sink), record::JsonReader::Line::Message) << reader.problem().message;
    return sink.records().empty() ? cases::Record(1) : sink.records()[0];
  }
  Outcome encode(std::string_view line) { return encoder.encode(record(line)); }
  /// In hex; the error's text if there is one.
  std::string bytes(std::string_view line) { return bytes(encode(line)); }
  std::string bytes(const Outcome& outcome) const {
    if (!outcome.ok()) return error_text(schema, outcome);
    return stopbit::testing::hex(outcome.bytes);
  }

  Program program;
  record::Schema schema;
  record::JsonReader reader;
  Encoder encoder;
};

}  // namespace stopbit::encode::testing
