#include "host/appliance/keeper.hpp"

#include <gmock/gmock.h>

#include "tests/unit/appliance/fixture.hpp"

namespace stopbit::appliance {
namespace {

using test::OneChannel;
using test::tick;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Kept : OneChannel {
  Kept() : OneChannel("window = { packets = 8, time = \"1ms\" }\n", "silence = \"1s\"\n") {
    EXPECT_EQ(keeper.prepare(), "");
  }
  /// A second passes, with the agent and the keeper at work.
  void pass(std::uint64_t ns) {
    work();
    now += ns;
    work();
    keeper.step();
  }
  std::vector<std::string> take() {
    std::vector<std::string> taken;
    std::swap(taken, told);
    return taken;
  }
  std::vector<std::string> told;
  Keeper keeper{
      *made, [this] { return now; },
      [this](const Change& change) { told.push_back(std::string(to_text(change.level)) + " " + to_text(change)); }};
};

TEST(Keeper, tells_each_change_of_state_once) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.give(1, tick(1, 1));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(),
              ElementsAre(HasSubstr("info what=\"run begins\" channel=\"seven\" reason=\"start\" sequence=1"),
                          HasSubstr("info what=\"channel state\" channel=\"seven\" before=\"waiting\" now=\"live\"")));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(),
              ElementsAre(HasSubstr("error what=\"channel state\" channel=\"seven\" before=\"live\" now=\"silent\""),
                          HasSubstr("warning what=\"line silent\" channel=\"seven\" line=\"A\""),
                          HasSubstr("warning what=\"line silent\" channel=\"seven\" line=\"B\"")));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre());
  kept.give(0, tick(2, 2));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("before=\"silent\" now=\"live\""),
                                       HasSubstr("info what=\"line speaks\" channel=\"seven\" line=\"A\"")));
}

TEST(Keeper, line_that_never_spoke_has_been_silent_for_ever) {
  Kept kept;
  kept.pass(0);
  kept.pass(1'100'000'000);
  EXPECT_THAT(kept.take(), Contains(HasSubstr("what=\"line silent\" channel=\"seven\" line=\"A\" for=\"ever\"")));
}

TEST(Keeper, silence_counts_from_when_the_ports_are_open) {
  Kept kept;
  kept.now += 30'000'000'000;  // a card takes its time
  kept.pass(0);
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre());
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Contains(HasSubstr("what=\"line silent\" channel=\"seven\" line=\"A\" for=\"ever\"")));
}

TEST(Keeper, writes_gaps_with_their_cause) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.give(1, tick(1, 1));
  kept.pass(2'000'000);
  kept.give(0, tick(3, 3));
  kept.give(1, tick(3, 3));
  kept.pass(2'000'000);  // both were alive
  kept.pass(2'000'000'000);
  kept.give(0, tick(5, 5));
  kept.pass(2'000'000);  // B was silent
  kept.port("right").counters().dropped_by_nic.set(1);
  kept.pass(2'000'000);
  kept.give(0, tick(7, 7));
  kept.pass(2'000'000);
  const GapHistory history = read_gaps(kept.folder.path("state"), 0);
  ASSERT_EQ(history.gaps.size(), 3U);
  EXPECT_EQ(history.gaps[0].cause, GapCause::LostOnBoth);
  EXPECT_EQ(history.gaps[0].first, 2U);
  EXPECT_EQ(history.gaps[1].cause, GapCause::LineDown);
  EXPECT_EQ(history.gaps[1].first, 4U);
  EXPECT_EQ(history.gaps[1].channel, "seven");
  EXPECT_EQ(history.gaps[1].feed, "test");
  EXPECT_EQ(history.gaps[2].cause, GapCause::LocalDrop);
}

TEST(Keeper, tells_at_once_of_drops_and_then_of_more_of_them_now_and_then) {
  Kept kept;
  const auto drop = [&](std::uint64_t all) {
    kept.port("left").counters().dropped_by_kernel.set(all);
    kept.pass(600'000'000);
    std::vector<std::string> told = kept.take();
    std::erase_if(told, [](const std::string& text) { return text.find("dropped by") == std::string::npos; });
    return told;
  };
  EXPECT_THAT(drop(0), ElementsAre());
  EXPECT_THAT(drop(3), ElementsAre("warning what=\"dropped by the kernel\" port=\"left\" more=3 all=3"));
  for (std::uint64_t all = 4; all < 12; ++all) EXPECT_THAT(drop(all), ElementsAre()) << all;
  kept.pass(10'000'000'000);
  EXPECT_THAT(kept.take(),
              ::testing::Contains(HasSubstr("what=\"dropped by the kernel\" port=\"left\" more=8 all=11")));
  EXPECT_THAT(drop(11), ElementsAre());
}

TEST(Keeper, tells_of_readers_with_a_name_and_what_they_lose) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  {
    auto sign = ring::ReaderSign::create(kept.folder.path("ring"), "book");
    ASSERT_TRUE(sign) << sign.message();
    kept.pass(100'000'000);
    kept.give(0, tick(2, 2));
    kept.pass(600'000'000);
    EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("info what=\"reader comes\" reader=\"book\"")));
    // The ring has 65,536 slots.
    std::uint32_t n = 2;
    for (std::uint32_t i = 0; i < 70'000; ++i) kept.give(0, tick(++n, 1));
    kept.pass(600'000'000);
    while (kept.reader->poll() != ring::Poll::Nothing) {
    }
    sign.value().show(*kept.reader);
    kept.give(0, tick(n + 1, 1));
    kept.pass(600'000'000);
    const std::string lost = std::to_string(kept.reader->total_lost_records());
    EXPECT_THAT(kept.take(), ::testing::Contains(AllOf(HasSubstr("warning what=\"overrun\" reader=\"book at "),
                                                       HasSubstr("more=" + lost + " all=" + lost))));
    const Status status = read_status(kept.counts(), kept.now);
    EXPECT_EQ(status.drops().back().text(), "overrun of book at " + kept.folder.path("ring"));
    EXPECT_EQ(status.drops().back().count, kept.reader->total_lost_records());
    EXPECT_THAT(to_json(status), HasSubstr("\"name\":\"book\""));
  }
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("info what=\"reader leaves\" reader=\"book\"")));
}

TEST(Keeper, tells_that_a_channel_is_stale_and_well_again_once_each) {
  Kept kept;
  std::uint32_t n = 0;
  const auto bad = [&] {
    auto bytes = tick(++n, 1);
    bytes[6] = std::byte{0x85};  // there is no template 5
    kept.give(0, bytes);
    kept.give(1, bytes);
  };
  kept.give(0, tick(++n, 1));
  kept.give(1, tick(n, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  for (int i = 0; i < 3; ++i) bad();
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("error what=\"stale\" channel=\"seven\" datagrams=3")));
  for (int i = 0; i < 3; ++i) {
    kept.give(0, tick(++n, 1));
    kept.give(1, tick(n, 1));
  }
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("info what=\"recovered\" channel=\"seven\"")));
}

TEST(Keeper, tells_which_image_of_which_ring_has_changed) {
  Kept kept;
  Diagnostics diagnostics;
  ASSERT_TRUE(kept.made->reload("ticks", diagnostics)) << diagnostics.format();
  kept.pass(1'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(AllOf(HasSubstr("info what=\"layout changed\" ring=\""),
                                                     HasSubstr("image=\"ticks\" generation=1"))));
}

TEST(Keeper, goes_on_with_a_full_disk_and_says_so) {
  Kept kept;
  std::filesystem::remove_all(kept.folder.path("state"));
  kept.give(0, tick(1, 1));
  kept.give(0, tick(3, 3));
  kept.pass(600'000'000);
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("error what=\"gaps not written\"")));
}

TEST(Status, proposes_a_window_from_the_skew_that_was_seen) {
  OneChannel one("window = { packets = 64, time = \"10ms\" }\n");
  for (std::uint32_t n = 1; n <= 1'000; ++n) {
    one.give(0, tick(n, n));
    one.work();
    one.now += 400'000;
    one.give(1, tick(n, n));
    one.work();
    one.now += 600'000;
  }
  one.now += 20'000'000;
  one.work();
  one.made->stop();
  const Status status = read_status(one.counts(), one.now);
  ASSERT_EQ(status.channels.size(), 1U);
  EXPECT_EQ(status.channels[0].state, ChannelState::Live);
  EXPECT_TRUE(status.channels[0].is_balanced());
  EXPECT_TRUE(status.channels[0].is_ready());
  EXPECT_EQ(status.channels[0].lines[0].first, 1'000U);
  const auto window = propose_window(status.channels[0], 1'000'000'000);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->copies, 1'000U);
  EXPECT_GE(window->skew_ns, 400'000U);
  EXPECT_LE(window->skew_ns, 800'000U);
  EXPECT_GT(window->time_ns, window->skew_ns);
  EXPECT_GE(window->packets, 16U);
  EXPECT_THAT(to_json(status), HasSubstr("\"next_sequence\":1001"));
}

}  // namespace
}  // namespace stopbit::appliance
