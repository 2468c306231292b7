#include "host/cli/common/top_view.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "host/cli/common/text.hpp"

namespace stopbit::tools::top_view_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3'600 * kSecond;
constexpr TopView::Look kWithKeys{.has_keys = true};

struct Channel {
  std::string name;
  std::uint64_t messages = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  bool is_ready = true;
};

appliance::StatusReport reading(std::uint64_t seconds, const std::vector<Channel>& channels,
                                std::uint64_t wall = kHour) {
  appliance::StatusReport status;
  status.name = "seven";
  status.now_ns = wall;
  status.monotonic_ns = seconds * kSecond;
  for (const Channel& channel : channels) {
    appliance::ChannelStatus& made = status.channels.emplace_back();
    made.name = channel.name;
    made.messages = channel.messages;
    made.gaps = channel.gaps;
    made.numbers_lost = channel.lost;
    made.state = channel.is_ready ? appliance::ChannelState::Live : appliance::ChannelState::Stale;
    made.lines[0].exists = true;
    made.lines[0].last_arrival_ns = 1;
  }
  return status;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();  // after the last line's end
  return lines;
}

/// First words of the table's rows.
std::vector<std::string> names_of(TopView& view, std::size_t rows = 24) {
  std::vector<std::string> names;
  bool is_table = false;
  for (const std::string& line : lines_of(view.text(80, rows))) {
    if (is_table && line.find(" quits") == std::string::npos) names.push_back(line.substr(0, line.find(' ')));
    is_table = is_table || line.find(" msg/s ") != std::string::npos || line.find(" MSG/S ") != std::string::npos;
  }
  return names;
}

void type(TopView& view, std::string_view keys) {
  for (const char key : keys) EXPECT_TRUE(view.press(key));
}

const std::vector<Channel> kThree = {{"alpha", 1'000, 3, 3}, {"beta", 9'000, 1, 90}, {"gamma", 5'000, 2, 9, false}};

TEST(Top, has_rates_by_the_clock_that_is_never_stepped) {
  for (const std::uint64_t wall : {9 * kHour, 10 * kHour, 10 * kHour + 2 * kSecond, 11 * kHour}) {
    TopView view({});
    view.take(reading(1, {{"seven", 1'000}}, 10 * kHour));
    view.take(reading(3, {{"seven", 1'500}}, wall));
    EXPECT_THAT(view.text(80, 24), HasSubstr("      0    250     0 ")) << wall;
    EXPECT_THAT(view.text(80, 24), HasSubstr("messages/s    250")) << wall;
  }
}

TEST(Top, of_one_reading_has_no_rates_and_no_keys) {
  TopView view({});
  view.take(reading(1, {{"seven", 1'000}}));
  EXPECT_THAT(view.text(80, 24), HasSubstr("      -      -     0 "));
  EXPECT_THAT(view.text(80, 24), Not(HasSubstr("quits")));
}

TEST(Top, of_an_appliance_that_started_again_has_no_rates_below_zero) {
  TopView view({});
  view.take(reading(1, {{"seven", 1'000}}));
  view.take(reading(2, {{"seven", 10}}));
  EXPECT_THAT(view.text(80, 24), HasSubstr("      -      -     0 "));
}

TEST(Top, has_books_if_a_channel_has_a_map) {
  appliance::StatusReport status = reading(1, {{"seven"}});
  TopView without({});
  without.take(status);
  EXPECT_THAT(without.text(80, 24), Not(HasSubstr("instruments")));

  status.markets.resize(2);
  status.markets[0].instruments = 12'000;
  status.markets[0].books = 7;
  status.markets[0].latest = 4;
  status.markets[0].suspect = 2;
  status.markets[0].stale = 1;
  status.markets[1] = status.markets[0];
  TopView with({});
  with.take(status);
  EXPECT_THAT(with.text(80, 24), HasSubstr("24,000 instruments; 14 books: 8 latest, 4 suspect, 2 stale"));
}

TEST(Order, has_channels_that_need_attention_first_and_follows_the_keys) {
  TopView view(kWithKeys);
  view.take(reading(1, {{"alpha"}, {"beta"}, {"gamma"}}));
  view.take(reading(2, kThree));
  EXPECT_THAT(names_of(view), ElementsAre("gamma", "alpha", "beta"));
  type(view, ">");
  EXPECT_THAT(names_of(view), ElementsAre("alpha", "beta", "gamma"));
  EXPECT_THAT(view.text(80, 24), HasSubstr("CHANNEL "));
  type(view, "r");
  EXPECT_THAT(names_of(view), ElementsAre("gamma", "beta", "alpha"));
  type(view, "r>>");
  EXPECT_THAT(names_of(view), ElementsAre("beta", "gamma", "alpha"));
  EXPECT_THAT(view.text(80, 24), HasSubstr(" MSG/S "));
  type(view, ">");
  EXPECT_THAT(names_of(view), ElementsAre("alpha", "gamma", "beta")) << "by gaps";
  type(view, ">");
  EXPECT_THAT(names_of(view), ElementsAre("beta", "gamma", "alpha")) << "by lost numbers";
  type(view, ">><");
  EXPECT_THAT(view.text(80, 24), HasSubstr(" SKEW"));
  type(view, ">");
  EXPECT_THAT(names_of(view), ElementsAre("gamma", "alpha", "beta")) << "round to the first";
}

TEST(Filter, is_by_a_part_of_the_name_and_ends_with_escape) {
  TopView view(kWithKeys);
  view.take(reading(1, kThree));
  type(view, "/");
  EXPECT_THAT(view.text(80, 24), HasSubstr("channels with: _"));
  type(view, "AM");
  EXPECT_THAT(names_of(view), SizeIs(2)) << "gamma, and the line in which it is typed";
  type(view, "\n");
  EXPECT_THAT(names_of(view), ElementsAre("gamma"));
  EXPECT_THAT(view.text(80, 24), HasSubstr("only 'AM'"));
  type(view, "/\x7F\x7Fq\n");  // a q in a text does not end the command
  EXPECT_THAT(view.text(80, 24), HasSubstr("no channel's name contains this"));
  EXPECT_TRUE(view.press(Screen::kEscape));
  EXPECT_THAT(names_of(view), SizeIs(3));
}

TEST(Filter, of_any_length_stays_short) {
  TopView view(kWithKeys);
  view.take(reading(1, kThree));
  type(view, "/" + std::string(10'000, 'x') + "\n");
  for (const std::string& line : lines_of(view.text(80, 24))) EXPECT_LE(line.size(), 80U);
}

TEST(Keys, end_the_command_or_show_help) {
  TopView view(kWithKeys);
  view.take(reading(1, kThree));
  EXPECT_FALSE(view.press('q'));
  EXPECT_FALSE(view.press(Screen::kEndOfInput));
  EXPECT_TRUE(view.press('?'));
  EXPECT_THAT(view.text(80, 24), StartsWith("Keys\n"));
  EXPECT_TRUE(view.press('q')) << "goes back";
  EXPECT_THAT(view.text(80, 24), StartsWith("seven "));
  type(view, "/");
  EXPECT_FALSE(view.press(Screen::kEndOfInput)) << "while a text is typed";
}

TEST(Pause, shows_the_same_reading_until_it_ends) {
  TopView view(kWithKeys);
  view.take(reading(1, {{"seven", 100}}));
  view.take(reading(2, {{"seven", 200}}));
  type(view, " ");
  const std::string shown = view.text(80, 24);
  EXPECT_THAT(shown, HasSubstr("(paused)"));
  view.take(reading(3, {{"seven", 900}}));
  EXPECT_EQ(view.text(80, 24), shown);
  type(view, " ");
  view.take(reading(4, {{"seven", 1'000}}));
  EXPECT_THAT(view.text(80, 24), HasSubstr("messages/s    400")) << "over the two seconds since the last one shown";
}

TEST(Rates, are_drawn_as_far_as_there_is_room) {
  TopView view({.has_blocks = true});
  std::uint64_t messages = 0;
  view.take(reading(1, {{"seven", messages}}));
  for (std::uint64_t second = 2; second < 2'000; ++second) {
    messages += second % 2 == 0 ? 800 : 100;
    view.take(reading(second, {{"seven", messages}}));
  }
  const std::string line = lines_of(view.text(80, 24))[1];
  EXPECT_THAT(line, EndsWith("█▂█▂"));
  EXPECT_EQ(std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }), 80);

  TopView plain({});
  plain.take(reading(1, {{"seven", 0}}));
  plain.take(reading(2, {{"seven", 10}}));
  EXPECT_THAT(lines_of(plain.text(80, 24))[1], EndsWith("  #"));
}

TEST(Colours, mark_what_the_text_says_and_take_no_room) {
  TopView plain(kWithKeys);
  TopView coloured({.has_colours = true, .has_keys = true});
  for (TopView* view : {&plain, &coloured}) {
    view->take(reading(1, {{"alpha", 0, 3, 3}, {"beta", 9'000, 1, 89}, {"gamma", 0, 2, 9}}));
    view->take(reading(2, kThree));
    type(*view, ">");
  }
  std::string text = coloured.text(80, 24);
  EXPECT_THAT(text, HasSubstr("\x1b[1;38;5;208mgamma "));  // not ready
  EXPECT_THAT(text, HasSubstr("\x1b[1;38;5;39mbeta "));    // has lost numbers
  EXPECT_THAT(text, Not(HasSubstr("malpha ")));
  for (std::size_t at = 0; (at = text.find('\x1b')) != std::string::npos;) text.erase(at, text.find('m', at) + 1 - at);
  EXPECT_EQ(text, plain.text(80, 24));
}

TEST(Screen, of_every_size_is_filled_and_never_exceeded) {
  std::vector<Channel> channels;
  for (int i = 0; i < 300; ++i) channels.push_back({"channel-with-a-long-name-" + std::to_string(i), 1'000});
  TopView view(kWithKeys);
  view.take(reading(1, channels));
  view.take(reading(2, channels));
  for (const int key : {0, int{Screen::kPageDown}, int{Screen::kEnd}, int{Screen::kDown}, int{'?'}}) {
    EXPECT_TRUE(view.press(key));
    for (std::size_t columns = 20; columns < 200; columns += 7) {
      for (std::size_t rows = 7; rows < 60; ++rows) {
        const std::vector<std::string> lines = lines_of(view.text(columns, rows));
        EXPECT_LE(lines.size(), rows);
        for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
      }
    }
  }
}

TEST(Scrolling, ends_at_the_last_channel) {
  std::vector<Channel> channels;
  for (int i = 0; i < 100; ++i) channels.push_back({"c" + std::to_string(i)});
  TopView view(kWithKeys);
  view.take(reading(1, channels));
  EXPECT_EQ(names_of(view).front(), "c0");
  EXPECT_THAT(view.text(80, 24), HasSubstr(" more below; "));
  for (const int key : {int{'j'}, int{Screen::kDown}, int{'k'}}) EXPECT_TRUE(view.press(key));
  EXPECT_EQ(names_of(view).front(), "c1");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(view.press(Screen::kPageDown));
  EXPECT_EQ(names_of(view).back(), "c99");
  const std::size_t page = names_of(view).size();
  EXPECT_GT(page, 10U);
  EXPECT_TRUE(view.press(Screen::kUp)) << "goes back at once";
  EXPECT_EQ(names_of(view).back(), "c98");
  EXPECT_TRUE(view.press(Screen::kHome));
  EXPECT_TRUE(view.press(Screen::kUp));
  EXPECT_EQ(names_of(view).front(), "c0");
  EXPECT_TRUE(view.press(Screen::kEnd));
  EXPECT_EQ(names_of(view).back(), "c99");
  EXPECT_THAT(names_of(view), SizeIs(page));
}

}  // namespace stopbit::tools::top_view_test
