#include "tests/attack/round_trip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "decoder/record/json.hpp"
#include "tests/attack/change_entities.hpp"
#include "tests/lib/hex.hpp"
#include "tests/lib/record_text.hpp"

namespace stopbit::attack {
namespace {

constexpr std::uint64_t kPhase = 1ULL << 63;  ///< Of a tag word: the lap around the buffer.

/// But for the header, which tells of the packet.
bool same_values(const std::vector<record::Slot>& a, const std::vector<record::Slot>& b) {
  return a.size() == b.size() &&
         std::equal(a[0].words + record::kHeaderWords, a[0].words + record::kSlotWords,
                    b[0].words + record::kHeaderWords) &&
         std::memcmp(a.data() + 1, b.data() + 1, (a.size() - 1) * sizeof(record::Slot)) == 0;
}

}  // namespace

RoundTrip::RoundTrip(const Feed& feed)
    : feed_(feed),
      schema_(record::Schema::make(feed.program).value()),
      engine_(make_interpreter(feed.program, {.reset = feed.reset, .strict = feed.strict})),
      second_engine_(make_interpreter(feed.program, {.reset = feed.reset, .strict = feed.strict})),
      encoder_(feed.program, {.reset = feed.reset, .strict = feed.strict}) {}

void RoundTrip::check(const std::vector<Bytes>& datagrams, std::string* text) {
  engine_->reset(0);
  second_engine_->reset(0);
  encoder_.reset();
  record::JsonPrinter printer(schema_);
  std::vector<Record> records;
  const auto keep = [&](std::span<const record::Slot> record) {
    if (record::HeaderView(record[0]).is_event()) return;
    records.emplace_back(record.begin(), record.end());
    for (record::Slot& slot : records.back()) slot.words[record::kTagWord] &= ~kPhase;
  };
  record::BufferSink sink(feed_.program.max_record_slots, keep);
  for (const Bytes& datagram : datagrams) {
    records.clear();
    const Outcome outcome = engine_->decode(datagram, {}, sink);
    const std::vector<Record> decoded = std::move(records);
    Bytes again;
    encoder_.begin_datagram();
    for (const Record& record : decoded) {
      if (text != nullptr) require(printer.print(record, *text) == record::ReadError::None, "a record can be printed");
      const encode::Outcome encoded = encoder_.encode(record);
      if (!encoded.ok()) {
        fail("what was decoded can be encoded", encode::error_text(schema_, encoded) + "\n" + testing::hex(datagram),
             case_text(feed_, datagrams));
      }
      again.insert(again.end(), encoded.bytes.begin(), encoded.bytes.end());
    }
    records.clear();
    const Outcome second = second_engine_->decode(again, {}, sink);
    const bool same = second.error == ErrorCode::None &&
                      std::equal(decoded.begin(), decoded.end(), records.begin(), records.end(), same_values);
    if (!same) {
      fail("what was encoded decodes to the same values",
           fmt::format("{} messages, {} at {}\n{}\n{}", second.messages, code_text(second.error), second.offset_bytes,
                       testing::hex(datagram), testing::hex(again)),
           case_text(feed_, datagrams));
    }
    if (outcome.error != ErrorCode::None || outcome.dropped) break;
  }
}

std::vector<Bytes> datagrams_of(const cases::RandomCase& made) {
  std::vector<Bytes> datagrams;
  for (const cases::RandomCase::Packet& packet : made.packets) datagrams.push_back(joined(packet));
  return datagrams;
}

void check_values(const cases::RandomCase& made, RoundTrip& round_trip) {
  std::string lines;
  round_trip.check(datagrams_of(made), &lines);
  std::string_view rest = lines;
  for (const std::string& expected : made.records) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto got = cases::record_text(line);
    if (got != expected) {
      fail("a message decodes to what was sent", fmt::format("got  {}\nsent {}", line, expected), case_text(made));
    }
  }
  require(rest.empty(), "no message that was not sent", rest);
}

}  // namespace stopbit::attack
