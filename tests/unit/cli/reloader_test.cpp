#include "host/cli/common/reloader.hpp"

#include <gtest/gtest.h>

#include "host/cli/common/resend.hpp"
#include "host/cli/common/since.hpp"
#include "host/os/config/keys.hpp"
#include "host/os/config/toml.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::tools::reloader_test {

std::map<std::string, std::string> values(const std::string& text) {
  Diagnostics diagnostics;
  const auto document = config::Document::parse("t.toml", text, diagnostics);
  EXPECT_TRUE(document.ok()) << diagnostics.format();
  return document.values();
}

TEST(SettingsValues, are_by_their_keys) {
  const auto said = values(
      "name = \"x\"\nlock = true\nlist = [3, \"a\"]\n[http]\nlisten = \"l\"\n[[port]]\nname = \"p\"\nspeed = 0.5\n"
      "[[port]]\nname = \"q\"\n[[rings]]\nslots = 7\n");
  const std::map<std::string, std::string> wanted = {{"name", "x"},
                                                     {"lock", "true"},
                                                     {"list[0]", "3"},
                                                     {"list[1]", "a"},
                                                     {"http.listen", "l"},
                                                     {"port[p].name", "p"},
                                                     {"port[p].speed", "0.500000"},
                                                     {"port[q].name", "q"},
                                                     {"rings[0].slots", "7"}};
  EXPECT_EQ(said, wanted);
}

TEST(SettingsValues, tell_tables_of_one_name_apart) {
  EXPECT_EQ(values("[[a]]\nname = \"x\"\nb = 1\n[[a]]\nname = \"x\"\nb = 2\n").at("a[1].b"), "2");
}

TEST(Reload, names_what_needs_a_restart_and_nothing_else) {
  const auto then = values(
      "silence = \"5s\"\n[control]\nusers = [1]\n[http]\nlisten = \"a\"\nkey = \"k\"\n[[port]]\n"
      "name = \"p\"\n[[publish]]\nring = \"r\"\n");
  const auto now = values(
      "silence = \"9s\"\n[control]\nusers = [1, 2]\n[http]\nlisten = \"a\"\nkey = \"other\"\n"
      "[[port]]\nname = \"q\"\n[[publish]]\nring = \"s\"\n");
  const auto is_live = [](const std::string& key) { return appliance::settings_keys().is_live(key); };
  EXPECT_EQ(keys_for_restart(then, now, is_live),
            (std::vector<std::string>{"port[p].name", "port[q].name", "silence"}));
  EXPECT_TRUE(keys_for_restart(then, then, is_live).empty());
}

TEST(Reload, knows_from_the_rows_of_keys_what_it_takes) {
  const config::TableKeys& keys = appliance::settings_keys();
  for (const char* const key : {"control.users[0]", "control.allow[0].user", "http.key", "http.allowed_hosts[2]",
                                "publish[cme].allow[1]", "feed[a.b].toml].a", "feed[x.toml].calendar"}) {
    EXPECT_TRUE(keys.is_live(key)) << key;
  }
  for (const char* const key : {"", "control", "control.socket", "http.listen", "port[a].interface", "agent[a].core",
                                "rings.special.cme", "silence", "none", "none.of[these]"}) {
    EXPECT_FALSE(keys.is_live(key)) << key;
  }
}

TEST(Reload, takes_no_token_that_is_too_short) {
  const testing::Scratch folder;
  appliance::ControlSettings settings;
  settings.token_file = folder.write("token", "short\n");
  EXPECT_FALSE(endpoints_of(settings));
  folder.write("token", "0123456789abcdef\nmore");
  const auto options = endpoints_of(settings);
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options.value().token, "0123456789abcdef");
  settings.token_file = folder.path("none");
  EXPECT_NE(endpoints_of(settings).message().find("No such file"), std::string::npos);
}

TEST(GroupRename, is_of_two_groups) {
  const auto rename = parse_group_rename("224.0.31.1:10001=239.1.1.1:30001");
  ASSERT_TRUE(rename) << rename.message();
  EXPECT_EQ(net::to_text(rename.value().from), "224.0.31.1:10001");
  EXPECT_EQ(net::to_text(rename.value().to), "239.1.1.1:30001");
  for (const char* wrong : {"", "=", "224.0.31.1:10001", "224.0.31.1:10001=", "224.0.31.1:1=10.0.0.1:1", "x=y",
                            "224.0.31.1:10001=240.0.0.1:1", "224.0.31.1:1=224.0.31.1:1=224.0.31.1:1"}) {
    EXPECT_FALSE(parse_group_rename(wrong)) << wrong;
  }
}

TEST(Since, is_a_span_or_a_time) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  EXPECT_EQ(parse_span("90min"), 5'400 * kSecond);
  EXPECT_EQ(parse_span("2h"), 7'200 * kSecond);
  EXPECT_EQ(parse_span("30d"), 30 * 86'400 * kSecond);
  for (const char* wrong : {"", "5", "h", "-1h", "1w", "99999999999999999999d", "400000000d", "1 h"}) {
    EXPECT_FALSE(parse_span(wrong)) << wrong;
  }
  EXPECT_EQ(parse_since("today", 100'000 * kSecond), 86'400 * kSecond);
  EXPECT_EQ(parse_since("10s", 100 * kSecond), 90 * kSecond);
  EXPECT_EQ(parse_since("10min", 100 * kSecond), 0U) << "not before 1970";
  EXPECT_EQ(parse_since("1970-01-02T00:00:01Z", 0), 86'401 * kSecond);
}

}  // namespace stopbit::tools::reloader_test
