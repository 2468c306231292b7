#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "host/analyse/explain/explain.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/frames.hpp"
#include "tests/unit/replay/fixture.hpp"

/// What tests of explanations share.
namespace stopbit::explain::testing {

using net::testing::bytes;
using net::testing::ByteVector;
using replay::testing::compile;
using replay::testing::framing;

inline ByteVector join(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) {
    for (const std::byte byte : part) all.push_back(byte);
  }
  return all;
}

/// Datagrams to one group, in frames of Ethernet.
inline guess::Sample sample_of(const std::vector<ByteVector>& datagrams) {
  guess::Sample sample;
  sample.name = "test.pcap";
  for (const ByteVector& datagram : datagrams) {
    sample.packets.push_back({.frame = net::testing::ethernet(net::testing::ipv4(net::testing::udp(datagram))),
                              .original_bytes = 0,
                              .arrival_ns = 0,
                              .number = sample.packets.size() + 1,
                              .link = net::LinkType::Ethernet});
    sample.bytes += sample.packets.back().frame.size();
  }
  return sample;
}

inline replay::Options options_of(std::string_view text) {
  replay::Options options;
  options.framing = framing(text);
  options.channels = 4;
  return options;
}

/// All rows but those of messages, a line each: "5 c0 presence map", with raw, previous and result where present.
inline std::vector<std::string> lines_of(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const Row& row : explanation.rows) {
    std::string line = std::to_string(row.bytes.begin) + "+" + std::to_string(row.bytes.end - row.bytes.begin);
    for (const std::string* text : {&row.name, &row.type, &row.op, &row.raw, &row.previous, &row.source, &row.result}) {
      line += " | " + *text;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The number in front of a result, or in parentheses after an enumeration's element.
inline std::uint64_t number_of(const std::string& result) {
  const std::size_t parenthesis = result.rfind('(');
  const std::string text =
      parenthesis != std::string::npos && result.back() == ')' ? result.substr(parenthesis + 1) : result;
  if (text == "true") return 1;
  if (text == "false") return 0;
  return text.starts_with("-") ? static_cast<std::uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
                               : std::strtoull(text.c_str(), nullptr, 10);
}

/// What must hold of every explanation: its bytes are accounted for, its texts can be printed.
inline void expect_sound(const Explanation& explanation) {
  ASSERT_EQ(accounted_bytes(explanation), explanation.datagram.size()) << to_text(explanation, false);
  std::size_t frame = 0;
  for (const FramePart& part : explanation.parts) {
    ASSERT_EQ(part.bytes.begin, frame);
    frame = part.bytes.end;
  }
  ASSERT_EQ(frame, explanation.frame.size());
  const nlohmann::json json = nlohmann::json::parse(to_json(explanation));
  ASSERT_EQ(json["accounted_bytes"], explanation.datagram.size());
  ASSERT_EQ(json["rows"].size(), explanation.rows.size());
}

/// The values of the rows are where the rows say, in the records of an engine without a tracer.
inline void expect_records(const Program& program, const replay::Options& options, const Explanation& explanation) {
  std::vector<std::vector<record::Slot>> records;
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> slots) {
    if (!record::HeaderView(slots[0]).is_event()) records.emplace_back(slots.begin(), slots.end());
  });
  const auto engine = make_interpreter(program, replay::engine_options(options));
  const net::Preamble preamble = net::read_preamble(options.framing, explanation.datagram);
  const PacketInfo info{.number = 1, .data_offset = preamble.data_begin};
  const Outcome outcome = engine->decode(std::span(explanation.datagram).first(preamble.data_end), info, sink);
  ASSERT_EQ(outcome.error, explanation.outcome.error);
  ASSERT_EQ(outcome.offset_bytes, explanation.outcome.offset_bytes);
  std::size_t message = 0;
  std::size_t fields = 0;
  for (const Row& row : explanation.rows) {
    if (row.kind == RowKind::Message) message += row.name.starts_with("message ") ? 1 : 0;
    if (row.place.block == kNoBlock || message > records.size() || row.is_absent) continue;
    fields += row.type != "mantissa" ? 1 : 0;
    const record::Slot& slot = records[message - 1].at(row.place.slot);
    const auto* const tags = reinterpret_cast<const unsigned char*>(&slot.words[record::kTagWord]);
    ASSERT_NE(tags[row.place.slot_word], 0) << row.name;
    const bool is_text = row.type == "string" || row.type == "unicode" || row.type == "byteVector";
    if (!is_text) {
      ASSERT_EQ(slot.words[row.place.slot_word], number_of(row.result)) << row.name << " " << row.result;
    }
  }
  ASSERT_EQ(fields, outcome.fields);
}

}  // namespace stopbit::explain::testing
