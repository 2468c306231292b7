// Channels that change while the appliance runs, on one thread with a clock that the test turns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "host/appliance/book_files.hpp"
#include "host/appliance/housekeeper.hpp"
#include "host/appliance/status.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/ports/recorder/file_name.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance::channel_reload_test {

using test::tick;
using ::testing::HasSubstr;

const net::Endpoint kGroupC{0xE000'0003, 1000};
const net::Endpoint kGroupD{0xE000'0004, 1000};
constexpr std::uint64_t kWindowNs = 2'000'000;

std::string channel(int number, const std::string& name, const std::string& ring, int a, int b,
                    const std::string& more = "") {
  return "[[channel]]\nnumber = " + std::to_string(number) + "\nname = \"" + name + "\"\nframing = \"cme\"\nring = \"" +
         ring + "\"\na = { group = \"224.0.0." + std::to_string(a) + "\", port = 1000 }\n" +
         (b != 0 ? "b = { group = \"224.0.0." + std::to_string(b) + "\", port = 1000 }\n" : "") + more + "\n";
}

/// An appliance whose feed.toml is written anew.
class Reloaded : public test::OneChannel {
 public:
  using OneChannel::OneChannel;

  [[nodiscard]] std::string ring() const { return folder.path("ring"); }
  [[nodiscard]] std::string seven(const std::string& more = "") const {
    return channel(7, "seven", ring(), 1, 2, more);
  }

  Settings read(const std::string& channels) {
    folder.write("feed.toml", "name = \"test\"\n[[image]]\nname = \"ticks\"\ntemplates = [\"ticks.xml\"]\n" + channels);
    Diagnostics diagnostics;
    auto settings =
        parse("appliance.toml",
              "name = \"test\"\nstate = \"state\"\n" + further +
                  "[[agent]]\nname = \"md\"\n[[port]]\nname = \"left\"\n"
                  "[[port]]\nname = \"right\"\n[[feed]]\nfile = \"feed.toml\"\na = \"left\"\nb = \"right\"\n",
              folder.path(), diagnostics);
    EXPECT_TRUE(settings) << diagnostics.format();
    return settings ? std::move(*settings) : Settings();
  }
  std::vector<std::string> notes;  ///< Of the last change.
  std::string further;             ///< Of the settings that are read.

  /// Why it could not be prepared; empty: the agent is to change over.
  std::string reload(const std::string& channels) {
    const Settings wanted = read(channels);
    ChannelChanges changes = made->compare_channels(wanted);
    if (!changes.obstacles.empty()) return changes.obstacles.front();
    Diagnostics diagnostics;
    auto ready = made->prepare_channels(wanted, std::move(changes), diagnostics);
    if (!ready) return ready.message() + diagnostics.format();
    notes = made->change_channels(std::move(ready).value());
    return {};
  }
  void give_to(const char* port_name, net::Endpoint group, std::uint32_t sequence) {
    port(port_name).items.push_back({tick(sequence, sequence), group, now, 1});
  }
  std::uint64_t value(const char* family, const std::string& name) {
    return counts().value(family, {{"channel", name}});
  }
  StatusReport status() { return read_counters(counts(), {.wall_ns = now, .monotonic_ns = now}); }
  std::vector<std::string> channels() {
    std::vector<std::string> names;
    for (const ChannelStatus& one : status().channels) names.push_back(one.name);
    return names;
  }
  void pass(std::uint64_t ns) {
    now += ns;
    work();
  }
};

TEST(ChannelReload, adds_a_channel_and_the_other_one_loses_nothing) {
  Reloaded one;
  ASSERT_TRUE(one.made);
  one.give(0, tick(1, 1));
  one.pass(kWindowNs + 1);
  one.give(0, tick(2, 2));
  one.give(0, tick(4, 4));  // waits for 3 when the channels change
  one.work();
  ASSERT_EQ(one.agent().channels()[0]->decoder().arbiter().account().packets.held, 1U);
  ASSERT_EQ(one.reload(one.seven() + channel(8, "eight", one.folder.path("other"), 3, 4)), "");
  EXPECT_THAT(one.made->compare_channels(one.made->settings()).channels, ::testing::SizeIs(2));
  one.work();
  one.made->retire();
  EXPECT_EQ(one.port("left").joined.size(), 2U);
  // The number that was missing comes on the other line.
  one.give(1, tick(3, 3));
  one.give_to("left", kGroupC, 1);
  one.pass(kWindowNs + 1);
  one.give_to("right", kGroupD, 2);
  one.pass(kWindowNs + 1);
  std::vector<std::uint64_t> values;
  for (const auto& seen : one.seen()) values.push_back(seen.value);
  EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(one.value("numbers_lost", "seven"), 0U);
  EXPECT_EQ(one.value("packets_delivered", "eight"), 2U);
  EXPECT_EQ(one.value("numbers_lost", "eight"), 0U);
  one.expect_balanced("seven");
  one.expect_balanced("eight");
  EXPECT_EQ(one.channels(), (std::vector<std::string>{"seven", "eight"}));
  auto other = ring::Reader::open(one.folder.path("other"));
  ASSERT_TRUE(other) << other.message();
  EXPECT_EQ(other.value().poll(), ring::Poll::Record);
  // Of the channel that stayed, the counter of foreign datagrams tells that each found it.
  EXPECT_EQ(one.counts().sum("port_foreign"), 0U);
}

/// Packets in the files of a line.
std::size_t recorded(const std::string& folder, const std::string& line) {
  std::error_code error;
  std::size_t count = 0;
  for (const recorder::RecordedFile& file : recorder::recorded_files(folder, error)) {
    if (file.name.line != line) continue;
    auto source = ingest::open_capture(file.path);
    ingest::Packet packet;
    while (source && source.value()->next(packet) == ingest::Next::Packet) ++count;
  }
  return count;
}

TEST(ChannelReload, records_lines_that_are_added_and_those_that_come_back) {
  const std::string recorder = "[recorder]\nfolder = \"packets\"\n";
  Reloaded one("", recorder);
  one.further = recorder;
  const std::string folder = one.folder.path("packets");
  const std::string eight = channel(8, "eight", one.folder.path("other"), 3, 4);
  ASSERT_EQ(one.reload(one.seven() + eight), "");
  EXPECT_THAT(one.notes, ::testing::IsEmpty());
  one.work();
  one.give(0, tick(1, 1));
  one.give_to("left", kGroupC, 1);
  one.give_to("right", kGroupD, 1);
  one.give_to("right", kGroupD, 2);
  one.work();  // the writer sees the lines when their packets are there
  while (one.made->recording()->do_work() != 0) {
  }
  one.made->recording()->count_frozen();
  ASSERT_EQ(one.reload(one.seven()), "");
  one.work();
  one.made->retire();
  ASSERT_EQ(one.reload(one.seven() + eight), "");
  EXPECT_THAT(one.notes, ::testing::IsEmpty());
  one.work();
  one.give_to("right", kGroupD, 3);
  one.work();
  while (one.made->recording()->do_work() != 0) {
  }
  one.made->stop();
  EXPECT_EQ(recorded(folder, "seven-a"), 1U);
  EXPECT_EQ(recorded(folder, "eight-a"), 1U);
  EXPECT_EQ(recorded(folder, "eight-b"), 3U);
  EXPECT_EQ(one.counts().value("record_packets", {{"channel", "eight"}, {"line", "B"}}), 3U);
}

TEST(ChannelReload, says_that_a_line_is_not_recorded_whose_files_would_have_the_name_of_others) {
  const std::string recorder = "[recorder]\nfolder = \"packets\"\n";
  Reloaded one(channel(8, "a/b", "", 3, 0), recorder);
  one.further = recorder;
  // Before "a/b": its files would be called as those of that channel are.
  ASSERT_EQ(one.reload(channel(9, "a_b", "", 4, 0) + one.seven() + channel(8, "a/b", "", 3, 0)), "");
  EXPECT_THAT(one.notes, ::testing::ElementsAre(HasSubstr("are not recorded until a restart")));
}

TEST(ChannelReload, saves_books_of_rings_that_are_added_as_long_as_there_are_any) {
  constexpr std::uint64_t kTenth = 100'000'000;
  const std::string books = "[books]\nsave = \"2s\"\ninstruments = 200\n";
  Reloaded one("", books);
  one.further = books;
  std::vector<std::string> log;
  Housekeeper keeper(*one.made, one.clocks(), [&](const Change& change) { log.push_back(to_text(change)); });
  ASSERT_TRUE(keeper.prepare());
  const std::string eight = channel(8, "eight", one.folder.path("other"), 3, 0, test::map_of_ticks(one.folder));
  const opener::FileSet set = book_files(one.made->settings().state_folder, one.folder.path("events"));
  const auto files = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(set.folder)) {
      count += set.number(entry.path().filename().string()) ? 1 : 0;
    }
    return count;
  };
  const auto pass = [&](std::uint64_t ns) {
    one.pass(ns);
    keeper.step();
  };
  const auto saves = [&] { return one.made->outputs().at(1)->market_counter_set().saves.value(); };
  for (std::uint64_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(one.reload(one.seven() + eight), "");
    EXPECT_THAT(one.notes, ::testing::IsEmpty());
    one.work();
    for (std::uint32_t n = 1; n <= 100; ++n) one.give_to("left", kGroupC, n);
    for (int i = 0; i < 30; ++i) pass(kTenth);
    EXPECT_EQ(one.made->outputs().size(), 2U) << "a ring that comes back takes no further room";
    ASSERT_EQ(saves(), round) << (log.empty() ? "" : log.back());
    const auto found =
        FoundBooks::find(set.folder, one.folder.path("events"), one.made->outputs()[1]->saved_head(one.now), one.now);
    ASSERT_TRUE(found) << found.message();
    EXPECT_EQ(found.value().books().rows(), 100U);
    // The ring ends while its books are copied: half of a save is none.
    const std::size_t whole = files();
    one.now += 20 * kTenth;
    keeper.step();
    (void)one.agent().do_work();
    keeper.step();
    EXPECT_EQ(files(), whole + 1) << "a save has begun";
    ASSERT_EQ(one.reload(one.seven()), "");
    one.work();
    keeper.step();
    EXPECT_EQ(files(), whole);
    EXPECT_EQ(one.made->outputs()[1]->save_queue(), nullptr);
  }
  EXPECT_THAT(log, ::testing::Not(::testing::Contains(HasSubstr("not saved"))));
}

TEST(ChannelReload, says_that_books_lose_their_snapshots) {
  Reloaded one;
  const std::string ring = one.folder.path("other");
  const std::string map = test::map_of_ticks(one.folder);
  const std::string eight = channel(8, "eight", ring, 3, 0, map);
  const std::string nine = channel(9, "nine", ring, 4, 0, map + "role = \"snapshot\"\nrecovers = \"eight\"\n");
  ASSERT_EQ(one.reload(one.seven() + eight + nine), "");
  EXPECT_THAT(one.notes, ::testing::IsEmpty());
  one.work();
  one.made->retire();
  ASSERT_EQ(one.reload(one.seven() + eight), "");
  EXPECT_THAT(one.notes, ::testing::ElementsAre(HasSubstr("has no more snapshots from 'nine', and only a restart")));
  one.work();
  one.made->retire();
  EXPECT_THAT(one.reload(one.seven() + eight + nine), HasSubstr("books join a ring only when it is made"));
  // A ring that ends has nothing to lose.
  ASSERT_EQ(one.reload(one.seven()), "");
  EXPECT_THAT(one.notes, ::testing::IsEmpty());
}

TEST(ChannelReload, closes_a_window_that_was_open_when_the_channels_changed) {
  Reloaded one;
  one.give(0, tick(1, 1));
  one.pass(kWindowNs + 1);
  one.give(0, tick(3, 3));
  one.work();
  ASSERT_EQ(one.reload(channel(8, "eight", one.ring(), 3, 4) + one.seven()), "") << "in another place of the list";
  one.work();
  one.pass(kWindowNs + 1);
  EXPECT_EQ(one.value("numbers_lost", "seven"), 1U);
  EXPECT_EQ(one.value("packets_delivered", "seven"), 2U);
}

TEST(ChannelReload, adds_a_channel_to_a_ring_that_runs) {
  Reloaded one;
  ASSERT_EQ(one.reload(one.seven() + channel(9, "nine", one.ring(), 3, 4)), "");
  one.work();
  one.give_to("left", kGroupC, 1);
  one.pass(kWindowNs + 1);
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].channel, 9U);
  EXPECT_EQ(seen[0].generation, 0U) << "the ring is the same";
}

TEST(ChannelReload, removes_a_channel_with_what_waits_in_it) {
  Reloaded one(channel(8, "eight", "", 3, 0));
  one.give_to("left", kGroupC, 1);
  one.give(0, tick(1, 1));
  one.pass(kWindowNs + 1);
  one.give_to("left", kGroupC, 3);
  one.work();
  ASSERT_EQ(one.reload(one.seven()), "");
  one.work();
  one.made->retire();
  EXPECT_EQ(one.value("packets_delivered", "eight"), 2U) << "what waited was decoded";
  EXPECT_EQ(one.value("numbers_lost", "eight"), 1U) << "and what was missing told";
  EXPECT_EQ(one.channels(), (std::vector<std::string>{"seven"}));
  EXPECT_EQ(one.port("left").joined.size(), 1U);
  one.give_to("left", kGroupC, 4);
  one.work();
  EXPECT_EQ(one.counts().sum("port_foreign"), 1U);
  // Its ring had no other channel.
  EXPECT_EQ(one.status().rings.size(), 1U);
}

TEST(ChannelReload, ends_a_ring_that_has_no_channel_any_more_and_makes_it_again) {
  Reloaded one;
  const std::string eight = channel(8, "eight", one.folder.path("other"), 3, 4);
  ASSERT_EQ(one.reload(one.seven() + eight), "");
  one.work();
  auto reader = ring::Reader::open(one.folder.path("other"));
  ASSERT_TRUE(reader) << reader.message();
  ASSERT_EQ(one.reload(one.seven()), "");
  one.work();
  one.made->retire();
  EXPECT_EQ(reader.value().writer(), ring::WriterState::Finished);
  ASSERT_EQ(one.reload(one.seven() + eight), "");
  one.work();
  one.give_to("left", kGroupC, 5);
  one.pass(kWindowNs + 1);
  auto again = ring::Reader::open(one.folder.path("other"));
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again.value().poll(), ring::Poll::Record);
  EXPECT_EQ(one.value("packets_delivered", "eight"), 1U);
  EXPECT_EQ(one.status().rings.size(), 2U);
}

TEST(ChannelReload, keeps_a_channel_one_line_of_which_comes_from_elsewhere) {
  Reloaded one;
  one.give(0, tick(1, 1));
  one.pass(kWindowNs + 1);
  one.give(0, tick(3, 3));
  one.work();
  ASSERT_EQ(one.reload(channel(7, "seven", one.ring(), 1, 4)), "");
  one.work();
  one.made->retire();
  EXPECT_EQ(one.port("right").joined.at(0).group, kGroupD);
  one.give_to("right", kGroupD, 2);  // which the window waits for
  one.give(1, tick(4, 4));           // of the group that was left
  one.pass(kWindowNs + 1);
  EXPECT_EQ(one.value("numbers_lost", "seven"), 0U);
  EXPECT_EQ(one.value("packets_delivered", "seven"), 3U);
  EXPECT_EQ(one.counts().sum("port_foreign"), 1U);
  EXPECT_EQ(one.status().channels.at(0).lines[1].address, "224.0.0.4:1000");
  EXPECT_EQ(one.channels().size(), 1U) << "what it was before is not shown";
  ASSERT_EQ(one.reload(one.seven()), "");
  one.work();
  EXPECT_EQ(one.status().channels.at(0).lines[1].address, "224.0.0.2:1000");
}

TEST(ChannelReload, goes_on_after_the_numbers_of_a_channel_with_another_window) {
  Reloaded one;
  one.give(0, tick(1, 1));
  one.give(0, tick(2, 2));
  one.pass(kWindowNs + 1);
  ASSERT_EQ(one.reload(one.seven("window = { packets = 32 }")), "");
  one.work();
  one.give(1, tick(2, 2));  // a copy that is late
  one.give(0, tick(4, 4));
  one.pass(2 * kWindowNs);
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_TRUE(seen[2].is_event);
  EXPECT_EQ(seen[2].kind, record::EventKind::Gap);
  EXPECT_EQ(seen[2].first, 3U);
  EXPECT_GT(seen[3].epoch, seen[0].epoch) << "no epoch comes twice";
  EXPECT_EQ(one.value("packets_delivered", "seven"), 1U) << "counters begin anew";
  EXPECT_EQ(one.value("numbers_lost", "seven"), 1U);
  one.expect_balanced();
}

TEST(ChannelReload, two_channels_may_swap_their_names) {
  Reloaded one(channel(8, "eight", "", 3, 4));
  one.give(0, tick(10, 1));
  one.give_to("left", kGroupC, 500);
  one.pass(kWindowNs + 1);
  ASSERT_EQ(one.reload(channel(7, "eight", one.ring(), 1, 2) + channel(8, "seven", "", 3, 4)), "");
  one.work();
  one.give(0, tick(11, 1));
  one.give_to("left", kGroupC, 501);
  one.give_to("right", kGroupD, 501);
  one.pass(kWindowNs + 1);
  EXPECT_EQ(one.value("packets_delivered", "eight"), 1U);
  EXPECT_EQ(one.value("next_sequence", "eight"), 12U);
  EXPECT_EQ(one.value("packets_delivered", "seven"), 1U);
  EXPECT_EQ(one.value("packets_duplicate", "seven"), 1U);
  EXPECT_EQ(one.value("next_sequence", "seven"), 502U);
  EXPECT_EQ(one.value("numbers_lost", "seven") + one.value("numbers_lost", "eight"), 0U);
  EXPECT_EQ(one.counts().sum("port_foreign"), 0U);
}

TEST(ChannelReload, changes_nothing_if_something_cannot_be_had) {
  Reloaded one;
  one.port("right").no_groups = "no such interface";
  EXPECT_THAT(one.reload(one.seven() + channel(8, "eight", "", 3, 4)), HasSubstr("no such interface"));
  one.port("right").no_groups.clear();
  one.folder.write("other", "not a ring");
  EXPECT_NE(one.reload(one.seven() + channel(8, "eight", one.folder.path("other"), 3, 4)), "");
  one.work();
  EXPECT_EQ(one.port("left").joined.size(), 1U);
  EXPECT_EQ(one.channels(), (std::vector<std::string>{"seven"}));
  EXPECT_EQ(one.made->outputs().size(), 1U);
  one.give(0, tick(1, 1));
  one.pass(kWindowNs + 1);
  EXPECT_EQ(one.value("packets_delivered", "seven"), 1U);
}

TEST(ChannelReload, waits_for_an_agent_that_stalls) {
  Reloaded one;
  ASSERT_EQ(one.reload(one.seven() + channel(8, "eight", "", 3, 4)), "");
  EXPECT_THAT(one.reload(one.seven()), HasSubstr("still in progress")) << "the agent has done nothing yet";
  one.work();
  EXPECT_EQ(one.reload(one.seven()), "");
  one.work();
  EXPECT_EQ(one.channels(), (std::vector<std::string>{"seven"}));
}

TEST(ChannelReload, has_room_for_so_many_names_and_says_when_it_is_used_up) {
  Reloaded one;
  for (std::size_t i = 0; i < Appliance::kSpareChannels; ++i) {
    ASSERT_EQ(one.reload(one.seven() + channel(8, "n" + std::to_string(i), "", 3, 4)), "") << i;
    one.work();
  }
  EXPECT_THAT(one.reload(one.seven() + channel(8, "another", "", 3, 4)), HasSubstr("until a restart"));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(one.reload(one.seven()), "");
    one.work();
    ASSERT_EQ(one.reload(one.seven() + channel(8, "n3", "", 3, 4)), "") << "a name that there was takes no room";
    one.work();
  }
  EXPECT_EQ(one.channels(), (std::vector<std::string>{"seven", "n3"}));
  EXPECT_LE(one.made->outputs().size(), 3U) << "what has ended makes room";
}

TEST(ChannelReload, an_open_reader_of_the_counters_finds_the_new_ones) {
  Reloaded one;
  counters::Reader reader = one.counts();
  EXPECT_EQ(reader.find("packets_delivered", {{"channel", "eight"}}), nullptr);
  ASSERT_EQ(one.reload(one.seven() + channel(8, "eight", "", 3, 4)), "");
  EXPECT_EQ(reader.find("packets_delivered", {{"channel", "eight"}}), nullptr);
  ASSERT_TRUE(reader.refresh());
  EXPECT_NE(reader.find("packets_delivered", {{"channel", "eight"}}), nullptr);
}

TEST(ChannelReload, a_new_line_has_its_time_to_speak) {
  Reloaded one;
  one.now += 60'000'000'000;
  ASSERT_EQ(one.reload(one.seven() + channel(8, "eight", "", 3, 4)), "");
  one.work();
  const auto is_silent = [&] {
    const StatusReport status = one.status();
    return status.channels.at(1).lines[0].is_silent;
  };
  EXPECT_FALSE(is_silent());
  one.now += one.made->settings().silence_ns + 1;
  one.work();
  EXPECT_TRUE(is_silent());
}

}  // namespace stopbit::appliance::channel_reload_test
