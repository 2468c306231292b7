// `stopbit replay --engine card` as a user types it, beside `--engine interp`: the same lines, the same ring, the same
// summary.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "tests/lib/card_leaf.hpp"
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

bool is_xrt() {
  return stopbit::testing::leaf_of_run() == device::Leaf::Xrt;
}

/// XRT by the older name of the engine.
std::vector<std::string> card() {
  if (is_xrt()) return {"--engine", "xrt", "--xclbin", "sim"};
  return {"--engine", "card", "--device", "sim"};
}

/// Runs both. The card has to do it, not software.
void expect_same(const std::vector<std::string>& arguments, int status = kExitDone) {
  const Finished wanted = run_stopbit(joined(arguments, {"--engine", "interp"}));
  const Finished got = run_stopbit(joined(joined(arguments, card()), {"--no-fallback"}));
  EXPECT_EQ(got.status, status) << got.err;
  EXPECT_EQ(wanted.status, status) << wanted.err;
  EXPECT_FALSE(wanted.out.empty());
  EXPECT_TRUE(got.out == wanted.out) << "the lines differ; the first ones are\n" << got.out.substr(0, 1000);
  EXPECT_EQ(without_times(got.err), without_times(wanted.err));
  const unsigned engines = stopbit::testing::engines_of_run();
  const std::string section =
      "\nCard\n  " + std::string(11, ' ') + std::to_string(engines) + "  decode core" + (engines == 1 ? "\n" : "s,");
  EXPECT_TRUE(contains(got.err, section)) << got.err;
}

class CardReplay : public ::testing::Test {
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

TEST_F(CardReplay, errors_resets_and_groups_give_the_same_lines_and_the_same_words) {
  const std::vector<CapturedPacket> packets = packets_with_errors();
  expect_same(arguments(packets, "cme"), kExitRejected);
  expect_same(arguments(packets, "cme", {"--group", "224.0.31.1:10001", "--format", "csv"}), kExitRejected);
  for (const char* framing : {"custom:skip=5,seq=u32be@0,reset=template", "custom:skip=5,seq=u32be@0,reset=never"}) {
    expect_same(arguments(packets, framing), kExitRejected);
  }
}

TEST_F(CardReplay, datagrams_of_blocks_give_the_same) {
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

TEST_F(CardReplay, the_sample_gives_the_same_lines) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  expect_same(joined(
      {"replay", sample + "/capture.pcap.gz", "--templates", sample + "/templates.xml", "--framing", "cme"}, limit()));
}

TEST_F(CardReplay, captures_of_the_corpus_give_the_same_lines) {
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

TEST_F(CardReplay, readers_of_the_ring_get_the_same_records) {
  std::string script = "cd " + shell_quoted(scratch_.path("")) + "\n";
  (void)arguments(packets_with_errors(), "cme");
  int ring = 0;
  const std::string on_card = is_xrt() ? "xrt --xclbin sim" : "card --device sim";
  for (const std::string& engine : {std::string("interp"), on_card + " --no-fallback"}) {
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

TEST_F(CardReplay, a_program_beyond_the_card_falls_back_or_is_refused) {
  const std::vector<std::string> all =
      arguments({{from_hex("e08185c1"), 10'000, 1}}, "custom:skip=0,reset=template", {"--strict"});
  const Finished fallen = run_stopbit(joined(all, card()));
  EXPECT_EQ(fallen.status, kExitDone) << fallen.err;
  EXPECT_EQ(fallen.out, run_stopbit(all).out);
  EXPECT_TRUE(contains(fallen.err, "The card cannot run the program: strict decoding")) << fallen.err;
  EXPECT_TRUE(contains(fallen.err, "The program runs in software instead.\n")) << fallen.err;
  EXPECT_FALSE(contains(fallen.err, "\nCard\n")) << fallen.err;
  const Finished refused = run_stopbit(joined(joined(all, card()), {"--no-fallback"}));
  EXPECT_EQ(refused.status, kExitRejected);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "the card cannot run the program")) << refused.err;
}

TEST_F(CardReplay, a_card_that_is_not_there_is_status_3_with_what_to_do) {
  const std::vector<std::string> all = arguments({{from_hex("e08185c1"), 10'000, 1}}, "none", {"--engine", "card"});
  const auto refused = [&](const std::vector<std::string>& which, const std::string& environment = "") {
    std::string script = environment + " \"$stopbit\"";
    for (const std::string& argument : joined(all, which)) script += " " + shell_quoted(argument);
    const Finished finished = run_script(script);
    EXPECT_EQ(finished.status, kExitEnvironment);
    return finished.err;
  };
  const std::string real = scratch_.write("no.xclbin", "nothing");
  const std::vector<std::string> absent =
      is_xrt() ? std::vector<std::string>{"--xclbin", real} : std::vector<std::string>{"--device", "ffff:ff:1f.7"};
  EXPECT_TRUE(contains(refused(absent), is_xrt() ? "xclbin 'sim'" : "device 'sim'"));
  const std::vector<std::string> simulated = {is_xrt() ? "--xclbin" : "--device", "sim"};
  EXPECT_TRUE(contains(refused(simulated, "STOPBIT_SIM_CARD=/nowhere"),
                       std::string("the simulated card is missing: '/nowhere/") +
                           (is_xrt() ? "lib/libxrt_hwemu.so.2'" : "stopbit-sim-vfio.so'")));
  EXPECT_TRUE(contains(refused(absent, "STOPBIT_SIM_FEED=./feed"),
                       is_xrt() ? "is not an xclbin" : "device ffff:ff:1f.7: this machine has no such PCI function"));
  if (!is_xrt()) return;
  EXPECT_TRUE(contains(refused({"--xclbin", "sim", "--card", "1"}), "cannot use card 1"));
}

TEST_F(CardReplay, leaves_nothing_behind) {
  const std::string folder = scratch_.path("tmp");
  std::filesystem::create_directory(folder);
  (void)arguments({{from_hex("e08185c1"), 10'000, 1}}, "none");
  const Finished finished =
      run_script("cd " + shell_quoted(scratch_.path("")) + " && TMPDIR=" + shell_quoted(folder) +
                 " \"$stopbit\" replay day.pcap --templates t.xml --framing none -q --engine " +
                 (is_xrt() ? "xrt --xclbin" : "card --device") + " sim >out && ls tmp . && cat out");
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_EQ(finished.out, ".:\nday.pcap\nout\nt.xml\ntmp\n\ntmp:\n" + scratch_.read("out")) << finished.err;
}

}  // namespace
}  // namespace stopbit::tools
