#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/device/card_clock.hpp"
#include "host/device/intake.hpp"
#include "host/device/live_card.hpp"
#include "tests/lib/hollow_card.hpp"
#include "tests/lib/workloads/workload.hpp"

// The channels of feed.toml in a card's tables, its clock beside the host's, and its registers as the host reads them.

namespace stopbit::device::live_card_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace reg = registers;

/// Registers of a kernel, with tables as the hardware keeps them and a clock that runs at its own pace.
class Registers final : public Device {
 public:
  Result<std::uint32_t> read(std::uint32_t offset) override {
    if (offset == reg::kId) return reg::kIdValue;
    if (offset == reg::kInterfaceVersion) return reg::kInterfaceVersionValue;
    if (offset == reg::kEngines) return 1U;
    if (offset == reg::kClockNow) shown_ = static_cast<std::uint64_t>(counted_) + offset_ns();
    if (offset == reg::kClockNow) return static_cast<std::uint32_t>(shown_);
    if (offset == reg::kClockNow + 4) return static_cast<std::uint32_t>(shown_ >> 32);
    return values_[offset];
  }
  Status write(std::uint32_t offset, std::uint32_t value) override {
    values_[offset] = value;
    if (offset == reg::kGroupWrite) groups[value >> reg::kGroupWriteIndexShift & 63] = values_;
    if (offset == reg::kFramingWrite) framings[value >> reg::kFramingWriteChannelShift & 63] = values_;
    if (offset == reg::kRuleWrite) rules[value >> reg::kRuleWriteChannelShift & 63] = value;
    return Done{};
  }
  Result<std::unique_ptr<HostBuffer>> allocate(std::size_t /*bytes*/) override { return Failure{"it has no memory"}; }

  void run(double cycles) { counted_ += cycles * values_[reg::kClockRate] / (1U << 24); }
  [[nodiscard]] std::uint64_t now() const { return static_cast<std::uint64_t>(counted_) + offset_ns(); }

  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> groups;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> framings;
  std::map<std::uint32_t, std::uint32_t> rules;

 private:
  [[nodiscard]] std::uint64_t offset_ns() const {
    const auto at = [this](std::uint32_t offset) {
      const auto found = values_.find(offset);
      return found != values_.end() ? std::uint64_t{found->second} : 0;
    };
    return at(reg::kClockOffset) | at(reg::kClockOffset + 4) << 32;
  }
  std::map<std::uint32_t, std::uint32_t> values_;
  double counted_ = 0;
  std::uint64_t shown_ = 0;
};

feed::Channel channel(std::uint16_t number, const char* framing = "cme") {
  feed::Channel made;
  made.number = number;
  made.name = "c" + std::to_string(number);
  made.mode = feed::Mode::Fast;
  made.framing = net::parse_framing(framing).value();
  made.lines[0] = feed::Line{.group = {0xE000'0001, static_cast<std::uint16_t>(1000 + number)}, .source = {}};
  return made;
}

TEST(Intake, has_a_reason_with_table_and_key_for_what_a_card_cannot_do) {
  EXPECT_THAT(intake_obstacles(std::vector{channel(0), channel(63)}), ::testing::IsEmpty());
  EXPECT_THAT(intake_obstacles(std::vector{channel(64)}),
              ElementsAre("[[channel]] 'c64': number: the card has channels 0 to 63, not 64"));
  feed::Channel ordered = channel(1);
  ordered.mode = feed::Mode::Ordered;
  EXPECT_THAT(intake_obstacles(std::vector{ordered}),
              ElementsAre("[[channel]] 'c1': mode: the card passes the first copy at once, so it must be \"fast\""));
  EXPECT_THAT(intake_obstacles(std::vector{channel(1, "b3")}),
              ElementsAre("[[channel]] 'c1': framing: chunks of 'b3' are joined in software only"));
  EXPECT_THAT(intake_obstacles(std::vector{channel(1, "millennium")}),
              ElementsAre("[[channel]] 'c1': framing: it has blocks"));
  EXPECT_THAT(intake_obstacles(std::vector{channel(1, "custom:seq=u32be@46,skip=50")}),
              ElementsAre("[[channel]] 'c1': framing: a field ends after the first 48 bytes"));
  EXPECT_THAT(intake_obstacles(std::vector{channel(1, "custom:seq=u16be@0")}),
              ElementsAre("[[channel]] 'c1': framing: the card arbitrates sequence numbers of 4 bytes, not of 2"));
  EXPECT_THAT(intake_obstacles(std::vector{channel(1), channel(2, "custom:seq=u32be@0,reset=template")}),
              ElementsAre(HasSubstr("'c2': framing: the card has one reset rule, and that of channel 'c1'")));
}

TEST(Intake, counts_groups_over_all_channels) {
  std::vector<feed::Channel> channels;
  for (std::uint16_t number = 0; number < 33; ++number) {
    channels.push_back(channel(number));
    channels.back().lines[1] = feed::Line{.group = {0xE000'0002, 1000}, .source = {}};
  }
  EXPECT_THAT(intake_obstacles(channels),
              ElementsAre("[[channel]] 'c32': a: the card has room for 64 groups, and the channels have 66"));
  channels.pop_back();
  EXPECT_THAT(intake_obstacles(channels), ::testing::IsEmpty());
}

TEST(Intake, writes_the_tables_and_clears_the_rest) {
  Registers device;
  Kernel kernel = Kernel::open(device).value();
  feed::Channel first = channel(3);
  first.lines[1] = feed::Line{.group = {0xE000'0002, 2000}, .source = 0x0A01'0203};
  feed::Channel cycles = channel(5);
  cycles.role = feed::Role::Carousel;
  const feed::Channel unnumbered = channel(7, "none");
  // Something was there before.
  ASSERT_TRUE(kernel.set_group(40, Group{.address = 1, .port = 2, .channel = 3}));
  ASSERT_TRUE(kernel.set_line_rule(50, LineRule{}));
  ASSERT_TRUE(set_channels(kernel, std::vector{first, cycles, unnumbered}));
  ASSERT_EQ(device.groups.size(), 64U);
  const auto group = [&](std::uint32_t index, std::uint32_t offset) { return device.groups[index][offset]; };
  EXPECT_EQ(group(0, reg::kGroupAddress), 0xE000'0001U);
  EXPECT_EQ(group(0, reg::kGroupTarget) >> reg::kGroupTargetPortShift & 0xFFFF, 1003U);
  EXPECT_EQ(group(0, reg::kGroupTarget) >> reg::kGroupTargetChannelShift & 63, 3U);
  EXPECT_NE(group(0, reg::kGroupWrite) & reg::kGroupWriteAnySource, 0U);
  EXPECT_EQ(group(1, reg::kGroupAddress), 0xE000'0002U);
  EXPECT_EQ(group(1, reg::kGroupSource), 0x0A01'0203U);
  EXPECT_EQ(group(1, reg::kGroupWrite) & reg::kGroupWriteAnySource, 0U);
  EXPECT_NE(group(0, reg::kGroupWrite) >> reg::kGroupWriteLineShift,
            group(1, reg::kGroupWrite) >> reg::kGroupWriteLineShift);
  for (std::uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ((group(i, reg::kGroupWrite) & reg::kGroupWriteValid) != 0, i < 4) << "group " << i;
  }
  for (std::uint32_t number = 0; number < 64; ++number) {
    const bool is_ours = number == 3 || number == 5 || number == 7;
    EXPECT_EQ((device.framings[number][reg::kFramingWrite] & reg::kFramingWriteValid) != 0, is_ours) << number;
    EXPECT_EQ((device.rules[number] & reg::kRuleWriteEnable) != 0, number == 3 || number == 5) << number;
    EXPECT_EQ((device.rules[number] & reg::kRuleWriteCarousel) != 0, number == 5) << number;
    if (is_ours && number != 7) {
      EXPECT_EQ(device.rules[number] >> reg::kRuleWriteWindowShift & 63, number == 5 ? 0U : 63U)
          << "a carousel with one line has no copies";
    }
  }
}

/// A wall clock, and a card of 250 MHz that is 80 ppm fast.
struct Clocks {
  static constexpr std::uint64_t kSecond = 1'000'000'000;
  Registers device;
  Kernel kernel = Kernel::open(device).value();
  CardClock clock{kernel};
  std::uint64_t wall = 1'800'000'000 * kSecond;

  void pass(std::uint64_t ns) {
    wall += ns;
    device.run(static_cast<double>(ns) * 0.25 * (1 + 80e-6));
  }
  [[nodiscard]] std::int64_t error() const { return static_cast<std::int64_t>(device.now() - wall); }
};

TEST(CardClock, is_set_after_a_measurement_and_stays_within_a_microsecond) {
  Clocks one;
  ASSERT_TRUE(one.clock.step(one.wall));
  EXPECT_FALSE(one.clock.is_set());
  one.pass(20'000'000);
  ASSERT_TRUE(one.clock.step(one.wall));
  EXPECT_TRUE(one.clock.is_set());
  EXPECT_LE(std::abs(one.error()), 1);
  for (int i = 0; i < 100; ++i) {
    one.pass(Clocks::kSecond);
    EXPECT_LE(std::abs(one.error()), 1'000) << i;
    ASSERT_TRUE(one.clock.step(one.wall));
  }
  EXPECT_EQ(one.clock.jumps(), 0U);
}

TEST(CardClock, makes_a_small_error_good_without_going_back) {
  Clocks one;
  ASSERT_TRUE(one.clock.step(one.wall));
  one.pass(20'000'000);
  ASSERT_TRUE(one.clock.step(one.wall));
  one.wall -= 300'000;  // the host was slewed: the card is ahead
  std::uint64_t last = one.device.now();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(one.clock.step(one.wall));
    EXPECT_GE(one.device.now(), last);
    one.pass(Clocks::kSecond);
    last = one.device.now();
  }
  EXPECT_LE(std::abs(one.error()), 2'000);
  EXPECT_EQ(one.clock.jumps(), 0U);
}

TEST(CardClock, jumps_after_a_step_of_the_wall_clock) {
  for (const std::int64_t step : {std::int64_t{3'600} * 1'000'000'000, std::int64_t{-5} * 1'000'000'000}) {
    Clocks one;
    ASSERT_TRUE(one.clock.step(one.wall));
    one.pass(20'000'000);
    ASSERT_TRUE(one.clock.step(one.wall));
    one.pass(Clocks::kSecond);
    one.wall += static_cast<std::uint64_t>(step);
    ASSERT_TRUE(one.clock.step(one.wall));
    EXPECT_EQ(one.clock.jumps(), 1U);
    EXPECT_LE(std::abs(one.clock.error_ns() + step), 1'000);
    EXPECT_LE(std::abs(one.error()), 1);
    one.pass(Clocks::kSecond);
    EXPECT_LE(std::abs(one.error()), 1'000);
  }
}

TEST(CardClock, survives_any_error) {
  for (const std::uint64_t error : {std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0} >> 2}) {
    test::HollowCard device;
    Kernel kernel = Kernel::open(device).value();
    CardClock clock(kernel);
    std::uint64_t shown = 0;
    device.answer = [&](std::uint32_t offset, std::uint32_t value) {
      if (offset == reg::kClockNow) return static_cast<std::uint32_t>(shown);
      return offset == reg::kClockNow + 4 ? static_cast<std::uint32_t>(shown >> 32) : value;
    };
    constexpr std::uint64_t kWall = 1'800'000'000'000'000'000;
    ASSERT_TRUE(clock.step(kWall));
    shown = 20'000'000;
    ASSERT_TRUE(clock.step(kWall + 20'000'000));
    shown = kWall + error;
    ASSERT_TRUE(clock.step(kWall));
    EXPECT_EQ(clock.error_ns(), static_cast<std::int64_t>(error));
    EXPECT_EQ(clock.jumps(), 1U);
  }
}

/// A card that was started, of which only the registers are looked at.
struct Started {
  Program program = bench::compile_text("ticks", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="Tick" id="1"><uInt32 name="Number" id="1"/></template></templates>)")
                        .value();
  std::vector<feed::Channel> channels{channel(3)};
  test::HollowCard device;
  Result<std::unique_ptr<LiveCard>> card =
      LiveCard::make(device, program, {.channels = 4}, channels, {.ring_slots = 64, .mac_clock = true});
  std::uint64_t now = 1'000'000'000;

  /// A whole look; the failure, or nothing.
  std::string look(std::uint64_t passed_ns = 100'000'000) {
    now += passed_ns;
    Result<bool> done = card.value()->look(now);
    while (done && !done.value()) done = card.value()->look(now);
    return done ? "" : done.message();
  }
};

TEST(LiveCard, takes_each_step_of_a_look_with_two_reads_at_most) {
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  ASSERT_TRUE(one.card.value()->begin());
  one.device.set(reg::kDatagrams, 7);
  one.device.set(reg::verdict::base(17), 3);
  for (std::size_t step = 1;; ++step) {
    const std::uint64_t before = one.device.reads;
    const Result<bool> done = one.card.value()->look(one.now);
    ASSERT_TRUE(done) << done.message();
    EXPECT_LE(one.device.reads - before, LiveCard::kReadsOfStep) << step;
    EXPECT_EQ(one.card.value()->is_looking(), !done.value());
    if (step < LiveCard::kLookSteps) {
      ASSERT_FALSE(done.value()) << step;
      EXPECT_EQ(one.card.value()->counters().datagrams, 0U) << "until it is complete";
      continue;
    }
    ASSERT_TRUE(done.value());
    break;
  }
  EXPECT_EQ(one.card.value()->counters().datagrams, 7U);
  EXPECT_EQ(one.card.value()->counters().verdicts[17], 3U);
}

TEST(LiveCard, counts_from_where_it_began) {
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  one.device.set(reg::kDatagrams, 1'000);
  ASSERT_TRUE(one.card.value()->begin());
  one.device.set(reg::kDatagrams, 1'005);
  EXPECT_EQ(one.look(), "");
  EXPECT_EQ(one.card.value()->counters().datagrams, 5U);
}

TEST(LiveCard, has_failed_when_a_counter_goes_back_or_leaps) {
  for (const std::uint32_t offset : {reg::kDatagramsDecoded, reg::verdict::base(0), reg::kNumbersMissing}) {
    for (const std::uint64_t next : {std::uint64_t{0}, std::uint64_t{99}, (std::uint64_t{1} << 63) + 200}) {
      Started one;
      ASSERT_TRUE(one.card) << one.card.message();
      one.device.set(offset, 100);
      ASSERT_TRUE(one.card.value()->begin());
      EXPECT_EQ(one.look(), "");
      one.device.set(offset, next);
      EXPECT_THAT(one.look(), HasSubstr("its counters have gone back, or leapt")) << offset << ' ' << next;
    }
  }
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  ASSERT_TRUE(one.card.value()->begin());
  one.device.set(reg::kDatagramBytes, std::uint64_t{1} << 60);
  EXPECT_THAT(one.look(), HasSubstr("leapt"));
}

TEST(LiveCard, believes_gaps_of_a_stranger_s_packets) {
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  ASSERT_TRUE(one.card.value()->begin());
  one.device.set(reg::kNumbersMissing, std::uint64_t{1} << 60);
  EXPECT_EQ(one.look(), "");
}

TEST(LiveCard, says_that_the_card_has_left_the_bus_rather_than_that_it_leaps) {
  int reads = 0;
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  ASSERT_TRUE(one.card.value()->begin());
  // In the middle of a look.
  one.device.answer = [&](std::uint32_t, std::uint32_t value) { return ++reads > 20 ? ~std::uint32_t{0} : value; };
  EXPECT_THAT(one.look(), HasSubstr("its first register reads 0xffffffff"));
}

TEST(LiveCard, has_failed_when_datagrams_wait_and_nothing_is_executed) {
  Started one;
  ASSERT_TRUE(one.card) << one.card.message();
  ASSERT_TRUE(one.card.value()->begin());
  one.device.set(reg::kStatus, 0);
  EXPECT_EQ(one.look(), "");
  one.device.set(reg::kInstructions, 1);
  EXPECT_EQ(one.look(2'000'000'000), "");
  EXPECT_EQ(one.look(2'000'000'000), "");
  EXPECT_THAT(one.look(), HasSubstr("it has executed nothing for 2100 ms"));
  one.device.set(reg::kStatus, reg::kStatusIdle);  // so that its ring can be ended
}

TEST(LiveCard, does_not_start_with_a_clock_that_stands_still) {
  Started one;
  one.device.answer = [](std::uint32_t offset, std::uint32_t value) {
    return offset == reg::kClockNow || offset == reg::kClockNow + 4 ? 0 : value;
  };
  const auto again = LiveCard::make(one.device, one.program, {.channels = 4}, one.channels, {.ring_slots = 64});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.message(), "its clock does not move");
}

}  // namespace stopbit::device::live_card_test
