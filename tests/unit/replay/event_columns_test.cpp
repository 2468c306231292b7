#include "host/replay/columns/event_columns.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "tests/lib/file_text.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::replay::event_columns_test {

using stopbit::testing::file_text;

/// The files of the folder by the name of their column.
std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".npy")) continue;
    const std::size_t begin = name.find("market_") + std::strlen("market_");
    files[name.substr(begin, name.size() - begin - std::strlen(".npy"))] = file_text(entry.path());
  }
  return files;
}

TEST(EventColumns, keep_every_number_of_every_event) {
  constexpr std::size_t kHeadBytes = 128;
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = std::move(ColumnFolder::open(scratch.path("columns"), false).value());
  EventColumns columns(*folder);
  cases::Random random(7);
  std::vector<market::Event> events;
  for (int i = 0; i < 20'000; ++i) {
    market::Event event{};
    for (std::uint64_t& word : event.words) word = random.bits();
    events.push_back(event);
    columns.add(event);
  }
  ASSERT_TRUE(columns.finish(true, R"([{"row":1,"instrument":"A"}])", 3));
  const auto files = files_in(scratch.path("columns"));
  ASSERT_EQ(files.size(), std::size(market::kEventColumns));
  for (std::size_t column = 0; column < std::size(market::kEventColumns); ++column) {
    const auto& [name, type, bytes, none, what] = market::kEventColumns[column];
    const std::string& file = files.at(std::string(name));
    ASSERT_EQ(file.size(), kHeadBytes + events.size() * bytes) << name;
    EXPECT_NE(file.find("'shape': (20000,)"), std::string::npos) << name;
    for (std::size_t row = 0; row < events.size(); ++row) {
      const std::uint64_t value = market::column_values(events[row])[column];
      ASSERT_EQ(std::memcmp(file.data() + kHeadBytes + row * bytes, &value, bytes), 0) << name << " of " << row;
    }
  }
  EXPECT_NE(files.at("price").find("'<i8'"), std::string::npos);
  EXPECT_NE(files.at("instrument").find("'<u4'"), std::string::npos);
  EXPECT_NE(files.at("level").find("'<u2'"), std::string::npos);
  EXPECT_NE(files.at("kind").find("'|u1'"), std::string::npos);
  EXPECT_NE(files.at("is_implied").find("'|b1'"), std::string::npos);
  const std::string index = file_text(scratch.path("columns/index.json"));
  EXPECT_TRUE(index.starts_with(
      R"({"format":"stopbit columns","version":1,"whole":true,"market":{"rows":20000,"quantity_decimals":3,"columns":{"arrival_ns":"00000-market_arrival_ns.npy",)"))
      << index;
  EXPECT_TRUE(index.ends_with(R"(},"instruments":[{"row":1,"instrument":"A"}]}})"
                              "\n"))
      << index;
}

}  // namespace stopbit::replay::event_columns_test
