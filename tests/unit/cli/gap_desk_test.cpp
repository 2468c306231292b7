#include "host/cli/common/gap_desk.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "host/cli/common/about_page.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::tools::gap_desk_test {

using nlohmann::json;
using test::OneChannel;
using test::tick;
using ::testing::HasSubstr;

/// An appliance that records, and its desk.
struct Recorded : OneChannel {
  explicit Recorded(const std::string& recorder = "[recorder]\nfolder = \"packets\"\n")
      : OneChannel("window = { packets = 8, time = \"1ms\" }\n", recorder) {
    EXPECT_EQ(::stopbit::testing::why(housekeeper.prepare()), "");
  }
  void pass(std::uint64_t ns) {
    work();
    now += ns;
    work();
    housekeeper.step();
    if (made->recording() == nullptr) return;
    while (made->recording()->do_work() != 0) {
    }
  }
  /// 1 on both lines, 4 on both lines, and 3 too late on line B.
  void lose() {
    for (const std::size_t line : {0U, 1U}) give(line, tick(1, 1));
    pass(2'000'000);
    for (const std::size_t line : {0U, 1U}) give(line, tick(4, 4));
    pass(2'000'000);
    pass(2'000'000);
    now += 1'000'000;
    give(1, tick(3, 3));
    pass(2'000'000);
    made->stop();
    ASSERT_EQ(housekeeper.recent_gaps().size(), 1U);
  }
  json ask(const std::string& key, const std::string& channel = "seven") {
    return json::parse(desk.page(channel, key));
  }
  std::string key() { return GapDesk::key_of(housekeeper.recent_gaps()[0]); }

  appliance::Housekeeper housekeeper{*made, clocks(), [](const appliance::Change&) {}};
  GapDesk desk{*made, housekeeper};
};

TEST(GapDesk, shows_which_line_had_which_number_and_explains_the_packets) {
  Recorded one;
  one.lose();
  EXPECT_EQ(one.ask(one.key()), json({{"state", "reading"}, {"packets", 0}}));
  for (int i = 0; i < 100 && one.ask(one.key()).at("state") == "reading"; ++i) one.desk.step();
  const json answer = one.ask(one.key());
  ASSERT_EQ(answer.at("state"), "done") << answer;
  EXPECT_EQ(answer.at("packets"), json({{"a", 2}, {"b", 3}}));
  EXPECT_THAT(answer.at("head").get<std::string>(), HasSubstr("Gap 2-3 of channel seven, 2 numbers\n"));
  EXPECT_THAT(answer.at("conclusion").get<std::string>(), HasSubstr("Line B brought 1 of the numbers. 1 came on no"));
  std::vector<std::string> missing;
  for (const json& row : answer.at("rows")) {
    if (row.at("missing") == true)
      missing.push_back(row.at("first").get<std::string>() + (row.at("b").is_null() ? "-" : "+"));
  }
  EXPECT_THAT(missing, ::testing::ElementsAre("2-", "3+"));
  // The last one before, that which came late, the first one after.
  const json& explained = answer.at("explained");
  ASSERT_EQ(explained.size(), 3U);
  EXPECT_EQ(explained[0].at("sequence"), "1");
  EXPECT_EQ(explained[1].at("sequence"), "3");
  EXPECT_EQ(explained[2].at("sequence"), "4");
  EXPECT_THAT(explained[1].at("role").get<std::string>(), HasSubstr("3 of the gap 2-3 on line B"));
  for (const json& packet : explained) {
    EXPECT_THAT(packet.at("explanation").get<std::string>(), HasSubstr("template Tick (id 1)"));
  }
  EXPECT_EQ(answer.at("notes"), json::array());
}

/// It replaces the feeds of the settings.
TEST(GapDesk, reads_on_over_a_reload) {
  Recorded one;
  one.lose();
  EXPECT_EQ(one.ask(one.key()).at("state"), "reading");
  Diagnostics diagnostics;
  const appliance::Settings wanted = one.made->settings();
  auto ready = one.made->prepare_channels(wanted, one.made->compare_channels(wanted), diagnostics);
  ASSERT_TRUE(ready) << ready.message();
  EXPECT_TRUE(one.made->change_channels(std::move(ready).value()).empty());
  for (int i = 0; i < 100 && one.ask(one.key()).at("state") == "reading"; ++i) one.desk.step();
  EXPECT_EQ(one.ask(one.key()).at("packets"), json({{"a", 2}, {"b", 3}}));
}

TEST(GapDesk, answers_for_recent_gaps_only_and_reads_one_at_a_time) {
  Recorded one;
  one.lose();
  for (const auto& [key, channel] :
       {std::pair<std::string, std::string>{"1-2-3", "seven"}, {one.key(), "eight"}, {"", ""}}) {
    EXPECT_THAT(one.ask(key, channel).at("error").get<std::string>(), HasSubstr("not among the latest"));
  }
  EXPECT_EQ(one.ask(one.key()).at("state"), "reading");
  EXPECT_EQ(one.ask("1-2-3").at("state"), "waiting");
}

TEST(GapDesk, keeps_and_explains_a_bounded_part_of_a_long_gap) {
  Recorded one;
  constexpr std::uint32_t kNext = 302;
  for (const std::size_t line : {0U, 1U}) one.give(line, tick(1, 1));
  one.pass(2'000'000);
  for (const std::size_t line : {0U, 1U}) one.give(line, tick(kNext, kNext));
  one.pass(2'000'000);
  one.pass(2'000'000);
  for (std::uint32_t sequence = 2; sequence < kNext; ++sequence) one.give(1, tick(sequence, sequence));
  one.pass(2'000'000);
  one.made->stop();
  ASSERT_EQ(one.housekeeper.recent_gaps().size(), 1U);
  (void)one.ask(one.key());
  for (int i = 0; i < 1'000 && one.ask(one.key()).at("state") == "reading"; ++i) one.desk.step();
  const json answer = one.ask(one.key());
  ASSERT_EQ(answer.at("state"), "done") << answer;
  EXPECT_EQ(answer.at("packets").at("b"), kNext);
  EXPECT_EQ(answer.at("rows").size(), GapDesk::kMostRows);
  EXPECT_EQ(answer.at("rows_are_whole"), false);
  EXPECT_EQ(answer.at("explained").size(), 8U);
  EXPECT_THAT(answer.at("notes").dump(), HasSubstr("more packets of this gap than are kept"));
}

TEST(GapDesk, says_that_nothing_is_recorded) {
  Recorded one("");
  one.lose();
  EXPECT_THAT(one.ask(one.key()).at("error").get<std::string>(), HasSubstr("nothing is recorded; [recorder]"));
}

TEST(AboutPage, names_host_version_and_images_with_their_hashes) {
  OneChannel one;
  const json about = json::parse(AboutPage().to_json(*one.made));
  EXPECT_NE(about.at("host"), "");
  EXPECT_THAT(about.at("version").get<std::string>(), ::testing::MatchesRegex("stopbit [0-9.]+.*"));
  ASSERT_EQ(about.at("images").size(), 1U);
  const json& image = about.at("images")[0];
  EXPECT_EQ(image.at("feed"), "test");
  EXPECT_EQ(image.at("image"), "ticks");
  EXPECT_EQ(image.at("layout").get<std::string>().size(), 16U);
  ASSERT_EQ(image.at("files").size(), 1U);
  EXPECT_THAT(image.at("files")[0].at("name").get<std::string>(), HasSubstr("ticks.xml"));
}

TEST(AboutPage, leaves_out_the_image_of_a_ring_that_has_ended) {
  OneChannel one;
  one.folder.write("other.toml",
                   "name = \"other\"\n[[image]]\nname = \"tocks\"\ntemplates = [\"ticks.xml\"]\n"
                   "[[channel]]\nnumber = 7\nname = \"eight\"\nframing = \"cme\"\nring = \"" +
                       one.folder.path("another") + "\"\na = { group = \"224.0.0.3\", port = 1000 }\n");
  Diagnostics diagnostics;
  const auto wanted = appliance::parse("appliance.toml",
                                       "name = \"test\"\nstate = \"state\"\n[[agent]]\nname = \"md\"\n"
                                       "[[port]]\nname = \"left\"\n[[port]]\nname = \"right\"\n"
                                       "[[feed]]\nfile = \"other.toml\"\na = \"left\"\n",
                                       one.folder.path(), diagnostics);
  ASSERT_TRUE(wanted) << diagnostics.format();
  auto ready = one.made->prepare_channels(*wanted, one.made->compare_channels(*wanted), diagnostics);
  ASSERT_TRUE(ready) << ready.message() << diagnostics.format();
  (void)one.made->change_channels(std::move(ready).value());
  for (const bool is_taken_down : {false, true}) {
    const json about = json::parse(AboutPage().to_json(*one.made));
    ASSERT_EQ(about.at("images").size(), 1U) << is_taken_down;
    EXPECT_EQ(about.at("images")[0].at("feed"), "other");
    EXPECT_EQ(about.at("images")[0].at("image"), "tocks");
    one.work();
    one.made->retire();
  }
}

}  // namespace stopbit::tools::gap_desk_test
