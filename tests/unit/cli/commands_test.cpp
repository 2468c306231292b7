// compile, asm, disasm, verify and info, through the binary.

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/cli/common/command.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::commands_test {

using testing::Finished;
using testing::kTemplates;
using testing::run_script;
using testing::run_stopbit;
using testing::Scratch;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// An image of kTemplates.
std::string image_in(const Scratch& scratch) {
  std::string image = scratch.path("feed.sbf");
  const Finished finished = run_stopbit({"compile", scratch.write("feed.xml", kTemplates), "-o", image});
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  return image;
}

void expect_round_trip(const Scratch& scratch, const std::vector<std::string>& compile) {
  std::vector<std::string> arguments = {"compile"};
  arguments.insert(arguments.end(), compile.begin(), compile.end());
  arguments.insert(arguments.end(), {"-o", scratch.path("1.sbf"), "--listing", scratch.path("1.sbasm")});
  const Finished compiled = run_stopbit(arguments);
  ASSERT_EQ(compiled.status, kExitDone) << compiled.err;
  ASSERT_EQ(run_stopbit({"disasm", scratch.path("1.sbf"), "-o", scratch.path("2.sbasm")}).status, kExitDone);
  EXPECT_EQ(scratch.read("1.sbasm"), scratch.read("2.sbasm"));
  const Finished assembled = run_stopbit({"asm", scratch.path("2.sbasm"), "-o", scratch.path("2.sbf")});
  ASSERT_EQ(assembled.status, kExitDone) << assembled.err;
  EXPECT_TRUE(scratch.read("1.sbf") == scratch.read("2.sbf")) << compile.front();
}

TEST(Commands, a_listing_assembles_to_the_image_it_came_from) {
  const Scratch scratch;
  expect_round_trip(scratch, {scratch.write("feed.xml", kTemplates)});
}

TEST(Commands, every_template_file_of_the_corpus_survives_the_round_trip) {
  const char* corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  std::size_t files = 0;
  const auto one_in = by_form<std::size_t>(4, 1, 1);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() != ".xml" || files++ % one_in != 0) continue;
    const Scratch scratch;
    std::vector<std::string> arguments = {entry.path().string()};
    if (entry.path().filename() == "opra.xml") arguments.insert(arguments.end(), {"--template-id", "1"});
    expect_round_trip(scratch, arguments);
  }
  EXPECT_GT(files, 0U);
}

TEST(Commands, work_as_filters) {
  const Scratch scratch;
  const std::string image = image_in(scratch);
  const Finished finished = run_script(
      "set -o pipefail; \"$stopbit\" compile - -o - 2>/dev/null | \"$stopbit\" disasm - | "
      "\"$stopbit\" asm - -o - | \"$stopbit\" disasm -",
      kTemplates);
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  // The name of the source file is the only difference.
  std::string expected = run_stopbit({"disasm", image}).out;
  const std::string name = scratch.path("feed.xml");
  for (std::size_t at = 0; (at = expected.find(name)) != std::string::npos;)
    expected.replace(at, name.size(), "<stdin>");
  EXPECT_EQ(finished.out, expected);
}

TEST(Compile, reports_every_error_with_its_place_and_writes_nothing) {
  const Scratch scratch;
  const std::string path =
      scratch.write("bad.xml",
                    "<templates>\n  <template name=\"T\" id=\"1\">\n    <string name=\"A\"><increment/></string>\n"
                    "    <uInt32 name=\"B\"><constant/></uInt32>\n  </template>\n</templates>\n");
  const Finished finished = run_stopbit({"compile", path, "-o", scratch.path("bad.sbf")});
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, path + ":3:")) << finished.err;
  EXPECT_TRUE(contains(finished.err, "[S2]")) << finished.err;
  EXPECT_TRUE(contains(finished.err, path + ":4:")) << finished.err;
  EXPECT_TRUE(contains(finished.err, "[S4]")) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("bad.sbf")));
}

TEST(Compile, gives_an_identifier_to_a_template_that_has_none) {
  const Scratch scratch;
  const std::string path = scratch.write("t.xml", "<template name=\"T\"><uInt32 name=\"A\"/></template>\n");
  EXPECT_EQ(run_stopbit({"compile", path}).status, kExitRejected);
  EXPECT_EQ(run_stopbit({"compile", path, "--template-id", "7", "-o", scratch.path("t.sbf")}).status, kExitDone);
  EXPECT_TRUE(contains(run_stopbit({"info", scratch.path("t.sbf")}).out, "id 7: T\n"));
  EXPECT_EQ(run_stopbit({"compile", path, "--template-id", "4294967296"}).status, kExitUsage);
}

TEST(Compile, takes_several_files_as_one_set) {
  const Scratch scratch;
  const std::string one = scratch.write(
      "1.xml", "<templates><template name=\"A\" id=\"1\"><templateRef name=\"B\"/></template></templates>");
  const std::string two =
      scratch.write("2.xml", "<templates><template name=\"B\" id=\"2\"><uInt32 name=\"X\"/></template></templates>");
  EXPECT_EQ(run_stopbit({"compile", one}).status, kExitRejected);
  EXPECT_EQ(run_stopbit({"compile", one, two}).status, kExitDone);
}

TEST(Compile, refuses_to_overwrite_its_input) {
  const Scratch scratch;
  const std::string path = scratch.write("t.xml", kTemplates);
  EXPECT_EQ(run_stopbit({"compile", path, "-o", path}).status, kExitUsage);
  EXPECT_EQ(run_stopbit({"compile", path, "--listing", path}).status, kExitUsage);
  EXPECT_EQ(scratch.read("t.xml"), kTemplates);
}

TEST(Compile, refuses_to_write_image_and_listing_to_one_file) {
  const Scratch scratch;
  const std::string path = scratch.write("t.xml", kTemplates);
  EXPECT_EQ(run_stopbit({"compile", path, "-o", scratch.path("x"), "--listing", scratch.path("./x")}).status,
            kExitUsage);
  EXPECT_EQ(run_stopbit({"compile", path, "-o", "-", "--listing", "-"}).status, kExitUsage);
}

TEST(Compile, a_missing_file_is_an_error_of_the_environment) {
  const Scratch scratch;
  const Finished finished = run_stopbit({"compile", scratch.path("none.xml")});
  EXPECT_EQ(finished.status, kExitEnvironment);
  EXPECT_TRUE(contains(finished.err, "none.xml: No such file")) << finished.err;
}

TEST(Asm, reports_errors_with_their_place_and_writes_nothing) {
  const Scratch scratch;
  const std::string path = scratch.write("bad.sbasm", "this is\nno listing\n");
  const Finished finished = run_stopbit({"asm", path, "-o", scratch.path("bad.sbf")});
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_TRUE(contains(finished.err, path + ":1:")) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("bad.sbf")));
}

TEST(Images, with_any_flipped_byte_are_refused_by_every_command) {
  const Scratch scratch;
  const std::string image = image_in(scratch);
  const std::string good = scratch.read("feed.sbf");
  for (std::size_t at = 0; at < good.size(); at += by_form<std::size_t>(389, 97, 97)) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const std::string path = scratch.write("bad.sbf", bad);
    for (const char* command : {"verify", "info", "disasm"}) {
      const Finished finished = run_stopbit({command, path});
      EXPECT_EQ(finished.status, kExitRejected) << command << " byte " << at;
      EXPECT_TRUE(contains(finished.err, "bad.sbf: not a usable firmware image")) << finished.err;
    }
    EXPECT_EQ(run_stopbit({"decode", "--firmware", path}).status, kExitRejected) << at;
  }
}

TEST(Verify, prints_the_cost_of_each_template) {
  const Scratch scratch;
  const Finished finished = run_stopbit({"verify", image_in(scratch)});
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_TRUE(finished.out.starts_with("Safe for every input")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "  Quote\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "  Clear\n")) << finished.out;
}

TEST(Info, shows_where_each_value_stands) {
  const Scratch scratch;
  const Finished finished = run_stopbit({"info", image_in(scratch)});
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_TRUE(contains(finished.out, ", id 1: Quote\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "       0        0.4    1  Px, uInt32, optional\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "       1        0.5    2  S, string\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, ", id 2: Clear, resets the dictionary\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, ", id 120: FastReset")) << finished.out;
}

TEST(Info, json_is_one_object_that_python_reads) {
  const Scratch scratch;
  const std::string image = image_in(scratch);
  const Finished finished =
      run_script("command -v python3 >/dev/null || { echo 'Px 0 4 1 True'; exit; }\n\"$stopbit\" info --json " +
                 testing::shell_quoted(image) +
                 " | python3 -c 'import json, sys; quote = json.load(sys.stdin)[\"templates\"][0]; row = "
                 "quote[\"blocks\"][0][\"layout\"][0]; "
                 "print(row[\"name\"], row[\"slot\"], row[\"slot_word\"], row[\"tag\"], row[\"optional\"])'");
  EXPECT_EQ(finished.out, "Px 0 4 1 True\n") << finished.err;
}

TEST(Images, a_full_disk_is_reported_by_everything_that_writes) {
  const Scratch scratch;
  const std::string image = testing::shell_quoted(image_in(scratch));
  const std::string xml = testing::shell_quoted(scratch.path("feed.xml"));
  for (const std::string& command :
       {"info " + image, "info --json " + image, "verify " + image, "disasm " + image,
        "compile " + xml + " -o /dev/full", "compile " + xml + " --listing -", "compile " + xml + " -o -"}) {
    const Finished finished = run_script("exec \"$stopbit\" " + command + " >/dev/full");
    EXPECT_EQ(finished.status, kExitEnvironment) << command;
    EXPECT_TRUE(contains(finished.err, "No space left on device")) << finished.err;
  }
}

/// A capture may have numbers that a hash table would keep in one bucket: these took the one of `compare` minutes.
TEST(Commands, compare_takes_any_numbers) {
  constexpr std::uint64_t kInverse = 0xF1DE'83E1'9937'733D;  // of the factor that many hashes multiply by
  constexpr std::uint64_t kBuckets = 351'061;
  std::vector<testing::CapturedPacket> packets;
  for (std::uint64_t i = 1; i <= 300'000; ++i) {
    const std::uint64_t number = (i * kBuckets << 16) * kInverse;
    std::string payload(32, '\0');
    for (std::size_t byte = 0; byte < 8; ++byte) payload[byte] = static_cast<char>(number >> 8 * byte);
    packets.push_back({.payload = payload, .arrival_ns = i});
  }
  const Scratch scratch;
  const std::string capture = scratch.write("day.pcap", testing::capture_of(packets));
  const Finished finished = run_stopbit({"compare", capture, capture, "--framing", "stopbit"});
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_TRUE(contains(finished.out, "      300000  on both\n")) << finished.out;
}

TEST(Commands, compare_finds_both_lines_in_one_pipe) {
  const Scratch scratch;
  const std::string capture = scratch.write(
      "day.pcap", testing::capture_of({{"x", 10'001, 1}, {"x", 10'002, 2}, {"y", 10'002, 3}, {"y", 10'001, 4}}));
  const std::string rest = " --group-a 224.0.31.1:10001 --group-b 224.0.31.1:10002";
  const Finished from_stdin = run_script("cat " + capture + " | \"$stopbit\" compare -" + rest);
  EXPECT_EQ(from_stdin.status, kExitDone) << from_stdin.err;
  EXPECT_TRUE(contains(from_stdin.out, "           2  on both\n")) << from_stdin.out;
  EXPECT_EQ(run_script("\"$stopbit\" compare <(cat " + capture + ")" + rest).out, from_stdin.out);
}

}  // namespace stopbit::tools::commands_test
