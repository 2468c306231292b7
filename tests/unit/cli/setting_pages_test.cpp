#include "host/cli/common/setting_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/appliance/calendar.hpp"
#include "host/appliance/settings.hpp"
#include "host/feed/description/description.hpp"
#include "host/lab/network/plan/plan.hpp"
#include "host/market/map/source.hpp"

namespace stopbit::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const SettingsFile& file_of(std::string_view name) {
  for (const SettingsFile& file : settings_files()) {
    if (file.name == name) return file;
  }
  ADD_FAILURE() << name;
  return settings_files().front();
}

/// The errors of the file's own reader.
std::string errors_of(std::string_view name, const std::string& text) {
  Diagnostics diagnostics;
  if (name == "appliance") (void)appliance::parse("text", text, "/nonexistent", diagnostics);
  if (name == "feed") (void)feed::parse("text", text, diagnostics);
  if (name == "calendar") (void)appliance::read_calendar("text", text, diagnostics);
  if (name == "network") (void)network::read_plan(config::Document::parse("text", text, diagnostics), diagnostics);
  if (name == "map") (void)market::read_map("text", text, diagnostics);
  return diagnostics.format();
}

TEST(SettingPages, the_defaults_are_a_file_that_the_reader_takes) {
  EXPECT_EQ(errors_of("feed", settings_defaults(file_of("feed"))), "");
  EXPECT_EQ(errors_of("map", settings_defaults(file_of("map"))), "");
  EXPECT_EQ(errors_of("network", settings_defaults(file_of("network"))), "");
  // The feed that it names is not there; nothing else is wrong.
  const std::string errors = errors_of("appliance", settings_defaults(file_of("appliance")));
  EXPECT_THAT(errors, HasSubstr("cannot read /nonexistent/feed.toml"));
  EXPECT_EQ(errors.find("error:"), errors.rfind("error:")) << errors;
}

TEST(SettingPages, the_printed_defaults_are_those_of_the_reader) {
  Diagnostics diagnostics;
  const std::string all = settings_defaults(file_of("feed"));
  const auto printed = feed::parse("text", all, diagnostics);
  const auto bare = feed::parse("text",
                                "[[image]]\nname = \"emdi\"\ntemplates = [\"emdi.xml\"]\n"
                                "[[channel]]\nframing = \"t7\"\na = { group = \"224.0.50.59\", port = 59001 }\n",
                                diagnostics);
  ASSERT_TRUE(printed && bare) << diagnostics.format();
  EXPECT_EQ(feed::to_toml(*printed), feed::to_toml(*bare));
}

/// An example in the place of a default would hold for whoever uses the file as it is.
TEST(SettingPages, an_example_is_no_default) {
  const std::string calendar = settings_defaults(file_of("calendar"));
  EXPECT_THAT(calendar, HasSubstr("\nzone = \"UTC\"\n"));
  EXPECT_THAT(calendar, HasSubstr("\n#holidays = \"holidays.txt\"\n"));
  for (const SettingsFile& file : settings_files()) {
    const std::string text = settings_defaults(file);
    for (const config::Key& key : file.keys.keys) {
      if (!key.text || key.is_required || !key.without.empty()) continue;
      EXPECT_THAT(text, HasSubstr('\n' + key.name + " = " + config::toml_text(*key.text) + '\n')) << file.name;
    }
  }
}

TEST(SettingPages, the_reader_reads_every_key_that_has_a_row) {
  for (const SettingsFile& file : settings_files()) {
    EXPECT_THAT(errors_of(file.name, settings_defaults(file, true)), Not(HasSubstr("unknown key"))) << file.name;
  }
}

TEST(SettingPages, schemas_are_json_with_every_key) {
  for (const SettingsFile& file : settings_files()) {
    const auto schema = nlohmann::json::parse(settings_schema(file));
    EXPECT_EQ(schema["properties"].size(), file.keys.keys.size());
    EXPECT_EQ(schema["additionalProperties"], false);
  }
  const auto agent = nlohmann::json::parse(settings_schema(file_of("appliance")))["properties"]["agent"];
  EXPECT_EQ(agent["items"]["properties"]["batch"]["default"], 32);
  EXPECT_EQ(agent["items"]["properties"]["idle"]["enum"].size(), 4U);
  EXPECT_EQ(agent["items"]["required"], nlohmann::json::array({"name"}));
}

TEST(SettingPages, a_manual_page_has_every_table) {
  const std::string page = settings_man_page(file_of("appliance"));
  for (const char* table : {"[limits]", "[[agent]]", "[[port]]", "[[publish]]"}) EXPECT_THAT(page, HasSubstr(table));
}

}  // namespace
}  // namespace stopbit::tools
