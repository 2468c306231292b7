#include <gtest/gtest.h>

#include <map>

#include "host/ring/layout.hpp"
#include "tests/unit/record/markdown.hpp"

namespace stopbit::ring::layout_page_test {

const std::string kPage = STOPBIT_SOURCE_FOLDER "/host/ring/ring.md";

TEST(RingPage, tells_the_offset_and_size_of_every_header_field) {
  struct Place {
    std::size_t offset;
    std::size_t bytes;
  };
#define STOPBIT_PLACE(field)                         \
  {                                                  \
#field, {                                        \
      offsetof(Header, field), sizeof(Header::field) \
    }                                                \
  }
#define STOPBIT_CURSOR_PLACE(field)                  \
  {                                                  \
#field, {                                        \
      offsetof(Cursor, field), sizeof(Cursor::field) \
    }                                                \
  }
  std::map<std::string, Place> places = {
      STOPBIT_PLACE(magic),        STOPBIT_PLACE(version),      STOPBIT_PLACE(max_record_slots),
      STOPBIT_PLACE(slot_count),   STOPBIT_PLACE(slots_offset), STOPBIT_PLACE(segment_bytes),
      STOPBIT_PLACE(image_offset), STOPBIT_PLACE(image_bytes),  STOPBIT_PLACE(layout_hash),
      STOPBIT_PLACE(epoch),        STOPBIT_PLACE(writer_pid),   STOPBIT_PLACE(image_generation),
      STOPBIT_PLACE(heartbeat_ns), STOPBIT_PLACE(state),        STOPBIT_PLACE(head),
      STOPBIT_PLACE(records),      STOPBIT_PLACE(claim),        STOPBIT_PLACE(marks),
      STOPBIT_PLACE(mode),         STOPBIT_PLACE(seats),        STOPBIT_PLACE(origin),
      STOPBIT_PLACE(tables_epoch),
  };
  std::map<std::string, Place> cursor_places = {
      STOPBIT_CURSOR_PLACE(magic), STOPBIT_CURSOR_PLACE(version),   STOPBIT_CURSOR_PLACE(reader_pid),
      STOPBIT_CURSOR_PLACE(epoch), STOPBIT_CURSOR_PLACE(ticket),    STOPBIT_CURSOR_PLACE(position),
      STOPBIT_CURSOR_PLACE(lost),  STOPBIT_CURSOR_PLACE(delivered),
  };
#undef STOPBIT_PLACE
#undef STOPBIT_CURSOR_PLACE
  const auto compare = [](const char* column, std::map<std::string, Place>& expected) {
    for (const stopbit::test::Row& row : stopbit::test::table_rows(kPage, {"offset", "bytes", column})) {
      ASSERT_EQ(expected.count(row[2]), 1U) << row[2];
      EXPECT_EQ(std::stoul(row[0]), expected[row[2]].offset) << row[2];
      EXPECT_EQ(std::stoul(row[1]), expected[row[2]].bytes) << row[2];
      expected.erase(row[2]);
    }
    EXPECT_TRUE(expected.empty()) << expected.begin()->first << " is not on the page";
  };
  compare("field", places);
  compare("field of a cursor", cursor_places);
  EXPECT_EQ(sizeof(Seat), 32U);
  EXPECT_EQ(sizeof(Mark), 16U);
  EXPECT_EQ(sizeof(Header), offsetof(Header, seats) + sizeof(Header::seats));
}

TEST(RingPage, tells_the_constants) {
  std::map<std::string, std::uint64_t> constants = {
      {"kVersion", kVersion},
      {"kHeaderBytes", kHeaderBytes},
      {"kPageBytes", kPageBytes},
      {"kLinePair", kLinePair},
      {"kMinSlotCount", kMinSlotCount},
      {"kDefaultSlotCount", kDefaultSlotCount},
      {"kMarks", kMarks},
      {"kSeats", kSeats},
      {"kCursorBytes", kCursorBytes},
      {"kMarkChanges", kMarkChanges},
      {"kMaxSlotCount", kMaxSlotCount},
      {"kMaxRecordShare", kMaxRecordShare},
  };
  for (const stopbit::test::Row& row : stopbit::test::table_rows(kPage, {"constant", "value"})) {
    ASSERT_EQ(constants.count(row[0]), 1U) << row[0];
    EXPECT_EQ(std::stoull(row[1]), constants[row[0]]) << row[0];
    constants.erase(row[0]);
  }
  EXPECT_TRUE(constants.empty()) << constants.begin()->first << " is not on the page";
}

TEST(RingPage, tells_the_magic) {
  const std::uint64_t magic = kMagic;
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(&magic), 8), "SBIRNG\r\n");
  const std::uint64_t cursor_magic = kCursorMagic;
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(&cursor_magic), 8), "SBCURS\r\n");
  EXPECT_EQ(static_cast<int>(Mode::Lossy), 1);
  EXPECT_EQ(static_cast<int>(Mode::Lossless), 2);
  EXPECT_EQ(static_cast<int>(State::Running), 1);
  EXPECT_EQ(static_cast<int>(State::Finished), 2);
}

}  // namespace stopbit::ring::layout_page_test
