#include "host/cli/common/error_desk.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/cli/common/appliance_metrics.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::tools::error_desk_test {

using test::OneChannel;
using test::tick;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::byte> cut_tick(std::uint32_t sequence) {
  auto bytes = tick(sequence, 1);
  bytes.back() = std::byte{1};
  return bytes;
}

nlohmann::json errors_of(OneChannel& one, const ErrorDesk& desk) {
  return nlohmann::json::parse(desk.to_json(appliance::read_status(one.counts(), {one.now, one.now})));
}

TEST(ErrorDesk, explains_the_first_datagram_of_a_kind) {
  OneChannel one("mode = \"fast\"\n");
  ErrorDesk desk(*one.made);
  one.give(0, tick(1, 1));
  one.give(0, cut_tick(2));
  one.give(0, cut_tick(3));
  one.work();
  EXPECT_FALSE(errors_of(one, desk).at(0).contains("explanation"));
  desk.step();
  desk.step();
  const auto errors = errors_of(one, desk);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].at("code"), "X1");
  EXPECT_EQ(errors[0].at("count"), 2);
  EXPECT_EQ(errors[0].at("channel_name"), "seven");
  const std::string text = errors[0].at("explanation");
  for (const char* part : {"sequence 2", "template Tick (id 1)", "Number", "ticks.xml:2", "[X1]", "00 00 00 02"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("does not fail in the same way")));
}

TEST(ErrorDesk, says_that_the_image_was_replaced) {
  OneChannel one("mode = \"fast\"\n");
  ErrorDesk desk(*one.made);
  one.give(0, cut_tick(1));
  one.work();
  Diagnostics diagnostics;
  ASSERT_TRUE(one.made->reload("ticks", diagnostics)) << diagnostics.format();
  desk.step();
  EXPECT_THAT(errors_of(one, desk).at(0).at("explanation").get<std::string>(), HasSubstr("has been replaced"));
}

TEST(ErrorDesk, keeps_beginning_and_end_of_a_long_text) {
  EXPECT_EQ(shortened("a\nb\n", 100), "a\nb\n");
  std::string lines;
  for (int i = 0; i < 1'000; ++i) lines += "line " + std::to_string(i) + "\n";
  const std::string text = shortened(lines, 1'000);
  EXPECT_LE(text.size(), 1'010U);
  EXPECT_THAT(text, ::testing::StartsWith("line 0\nline 1\n"));
  EXPECT_THAT(text, HasSubstr("\n  ...\nline "));
  EXPECT_THAT(text, ::testing::EndsWith("\nline 999\n"));
  EXPECT_EQ(shortened(std::string(5'000, 'x'), 1'000).size(), 1'000U);
}

TEST(ApplianceMetrics, have_drops_by_place_and_readers_with_a_name) {
  OneChannel one;
  one.give(0, tick(1, 1));
  one.give(1, tick(1, 1));
  one.work();
  one.made->stop();
  auto sign = ring::ReaderRegistration::create(one.folder.path("ring"), "book");
  ASSERT_TRUE(sign) << sign.message();
  while (one.reader->poll() == ring::Poll::Record) {
  }
  sign.value().show(*one.reader);
  const auto reader = one.counts();
  const std::string text =
      control::metrics_text(reader, extra_metrics(appliance::read_status(reader, {one.now, one.now})));
  const std::string labels =
      "process=\"" + std::to_string(::getpid()) + "\",reader=\"book\",ring=\"" + one.folder.path("ring") + "\"}";
  EXPECT_THAT(text, HasSubstr("stopbit_drops_total{place=\"NIC\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_drops_total{place=\"duplicate\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_drops_total{place=\"overrun\"," + labels + " 0\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_reader_delivered_records_total{" + labels + " 1\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_reader_running{" + labels + " 1\n"));
}

}  // namespace stopbit::tools::error_desk_test
