// replay and tail, through the binary.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "host/cli/common/command.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::replay_test {

using testing::capture_of;
using testing::CapturedPacket;
using testing::command_text;
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

std::size_t lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string quote(unsigned price, char name) {
  return R"({"template":"Quote","id":1,"fields":{"Px":)" + std::to_string(price) + R"(,"S":")" + name + "\"}}\n";
}

/// Quotes of price 1 to `count` in nanosecond distance, to two groups in turn.
std::vector<CapturedPacket> quotes(unsigned count) {
  std::vector<CapturedPacket> packets;
  for (unsigned i = 1; i <= count; ++i) {
    packets.push_back({from_hex("e081") + static_cast<char>(0x81 + i) + from_hex("c1"), 10'000 + i % 2, i});
  }
  return packets;
}

class Replay : public ::testing::Test {
 protected:
  std::vector<std::string> arguments(const std::vector<CapturedPacket>& packets,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"replay",      scratch_.write("day.pcap", capture_of(packets)),
                                    "--templates", scratch_.write("t.xml", kTemplates),
                                    "--framing",   "none"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Finished replay(const std::vector<CapturedPacket>& packets, const std::vector<std::string>& more = {}) {
    return run_stopbit(arguments(packets, more));
  }

  Scratch scratch_;
};

TEST_F(Replay, prints_a_line_per_message_and_a_summary) {
  const Finished finished = replay(quotes(3));
  EXPECT_EQ(finished.status, kExitDone);
  EXPECT_EQ(finished.out, quote(1, 'A') + quote(2, 'A') + quote(3, 'A'));
  EXPECT_TRUE(contains(finished.err, " Quote (id 1)\n")) << finished.err;
  EXPECT_TRUE(finished.err.ends_with("\nVerdict: no errors; 3 datagrams decoded.\n")) << finished.err;
  EXPECT_FALSE(contains(finished.err, "\r")) << "a progress bar, and stderr is no terminal";
}

TEST_F(Replay, quiet_means_no_summary) {
  EXPECT_EQ(replay(quotes(1), {"--quiet"}).err, "");
}

TEST_F(Replay, without_a_format_only_the_summary_remains) {
  const Finished finished = replay(quotes(3), {"--format", "none"});
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "messages"));
  EXPECT_EQ(replay(quotes(3), {"--format", "none", "-o", "x"}).status, kExitUsage);
}

TEST_F(Replay, prints_csv_with_a_title) {
  const Finished finished = replay(quotes(1), {"--format", "csv"});
  EXPECT_EQ(finished.out, "message,packet_sequence,template,path,value\n1,0,Quote,Px,1\n1,0,Quote,S,A\n");
}

TEST_F(Replay, writes_to_a_file_and_never_over_its_inputs) {
  EXPECT_EQ(replay(quotes(2), {"-o", scratch_.path("out.jsonl")}).status, kExitDone);
  EXPECT_EQ(scratch_.read("out.jsonl"), quote(1, 'A') + quote(2, 'A'));
  for (const char* input : {"day.pcap", "t.xml"}) {
    EXPECT_EQ(replay(quotes(2), {"-o", scratch_.path(input)}).status, kExitUsage);
  }
  EXPECT_EQ(scratch_.read("day.pcap"), capture_of(quotes(2)));
}

TEST_F(Replay, stops_at_the_limit) {
  const Finished finished = replay(quotes(5), {"--limit", "2"});
  EXPECT_EQ(finished.status, kExitDone);
  EXPECT_EQ(finished.out, quote(1, 'A') + quote(2, 'A'));
  EXPECT_EQ(replay(quotes(5), {"--limit", "0"}).status, kExitUsage);
}

TEST_F(Replay, takes_only_the_groups_asked_for) {
  const Finished finished = replay(quotes(4), {"--group", "224.0.31.1:10001"});
  EXPECT_EQ(finished.out, quote(1, 'A') + quote(3, 'A'));
  EXPECT_EQ(replay(quotes(4), {"--group", "224.0.31.1:10001", "--group", "224.0.31.1:10000"}).out,
            replay(quotes(4)).out);
  EXPECT_EQ(replay(quotes(4), {"--group", "224.0.31.1"}).status, kExitUsage);
}

TEST_F(Replay, decode_errors_are_lines_of_their_own_and_status_1) {
  std::vector<CapturedPacket> packets = quotes(1);
  packets.push_back({from_hex("c0ff"), 10'000});
  packets.push_back({from_hex("e08184c2"), 10'001});
  const Finished finished = replay(packets);
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_EQ(finished.out, quote(1, 'A') +
                              R"({"error":"D9","packet":2,"offset":1,"detail":"no template has the identifier 127"})" +
                              "\n" + quote(3, 'B'));
  EXPECT_TRUE(contains(finished.err, "day.pcap: packet 2, byte 1: ")) << finished.err;
}

TEST_F(Replay, a_cut_capture_gives_its_good_packets_and_names_the_cut) {
  std::vector<std::string> all = arguments(quotes(3));
  const std::string whole = capture_of(quotes(3));
  scratch_.write("day.pcap", whole.substr(0, whole.size() - 5));
  const Finished finished = run_stopbit(all);
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_EQ(finished.out, quote(1, 'A') + quote(2, 'A'));
  EXPECT_TRUE(contains(finished.err, "packet 3")) << finished.err;
}

TEST_F(Replay, several_captures_follow_each_other) {
  std::vector<std::string> all = arguments(quotes(2));
  all.insert(all.begin() + 1, all[1]);
  EXPECT_EQ(run_stopbit(all).out, quote(1, 'A') + quote(2, 'A') + quote(1, 'A') + quote(2, 'A'));
}

TEST_F(Replay, takes_captures_behind_the_templates_too) {
  const std::vector<std::string> all = arguments(quotes(2));
  EXPECT_EQ(run_stopbit({"replay", "--templates", all[3], all[1], "--framing", "none", "-q"}).out,
            quote(1, 'A') + quote(2, 'A'));
}

TEST_F(Replay, reads_a_capture_from_stdin_and_firmware_from_a_file) {
  const std::vector<std::string> all = arguments(quotes(2));
  ASSERT_EQ(run_stopbit({"compile", all[3], "-o", scratch_.path("t.sbf")}).status, kExitDone);
  const Finished finished =
      run_stopbit({"replay", "-", "--firmware", scratch_.path("t.sbf"), "--framing", "none"}, capture_of(quotes(2)));
  EXPECT_EQ(finished.out, quote(1, 'A') + quote(2, 'A')) << finished.err;
}

TEST_F(Replay, what_is_no_capture_is_rejected_and_what_is_not_there_is_the_environment) {
  std::vector<std::string> all = arguments(quotes(1));
  scratch_.write("day.pcap", "no capture at all, but long enough to have a header");
  EXPECT_EQ(run_stopbit(all).status, kExitRejected);
  all[1] = scratch_.path("none.pcap");
  EXPECT_EQ(run_stopbit(all).status, kExitEnvironment);
}

TEST_F(Replay, the_pace_is_that_of_the_capture) {
  std::vector<CapturedPacket> packets = quotes(2);
  packets[1].arrival_ns = 200'000'000;
  std::vector<std::string> all = arguments(packets, {"--pace", "1x", "-q"});
  const Finished finished =
      run_script("start=$(date +%s%N); " + command_text(all) + " >/dev/null; echo $(($(date +%s%N) - start))");
  EXPECT_GE(std::stoull(finished.out), 200'000'000U);
  EXPECT_EQ(replay(quotes(1), {"--pace", "soon"}).status, kExitUsage);
}

TEST_F(Replay, a_terminal_gets_a_progress_bar) {
  std::vector<CapturedPacket> packets = quotes(3);
  packets[2].arrival_ns = 400'000'000;
  const std::string command = command_text(arguments(packets, {"--pace", "1x", "--format", "none"}));
  const Finished finished = run_script("command -v script >/dev/null || exit 77\nexport stopbit\nscript -qec " +
                                       shell_quoted(command) + " /dev/null </dev/null");
  if (finished.status == 77) GTEST_SKIP() << "there is no script command to make a terminal";
  EXPECT_TRUE(contains(finished.out, "\r[#")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " %  168 bytes of 168 bytes, ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, ", 2 packets, ")) << finished.out;
}

TEST_F(Replay, a_full_disk_is_reported_and_a_reader_that_goes_away_is_not) {
  const std::string command = command_text(arguments(quotes(100), {"-q"}));
  const Finished full = run_script("exec " + command + " >/dev/full");
  EXPECT_EQ(full.status, kExitEnvironment);
  EXPECT_TRUE(contains(full.err, "cannot write <stdout>: No space left on device")) << full.err;
  const Finished gone = run_script(command + " | true; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(gone.out, "0\n");
  EXPECT_EQ(gone.err, "");
}

class Ring : public Replay {
 protected:
  /// A ring in a file of the scratch folder, so that tests do not meet in /dev/shm.
  std::string ring() const { return scratch_.path("ring"); }
  /// For scripts: waits until a command says yes.
  static constexpr const char* kAwait = R"(
await() { for i in {1..400}; do "$@" && return; sleep 0.05; done; echo "waited too long: $*"; exit 9; }
)";
};

TEST_F(Ring, tail_prints_what_replay_would_have_printed) {
  std::vector<CapturedPacket> packets = quotes(60);
  packets.push_back({from_hex("c0ff"), 10'001});
  packets.push_back({from_hex("e081"), 10'001});
  for (const char* format : {"jsonl", "csv"}) {
    const std::string expected = replay(packets, {"--format", format}).out;
    const Finished silent = replay(packets, {"--ring", ring(), "-q"});
    EXPECT_EQ(silent.status, kExitRejected) << silent.err;
    EXPECT_EQ(silent.out, "");
    const Finished tail = run_stopbit({"tail", ring(), "--format", format});
    EXPECT_EQ(tail.status, kExitDone) << tail.err;
    EXPECT_EQ(tail.out, expected);
    EXPECT_EQ(tail.err, "");
  }
}

TEST_F(Ring, the_sample_reads_alike_from_the_ring) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  const std::vector<std::string> all = {"replay",
                                        sample + "/capture.pcap.gz",
                                        "--templates",
                                        sample + "/templates.xml",
                                        "--framing",
                                        "cme",
                                        "--ring",
                                        ring(),
                                        "--ring-slots",
                                        "1048576",
                                        "--format",
                                        "jsonl",
                                        "-q"};
  const Finished replayed = run_stopbit(all);
  EXPECT_EQ(replayed.status, kExitDone) << replayed.err;
  EXPECT_GE(lines(replayed.out), 20'000U);
  const Finished tail = run_stopbit({"tail", ring()});
  EXPECT_EQ(tail.err, "");
  EXPECT_TRUE(tail.out == replayed.out) << lines(tail.out) << " lines of " << lines(replayed.out);
}

TEST_F(Ring, tail_follows_a_writer_that_runs) {
  std::vector<CapturedPacket> packets = quotes(3);
  packets[2].arrival_ns = 300'000'000;
  const std::string command = command_text(arguments(packets, {"--pace", "1x", "--ring", ring(), "-q"}));
  const Finished finished =
      run_script("\"$stopbit\" tail --wait " + shell_quoted(ring()) + " & " + command + "; wait $!");
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_EQ(finished.out, replay(packets).out);
}

TEST_F(Ring, tail_ends_on_sigint) {
  std::vector<CapturedPacket> packets = quotes(2);
  packets[1].arrival_ns = 100'000'000'000;
  const std::string command = command_text(arguments(packets, {"--pace", "1x", "--ring", ring()}));
  const Finished finished =
      run_script("cd " + shell_quoted(scratch_.path("")) + "\nset -m\n" + command +
                 " 2>summary & writer=$!\n\"$stopbit\" tail --wait ./ring >out & reader=$!\n" + R"(
for i in {1..400}; do [[ -s out ]] && break; sleep 0.05; done
kill -INT $reader; wait $reader; echo "tail $?"
kill -INT $writer; wait $writer; echo "replay $?"
cat out; grep -c 'stopped before the end' summary
)");
  EXPECT_EQ(finished.out, "tail 0\nreplay 130\n" + quote(1, 'A') + "1\n") << finished.err;
}

TEST_F(Ring, a_reader_that_was_too_slow_is_told_what_it_lost) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  const Finished finished = run_script("cd " + shell_quoted(scratch_.path("")) + kAwait + R"(
"$stopbit" tail --wait ./ring >out 2>err & reader=$!
{ head -c 300000; await test -e go; cat; } < <(zcat )" +
                                       shell_quoted(sample + "/capture.pcap.gz") + R"() |
  "$stopbit" replay - --templates )" + shell_quoted(sample + "/templates.xml") +
                                       R"( --framing cme --ring ./ring --ring-slots 32768 -q &
writer=$!
await test -s out
kill -STOP $reader
touch go
wait $writer || echo "writer $?"
kill -CONT $reader
wait $reader
echo "reader $?"
wc -l <out
)");
  const std::string err = scratch_.read("err");
  EXPECT_TRUE(finished.out.starts_with("reader 1\n")) << finished.out << finished.err;
  EXPECT_TRUE(contains(err, " slots, the writer was faster\n")) << err;
  // The sample has 23921 messages, each a record, and no event: what was printed and what was lost add up.
  const std::regex sum("stopbit: ./ring: ([0-9]+) records read, ([0-9]+) lost, of 23921 from record 1 on\n");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(err, found, sum)) << err;
  EXPECT_EQ(std::stoul(found[1]) + std::stoul(found[2]), 23'921U);
  EXPECT_EQ(finished.out, "reader 1\n" + found[1].str() + "\n");
}

TEST_F(Ring, a_lossless_replay_waits_for_its_readers) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  const std::string replay = "\"$stopbit\" replay " + shell_quoted(sample + "/capture.pcap.gz") + " --templates " +
                             shell_quoted(sample + "/templates.xml") + " --framing cme -q";
  const Finished finished = run_script("cd " + shell_quoted(scratch_.path("")) + R"(
"$stopbit" tail --wait ./ring >one & one=$!
"$stopbit" tail --wait ./ring | (until [[ -s one ]]; do sleep 0.05; done; cat) >two & two=$!
)" + replay + R"( --ring ./ring --ring-slots 32768 --lossless 2 || echo "writer $?"
wait $one || echo "one $?"
wait $two || echo "two $?"
)" + replay + R"( >all
cmp one all; cmp two all
)");
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, "");
  EXPECT_GE(lines(scratch_.read("all")), 20'000U);
}

TEST_F(Ring, a_reader_that_is_stuck_is_detached_and_told) {
  const std::string sample = STOPBIT_SAMPLE_FOLDER;
  const Finished finished =
      run_script("cd " + shell_quoted(scratch_.path("")) + kAwait + R"(
"$stopbit" tail --wait ./ring >out 2>err & reader=$!
{ head -c 300000; await test -e go; cat; } < <(zcat )" +
                 shell_quoted(sample + "/capture.pcap.gz") + R"() |
  "$stopbit" replay - --templates )" +
                 shell_quoted(sample + "/templates.xml") +
                 R"( --framing cme -q --ring ./ring --ring-slots 32768 --lossless 1 --patience 200ms &
writer=$!
await test -s out
kill -STOP $reader
touch go
wait $writer || echo "writer $?"
kill -CONT $reader
wait $reader || echo "reader $?"
wc -l <out
)");
  const std::string err = scratch_.read("err");
  EXPECT_TRUE(contains(finished.err, " did not move for 0.2 s after ")) << finished.err;
  EXPECT_TRUE(contains(err, "the writer stopped waiting for this reader")) << err;
  EXPECT_TRUE(contains(err, " of 23921 from record 1 on\n")) << err;
}

TEST_F(Ring, its_size_can_be_said_by_time) {
  std::vector<CapturedPacket> packets = quotes(60);
  for (std::size_t i = 0; i < packets.size(); ++i) packets[i].arrival_ns = 1'000'000'000 + i * 1'000'000;
  // A record of these takes one slot, at most 4096; a thousand of them come in a second.
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--ring", ring()};
    all.insert(all.end(), more.begin(), more.end());
    return replay(packets, all).err;
  };
  EXPECT_TRUE(contains(said({"--pace", "100x", "--hold", "100us"}), "slots, for 11 in 100us at most; "));
  EXPECT_TRUE(contains(said({"--pace", "100x", "--hold", "1s"}), "slots, for 60 in 1s at most; "));
  EXPECT_TRUE(contains(said({"--hold", "2s", "--slot-rate", "1000000"}),
                       ": 2097152 slots, for 2000000 in 2s at most; 128.0 MiB"));
  EXPECT_TRUE(contains(said({"--hold", "60s", "--slot-rate", "10000000"}), "the largest ring has 268435456"));
}

TEST_F(Ring, options_that_contradict_each_other_are_refused) {
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--hold", "1ms"},
           {"--lossless", "1"},
           {"--ring", ring(), "--hold", "1"},
           {"--ring", ring(), "--hold", "1d"},
           {"--ring", ring(), "--hold", "-1ms"},
           {"--ring", ring(), "--hold", "nan"},
           {"--ring", ring(), "--hold", "1ms", "--ring-slots", "1024"},
           {"--ring", ring(), "--slot-rate", "1000"},
           {"--ring", ring(), "--patience", "1s"},
           {"--ring", ring(), "--lossless", "17"},
           {"--ring", ring(), "--lossless", "0", "--patience", "x"},
       }) {
    const Finished finished = replay(quotes(1), more);
    EXPECT_EQ(finished.status, kExitUsage) << more.back() << finished.err;
  }
}

TEST_F(Ring, names_and_sizes_that_cannot_be_are_refused) {
  EXPECT_EQ(replay(quotes(1), {"--ring", "-bad-"}).status, kExitUsage);
  EXPECT_EQ(replay(quotes(1), {"--ring", "a b"}).status, kExitUsage);
  EXPECT_EQ(replay(quotes(1), {"--ring", ring(), "--ring-slots", "1000"}).status, kExitUsage);
  EXPECT_EQ(replay(quotes(1), {"--ring-slots", "65536"}).status, kExitUsage);
  EXPECT_EQ(run_stopbit({"tail", "a b"}).status, kExitUsage);
  EXPECT_EQ(run_stopbit({"tail", scratch_.path("none")}).status, kExitEnvironment);
  EXPECT_EQ(run_stopbit({"tail", scratch_.write("file", "no ring")}).status, kExitEnvironment);
}

}  // namespace stopbit::tools::replay_test
