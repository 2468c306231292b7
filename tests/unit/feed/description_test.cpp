#include "host/feed/description/description.hpp"

#include <gtest/gtest.h>

namespace stopbit::feed::description_test {

constexpr std::string_view kImage = "[[image]]\nname = \"i\"\nfirmware = \"f.sbf\"\n";
constexpr std::string_view kLine = "a = { group = \"224.0.0.1\", port = 1 }\n";

std::string with(std::string_view channel, std::string_view line = kLine) {
  return std::string(kImage) + "[[channel]]\nframing = \"cme\"\n" + std::string(channel) + std::string(line);
}

/// The first error's line and text; empty if there is none.
std::string error_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto description = parse("feed.toml", text, diagnostics);
  EXPECT_EQ(description.has_value(), !diagnostics.has_errors());
  if (!diagnostics.has_errors()) return "";
  const std::string all = diagnostics.format();
  return all.substr(0, all.find('\n'));
}

TEST(FeedDescription, holds_what_the_file_says) {
  Diagnostics diagnostics;
  const auto feed = parse("feed.toml", R"(
name = "eurex"
[[image]]
name = "emdi"
templates = ["emdi.xml", "more.xml"]
[[image]]
name = "emds"
firmware = "emds.sbf"
[defaults]
framing = "t7"
ring = "all"
window = { time = "5ms" }
[[channel]]
number = 310
name = "FESX"
image = "emdi"
a = { group = "224.0.50.59", port = 59001, source = "10.1.2.3" }
b = { group = "224.0.50.187", port = 59001 }
[[channel]]
role = "carousel"
mode = "fast"
image = "emds"
ring = "snapshots"
map = "maps/own.toml"
depth = 10
framing = "custom:seq=u16le@2,reset=never"
window = { packets = 9, datagram = "32KiB" }
a = { group = "224.0.50.60", port = 59002 }
)",
                          diagnostics);
  ASSERT_TRUE(feed) << diagnostics.format();
  EXPECT_EQ(feed->name, "eurex");
  ASSERT_EQ(feed->images.size(), 2U);
  EXPECT_EQ(feed->images[0].templates, (std::vector<std::string>{"emdi.xml", "more.xml"}));
  EXPECT_EQ(feed->images[1].firmware, "emds.sbf");
  ASSERT_EQ(feed->channels.size(), 2U);

  const Channel& first = feed->channels[0];
  EXPECT_EQ(first.number, 310);
  EXPECT_EQ(first.name, "FESX");
  EXPECT_EQ(first.role, Role::Incremental);
  EXPECT_EQ(first.mode, Mode::Ordered);
  EXPECT_EQ(first.window, (ArbitrationWindow{.packets = 64, .time_ns = 5'000'000, .datagram_bytes = 2'048}));
  EXPECT_EQ(first.framing.kind, net::FramingKind::T7);
  EXPECT_EQ(first.image, 0U);
  EXPECT_EQ(first.ring, "all");
  EXPECT_EQ(net::to_text(first.lines[0]->group), "224.0.50.59:59001");
  EXPECT_EQ(net::address_text(*first.lines[0]->source), "10.1.2.3");
  EXPECT_EQ(first.lines[1]->source, std::nullopt);

  const Channel& second = feed->channels[1];
  EXPECT_EQ(second.number, 1);
  EXPECT_EQ(second.name, "channel 1");
  EXPECT_EQ(second.role, Role::Carousel);
  EXPECT_EQ(second.mode, Mode::Fast);
  EXPECT_EQ(second.window, (ArbitrationWindow{.packets = 9, .time_ns = 5'000'000, .datagram_bytes = 32'768}));
  EXPECT_EQ(second.framing.reset, ResetRule::Never);
  EXPECT_EQ(second.lines[1], std::nullopt);

  // Its own text says the same.
  const std::string text = to_toml(*feed, "made by a test\nof two lines");
  EXPECT_TRUE(text.starts_with("# made by a test\n# of two lines\n")) << text;
  const auto again = parse("again.toml", text, diagnostics);
  ASSERT_TRUE(again) << diagnostics.format();
  EXPECT_EQ(to_toml(*again, "made by a test\nof two lines"), text);
  EXPECT_EQ(again->images, feed->images);
  EXPECT_EQ(again->channels[0].lines, first.lines);
  EXPECT_EQ(again->channels[1].window, second.window);
  EXPECT_EQ(again->channels[1].map, "maps/own.toml");
  EXPECT_EQ(again->channels[1].depth, 10U);
  EXPECT_EQ(again->channels[1].events, "snapshots-events");
  EXPECT_TRUE(again->channels[0].map.empty() && again->channels[0].events.empty());

  EXPECT_EQ(find_channel(*feed, "FESX"), &first);
  EXPECT_EQ(find_channel(*feed, "310"), &first);
  EXPECT_EQ(find_channel(*feed, "311"), nullptr);
}

TEST(FeedDescription, has_one_map_for_what_shares_a_table_of_instruments) {
  const std::string second = "[[channel]]\nframing = \"cme\"\na = { group = \"224.0.0.2\", port = 1 }\n";
  const std::string first = with("ring = \"r\"\nmap = \"m\"\n");
  EXPECT_EQ(error_of(first + second + "ring = \"r\"\nmap = \"m\"\n"), "");
  EXPECT_EQ(error_of(first + second + "ring = \"r\"\n"), "") << "a channel beside it may have none";
  EXPECT_EQ(error_of(first + second + "ring = \"s\"\nmap = \"n\"\n"), "");
  EXPECT_NE(error_of(first + second + "ring = \"r\"\nmap = \"n\"\n").find("has another map"), std::string::npos);
  EXPECT_NE(error_of(first + second + "ring = \"r\"\nmap = \"m\"\ndepth = 5\n").find("has another map"),
            std::string::npos);
  EXPECT_NE(error_of(first + second + "ring = \"s\"\nmap = \"m\"\nevents = \"r-events\"\n").find("writes to the same"),
            std::string::npos);
  EXPECT_NE(error_of(with("map = \"m\"\n")).find("needs 'events'"), std::string::npos);
  EXPECT_NE(error_of(with("ring = \"r\"\nmap = \"m\"\nevents = \"r\"\n")).find("different rings"), std::string::npos);
  EXPECT_NE(error_of(with("events = \"e\"\n")).find("need a 'map'"), std::string::npos);
  EXPECT_NE(error_of(with("depth = 5\n")).find("needs a 'map'"), std::string::npos);
}

TEST(FeedDescription, channels_of_snapshots_name_the_channel_that_they_recover) {
  const std::string map = "ring = \"r\"\nmap = \"m\"\n";
  const auto channel = [&](const std::string& name, int port, const std::string& more) {
    return "[[channel]]\nframing = \"cme\"\nname = \"" + name +
           "\"\na = { group = \"224.0.0.3\", port = " + std::to_string(port) + " }\n" + more;
  };
  // The channel may come later in the file.
  const std::string increments = channel("OLR", 1, map);
  const std::string recovers = "role = \"carousel\"\nrecovers = \"OLR\"\ncycle = \"20s\"\n";
  const std::string good = std::string(kImage) + channel("OLS", 2, map + recovers) + increments;
  EXPECT_EQ(error_of(good), "");
  Diagnostics diagnostics;
  const auto feed = parse("feed.toml", good, diagnostics);
  ASSERT_TRUE(feed);
  EXPECT_EQ(feed->channels[0].recovers, "OLR");
  const auto again = parse("again.toml", to_toml(*feed), diagnostics);
  ASSERT_TRUE(again) << diagnostics.format();
  EXPECT_EQ(again->channels[0].recovers, "OLR");
  EXPECT_EQ(again->channels[0].cycle_ns, 20'000'000'000U);

  const auto problem = [&](const std::string& channels) { return error_of(std::string(kImage) + channels); };
  EXPECT_EQ(problem(channel("OLS", 2, map + "role = \"carousel\"\nrecovers = \"OLX\"\n") + increments),
            "feed.toml:11:12: error: no channel has the name 'OLX'; did you mean 'OLR'?");
  EXPECT_NE(problem(channel("OLS", 2, map + "recovers = \"OLR\"\n") + increments).find("only a channel with the role"),
            std::string::npos);
  EXPECT_NE(problem(channel("OLS", 2, recovers) + increments).find("without a 'map'"), std::string::npos);
  EXPECT_NE(problem(channel("OLS", 2, map + "role = \"snapshot\"\nrecovers = \"OLS\"\n")).find("has no increments"),
            std::string::npos);
  EXPECT_NE(problem(channel("OLS", 2, "ring = \"s\"\nmap = \"m\"\n" + recovers) + increments).find("another ring"),
            std::string::npos);
  EXPECT_NE(problem(channel("OLS", 2, map + recovers) + channel("OLT", 3, map + recovers) + increments)
                .find("channel 'OLS' recovers 'OLR' already"),
            std::string::npos);
  EXPECT_NE(problem(channel("OLR", 1, map + "cycle = \"20s\"\n")).find("only a channel with 'recovers' has a cycle"),
            std::string::npos);
}

TEST(FeedDescription, channels_of_increments_say_what_the_replay_service_calls_them) {
  const auto channel = [](const std::string& framing, const std::string& more) {
    return std::string(kImage) + "[[channel]]\nframing = \"" + framing + "\"\n" + more + std::string(kLine);
  };
  Diagnostics diagnostics;
  const auto feed = parse("feed.toml", channel("moex", "replay = \"OLR\"\n"), diagnostics);
  ASSERT_TRUE(feed) << diagnostics.format();
  EXPECT_EQ(feed->channels[0].replay, "OLR");
  const auto again = parse("again.toml", to_toml(*feed), diagnostics);
  ASSERT_TRUE(again) << diagnostics.format();
  EXPECT_EQ(again->channels[0].replay, "OLR");
  for (const char* const framing : {"cme", "b3"}) {
    EXPECT_TRUE(parse("feed.toml", channel(framing, "replay = \"7\"\n"), diagnostics)) << diagnostics.format();
  }
  const auto problem = [&](const std::string& framing, const std::string& more) {
    return error_of(channel(framing, more));
  };
  EXPECT_NE(problem("moex", "replay = \"\"\n").find("must not be empty"), std::string::npos);
  EXPECT_NE(
      problem("moex", "role = \"carousel\"\nreplay = \"OLS\"\n").find("only lost messages of a channel of increments"),
      std::string::npos);
  EXPECT_NE(problem("none", "replay = \"X\"\n").find("without sequence numbers"), std::string::npos);
  for (const char* const framing : {"t7", "custom:seq=u32le@0,blocks=yes", "custom:seq=u32le@0,reset=never"}) {
    EXPECT_NE(problem(framing, "replay = \"X\"\n").find("needs a framing"), std::string::npos) << framing;
  }
}

TEST(FeedDescription, errors_name_the_place) {
  EXPECT_EQ(error_of(with("")), "");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of(with("role = \"icremental\"\n")).find("feed.toml:6:8: error:"), std::string::npos);
  EXPECT_NE(error_of(with("number = 1024\n")).find("feed.toml:6:10: error:"), std::string::npos);
  EXPECT_NE(error_of(with("windwo = { packets = 5 }\n")).find("feed.toml:6:1: error:"), std::string::npos);
  EXPECT_NE(error_of(with("window = { packets = 0 }\n")).find("'packets'"), std::string::npos);
  EXPECT_NE(error_of(with("window = { time = \"2\" }\n")).find("feed.toml:6:19: error:"), std::string::npos);
  EXPECT_NE(error_of(with("window = { datagram = \"64KiB\" }\n")).find("'datagram'"), std::string::npos);
  EXPECT_NE(error_of(with("image = \"j\"\n")).find("unknown image 'j'"), std::string::npos);
  EXPECT_NE(error_of(with("", "")).find("a channel needs a line 'a'"), std::string::npos);
  EXPECT_NE(error_of(with("", "a = { group = \"224.0.0.256\", port = 1 }\n")).find("must be an IPv4 address"),
            std::string::npos);
  EXPECT_NE(error_of(with("", "a = { group = \"224.0.0.1\", port = 65536 }\n")).find("'port'"), std::string::npos);
  EXPECT_NE(
      error_of(std::string(kImage) + "[[channel]]\nframing = \"ftp\"\n" + std::string(kLine)).find("unknown framing"),
      std::string::npos);
  EXPECT_NE(error_of(std::string(kImage) + "[[channel]]\n" + std::string(kLine)).find("a channel needs a 'framing'"),
            std::string::npos);
  EXPECT_NE(
      error_of(std::string(kImage) + "templates = [\"x.xml\"]\n[[channel]]\nframing = \"cme\"\n" + std::string(kLine))
          .find("an image needs either"),
      std::string::npos);
}

TEST(FeedDescription, what_cannot_go_together_is_refused) {
  const std::string one = "[[channel]]\nframing = \"cme\"\nnumber = 1\n" + std::string(kLine);
  EXPECT_NE(error_of(std::string(kImage) + one + one).find("another channel has this number"), std::string::npos);
  EXPECT_NE(error_of(std::string(kImage) + one + "[[channel]]\nframing = \"cme\"\n" + std::string(kLine))
                .find("another channel has this number"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kImage) + one + "[[channel]]\nframing = \"cme\"\nnumber = 2\n" + std::string(kLine))
                .find("another line has the group 224.0.0.1:1"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kImage) + "[[channel]]\nframing = \"none\"\n" + std::string(kLine) +
                     "b = { group = \"224.0.0.2\", port = 1 }\n")
                .find("no sequence number by which to merge"),
            std::string::npos);
  const std::string images = std::string(kImage) + "[[image]]\nname = \"k\"\nfirmware = \"k.sbf\"\n";
  EXPECT_NE(error_of(images + one).find("the channel needs an 'image'"), std::string::npos);
  EXPECT_NE(
      error_of(images + "[[channel]]\nframing = \"cme\"\nimage = \"i\"\nring = \"r\"\n" + std::string(kLine) +
               "[[channel]]\nframing = \"cme\"\nimage = \"k\"\nring = \"r\"\na = { group = \"224.0.0.2\", port = 1 }\n")
          .find("writes to the same ring with another image"),
      std::string::npos);
}

TEST(FeedDescription, lines_of_one_group_need_different_sources) {
  const std::string sources = std::string(kImage) +
                              "[[channel]]\nframing = \"cme\"\n"
                              "a = { group = \"224.0.0.1\", port = 1, source = \"10.0.0.1\" }\n"
                              "b = { group = \"224.0.0.1\", port = 1, source = \"10.0.0.2\" }\n";
  EXPECT_EQ(error_of(sources), "");
}

TEST(FeedDescription, windows_of_slow_channels_are_wide) {
  EXPECT_EQ(default_window(Role::Incremental).time_ns, 2'000'000U);
  EXPECT_EQ(default_window(Role::Carousel).packets, 1'024U);
}

}  // namespace stopbit::feed::description_test
