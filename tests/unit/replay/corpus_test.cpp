#include <gtest/gtest.h>

#include <cstdlib>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/unit/replay/fixture.hpp"

/// What real captures tell about framing: the sequence number found in front of the data is the one in the message.
namespace stopbit::replay::corpus_test {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

/// Compares, in each message that has it, a field at the top with the sequence number of the record's header.
class SequenceCheck {
 public:
  SequenceCheck(const Program& program, std::string_view field)
      : schema_(record::Schema::make(program).value()), reader_(schema_), field_(field) {}

  void operator()(std::span<const record::Slot> record) {
    const record::HeaderView header(record[0]);
    ASSERT_FALSE(header.is_event());
    struct Find : record::Visitor {
      void field(const SchemaNode& node, const record::Value& value) {
        if (found || schema->name(node.name) != name) return;
        found = true;
        number = node.type == FieldType::ByteVector ? big_endian(value.bytes) : value.bits;
      }
      const record::Schema* schema = nullptr;
      std::string_view name;
      bool found = false;
      std::uint64_t number = 0;
    } find;
    find.schema = &schema_;
    find.name = field_;
    ASSERT_EQ(reader_.read(record, find), record::ReadError::None);
    if (!find.found) return;
    ++agreeing_;
    ASSERT_EQ(find.number, header.sequence());
  }

  [[nodiscard]] std::uint64_t agreeing() const { return agreeing_; }

 private:
  record::Schema schema_;
  record::Reader reader_;
  std::string field_;
  std::uint64_t agreeing_ = 0;
};

void expect_agreement(const std::string& folder, const char* framing, const char* field, std::uint64_t times) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string path = std::string(corpus) + "/" + folder;
  const Program program = testing::compile(stopbit::testing::file_text(path + "/templates.xml"));
  Options options;
  options.framing = testing::framing(framing);
  SequenceCheck check(program, field);
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> record) { check(record); });
  const auto engine = make_interpreter(program, engine_options(options));
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::move(ingest::open_capture(path + "/capture.pcap")).value());
  const Summary summary = Replay(program, *engine, sink, options).run(sources);
  testing::expect_accounted(summary);
  EXPECT_EQ(summary.error_count(), 0U);
  EXPECT_EQ(check.agreeing(), times);
}

TEST(CorpusFraming, cme_preamble_is_the_sequence_number_of_the_message) {
  expect_agreement("cme-mdp-2012", "cme", "MsgSeqNum", 10'000);
}

TEST(CorpusFraming, moex_preamble_is_the_sequence_number_of_the_message) {
  expect_agreement("moex-asts-trades-2019", "moex", "MsgSeqNum", 5'020);
}

TEST(CorpusFraming, t7_sequence_is_found_inside_the_packet_header) {
  expect_agreement("eurex-rdi-2016", "t7", "PacketSeqNum", 1);
}

}  // namespace stopbit::replay::corpus_test
