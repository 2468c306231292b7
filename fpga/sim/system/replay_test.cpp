// `stopbit replay --engine xrt` as a user types it, beside `--engine interp`: the same lines, the same ring, the same
// summary.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools {
namespace {

using testing::capture_of;
using testing::CapturedPacket;
using testing::Finished;
using testing::from_hex;
using testing::kTemplates;
using testing::run_script;
using testing::run_stopbit;
using testing::Scratch;
using testing::shell_quoted;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Of each capture, the first datagrams; in the long form all.
std::vector<std::string> limit() {
  return is_long_form() ? std::vector<std::string>{} : std::vector<std::string>{"--limit", "60"};
}

/// A summary without what differs between engines: times, and what only a card counts.
std::string without_times(const std::string& summary) {
  std::string text = std::regex_replace(summary, std::regex("\nCard\n(  .*\n)*"), "");
  text = std::regex_replace(text, std::regex(" in [0-9.]+ s,"), ",");
  return std::regex_replace(text, std::regex(", [0-9,]+ per second"), "");
}

std::vector<std::string> joined(std::vector<std::string> all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::vector<std::string> kCard = {"--engine", "xrt", "--xclbin", "sim"};

/// Runs both. The card has to do it, not software.
void expect_same(const std::vector<std::string>& arguments, int status = kExitDone) {
  const Finished wanted = run_stopbit(joined(arguments, {"--engine", "interp"}));
  const Finished got = run_stopbit(joined(joined(arguments, kCard), {"--no-fallback"}));
  EXPECT_EQ(got.status, status) << got.err;
  EXPECT_EQ(wanted.status, status) << wanted.err;
  EXPECT_FALSE(wanted.out.empty());
  EXPECT_TRUE(got.out == wanted.out) << "the lines differ; the first ones are\n" << got.out.substr(0, 1000);
  EXPECT_EQ(without_times(got.err), without_times(wanted.err));
  EXPECT_TRUE(contains(got.err, "\nCard\n")) << got.err;
}

class XrtReplay : public ::testing::Test {
 protected:
  std::vector<std::string> arguments(const std::vector<CapturedPacket>& packets, const std::string& framing,
                                     const std::vector<std::string>& more = {}) {
    return joined({"replay", scratch_.write("day.pcap", capture_of(packets)), "--templates",
                   scratch_.write("t.xml", kTemplates), "--framing", framing},
                  more);
  }

  Scratch scratch_;
};

/// A number, then quotes; every fifth with an error, every seventh a reset.
std::vector<CapturedPacket> packets_with_errors() {
  std::vector<CapturedPacket> packets;
  for (unsigned i = 1; i <= 40; ++i) {
    std::string payload = {0, 0, 0, static_cast<char>(i), 1};
    if (i % 7 == 0) payload += from_hex("c08281");
    payload += from_hex("e081") + static_cast<char>(0x81 + i) + from_hex("c1");
    if (i % 5 == 0) payload += from_hex("e0ff84c2");
    if (i % 11 == 0) payload.resize(3);
    payload += from_hex(i % 3 == 0 ? "a0c3" : "");
    packets.push_back({payload, 10'000 + i % 3, i * 1'000'000});
  }
  return packets;
}

TEST_F(XrtReplay, errors_resets_and_groups_give_the_same_lines_and_the_same_words) {
  const std::vector<CapturedPacket> packets = packets_with_errors();
  expect_same(arguments(packets, "cme"), kExitRejected);
  expect_same(arguments(packets, "cme", {"--group", "224.0.31.1:10001", "--format", "csv"}), kExitRejected);
  for (const char* framing : {"custom:skip=5,seq=u32be@0,reset=template", "custom:skip=5,seq=u32be@0,reset=never"}) {
    expect_same(arguments(packets, framing), kExitRejected);
  }
}

TEST_F(XrtReplay, datagrams_of_blocks_give_the_same) {
  // Two blocks, then one that ends past the datagram.
  const std::string block = from_hex("05e08185c1c0");
  std::vector<CapturedPacket> packets;
  for (unsigned i = 1; i <= 5; ++i) packets.push_back({"xx" + block + block, 10'000, i});
  packets.push_back({"xx" + block + from_hex("09e081"), 10'000, 9});
  for (const char* reset : {"packet", "template"}) {
    const std::string framing = std::string("custom:skip=2,blocks=yes,reset=") + reset;
    const Finished wanted = run_stopbit(joined(arguments(packets, framing), {"--engine", "interp"}));
    ASSERT_NE(wanted.status, kExitUsage) << wanted.err;
    expect_same(arguments(packets, framing), wanted.status);
  }
}

TEST_F(XrtReplay, the_sample_gives_the_same_lines) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  expect_same(joined(
      {"replay", sample + "/capture.pcap.gz", "--templates", sample + "/templates.xml", "--framing", "cme"}, limit()));
}

TEST_F(XrtReplay, captures_of_the_corpus_give_the_same_lines) {
  const char* const folder = std::getenv("STOPBIT_CORPUS");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  const std::pair<const char*, const char*> captures[] = {
      {"complex30000", "none"}, {"cme-mdp-2012", "cme"}, {"moex-asts-trades-2019", "moex"}, {"eurex-rdi-2016", "t7"}};
  for (const auto& [name, framing] : captures) {
    SCOPED_TRACE(name);
    const std::string path = std::string(folder) + "/" + name;
    expect_same(joined({"replay", path + "/capture.pcap", "--templates", path + "/templates.xml", "--framing", framing},
                       limit()));
  }
}

TEST_F(XrtReplay, readers_of_the_ring_get_the_same_records) {
  std::string script = "cd " + shell_quoted(scratch_.path("")) + "\n";
  (void)arguments(packets_with_errors(), "cme");
  int ring = 0;
  for (const char* engine : {"interp", "xrt --xclbin sim --no-fallback"}) {
    const std::string number = std::to_string(++ring);
    script += "\"$stopbit\" tail --wait ./ring" + number + " >out" + number + " & tail=$!\n" +
              "\"$stopbit\" replay day.pcap --templates t.xml --framing cme -q --ring ./ring" + number +
              " --lossless 1 --engine " + engine + " 2>err" + number + "; wait $tail\n";
  }
  const Finished finished = run_script(script);
  EXPECT_EQ(finished.err.substr(0, 500), "");
  for (const char* file : {"out", "err"}) {
    const std::string wanted = scratch_.read(std::string(file) + "1");
    EXPECT_FALSE(wanted.empty());
    EXPECT_TRUE(scratch_.read(std::string(file) + "2") == wanted) << file;
  }
  EXPECT_TRUE(contains(scratch_.read("out1"), R"("Px":)"));
}

TEST_F(XrtReplay, a_program_beyond_the_card_falls_back_or_is_refused) {
  const std::vector<std::string> all =
      arguments({{from_hex("e08185c1"), 10'000, 1}}, "custom:skip=0,reset=template", {"--strict"});
  const Finished fallen = run_stopbit(joined(all, kCard));
  EXPECT_EQ(fallen.status, kExitDone) << fallen.err;
  EXPECT_EQ(fallen.out, run_stopbit(all).out);
  EXPECT_TRUE(contains(fallen.err, "The card cannot run the program: strict decoding")) << fallen.err;
  EXPECT_TRUE(contains(fallen.err, "The program runs in software instead.\n")) << fallen.err;
  EXPECT_FALSE(contains(fallen.err, "\nCard\n")) << fallen.err;
  const Finished refused = run_stopbit(joined(joined(all, kCard), {"--no-fallback"}));
  EXPECT_EQ(refused.status, kExitRejected);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "the card cannot run the program")) << refused.err;
}

TEST_F(XrtReplay, a_card_that_is_not_there_is_status_3_with_what_to_do) {
  const std::vector<std::string> all = arguments({{from_hex("e08185c1"), 10'000, 1}}, "none", {"--engine", "xrt"});
  const Finished real = run_stopbit(joined(all, {"--xclbin", scratch_.write("no.xclbin", "nothing")}));
  EXPECT_EQ(real.status, kExitEnvironment);
  EXPECT_TRUE(contains(real.err, "xclbin 'sim'")) << real.err;
  const Finished missing = run_script(
      "STOPBIT_SIM_CARD=/nowhere \"$stopbit\" replay " + shell_quoted(scratch_.path("day.pcap")) + " --templates " +
      shell_quoted(scratch_.path("t.xml")) + " --framing none " + "--engine xrt --xclbin sim");
  EXPECT_EQ(missing.status, kExitEnvironment);
  EXPECT_TRUE(contains(missing.err, "the simulated card is missing: '/nowhere/lib/libxrt_hwemu.so.2'")) << missing.err;
  const Finished second = run_stopbit(joined(all, {"--xclbin", "sim", "--card", "1"}));
  EXPECT_EQ(second.status, kExitEnvironment);
  EXPECT_TRUE(contains(second.err, "cannot use card 1")) << second.err;
  const Finished broken =
      run_script("STOPBIT_SIM_FEED=./feed \"$stopbit\" replay " + shell_quoted(scratch_.path("day.pcap")) +
                 " --templates " + shell_quoted(scratch_.path("t.xml")) + " --framing none " +
                 "--engine xrt --xclbin " + shell_quoted(scratch_.path("no.xclbin")));
  EXPECT_EQ(broken.status, kExitEnvironment);
  EXPECT_TRUE(contains(broken.err, "is not an xclbin")) << broken.err;
}

TEST_F(XrtReplay, leaves_nothing_behind) {
  const std::string folder = scratch_.path("tmp");
  std::filesystem::create_directory(folder);
  (void)arguments({{from_hex("e08185c1"), 10'000, 1}}, "none");
  const Finished finished = run_script("cd " + shell_quoted(scratch_.path("")) + " && TMPDIR=" + shell_quoted(folder) +
                                       " \"$stopbit\" replay day.pcap --templates t.xml --framing none -q --engine xrt "
                                       "--xclbin sim >out && ls tmp . && cat out");
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_EQ(finished.out, ".:\nday.pcap\nout\nt.xml\ntmp\n\ntmp:\n" + scratch_.read("out")) << finished.err;
}

}  // namespace
}  // namespace stopbit::tools
