// Whole captures: tshark must show what a replay gives, value for value, in order.

#include <cstdlib>

#include "tests/lib/form.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

class Captures : public DissectorTest {
 protected:
  void expect_same(const std::filesystem::path& folder, const char* file, const char* framing,
                   const std::vector<std::uint16_t>& ports, std::uint64_t messages, std::uint64_t packets = 0) {
    const auto program = compile(folder / "templates.xml");
    ASSERT_TRUE(program);
    run_.capture = folder / file;
    run_.packets = packets;
    replay::Options options;
    options.framing = net::parse_framing(framing).value();
    options.limit = packets;  // each packet of these captures is a datagram
    const replay::Summary summary = expect_same_as_replay(*program, options, ports);
    if (packets == 0) {
      EXPECT_EQ(summary.messages, messages);
    } else {
      EXPECT_LE(summary.packets, packets);
      EXPECT_GT(summary.messages, 0U);
    }
    EXPECT_EQ(decode_errors(summary), 0U);
  }

  void expect_same_in_corpus(const char* folder, const char* framing, std::uint16_t port, std::uint64_t messages) {
    const char* const corpus = std::getenv("STOPBIT_CORPUS");
    if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
    expect_same(std::filesystem::path(corpus) / folder, "capture.pcap", framing, {port}, messages,
                by_form<std::uint64_t>(2'000, 0));
  }
};

using SampleCapture = Captures;
using CorpusCaptures = Captures;

TEST_F(SampleCapture, is_shown_as_a_replay_gives_it) {
  expect_same(STOPBIT_SAMPLE_FOLDER, "capture.pcap.gz", "cme", {20'001, 20'002}, 23'921);
}

TEST_F(CorpusCaptures, cme_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus("cme-mdp-2012", "cme", 10'001, 10'000);
}

TEST_F(CorpusCaptures, moex_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus("moex-asts-trades-2019", "moex", 16'029, 5'020);
}

TEST_F(CorpusCaptures, eurex_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus("eurex-rdi-2016", "t7", 59'098, 20);
}

TEST_F(CorpusCaptures, complex30000_is_shown_as_a_replay_gives_it) {
  expect_same_in_corpus("complex30000", "none", 30'000, 30'001);
}

}  // namespace
}  // namespace stopbit::dissector
