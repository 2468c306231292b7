// Whole captures: tshark must show what a replay gives, value for value, in order.

#include <cstdlib>

#include "decoder/record/buffer_sink.hpp"
#include "host/ingest/pcap/pcap_source.hpp"
#include "host/replay/replay.hpp"
#include "tests/system/dissector/expected.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

struct Capture {
  const char* folder;
  const char* framing;
  std::vector<std::uint16_t> ports;
  std::uint64_t messages;
};

class Captures : public DissectorTest {
 protected:
  void expect_same(const std::filesystem::path& folder, const char* file, const Capture& capture) {
    const auto program = compile(folder / "templates.xml");
    ASSERT_TRUE(program) << folder;
    replay::Options options;
    options.framing = net::parse_framing(capture.framing).value();
    const EngineOptions engine_options = replay::engine_options(options);
    emit::DissectorOptions dissector = options_of(engine_options, options.framing);
    dissector.name = "feed";
    dissector.ports = capture.ports;
    add_script(*program, dissector);
    run_.capture = folder / file;

    Dissection dissection(run_);
    Comparison comparison(dissection);
    Expectation expectation(*program);
    record::BufferSink sink(program->max_record_slots, [&](std::span<const record::Slot> slots) {
      comparison.expect(expectation.event(slots), capture.folder);
    });
    const auto engine = make_interpreter(*program, engine_options);
    std::vector<std::unique_ptr<ingest::PacketSource>> sources;
    sources.push_back(std::move(ingest::open_capture(run_.capture.string())).value());
    const replay::Summary summary = replay::Replay(*program, *engine, sink, options).run(sources);
    comparison.expect_end();
    EXPECT_EQ(summary.messages, capture.messages);
    EXPECT_EQ(comparison.events(), capture.messages);
    EXPECT_EQ(dissection.packets(), summary.packets) << "packets";
  }

  void expect_same_in_corpus(const Capture& capture) {
    const char* const corpus = std::getenv("STOPBIT_CORPUS");
    if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
    expect_same(std::filesystem::path(corpus) / capture.folder, "capture.pcap", capture);
  }
};

using SampleCapture = Captures;
using CorpusCaptures = Captures;

TEST_F(SampleCapture, is_shown_as_a_replay_gives_it) {
  expect_same(STOPBIT_SAMPLE_FOLDER, "capture.pcap.gz", {"sample", "cme", {20'001, 20'002}, 23'921});
}

TEST_F(CorpusCaptures, cme_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus({"cme-mdp-2012", "cme", {10'001}, 10'000});
}

TEST_F(CorpusCaptures, moex_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus({"moex-asts-trades-2019", "moex", {16'029}, 5'020});
}

TEST_F(CorpusCaptures, eurex_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus({"eurex-rdi-2016", "t7", {59'098}, 20});
}

TEST_F(CorpusCaptures, complex30000_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus({"complex30000", "none", {30'000}, 30'001});
}

}  // namespace
}  // namespace stopbit::dissector
