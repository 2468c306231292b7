#include <gtest/gtest.h>

#include <map>
#include <string>

#include "host/monitor/counters/layout.hpp"
#include "tests/unit/record/markdown.hpp"

namespace stopbit::counters::layout_page_test {

struct Place {
  std::size_t offset;
  std::size_t bytes;
};

void compare(const char* column, std::map<std::string, Place> expected) {
  for (const test::Row& row : test::table_rows(STOPBIT_COUNTERS_PAGE, {"offset", "bytes", column})) {
    ASSERT_EQ(expected.count(row[2]), 1U) << row[2];
    EXPECT_EQ(std::stoul(row[0]), expected[row[2]].offset) << row[2];
    EXPECT_EQ(std::stoul(row[1]), expected[row[2]].bytes) << row[2];
    expected.erase(row[2]);
  }
  EXPECT_TRUE(expected.empty()) << expected.begin()->first << " is not on the page";
}

#define STOPBIT_PLACE(type, field)               \
  {                                              \
#field, {                                    \
      offsetof(type, field), sizeof(type::field) \
    }                                            \
  }

TEST(CountersPage, tells_the_offset_and_size_of_every_field) {
  compare("field",
          {STOPBIT_PLACE(Header, magic), STOPBIT_PLACE(Header, version), STOPBIT_PLACE(Header, entries),
           STOPBIT_PLACE(Header, entries_offset), STOPBIT_PLACE(Header, names_offset),
           STOPBIT_PLACE(Header, names_bytes), STOPBIT_PLACE(Header, values_offset),
           STOPBIT_PLACE(Header, segment_bytes), STOPBIT_PLACE(Header, epoch), STOPBIT_PLACE(Header, writer_pid),
           STOPBIT_PLACE(Header, unused), STOPBIT_PLACE(Header, heartbeat_ns), STOPBIT_PLACE(Header, state)});
  compare("field of an entry",
          {STOPBIT_PLACE(Entry, name_offset), STOPBIT_PLACE(Entry, help_offset), STOPBIT_PLACE(Entry, name_bytes),
           STOPBIT_PLACE(Entry, help_bytes), STOPBIT_PLACE(Entry, kind), STOPBIT_PLACE(Entry, unit),
           STOPBIT_PLACE(Entry, size), STOPBIT_PLACE(Entry, value_offset)});
}

TEST(CountersPage, tells_the_sizes_of_values) {
  EXPECT_EQ(kBuckets, 496U);
  EXPECT_EQ(kTextBytes, 112U);
  EXPECT_EQ(sizeof(ErrorValue), 96U);
  EXPECT_EQ(kSampleBytes, 24U);
  EXPECT_EQ(kMaxEntries, 65'536U);
  EXPECT_EQ(kMaxSegmentBytes, 256U << 20);
  EXPECT_EQ(kMaxNameBytes, 512U);
  EXPECT_EQ(kMaxHelpBytes, 512U);
}

}  // namespace stopbit::counters::layout_page_test
