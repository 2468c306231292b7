#include "host/appliance/channel_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::appliance::channel_changes_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using What = ChannelChange::What;

constexpr const char* kHead = "name = \"f\"\n[[image]]\nname = \"ticks\"\ntemplates = [\"ticks.xml\"]\n";
constexpr const char* kPorts =
    "[[agent]]\nname = \"md\"\n[[agent]]\nname = \"other\"\n[[port]]\nname = \"left\"\nagent = \"md\"\n"
    "[[port]]\nname = \"right\"\nagent = \"md\"\n[[port]]\nname = \"far\"\nagent = \"other\"\n";
constexpr const char* kFeed = "[[feed]]\nfile = \"feed.toml\"\na = \"left\"\nb = \"right\"\n";

std::string channel(int number, const std::string& name, const std::string& ring, int group,
                    const std::string& more = "", bool has_b = true) {
  const std::string text = std::to_string(group);
  return "[[channel]]\nnumber = " + std::to_string(number) + "\nname = \"" + name + "\"\nframing = \"cme\"\nring = \"" +
         ring + "\"\na = { group = \"224.1.1." + text + "\", port = 1000 }\n" +
         (has_b ? "b = { group = \"224.1.2." + text + "\", port = 1000 }\n" : "") + more + "\n";
}

/// Compares two descriptions of one feed, or two whole files of settings.
class Compared {
 public:
  Compared() { folder_.write("ticks.xml", std::string(test::kTickTemplates)); }

  Settings read(const std::string& channels, const std::string& feeds = kFeed) {
    folder_.write("feed.toml", std::string(kHead) + channels);
    Diagnostics diagnostics;
    auto settings = parse("appliance.toml", std::string("name = \"t\"\nstate = \"state\"\n") + kPorts + feeds,
                          folder_.path(), diagnostics);
    EXPECT_TRUE(settings) << diagnostics.format();
    return settings ? std::move(*settings) : Settings();
  }

  /// As an appliance makes them, with one context to spare.
  static std::vector<RunningOutput> outputs_of(const Settings& settings) {
    std::vector<RunningOutput> outputs;
    for (std::size_t f = 0; f < settings.feeds.size(); ++f) {
      const feed::Description& description = settings.feeds[f].description;
      for (const feed::Channel& one : description.channels) {
        const std::string& image = description.images[one.image].name;
        const auto is_its = [&](const RunningOutput& output) {
          return output.feed == f && output.ring == one.ring && output.image == image;
        };
        auto found = std::find_if(outputs.begin(), outputs.end(), is_its);
        if (found == outputs.end()) {
          outputs.push_back({.feed = f, .ring = one.ring, .image = image});
          found = outputs.end() - 1;
        }
        found->contexts = std::max<std::uint16_t>(found->contexts, static_cast<std::uint16_t>(one.number + 2));
        found->rules[static_cast<std::size_t>(one.framing.reset)] = true;
      }
    }
    return outputs;
  }

  static What what(const ChannelChanges& changes, const std::string& name) {
    for (const ChannelChange& change : changes.channels) {
      if (change.name == name) return change.what;
    }
    ADD_FAILURE() << "there is no channel " << name;
    return What::Stays;
  }

 private:
  testing::Scratch folder_;
};

std::vector<std::string> groups(const std::vector<ingest::Membership>& memberships) {
  std::vector<std::string> texts;
  for (const ingest::Membership& one : memberships) texts.push_back(net::to_text(one.group));
  return texts;
}

TEST(ChannelChanges, of_the_same_settings_are_none) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1) + channel(2, "two", "r", 2));
  const ChannelChanges changes = compare_channels(running, running, Compared::outputs_of(running));
  EXPECT_TRUE(changes.is_empty());
  EXPECT_THAT(changes.obstacles, IsEmpty());
  EXPECT_TRUE(changes.ports.empty());
  EXPECT_EQ(to_text(changes), "");
}

TEST(ChannelChanges, add_and_remove_by_name_whatever_the_order) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1) + channel(2, "two", "r", 2));
  const Settings wanted = compared.read(channel(3, "three", "r", 3) + channel(1, "one", "r", 1));
  const ChannelChanges changes = compare_channels(running, wanted, Compared::outputs_of(running));
  EXPECT_THAT(changes.obstacles, IsEmpty());
  EXPECT_EQ(Compared::what(changes, "one"), What::Stays);
  EXPECT_EQ(Compared::what(changes, "two"), What::Removed);
  EXPECT_EQ(Compared::what(changes, "three"), What::Added);
  EXPECT_TRUE(changes.outputs.empty()) << "the ring exists";
  ASSERT_EQ(changes.ports.size(), 2U);
  EXPECT_THAT(groups(changes.ports[0].join), ElementsAre("224.1.1.3:1000"));
  EXPECT_THAT(groups(changes.ports[0].leave), ElementsAre("224.1.1.2:1000"));
  EXPECT_THAT(groups(changes.ports[1].join), ElementsAre("224.1.2.3:1000"));
  EXPECT_EQ(to_text(changes), "1 channel added (three), 1 removed (two)");
}

TEST(ChannelChanges, make_a_ring_that_there_is_not) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  const Settings wanted =
      compared.read(channel(1, "one", "r", 1) + channel(900, "two", "s", 2) + channel(3, "three", "s", 3));
  const ChannelChanges changes = compare_channels(running, wanted, Compared::outputs_of(running));
  EXPECT_THAT(changes.obstacles, IsEmpty());
  ASSERT_EQ(changes.outputs.size(), 1U);
  EXPECT_EQ(changes.outputs[0].ring, "s");
  EXPECT_EQ(changes.outputs[0].changes.size(), 2U);
}

TEST(ChannelChanges, keep_a_channel_of_which_one_line_stays) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  std::string other = channel(1, "one", "r", 1);
  other.replace(other.find("224.1.2.1"), 9, "224.1.2.9");
  const ChannelChanges changes = compare_channels(running, compared.read(other), Compared::outputs_of(running));
  EXPECT_EQ(Compared::what(changes, "one"), What::Moves);
  ASSERT_EQ(changes.ports.size(), 1U);
  EXPECT_EQ(changes.ports[0].port, 1U);
  EXPECT_THAT(groups(changes.ports[0].join), ElementsAre("224.1.2.9:1000"));
}

TEST(ChannelChanges, take_a_source_filter_as_another_line) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  std::string other = channel(1, "one", "r", 1);
  other.replace(other.find("port = 1000 }\nb"), 11, "port = 1000, source = \"10.0.0.1\"");
  const ChannelChanges changes = compare_channels(running, compared.read(other), Compared::outputs_of(running));
  EXPECT_EQ(Compared::what(changes, "one"), What::Moves);
  ASSERT_EQ(changes.ports.size(), 1U);
  EXPECT_EQ(changes.ports[0].join[0].source, 0x0A00'0001U);
  EXPECT_EQ(changes.ports[0].leave[0].source, std::nullopt);
  // Of its only line, too: the numbers are the same.
  const Settings one = compared.read(channel(1, "one", "r", 1, "", false));
  std::string filtered = channel(1, "one", "r", 1, "", false);
  filtered.replace(filtered.find("port = 1000"), 11, "port = 1000, source = \"10.0.0.1\"");
  EXPECT_EQ(Compared::what(compare_channels(one, compared.read(filtered), Compared::outputs_of(one)), "one"),
            What::Moves);
}

TEST(ChannelChanges, begin_a_channel_anew_that_is_arbitrated_in_another_way) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  const auto judge = [&](const std::string& channels) {
    const ChannelChanges changes = compare_channels(running, compared.read(channels), Compared::outputs_of(running));
    EXPECT_THAT(changes.obstacles, IsEmpty());
    EXPECT_EQ(Compared::what(changes, "one"), What::Anew);
    return changes.channels.at(0).goes_on;
  };
  EXPECT_TRUE(judge(channel(1, "one", "r", 1, "window = { packets = 8 }")));
  EXPECT_TRUE(judge(channel(1, "one", "r", 1, "mode = \"fast\"")));
  EXPECT_TRUE(judge(channel(1, "one", "r", 1, "switch_silence = \"3s\"")));
  EXPECT_TRUE(judge(channel(1, "one", "r", 1, "", false))) << "one line less";
  EXPECT_FALSE(judge(channel(1, "one", "r", 7))) << "all lines come from elsewhere: other numbers";
  EXPECT_FALSE(judge(channel(2, "one", "r", 1))) << "another number in the records";
}

TEST(ChannelChanges, begin_both_channels_anew_that_swap_their_names) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1) + channel(2, "two", "r", 2));
  const Settings wanted = compared.read(channel(1, "two", "r", 1) + channel(2, "one", "r", 2));
  const ChannelChanges changes = compare_channels(running, wanted, Compared::outputs_of(running));
  EXPECT_EQ(changes.count(What::Anew), 2U);
  EXPECT_FALSE(changes.channels[0].goes_on || changes.channels[1].goes_on);
  EXPECT_TRUE(changes.ports.empty()) << "no socket is closed: nothing is lost";
}

TEST(ChannelChanges, move_a_group_to_another_channel_without_leaving_it) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1) + channel(2, "two", "r", 2));
  const Settings wanted = compared.read(channel(1, "one", "r", 1) + channel(3, "three", "r", 2));
  const ChannelChanges changes = compare_channels(running, wanted, Compared::outputs_of(running));
  EXPECT_EQ(Compared::what(changes, "three"), What::Added);
  EXPECT_EQ(Compared::what(changes, "two"), What::Removed);
  EXPECT_TRUE(changes.ports.empty());
}

TEST(ChannelChanges, name_the_keys_that_need_a_restart) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  const auto obstacles = [&](const std::string& channels, const std::string& feeds = kFeed) {
    return compare_channels(running, compared.read(channels, feeds), Compared::outputs_of(running)).obstacles;
  };
  const std::string one = channel(1, "one", "r", 1);
  EXPECT_THAT(obstacles(one + channel(40, "two", "r", 2)), ElementsAre(HasSubstr("feed.toml: channel[two].number (")))
      << "there is no context of this number";
  EXPECT_THAT(obstacles(one + channel(2, "two", "r", 2, "map = \"x.toml\"")),
              ElementsAre(HasSubstr("feed.toml: channel[two].map (")));
  EXPECT_THAT(obstacles(one, "[[feed]]\nfile = \"feed.toml\"\na = \"far\"\n"), ElementsAre(HasSubstr("].a (")));
}

TEST(ChannelChanges, name_an_image_of_other_files_and_a_feed_of_another_name) {
  Compared compared;
  const Settings running = compared.read(channel(1, "one", "r", 1));
  Settings wanted = running;
  wanted.feeds[0].description.images[0].templates = {"other.xml"};
  EXPECT_THAT(compare_channels(running, wanted, Compared::outputs_of(running)).obstacles,
              ElementsAre(HasSubstr("feed.toml: image[ticks] (")));
  wanted = running;
  wanted.feeds[0].description.name = "g";
  EXPECT_THAT(compare_channels(running, wanted, Compared::outputs_of(running)).obstacles,
              ElementsAre(HasSubstr("feed.toml: name (")));
  wanted = running;
  wanted.ports[1].name = "new";
  EXPECT_THAT(compare_channels(running, wanted, Compared::outputs_of(running)).obstacles,
              ElementsAre(HasSubstr("].b (the port 'new' is not open)")));
}

TEST(ChannelChanges, of_a_channel_with_a_replay_service_are_its_lines_only) {
  Compared compared;
  Settings running = compared.read(channel(1, "one", "r", 1, "replay = \"X\"") + channel(2, "two", "r", 2));
  running.replays.emplace_back().name = "service";
  const auto obstacles = [&](const std::string& channels) {
    return compare_channels(running, compared.read(channels), Compared::outputs_of(running)).obstacles;
  };
  const std::string two = channel(2, "two", "r", 2);
  EXPECT_THAT(obstacles(two), ElementsAre(HasSubstr("channel[one].replay (")));
  EXPECT_THAT(obstacles(channel(1, "one", "r", 1, "replay = \"Y\"") + two),
              ElementsAre(HasSubstr("channel[one].replay (")));
  EXPECT_THAT(obstacles(channel(1, "one", "r", 1, "replay = \"X\"\nmode = \"fast\"") + two),
              ElementsAre(HasSubstr("channel[one].replay (")));
  EXPECT_THAT(obstacles(channel(1, "one", "r", 1, "replay = \"X\"") + channel(2, "two", "r", 2, "replay = \"Z\"")),
              ElementsAre(HasSubstr("channel[two].replay (")));
  std::string moved = channel(1, "one", "r", 1, "replay = \"X\"") + two;
  moved.replace(moved.find("224.1.2.1"), 9, "224.1.2.9");
  EXPECT_THAT(obstacles(moved), IsEmpty());
}

TEST(ChannelChanges, take_a_feed_more_and_a_feed_less) {
  Compared compared;
  const std::string channels = channel(1, "one", "r", 1) + channel(2, "two", "s", 2);
  const std::string first = std::string(kFeed) + "channels = [\"one\"]\n";
  const std::string second = "[[feed]]\nfile = \"feed.toml\"\na = \"far\"\nchannels = [\"two\"]\n";
  const Settings one = compared.read(channels, first);
  const Settings both = compared.read(channels, first + second);
  const ChannelChanges more = compare_channels(one, both, Compared::outputs_of(one));
  EXPECT_THAT(more.obstacles, IsEmpty());
  EXPECT_EQ(Compared::what(more, "two"), What::Added);
  EXPECT_EQ(more.feed_before[1], std::nullopt);
  EXPECT_EQ(more.feeds[1].agent, 1U);
  const ChannelChanges less = compare_channels(both, one, Compared::outputs_of(both));
  EXPECT_EQ(Compared::what(less, "two"), What::Removed);
  EXPECT_EQ(Compared::what(less, "one"), What::Stays);
}

}  // namespace stopbit::appliance::channel_changes_test
