#include <gmock/gmock.h>

#include <algorithm>

#include "host/appliance/housekeeper.hpp"
#include "host/appliance/last_hour.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::seeing_test {

using test::OneChannel;
using test::tick;
using ::testing::HasSubstr;

std::vector<std::byte> unknown_template(std::uint32_t sequence) {
  auto bytes = tick(sequence, 1);
  bytes[6] = std::byte{0x85};
  return bytes;
}

TEST(ErrorSample, is_kept_of_the_first_datagram_of_each_kind_of_error) {
  OneChannel one("mode = \"fast\"\n");
  for (std::uint32_t n = 1; n <= 20; ++n) one.give(0, unknown_template(n));
  auto cut = tick(21, 1);
  cut.back() = std::byte{1};
  one.give(0, cut);
  one.give(0, {std::byte{1}, std::byte{2}});  // no room for a sequence number
  one.work();
  ErrorSample sample;
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(sample.code, ErrorCode::D9);
  EXPECT_EQ(sample.size, unknown_template(1).size());
  EXPECT_TRUE(std::ranges::equal(sample.datagram(), unknown_template(1)));
  EXPECT_EQ(one.made->channel(sample.channel).name, "seven");
  EXPECT_NE(one.made->program_of(sample), nullptr);
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(sample.code, ErrorCode::X1);
  EXPECT_TRUE(std::ranges::equal(sample.datagram(), cut));
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(sample.size, 2U);
  EXPECT_FALSE(one.made->next_error_sample(sample));
}

TEST(ErrorSample, has_no_program_when_another_image_has_come) {
  OneChannel one("mode = \"fast\"\n");
  one.give(0, unknown_template(1));
  one.work();
  Diagnostics diagnostics;
  ASSERT_TRUE(one.made->reload("ticks", diagnostics)) << diagnostics.format();
  ErrorSample sample;
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(one.made->program_of(sample), nullptr);
  one.work();
  auto cut = tick(2, 1);
  cut.back() = std::byte{1};
  one.give(0, cut);
  one.work();
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_NE(one.made->program_of(sample), nullptr);
}

TEST(ErrorSample, of_a_large_datagram_is_its_beginning) {
  OneChannel one("mode = \"fast\"\n", "[limits]\ndatagram_bytes = 65507\n");
  auto large = unknown_template(1);
  large.resize(20'000, std::byte{0x81});
  one.give(0, large);
  one.work();
  ErrorSample sample;
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(sample.size, 20'000U);
  EXPECT_EQ(sample.datagram().size(), ErrorSample::kMaxBytes);
}

TEST(LastHour, keeps_an_hour_in_steps) {
  LastHour history;
  StatusReport status;
  status.channels.resize(2);
  for (std::uint64_t i = 0; i < LastHour::kPoints + 10; ++i) {
    status.now_ns = 1'000'000'000 + i * LastHour::kStepNs;
    ASSERT_TRUE(history.is_due(i * LastHour::kStepNs));
    for (ChannelStatus& channel : status.channels) channel.gaps = i;
    history.add(status, i * LastHour::kStepNs);
    ASSERT_FALSE(history.is_due((i + 1) * LastHour::kStepNs - 1));
  }
  ASSERT_EQ(history.points().size(), LastHour::kPoints);
  EXPECT_EQ(history.points().front().gaps, 20U);
  EXPECT_EQ(history.points().back().gaps, 2 * (LastHour::kPoints + 9));
  EXPECT_THAT(history.to_json(), ::testing::StartsWith("[[51000000000,0,0,20,0,0,50000000000,0,0,0,0],["));
}

TEST(LastHour, has_the_latency_of_each_step_alone) {
  LastHour history;
  StatusReport status;
  status.agents.resize(2);
  const auto record = [&](std::size_t agent, std::uint64_t ns, std::uint64_t times) {
    counters::Distribution& latency = status.agents[agent].latency;
    latency.buckets[counters::bucket_of(ns)] += times;
    latency.count += times;
    latency.largest = std::max(latency.largest, ns);
  };
  record(0, 1'000, 90);
  record(1, 1'000'000, 10);
  history.add(status, 0);
  history.add(status, LastHour::kStepNs);
  record(1, 5'000, 7);
  history.add(status, 2 * LastHour::kStepNs);
  const auto& points = history.points();
  EXPECT_EQ(points[0].records, 100U);
  EXPECT_EQ(points[0].p50_ns, counters::bucket_last(counters::bucket_of(1'000)));
  EXPECT_EQ(points[0].p99_ns, 1'000'000U);
  EXPECT_EQ(points[1].records, 0U);
  EXPECT_EQ(points[1].p999_ns, 0U);
  EXPECT_EQ(points[2].records, 7U);
  EXPECT_EQ(points[2].p999_ns, counters::bucket_last(counters::bucket_of(5'000)));
}

TEST(LastHour, has_the_losses_of_each_line_in_longer_steps) {
  LastHour history;
  StatusReport status;
  const auto resize = [&status](std::size_t channels) {
    status.channels.resize(channels);
    for (std::size_t i = 0; i < channels; ++i) status.channels[i].name = "c" + std::to_string(i);
  };
  resize(2);
  const auto pass = [&](std::uint64_t ns, std::size_t channel, std::size_t line, std::uint64_t missing) {
    status.channels[channel].lines[line].missing += missing;
    history.add(status, ns);
  };
  pass(0, 0, 0, 3);
  pass(LastHour::kStepNs, 1, 1, 1);
  pass(2 * LastHour::kStepNs, 0, 0, 4);
  pass(LastHour::kLossStepNs, 0, 0, 5);
  EXPECT_EQ(history.line_losses_json(), R"([[0,"c0",0,7],[0,"c1",1,1],[30000000000,"c0",0,5]])");
  constexpr std::uint64_t kHour = LastHour::kPoints * LastHour::kStepNs;
  pass(kHour + LastHour::kLossStepNs, 0, 0, 0);
  EXPECT_EQ(history.line_losses().size(), 1U);
  // A storm on many channels is bounded, and the newest losses remain.
  resize(2 * LastHour::kMostLosses);
  for (ChannelStatus& channel : status.channels) channel.lines[0].missing += 1;
  history.add(status, kHour + 2 * LastHour::kLossStepNs);
  EXPECT_EQ(history.line_losses().size(), LastHour::kMostLosses);
  EXPECT_EQ(history.line_losses().back().channel, "c" + std::to_string(2 * LastHour::kMostLosses - 1));
  // A reload moves a channel in the list.
  std::swap(status.channels[0], status.channels[1]);
  const std::size_t before = history.line_losses().size();
  history.add(status, kHour + 3 * LastHour::kLossStepNs);
  EXPECT_LE(history.line_losses().size(), before);
  EXPECT_NE(history.line_losses().back().begin_ns, kHour + 3 * LastHour::kLossStepNs);
}

TEST(LastHour, goes_by_the_clock_that_is_never_stepped) {
  LastHour history;
  StatusReport status;
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  status.now_ns = 10 * kHour;
  history.add(status, LastHour::kStepNs);
  for (const std::uint64_t wall : {9 * kHour, 11 * kHour}) {  // stepped back, and forth
    status.now_ns = wall;
    EXPECT_FALSE(history.is_due(2 * LastHour::kStepNs - 1));
    EXPECT_TRUE(history.is_due(2 * LastHour::kStepNs));
  }
}

TEST(Drops, stand_in_the_order_of_the_way_through_the_appliance) {
  OneChannel one;
  const StatusReport status = read_status(one.counts(), {one.now, one.now});
  std::vector<std::string> places;
  for (const Drop& drop : status.drops()) places.push_back(drop.text());
  EXPECT_THAT(places, ::testing::ElementsAre("NIC", "kernel", "damaged frame", "foreign", "malformed", "duplicate",
                                             "late", "incomplete", "lost numbers", "decode error", "unknown template",
                                             "waiting for reset"));
  EXPECT_THAT(to_json(status), HasSubstr(R"("drops":[{"count":0,"place":"NIC"},)"));
}

TEST(Housekeeper, remembers_the_gaps_before_a_restart_and_what_came_late) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  const auto tell = [](const Change&) {};
  const appliance::Clocks clock = one.clocks();
  Housekeeper housekeeper(*one.made, clock, tell);
  ASSERT_EQ(testing::why(housekeeper.prepare()), "");
  EXPECT_TRUE(housekeeper.recent_gaps().empty());
  const auto pass = [&](std::uint64_t ns) {
    one.work();
    one.now += ns;
    one.work();
    housekeeper.step();
  };
  one.give(0, tick(1, 1));
  one.give(0, tick(4, 4));
  pass(2'000'000);
  one.now += 1'000'000;
  one.give(1, tick(3, 3));
  pass(2'000'000);
  ASSERT_EQ(housekeeper.recent_gaps().size(), 1U);
  EXPECT_EQ(housekeeper.recent_gaps()[0].first, 2U);
  EXPECT_EQ(housekeeper.recent_gaps()[0].count, 2U);
  EXPECT_EQ(housekeeper.recent_gaps()[0].came_late, 1U);
  EXPECT_GT(housekeeper.recent_gaps()[0].late_by_ns, 0U);
  // Another one, as after a restart, has read it from disk.
  Housekeeper next(*one.made, clock, tell);
  ASSERT_EQ(testing::why(next.prepare()), "");
  ASSERT_EQ(next.recent_gaps().size(), 1U);
  EXPECT_EQ(to_json(next.recent_gaps()[0]), to_json(housekeeper.recent_gaps()[0]));
  // Two days later it is no news any more.
  one.now += 172'800'000'000'000;
  Housekeeper late(*one.made, clock, tell);
  ASSERT_EQ(testing::why(late.prepare()), "");
  EXPECT_TRUE(late.recent_gaps().empty());
}

}  // namespace stopbit::appliance::seeing_test
