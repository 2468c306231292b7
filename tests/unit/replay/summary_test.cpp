#include "host/replay/summary.hpp"

#include <gtest/gtest.h>

#include "host/os/readable.hpp"
#include "host/replay/replay.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::replay::summary_test {

TEST(Thousands, are_separated) {
  EXPECT_EQ(os::thousands(0), "0");
  EXPECT_EQ(os::thousands(999), "999");
  EXPECT_EQ(os::thousands(1000), "1,000");
  EXPECT_EQ(os::thousands(18446744073709551615U), "18,446,744,073,709,551,615");
}

TEST(ByteText, chooses_the_unit) {
  EXPECT_EQ(byte_text(1), "1 byte");
  EXPECT_EQ(byte_text(999), "999 bytes");
  EXPECT_EQ(byte_text(1000), "1.0 kB");
  EXPECT_EQ(byte_text(999'949), "999.9 kB");
  EXPECT_EQ(byte_text(999'950), "1.0 MB");
  EXPECT_EQ(byte_text(12'345'678'900), "12.3 GB");
  EXPECT_EQ(byte_text(18446744073709551615U), "18446744.1 TB");
}

TEST(SummaryText, reads_like_a_report) {
  const Program program = testing::compile(
      "<templates xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'><template name='Quote' id='7'><uInt32 "
      "name='a'/></template>"
      "<template name='Trade' id='8'><uInt32 name='a'/></template></templates>");
  Summary summary;
  summary.captures = 1;
  summary.packets = 12'000;
  summary.packet_bytes = 1'500'000;
  summary.datagrams = 11'990;
  summary.datagram_bytes = 1'000'000;
  summary.messages = 12'345;
  summary.fields = 100'000;
  summary.seconds = 0.5;
  summary.last_arrival_ns = 1'500'000'000;
  summary.templates.assign(program.templates.size(), 0);
  summary.templates[0] = 345;
  summary.templates[1] = 12'000;
  summary.groups = {{net::parse_endpoint("224.0.31.1:10001").value(), 11'990}};
  summary.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)] = 11'990;
  summary.verdicts[static_cast<std::size_t>(net::Verdict::NotIp)] = 10;
  EXPECT_EQ(to_text(summary, program),
            "Replayed 1 capture in 0.500 s, 1.500 s of market time\n"
            "\n"
            "        12,000  packets in the capture (1.5 MB)\n"
            "        11,990  datagrams decoded (1.0 MB), 23,980 per second\n"
            "        12,345  messages, 24,690 per second\n"
            "       100,000  field values, 200,000 per second\n"
            "\n"
            "Messages by template\n"
            "        12,000  Trade (id 8)\n"
            "           345  Quote (id 7)\n"
            "\n"
            "Datagrams by group\n"
            "        11,990  224.0.31.1:10001 (channel 0)\n"
            "\n"
            "Packets skipped\n"
            "            10  not IP (ARP, LLDP, ...)\n");

  summary.errors[static_cast<std::size_t>(ErrorCode::D9)] = 2;
  summary.verdicts[static_cast<std::size_t>(net::Verdict::SnapCut)] = 1;
  summary.faults = 1;
  summary.problems = {"day.pcap: packet 3: something"};
  summary.problems_unnamed = 3;
  const std::string text = to_text(summary, program, {.timing = false});
  EXPECT_EQ(text.substr(0, 51), "Replayed 1 capture, 1.500 s of market time\n\n       ");
  EXPECT_EQ(text.find("per second"), std::string::npos);
  EXPECT_NE(text.find("Errors\n"
                      "             2  D9: no template has the identifier\n"
                      "             1  cut by the capture (snap length)\n"
                      "             1  capture that breaks off\n"
                      "\n"
                      "day.pcap: packet 3: something\n"
                      "... and 3 more\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(summary.error_count(), 4U);
}

TEST(SummaryText, of_nothing_is_short) {
  EXPECT_EQ(to_text(Summary{}, Program{}, {.timing = false}).substr(0, 20), "Replayed 0 captures\n");
}

TEST(Progress, guesses_the_time_left_only_with_a_ground) {
  Progress progress;
  EXPECT_FALSE(progress.seconds_left());
  progress = {.bytes_done = 25, .bytes_total = 100, .seconds = 2};
  EXPECT_EQ(progress.seconds_left(), 6.0);
}

}  // namespace stopbit::replay::summary_test
