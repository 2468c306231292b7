#include "host/appliance/housekeeper.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "host/appliance/known_runs.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/failing_disk.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::housekeeper_test {

using test::OneChannel;
using test::tick;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Kept : OneChannel {
  Kept() : OneChannel("window = { packets = 8, time = \"1ms\" }\n", "silence = \"1s\"\n") {
    EXPECT_EQ(testing::why(housekeeper.prepare()), "");
  }
  /// A second passes, with the agent and the housekeeper at work.
  void pass(std::uint64_t ns) {
    work();
    now += ns;
    work();
    housekeeper.step();
  }
  std::vector<std::string> take() {
    std::vector<std::string> taken;
    std::swap(taken, told);
    return taken;
  }
  std::vector<std::string> told;
  Housekeeper housekeeper{*made, clocks(), [this](const Change& change) {
                            told.push_back(std::string(to_text(change.level)) + " " + to_text(change));
                          }};
};

TEST(Housekeeper, reports_each_change_of_state_once) {
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

TEST(Housekeeper, line_that_never_spoke_has_been_silent_for_ever) {
  Kept kept;
  kept.pass(0);
  kept.pass(1'100'000'000);
  EXPECT_THAT(kept.take(), Contains(HasSubstr("what=\"line silent\" channel=\"seven\" line=\"A\" for=\"ever\"")));
}

TEST(Housekeeper, silence_counts_from_when_the_ports_are_open) {
  Kept kept;
  kept.now += 30'000'000'000;  // a card takes its time
  kept.pass(0);
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ElementsAre());
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Contains(HasSubstr("what=\"line silent\" channel=\"seven\" line=\"A\" for=\"ever\"")));
}

TEST(Housekeeper, writes_gaps_with_their_cause) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.give(1, tick(1, 1));
  kept.pass(2'000'000);
  kept.give(0, tick(3, 3));
  kept.give(1, tick(3, 3));
  kept.pass(2'000'000);  // both were alive
  kept.pass(2'000'000'000);
  kept.give(0, tick(4, 4));  // B was silent
  kept.pass(2'000'000);
  kept.give(0, tick(6, 6));
  kept.pass(2'000'000);
  kept.port("right").counters().dropped_by_nic.set(1);
  kept.pass(2'000'000);
  kept.give(0, tick(8, 8));
  kept.pass(2'000'000);
  const GapHistory history = read_gaps(kept.folder.path("state"), 0);
  ASSERT_EQ(history.gaps.size(), 3U);
  EXPECT_EQ(history.gaps[0].cause, GapCause::LostOnBoth);
  EXPECT_EQ(history.gaps[0].first, 2U);
  EXPECT_EQ(history.gaps[1].cause, GapCause::LineDown);
  EXPECT_EQ(history.gaps[1].first, 5U);
  EXPECT_EQ(history.gaps[1].channel, "seven");
  EXPECT_EQ(history.gaps[1].feed, "test");
  EXPECT_EQ(history.gaps[2].cause, GapCause::LocalDrop);
}

TEST(Housekeeper, a_line_that_kept_step_up_to_a_gap_is_not_down) {
  constexpr std::uint64_t kSilenceNs = 5'000'000'000;
  feed::Channel channel;
  channel.lines = {feed::Line{}, feed::Line{}};
  AgentEvent notice{.first = 7,
                    .count = 1,
                    .lines = {{{.heard = true, .passed = true, .last_sequence = 8, .last_t_ns = 61'000'000'000},
                               {.heard = true, .passed = false, .last_sequence = 6, .last_t_ns = 1'000'000'000}}},
                    .before_t_ns = 1'000'000'000,
                    .after_t_ns = 61'000'000'000};
  EXPECT_EQ(Housekeeper::entry_of(notice, channel, kSilenceNs).cause,
            GapCause::LostOnBoth);  // nothing was sent meanwhile
  notice.before_t_ns = 60'000'000'000;
  EXPECT_EQ(Housekeeper::entry_of(notice, channel, kSilenceNs).cause, GapCause::LineDown);
}

TEST(Housekeeper, a_line_that_was_not_read_up_to_a_gap_is_not_down) {
  constexpr std::uint64_t kSilenceNs = 5'000'000'000;
  feed::Channel channel;
  channel.lines = {feed::Line{}, feed::Line{}};
  AgentEvent notice{.first = 7,
                    .count = 1,
                    .lines = {{{.heard = true, .passed = true, .last_sequence = 8, .last_t_ns = 61'000'000'000},
                               {.heard = true, .passed = false, .last_sequence = 6, .last_t_ns = 50'000'000'000}}},
                    .before_t_ns = 60'000'000'000,
                    .after_t_ns = 61'000'000'000,
                    .read_until_ns = 52'000'000'000};  // after a stall, one port is read before the other
  EXPECT_EQ(Housekeeper::entry_of(notice, channel, kSilenceNs).cause, GapCause::LostOnBoth);
  notice.read_until_ns = 60'500'000'000;
  EXPECT_EQ(Housekeeper::entry_of(notice, channel, kSilenceNs).cause, GapCause::LineDown);
}

TEST(Housekeeper, reports_drops_at_once_and_further_drops_at_intervals) {
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

TEST(Housekeeper, reports_readers_with_a_name_and_what_they_lose) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  {
    auto sign = ring::ReaderRegistration::create(kept.folder.path("ring"), "book");
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
    const StatusReport status = read_status(kept.counts(), {kept.now, kept.now});
    EXPECT_EQ(status.drops().back().text(), "overrun of book at " + kept.folder.path("ring"));
    EXPECT_EQ(status.drops().back().count, kept.reader->total_lost_records());
    EXPECT_THAT(to_json(status), HasSubstr("\"name\":\"book\""));
  }
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("info what=\"reader leaves\" reader=\"book\"")));
}

/// A sign of a reader as one of the name of another process leaves it, which says that it has lost so many records.
void leave_sign(const std::string& path, std::uint32_t process, std::uint64_t lost) {
  struct {
    std::uint64_t magic = 0x4E474953'50545353;
    std::uint32_t version = 1;
    std::uint32_t pid = 0;
    std::array<char, 72> name{'b', 'o', 'o', 'k'};
    std::uint64_t delivered = 0;
    std::uint64_t lost_records = 0;
    std::uint64_t lost_slots = 0;
  } sign;
  sign.pid = process;
  sign.lost_records = lost;
  std::ofstream(path + ".by-book-" + std::to_string(process), std::ios::binary)
      .write(reinterpret_cast<const char*>(&sign), sizeof(sign));
}

std::vector<std::string> overruns(Kept& kept) {
  kept.pass(600'000'000);
  std::vector<std::string> told = kept.take();
  std::erase_if(told, [](const std::string& text) { return text.find("overrun") == std::string::npos; });
  return told;
}

TEST(Housekeeper, tells_two_readers_of_one_name_apart) {
  Kept kept;
  leave_sign(kept.folder.path("ring"), 1, 100);
  leave_sign(kept.folder.path("ring"), 2, 5);
  EXPECT_THAT(overruns(kept),
              ::testing::UnorderedElementsAre(HasSubstr("more=100 all=100"), HasSubstr("more=5 all=5")));
  kept.pass(11'000'000'000);
  (void)kept.take();
  EXPECT_THAT(overruns(kept), ElementsAre()) << "neither has lost more";
}

TEST(Housekeeper, forgets_what_a_reader_has_lost_that_is_gone) {
  Kept kept;
  leave_sign(kept.folder.path("ring"), 1, 5);
  EXPECT_THAT(overruns(kept), ElementsAre(HasSubstr("more=5 all=5")));
  std::filesystem::remove(kept.folder.path("ring") + ".by-book-1");
  EXPECT_THAT(overruns(kept), ElementsAre());
  leave_sign(kept.folder.path("ring"), 1, 7);
  EXPECT_THAT(overruns(kept), ElementsAre(HasSubstr("more=7 all=7"))) << "another one";
}

TEST(Housekeeper, takes_readers_from_a_watch_and_reports_files_that_became_shorter) {
  Kept kept;
  kept.give(0, tick(1, 1));
  ReaderWatch watch(ring_places(read_counters(kept.counts(), {kept.now, kept.now}), kept.counts()));
  kept.housekeeper.watch_readers(watch);
  auto sign = ring::ReaderRegistration::create(kept.folder.path("ring"), "book");
  ASSERT_TRUE(sign) << sign.message();
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Not(::testing::Contains(HasSubstr("reader comes"))));  // the watch has not looked yet
  watch.look();
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("info what=\"reader comes\" reader=\"book\"")));
  EXPECT_THAT(watch.truncated(), ElementsAre());
  std::filesystem::resize_file(kept.folder.path("ring"), 4'096);
  watch.look();
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("error what=\"file truncated\"")));
  kept.give(0, tick(2, 1));  // it goes on
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Not(::testing::Contains(HasSubstr("file truncated"))));  // told once
}

TEST(Housekeeper, reports_stale_and_live_again_once_each) {
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

TEST(Housekeeper, reports_which_image_of_which_ring_has_changed) {
  Kept kept;
  Diagnostics diagnostics;
  ASSERT_TRUE(kept.made->reload("ticks", diagnostics)) << diagnostics.format();
  kept.pass(1'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(AllOf(HasSubstr("info what=\"layout changed\" ring=\""),
                                                     HasSubstr("image=\"ticks\" generation=1"))));
}

TEST(Housekeeper, goes_on_with_a_full_disk_and_says_so) {
  Kept kept;
  std::filesystem::remove_all(kept.folder.path("state"));
  kept.give(0, tick(1, 1));
  kept.give(0, tick(3, 3));
  kept.pass(600'000'000);
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), ::testing::Contains(HasSubstr("error what=\"gaps not written\"")));
}

TEST(Housekeeper, reports_once_that_gaps_are_not_written_and_once_that_they_are_again) {
  Kept kept;
  std::uint32_t n = 1;
  const auto gap = [&] {
    n += 2;
    kept.give(0, tick(n, n));
    kept.give(1, tick(n, n));
    kept.pass(600'000'000);
    std::vector<std::string> told = kept.take();
    std::erase_if(told, [](const std::string& text) { return text.find("what=\"gaps ") == std::string::npos; });
    return told;
  };
  kept.give(0, tick(1, 1));
  EXPECT_THAT(gap(), ElementsAre());
  {
    testing::FailingDisk disk;
    disk.fails_from = 0;
    disk.error = ENOSPC;
    const disk::ReplacedCalls replaced(disk);
    EXPECT_THAT(gap(), ElementsAre(AllOf(HasSubstr("error what=\"gaps not written\""), HasSubstr("No space left"))));
    disk.error = EIO;
    for (int i = 0; i < 30; ++i) EXPECT_THAT(gap(), ElementsAre()) << i;
  }
  EXPECT_THAT(gap(), ElementsAre("info what=\"gaps written again\" not_written=31"));
  EXPECT_THAT(gap(), ElementsAre());
  EXPECT_EQ(read_status(kept.counts(), {kept.now, kept.now}).gaps_not_written, 31U);
  EXPECT_EQ(read_gaps(kept.folder.path("state"), 0).gaps.size(), 3U);
}

TEST(Housekeeper, reports_a_clock_that_steps_and_decides_nothing_by_it) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.give(1, tick(1, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  constexpr std::uint64_t kSecond = 1'000'000'000;
  kept.wall_ahead = 37 * kSecond;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("clock stepped\" by=\"+37 s")));
  kept.wall_ahead = 0;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("clock stepped\" by=\"-37 s")));
  EXPECT_EQ(kept.counts().value("clock_steps"), 2U);
  // A line is as old as by the clock that is never stepped.
  const Now later = {.wall_ns = kept.now + 3'600 * kSecond, .monotonic_ns = kept.now};
  EXPECT_FALSE(read_status(kept.counts(), later).channels[0].lines[0].is_silent);

  kept.clock_status = ClockStatus::Unsynchronised;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("clock not synchronised")));
  kept.clock_status = ClockStatus::LeapSecond;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), ElementsAre(HasSubstr("clock synchronised"), HasSubstr("leap second")));
}

TEST(Housekeeper, lowers_the_time_quality_of_records_while_the_clock_cannot_be_trusted) {
  using record::TimeQuality;
  Kept kept;
  std::uint32_t number = 0;
  // What becomes of a stamp's quality, with the clock as the housekeeper has seen it last.
  const auto quality_of = [&](TimeQuality stamped) {
    kept.housekeeper.step();
    ++number;
    kept.port("left").items.push_back({tick(number, number), test::kGroupA, kept.now, 1, stamped});
    kept.give(1, tick(number, number));
    kept.pass(2'000'000);
    const auto seen = kept.seen();
    EXPECT_EQ(seen.size(), 1U);
    return seen.empty() ? TimeQuality::Synthetic : seen.front().time_quality;
  };
  const auto expect_trusted = [&](const char* when) {
    EXPECT_EQ(quality_of(TimeQuality::Hardware), TimeQuality::Hardware) << when;
    EXPECT_EQ(quality_of(TimeQuality::Kernel), TimeQuality::Kernel) << when;
    EXPECT_EQ(quality_of(TimeQuality::Poll), TimeQuality::Poll) << when;
  };
  const auto expect_lowered = [&](const char* when) {
    EXPECT_EQ(quality_of(TimeQuality::Hardware), TimeQuality::Hardware) << when << ": a card has a clock of its own";
    EXPECT_EQ(quality_of(TimeQuality::Kernel), TimeQuality::Poll) << when;
    EXPECT_EQ(quality_of(TimeQuality::Poll), TimeQuality::Synthetic) << when;
  };
  constexpr std::uint64_t kSecond = 1'000'000'000;
  expect_trusted("at first");
  kept.wall_ahead = 37 * kSecond;
  expect_lowered("after a step");
  kept.now += 11 * kSecond;
  expect_trusted("long after a step");
  kept.clock_status = ClockStatus::Unsynchronised;
  expect_lowered("without synchronisation");
  kept.now += 60 * kSecond;
  expect_lowered("still without synchronisation");
  kept.clock_status = ClockStatus::LeapSecond;
  expect_trusted("on the day of a leap second");
}

TEST(KnownRuns, are_read_again_and_damage_is_nothing) {
  const testing::Scratch folder;
  const std::array<std::string_view, 2> names = {"seven", "eight"};
  {
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), names));
    EXPECT_FALSE(runs.known(0));
    runs.place(0)->store({.sender = 3, .day = 20'000}, 41);
    runs.place(1)->store({.sender = 0, .day = 20'000}, 7);
  }
  const std::array<std::string_view, 2> other = {"eight", "nine"};
  {
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), other));
    ASSERT_TRUE(runs.known(0));
    EXPECT_EQ(runs.known(0)->last, 7U);
    EXPECT_FALSE(runs.known(1)) << "a channel that was not there";
  }
  const std::filesystem::path file = folder.folder() / "runs";
  const auto size = std::filesystem::file_size(file);
  std::string whole(size, '\0');
  std::ifstream(file, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(size));
  for (std::size_t at = 0; at < whole.size(); ++at) {  // any byte turned, and any length
    for (const bool is_cut : {true, false}) {
      std::string bytes = is_cut ? whole.substr(0, at) : whole;
      if (!is_cut) bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
      std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
      KnownRuns runs;
      const auto opened = runs.open(folder.folder().string(), other);
      // Without its first line, or with another word there, it is another program's.
      const bool is_ours = is_cut ? at == 0 || at >= 64 : at >= 8;
      ASSERT_EQ(opened.ok(), is_ours) << at;
      if (runs.known(0)) {
        EXPECT_EQ(runs.known(0)->last, 7U) << at;
      }
      if (is_ours) continue;
      EXPECT_EQ(opened.message(),
                "'" + file.string() + "' is not a file of last numbers, or one of another version; it stays as it is");
      EXPECT_EQ(runs.place(0), nullptr);
      EXPECT_EQ(std::filesystem::file_size(file), bytes.size());
    }
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << std::string(4'096, '\0');  // after a loss of power
  {
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), other));
    EXPECT_FALSE(runs.known(0));
  }
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  KnownRuns runs;
  EXPECT_FALSE(runs.open(folder.folder().string(), other)) << "a folder of that name";
  EXPECT_EQ(runs.place(0), nullptr);
}

TEST(KnownRuns, keep_the_era_of_the_books_or_say_that_it_is_not_known) {
  const testing::Scratch folder;
  const std::array<std::string_view, 1> names = {"seven"};
  {
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), names));
    runs.place(0)->store({.sender = 3, .day = 20'000}, 41, 9);
  }
  {
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), names));
    EXPECT_EQ(runs.known(0)->era, 9U);
  }
  // As an older version left it, or a process that died between two stores.
  for (const std::size_t at : {64 + 5 * sizeof(std::uint64_t), 64 + 6 * sizeof(std::uint64_t)}) {
    const std::filesystem::path file = folder.folder() / "runs";
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(static_cast<std::streamoff>(at)).write("\0\0\0\0\0\0\0", 8);
    bytes.close();
    KnownRuns runs;
    ASSERT_TRUE(runs.open(folder.folder().string(), names));
    ASSERT_TRUE(runs.known(0));
    EXPECT_EQ(runs.known(0)->last, 41U);
    EXPECT_EQ(runs.known(0)->era, 0U) << at;
    runs.place(0)->store({.sender = 3, .day = 20'000}, 41, 9);
  }
}

TEST(KnownRuns, may_be_cut_while_they_are_kept) {
  const testing::Scratch folder;
  const std::array<std::string_view, 1> names = {"seven"};
  KnownRuns runs;
  ASSERT_TRUE(runs.open(folder.folder().string(), names));
  std::filesystem::resize_file(folder.folder() / "runs", 0);
  runs.place(0)->store({.sender = 3, .day = 20'000}, 41);  // unguarded, this ends the process
  EXPECT_EQ(runs.place(0)->last.load(), 41U);
  EXPECT_EQ(std::filesystem::file_size(folder.folder() / "runs"), 0U);
}

TEST(Housekeeper, counts_the_time_since_the_start_whatever_the_wall_clock_does) {
  Kept kept;
  kept.pass(1'000'000'000);
  kept.wall_ahead = 1'700'000'000'000'000'000;
  kept.pass(2'000'000'000);
  const StatusReport before = read_status(kept.counts(), {kept.now, kept.now});
  kept.wall_ahead = 0;
  kept.pass(500'000'000);
  EXPECT_EQ(read_status(kept.counts(), {kept.now, kept.now}).running_ns, before.running_ns + 500'000'000);
}

TEST(Housekeeper, reports_an_agent_that_hangs) {
  Kept kept;
  kept.wall_ahead = 1'700'000'000'000'000'000;  // as on a machine: the wall clock has nothing to do with the other one
  kept.give(0, tick(1, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  EXPECT_EQ(kept.housekeeper.summary(), "1 of 1 channels live");
  kept.now += 6'000'000'000;
  kept.housekeeper.step();  // the agent does nothing
  EXPECT_THAT(kept.take(), Contains("error what=\"agent stalled\" agent=\"md\" for=\"6 s\""));
  EXPECT_THAT(kept.housekeeper.summary(), HasSubstr("1 agents stalled"));
  EXPECT_EQ(read_status(kept.counts(), {kept.now, kept.now}).agents_stalled, 1U);
  kept.now += 6'000'000'000;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), Not(Contains(HasSubstr("agent stalled"))));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Contains("info what=\"agent goes on\" agent=\"md\""));
  EXPECT_EQ(read_status(kept.counts(), {kept.now, kept.now}).agents_stalled, 0U);
}

TEST(Housekeeper, calls_no_line_silent_because_the_process_did_not_run) {
  Kept kept;
  kept.give(0, tick(1, 1));
  kept.give(1, tick(1, 1));
  kept.pass(600'000'000);
  (void)kept.take();
  // The process is stopped for longer than a line may be silent. The housekeeper runs again first, what came lies in
  // the ports.
  kept.now += 2'000'000'000;
  kept.housekeeper.step();
  EXPECT_THAT(kept.take(), ElementsAre());
  EXPECT_TRUE(read_status(kept.counts(), {kept.now, kept.now}).channels[0].is_ready());
  kept.give(0, tick(2, 2));
  kept.give(1, tick(2, 2));
  kept.pass(600'000'000);
  EXPECT_THAT(kept.take(), Not(Contains(HasSubstr("silent"))));
  // With nothing in the ports the lines are silent indeed.
  kept.pass(1'200'000'000);
  EXPECT_THAT(kept.take(), Contains(HasSubstr("line silent")));
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
  const StatusReport status = read_status(one.counts(), {one.now, one.now});
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

}  // namespace stopbit::appliance::housekeeper_test
