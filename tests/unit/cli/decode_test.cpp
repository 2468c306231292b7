#include <gtest/gtest.h>

#include "host/cli/common/command.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::decode_test {

using testing::Finished;
using testing::kTemplates;
using testing::run_script;
using testing::run_stopbit;
using testing::Scratch;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::string_view kQuoteA = R"({"template":"Quote","id":1,"fields":{"Px":5,"S":"A"}})"
                                     "\n";
constexpr std::string_view kQuoteB = R"({"template":"Quote","id":1,"fields":{"Px":5,"S":"B"}})"
                                     "\n";

Finished decode(const std::vector<std::string>& options, std::string_view input) {
  const Scratch scratch;
  std::vector<std::string> arguments = {"decode", "--templates", scratch.write("t.xml", kTemplates)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_stopbit(arguments, input);
}

TEST(Decode, previous_values_live_on_from_line_to_line) {
  const Finished finished = decode({}, "e0 81 86 c1 # the price, and A\n80 c2\n");
  EXPECT_EQ(finished.status, kExitDone) << finished.err;
  EXPECT_EQ(finished.out, std::string(kQuoteA) + std::string(kQuoteB));
  EXPECT_EQ(finished.err, "");
}

TEST(Decode, with_reset_by_packet_each_line_stands_for_itself) {
  const Finished finished = decode({"--reset", "packet"}, "e08186c1\n80c2\ne08186c2\n");
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_TRUE(finished.out.starts_with(kQuoteA)) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\n{\"error\":\"D5\",\"packet\":2,\"offset\":1,")) << finished.out;
  EXPECT_TRUE(finished.out.ends_with(kQuoteB)) << finished.out;
}

TEST(Decode, after_an_error_lines_are_dropped_until_a_template_resets) {
  const Finished finished = decode({}, "e08186c1\nc0ff\n80c2\nc08281\nc08282\ne08186c2");
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_TRUE(contains(finished.out, "{\"error\":\"D9\",\"packet\":2,\"offset\":1,")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "{\"event\":\"dropped\",\"channel\":0,\"packet\":3,")) << finished.out;
}

TEST(Decode, a_datagram_may_hold_several_messages_and_its_good_ones_stay) {
  const Finished finished = decode({}, "e08186c1 80c2 80\n");
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_TRUE(finished.out.starts_with(std::string(kQuoteA) + std::string(kQuoteB) + "{\"error\":\"X1\",\"packet\":1,"))
      << finished.out;
}

TEST(Decode, names_the_field_of_an_error) {
  const Finished finished = decode({}, "e08186\n");
  EXPECT_TRUE(contains(finished.out, R"("template":"Quote","field":"S","file":")")) << finished.out;
  EXPECT_TRUE(contains(finished.err, "<stdin>: packet 1, byte 3: ")) << finished.err;
}

TEST(Decode, lines_that_are_not_hex_are_named_and_the_others_decoded) {
  const Finished finished = decode({}, "e08186c1\n80 cx\n80c2\n");
  EXPECT_EQ(finished.status, kExitRejected);
  EXPECT_EQ(finished.out, std::string(kQuoteA) + std::string(kQuoteB));
  EXPECT_EQ(finished.err, "<stdin>:2:5: error: the second hex digit of a byte is missing\n");
}

TEST(Decode, takes_framing_off) {
  const Finished finished = decode({"--framing", "custom:skip=2,reset=never"}, "ffff e08186c1\nffff 80c2\n");
  EXPECT_EQ(finished.out, std::string(kQuoteA) + std::string(kQuoteB)) << finished.err;
}

TEST(Decode, strict_refuses_overlong_integers) {
  constexpr std::string_view kOverlong = "e0810086c1\n";
  EXPECT_EQ(decode({}, kOverlong).out, kQuoteA);
  const Finished strict = decode({"--strict"}, kOverlong);
  EXPECT_EQ(strict.status, kExitRejected);
  EXPECT_TRUE(contains(strict.out, "\"error\":\"R6\"")) << strict.out;
}

TEST(Decode, answers_each_line_before_it_waits_for_the_next) {
  const Scratch scratch;
  const std::string path = testing::shell_quoted(scratch.write("t.xml", kTemplates));
  const Finished finished = run_script("coproc \"$stopbit\" decode --templates " + path + R"(
echo e08186c1 >&"${COPROC[1]}"
read -r -t 20 line <&"${COPROC[0]}" || exit 9
echo "$line"
)");
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, kQuoteA);
}

TEST(Decode, wants_exactly_one_source_of_its_program) {
  EXPECT_EQ(run_stopbit({"decode"}).status, kExitUsage);
  EXPECT_EQ(decode({"--firmware", "x.sbf"}, "").status, kExitUsage);
  EXPECT_EQ(run_stopbit({"decode", "--firmware", "x.sbf", "--template-id", "1"}).status, kExitUsage);
  EXPECT_EQ(decode({"--reset", "often"}, "").status, kExitUsage);
  EXPECT_EQ(decode({"--framing", "cmx"}, "").status, kExitUsage);
}

TEST(Decode, an_input_that_cannot_be_read_is_an_error_of_the_environment) {
  const Scratch scratch;
  const Finished finished = decode({scratch.path("")}, "");
  EXPECT_EQ(finished.status, kExitEnvironment) << finished.err;
  EXPECT_EQ(decode({scratch.path("none")}, "").status, kExitEnvironment);
}

}  // namespace stopbit::tools::decode_test
