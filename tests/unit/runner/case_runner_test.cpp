// A runner of tests must be able to fail.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/runner/report.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases::case_runner_test {

constexpr const char* kHead =
    "-- about\nOne field.\n"
    "-- template\n"
    "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\">\n"
    "  <template name=\"M\" id=\"1\"><uInt32 name=\"A\"/></template>\n"
    "</templates>\n";

CaseFile parse(const std::string& text) {
  Diagnostics diagnostics;
  auto file = CaseFile::parse(std::make_shared<const SourceBuffer>("x.case", text), diagnostics);
  EXPECT_TRUE(file) << diagnostics.format();
  return *file;
}

struct Result {
  bool ok;
  std::size_t differences;
  std::size_t failures;
  std::string updated;
};

Result run(const std::string& text) {
  const CaseFile file = parse(text);
  Report report(file);
  run_case(file, {}, report);
  return {report.ok(), report.differences().size(), report.failures().size(), report.updated_text()};
}

const std::string kGood = std::string(kHead) + "-- bytes\nc0 81 85 80 86\n-- records\nM { A: 5 }\nM { A: 6 }\n";

TEST(CaseRunner, passes_a_case_that_holds) {
  EXPECT_TRUE(run(kGood).ok);
}

TEST(CaseRunner, sees_wrong_missing_and_additional_records) {
  const std::string head = std::string(kHead) + "-- bytes\nc0 81 85 80 86\n-- records\n";
  for (const char* records : {"M { A: 5 }\nM { A: 7 }\n", "M { A: 5 }\n", "M { A: 5 }\nM { A: 6 }\nM { A: 6 }\n",
                              "M { A: 6 }\nM { A: 5 }\n", "N { A: 5 }\nN { A: 6 }\n", ""}) {
    const Result result = run(head + records);
    EXPECT_FALSE(result.ok) << records;
    EXPECT_EQ(result.differences, 1U) << records;
    EXPECT_EQ(result.updated, kGood) << records;
  }
}

TEST(CaseRunner, sees_a_wrong_code_offset_or_field_of_an_error) {
  const std::string head = std::string(kHead) + "-- bytes\nc0 81 85 00\n-- records\nM { A: 5 }\n-- error\n";
  const std::string two = std::string(kHead) + "-- bytes\nc0 81 85 c0 81 00\n-- records\nM { A: 5 }\n-- error\n";
  EXPECT_TRUE(run(head + "X1 at 3\n").ok);
  EXPECT_TRUE(run(two + "X1 at 5\n").ok);
  EXPECT_TRUE(run(two + "X1 at 5 field A\n").ok);
  for (const char* error : {"X2 at 5\n", "X1 at 4\n", "X1 at 5 field B\n", "X1 at 5 in datagram 1\n", ""}) {
    EXPECT_EQ(run(two + error).differences, 1U) << error;
  }
}

TEST(CaseRunner, sees_an_error_that_nobody_expected_and_one_that_did_not_come) {
  EXPECT_FALSE(run(std::string(kHead) + "-- bytes\nc0 81 85 00\n-- records\nM { A: 5 }\n").ok);
  EXPECT_FALSE(run(kGood + "-- error\nX1 at 5\n").ok);
}

TEST(CaseRunner, compares_codes_and_places_of_template_errors) {
  const std::string bad = std::string(kHead).replace(std::string(kHead).find("uInt32"), 6, "uInt33");
  EXPECT_TRUE(run(bad + "-- error\nS1 at 2:29\n").ok);
  EXPECT_FALSE(run(bad + "-- error\nS1 at 2:30\n").ok);
  EXPECT_FALSE(run(bad + "-- error\nS2 at 2:29\n").ok);
  EXPECT_FALSE(run(bad + "-- error\nS1 at 2:29\nS1 at 2:29\n").ok);
  EXPECT_FALSE(run(bad + "-- bytes\nc0 81 85\n").ok);
  EXPECT_FALSE(run(std::string(kHead) + "-- error\nS1 at 2:29\n").ok);
}

TEST(CaseRunner, refuses_what_it_does_not_understand) {
  EXPECT_FALSE(run("-- about\nNothing to run.\n-- bytes\n80\n").ok);
  EXPECT_FALSE(run(kGood + "-- options\nstrickt\n").ok);
  EXPECT_FALSE(run(kGood + "-- options\nchannels many\n").ok);
  EXPECT_FALSE(run(std::string(kHead) + "-- bytes\nu33(5)\n").ok);
  EXPECT_FALSE(run(std::string(kHead) + "-- bytes\npacket(3) 80\n").ok);
  EXPECT_FALSE(run("-- about\nNo commands are there.\n-- run\ntrue\n").ok);
}

TEST(CaseRunner, compares_output_errors_and_status_of_commands) {
  const auto run_command = [](const std::string& sections) {
    const CaseFile file = parse("-- about\nA command.\n" + sections);
    Report report(file);
    run_case(file, {"/usr/bin"}, report);
    return report.ok();
  };
  EXPECT_TRUE(run_command(
      "-- run\ncat a; echo no >&2; exit 3\n-- files a\nhello\n-- stdout\nhello\n-- stderr\nno\n-- exit\n3\n"));
  EXPECT_FALSE(run_command("-- run\necho hello\n"));
  EXPECT_FALSE(run_command("-- run\necho hello\n-- stdout\nhallo\n"));
  EXPECT_FALSE(run_command("-- run\nexit 1\n"));
  EXPECT_FALSE(run_command("-- run\ntrue\n-- exit\n1\n"));
  EXPECT_FALSE(run_command("-- run\ntrue\n-- stderr\nno\n"));
  EXPECT_TRUE(run_command("-- run\nod -An -tx1 a\n-- files a bytes\nu32(1000)\n-- stdout\n 07 e8\n"));
}

TEST(Difference, shows_what_is_missing_and_what_is_new) {
  EXPECT_EQ(difference({"a", "b", "c"}, {"a", "x", "c", "d"}), "      a\n    - b\n    + x\n      c\n    + d\n");
}

}  // namespace stopbit::cases::case_runner_test
