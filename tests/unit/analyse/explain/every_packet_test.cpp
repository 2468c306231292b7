#include <filesystem>

#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/analyse/explain/fixture.hpp"

/// Explanations of everything there is: the decode cases, the bundled sample, captures of real exchanges, and all of
/// them damaged.
namespace stopbit::explain::every_packet_test {

struct Feed {
  Program program;
  replay::Options options;
  guess::Sample sample;
};

Feed feed_of(const std::string& templates, const std::string& capture, std::string_view framing, std::size_t packets) {
  Feed feed{testing::compile(stopbit::testing::file_text(templates)), testing::options_of(framing), {}};
  const auto source = ingest::open_capture(capture);
  EXPECT_TRUE(source.ok());
  feed.sample = guess::take_sample(*source.value(), {packets, std::size_t{64} << 20});
  EXPECT_EQ(feed.sample.fault, "");
  return feed;
}

Feed sample_feed() {
  const std::string folder = STOPBIT_SAMPLE_FOLDER;
  return feed_of(folder + "/templates.xml", folder + "/capture.pcap.gz", "cme", 500);
}

/// Packet `index` of a feed whose packets stand for themselves.
Explanation explain_one(const Feed& feed, const record::Schema& schema, const guess::StoredPacket& packet) {
  guess::Sample sample;
  sample.name = feed.sample.name;
  sample.packets.push_back(packet);
  auto result = explain(schema, feed.options, std::make_unique<guess::SampleSource>(std::move(sample)), packet.number);
  EXPECT_TRUE(result.ok()) << result.message();
  return result ? std::move(result).value() : Explanation{};
}

/// The tests explain one packet, damage or datagram in this many.
std::size_t one_in() {
  return by_form<std::size_t>(4, 1, 1);
}

void expect_all_explained(const Feed& feed, std::size_t step) {
  const record::Schema schema = record::Schema::make(feed.program).value();
  for (std::size_t i = 0; i < feed.sample.packets.size(); i += step * one_in()) {
    const Explanation found = explain_one(feed, schema, feed.sample.packets[i]);
    testing::expect_sound(found);
    if (found.verdict != net::Verdict::Accepted) continue;
    ASSERT_FALSE(found.has_fault()) << found.fault;
    testing::expect_records(feed.program, feed.options, found);
    if (::testing::Test::HasFatalFailure()) FAIL() << "packet " << feed.sample.packets[i].number;
  }
}

/// Truncations and flipped bits of the payload: a value, or a named error and all bytes accounted for.
void expect_damage_explained(const Feed& feed, std::size_t packets, std::size_t step) {
  const record::Schema schema = record::Schema::make(feed.program).value();
  for (std::size_t i = 0; i < packets && i < feed.sample.packets.size(); ++i) {
    const guess::StoredPacket& packet = feed.sample.packets[i];
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    const testing::ByteVector payload(datagram.payload.begin(), datagram.payload.end());
    for (std::size_t at = i % step; at < 9 * payload.size(); at += step * one_in()) {
      testing::ByteVector damaged = payload;
      if (at < payload.size()) {
        damaged.resize(at);
      } else {
        const std::size_t bit = at - payload.size();
        damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      }
      guess::Sample sample = testing::sample_of({damaged});
      const Explanation found = explain_one(feed, schema, sample.packets[0]);
      testing::expect_sound(found);
      ASSERT_EQ(found.has_fault(), found.outcome.error != ErrorCode::None);
      if (net::read_preamble(feed.options.framing, damaged).error == ErrorCode::None) {
        testing::expect_records(feed.program, feed.options, found);
      }
      if (::testing::Test::HasFatalFailure()) FAIL() << "packet " << packet.number << ", damage " << at;
    }
  }
}

TEST(EveryPacket, of_the_sample_is_explained) {
  expect_all_explained(sample_feed(), 2);
}

TEST(EveryPacket, of_the_sample_is_explained_when_damaged) {
  expect_damage_explained(sample_feed(), 20, 61);
}

TEST(EveryPacket, of_the_decode_cases_is_explained) {
  std::size_t datagrams = 0;
  for (const auto& path : cases::find_cases(STOPBIT_CASES_FOLDER)) {
    Diagnostics diagnostics;
    const auto file = cases::CaseFile::parse(
        std::make_shared<SourceBuffer>(path.string(), stopbit::testing::file_text(path)), diagnostics);
    ASSERT_TRUE(file) << diagnostics.format();
    const cases::Section* const section = file->find("bytes");
    if (section == nullptr || file->find("template") == nullptr) continue;
    std::vector<std::shared_ptr<const SourceBuffer>> sources;
    for (const cases::Section& part : file->sections()) {
      if (part.name == "template") sources.push_back(file->as_file(part, "template"));
    }
    const auto program = templates::compile(sources, {}, diagnostics);
    const auto steps = cases::parse_bytes(file->source(), section->begin, section->end, diagnostics);
    if (!program || !steps) continue;
    Feed feed{*program, testing::options_of("custom:skip=0,reset=template"), {}};
    std::vector<testing::ByteVector> payloads;
    for (const cases::Step& step : *steps) {
      if (step.kind == cases::Step::Kind::Datagram && step.bytes.size() < 60'000) payloads.push_back(step.bytes);
    }
    const record::Schema schema = record::Schema::make(*program).value();
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (datagrams++ % one_in() != 0) continue;
      auto source = std::make_unique<guess::SampleSource>(testing::sample_of(payloads));
      const auto result = explain(schema, feed.options, std::move(source), i + 1);
      ASSERT_TRUE(result.ok()) << result.message();
      testing::expect_sound(result.value());
      if (HasFatalFailure()) FAIL() << path << " datagram " << i + 1;
    }
  }
  EXPECT_GT(datagrams, 250U);
}

struct CorpusCase {
  const char* folder;
  const char* framing;
  std::size_t step;    ///< Interval in packets.
  std::size_t damage;  ///< Interval in bytes and bits.
};

class Corpus : public ::testing::TestWithParam<CorpusCase> {
 protected:
  void SetUp() override {
    if (std::getenv("STOPBIT_CORPUS") == nullptr) {
      GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
    }
  }
  static Feed feed(std::size_t packets) {
    const std::string folder = std::string(std::getenv("STOPBIT_CORPUS")) + "/" + GetParam().folder;
    return feed_of(folder + "/templates.xml", folder + "/capture.pcap", GetParam().framing, packets);
  }
};

TEST_P(Corpus, packets_are_explained) {
  expect_all_explained(feed(40'000), GetParam().step);
}

TEST_P(Corpus, damaged_packets_are_explained) {
  expect_damage_explained(feed(5), 5, GetParam().damage);
}

INSTANTIATE_TEST_SUITE_P(Exchanges, Corpus,
                         ::testing::Values(CorpusCase{"cme-mdp-2012", "cme", 25, 61},
                                           CorpusCase{"complex30000", "none", 75, 61},
                                           CorpusCase{"eurex-rdi-2016", "t7", 1, 797},
                                           CorpusCase{"moex-asts-trades-2019", "moex", 15, 61}),
                         [](const auto& found) {
                           std::string name = found.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace stopbit::explain::every_packet_test
