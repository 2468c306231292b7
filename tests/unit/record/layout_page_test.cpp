#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "decoder/record/reader.hpp"
#include "tests/unit/record/fixture.hpp"
#include "tests/unit/record/markdown.hpp"

namespace stopbit::record::layout_page_test {

using ::stopbit::test::Row;
using ::stopbit::test::table_rows;

const std::string kPage = STOPBIT_SOURCE_FOLDER "/decoder/record/layout.md";

struct Range {
  std::uint64_t first;
  std::uint64_t last;
};

Range range_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  const std::uint64_t first = std::stoull(text);
  return {first, dots == std::string::npos ? first : std::stoull(text.substr(dots + 2))};
}

TEST(RecordPage, tells_every_constant) {
#define STOPBIT_CONSTANT(name) {#name, static_cast<std::uint64_t>(name)}
  std::map<std::string, std::uint64_t> constants = {
      STOPBIT_CONSTANT(kSlotBytes),
      STOPBIT_CONSTANT(kSlotWords),
      STOPBIT_CONSTANT(kValueWords),
      STOPBIT_CONSTANT(kTagWord),
      STOPBIT_CONSTANT(kHeaderWords),
      STOPBIT_CONSTANT(kReferenceWords),
      STOPBIT_CONSTANT(kStringSlotBytes),
      STOPBIT_CONSTANT(kPadIndex),
      STOPBIT_CONSTANT(kEventIndex),
      STOPBIT_CONSTANT(kMarketEventIndex),
      STOPBIT_CONSTANT(kFlagLastOfPacket),
      STOPBIT_CONSTANT(kFlagSnapshot),
      STOPBIT_CONSTANT(kFlagStale),
      STOPBIT_CONSTANT(kFlagRecovered),
      STOPBIT_CONSTANT(kFlagPossibleDuplicate),
      STOPBIT_CONSTANT(SourceLine::File),
      STOPBIT_CONSTANT(SourceLine::LineA),
      STOPBIT_CONSTANT(SourceLine::LineB),
      STOPBIT_CONSTANT(SourceLine::Replay),
      STOPBIT_CONSTANT(SourceLine::Snapshot),
      STOPBIT_CONSTANT(TimeQuality::Synthetic),
      STOPBIT_CONSTANT(TimeQuality::Poll),
      STOPBIT_CONSTANT(TimeQuality::Kernel),
      STOPBIT_CONSTANT(TimeQuality::Hardware),
      STOPBIT_CONSTANT(EventKind::DecodeError),
      STOPBIT_CONSTANT(EventKind::Dropped),
      STOPBIT_CONSTANT(EventKind::Gap),
      STOPBIT_CONSTANT(EventKind::Reset),
      STOPBIT_CONSTANT(EventKind::Stale),
      STOPBIT_CONSTANT(EventKind::Recovered),
      STOPBIT_CONSTANT(EventKind::LayoutChanged),
      STOPBIT_CONSTANT(EventKind::Lost),
  };
#undef STOPBIT_CONSTANT
  for (const Row& row : table_rows(kPage, {"constant", "value"})) {
    ASSERT_EQ(constants.count(row[0]), 1U) << row[0];
    EXPECT_EQ(std::stoull(row[1]), constants[row[0]]) << row[0];
    constants.erase(row[0]);
  }
  EXPECT_TRUE(constants.empty()) << constants.begin()->first << " is not on the page";
}

TEST(RecordPage, tells_every_tag) {
  std::map<std::string, Range> tags = {
      {"", {0, 0}},
      {"kMaxValueTag", {value_tag(0), kMaxValueTag}},
      {"kHeaderTag", {kHeaderTag, kHeaderTag + kHeaderWords - 1}},
      {"kEventTag", {kEventTag, kEventTag}},
      {"kStringTag", {kStringTag, kStringTag}},
      {"kReferenceTag", {kReferenceTag, kReferenceTag}},
  };
  for (const Row& row : table_rows(kPage, {"tag", "constant"})) {
    ASSERT_EQ(tags.count(row[1]), 1U) << row[1];
    EXPECT_EQ(range_of(row[0]).first, tags[row[1]].first) << row[1];
    EXPECT_EQ(range_of(row[0]).last, tags[row[1]].last) << row[1];
    tags.erase(row[1]);
  }
  EXPECT_TRUE(tags.empty()) << tags.begin()->first << " is not on the page";
  EXPECT_EQ(value_tag(246), 247);
  EXPECT_EQ(value_tag(247), 1);
  EXPECT_EQ(tag_word_base(true, 129), 0x81ULL << 56);
}

/// Sets the bits of a row and looks at them through the view: the row's field must be all ones, every other field whose
/// bits do not overlap zero.
using Fields = std::map<std::string, std::function<std::uint64_t(const Slot&)>>;

void expect_places(const std::vector<Row>& rows, const Fields& fields) {
  EXPECT_EQ(rows.size(), fields.size());
  const auto mask_of = [](const Row& row) {
    const Range bits = range_of(row[1]);
    Slot slot{};
    slot.words[std::stoul(row[0])] = (~std::uint64_t{0} >> (63 - (bits.last - bits.first))) << bits.first;
    return slot;
  };
  for (const Row& row : rows) {
    const Slot slot = mask_of(row);
    const Range bits = range_of(row[1]);
    for (const Row& other : rows) {
      ASSERT_EQ(fields.count(other[2]), 1U) << other[2];
      const Slot other_slot = mask_of(other);
      bool overlap = false;
      for (std::size_t i = 0; i < kSlotWords; ++i) overlap |= (slot.words[i] & other_slot.words[i]) != 0;
      const std::uint64_t seen = fields.at(other[2])(slot);
      if (other == row) {
        EXPECT_EQ(seen, ~std::uint64_t{0} >> (63 - (bits.last - bits.first))) << row[2];
      } else if (!overlap) {
        EXPECT_EQ(seen, 0U) << row[2] << " shows in " << other[2];
      }
    }
  }
}

TEST(RecordPage, tells_the_bits_of_every_header_field) {
#define STOPBIT_FIELD(name)                                                                     \
  {                                                                                             \
#name, [](const Slot& slot) { return static_cast<std::uint64_t>(HeaderView(slot).name()); } \
  }
  const Fields fields = {
      STOPBIT_FIELD(template_index), STOPBIT_FIELD(slots),        STOPBIT_FIELD(stamp),
      STOPBIT_FIELD(arrival_ns),     STOPBIT_FIELD(sequence),     STOPBIT_FIELD(channel),
      STOPBIT_FIELD(string_slots),   STOPBIT_FIELD(flags),        STOPBIT_FIELD(image_generation),
      STOPBIT_FIELD(message_index),  STOPBIT_FIELD(sender_epoch), STOPBIT_FIELD(source),
      STOPBIT_FIELD(time_quality),
  };
#undef STOPBIT_FIELD
  std::vector<Row> rows;
  for (const Row& row : table_rows(kPage, {"word", "bits", "field"})) {
    if (std::stoul(row[0]) < kHeaderWords) rows.push_back(row);
  }
  expect_places(rows, fields);
}

TEST(RecordPage, tells_the_bits_of_every_event_field) {
#define STOPBIT_FIELD(name)                                                                    \
  {                                                                                            \
#name, [](const Slot& slot) { return static_cast<std::uint64_t>(EventView(slot).name()); } \
  }
  const Fields fields = {
      STOPBIT_FIELD(kind),        STOPBIT_FIELD(code),          STOPBIT_FIELD(template_index),
      STOPBIT_FIELD(block),       STOPBIT_FIELD(word),          STOPBIT_FIELD(offset_bytes),
      STOPBIT_FIELD(template_id), STOPBIT_FIELD(packet_number), STOPBIT_FIELD(first_missing),
      STOPBIT_FIELD(missing),
  };
#undef STOPBIT_FIELD
  std::vector<Row> rows;
  for (const Row& row : table_rows(kPage, {"word", "bits", "field"})) {
    if (std::stoul(row[0]) >= kHeaderWords) rows.push_back(row);
  }
  expect_places(rows, fields);
}

TEST(RecordPage, tells_the_forms_of_strings) {
  std::map<std::string, Range> forms;
  for (const Row& row : table_rows(kPage, {"byte 7", "the string is"})) forms[row[1].substr(0, 4)] = range_of(row[0]);
  ASSERT_EQ(forms.size(), 3U);
  EXPECT_EQ(forms["long"].first, kLongString);
  EXPECT_EQ(forms["long"].last, kLongString);

  test::ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  maker.make_template("T", 1, root, [&] { maker.field("F", FieldType::Ascii, root, 0); });
  const Program& program = maker.program();
  const auto form_of = [&](std::string_view text) {
    const std::vector<Slot> record = test::RecordMaker(program).open_root(0).put(0, text).commit();
    return record.at(0).words[kHeaderWords] >> 56;
  };
  for (std::uint64_t length = forms["that"].first; length <= forms["that"].last; ++length) {
    EXPECT_EQ(form_of(std::string(length, 'x')), length);
  }
  EXPECT_EQ(form_of(std::string("\0\0\0\0\0\0\0\0", 8)), forms["eigh"].first);
  EXPECT_EQ(form_of("xxxxxxx\x7F"), forms["eigh"].last);
  EXPECT_EQ(form_of("xxxxxxx\x80"), forms["long"].first);
  EXPECT_EQ(form_of("xxxxxxxxx"), forms["long"].first);
}

TEST(RecordPage, tells_the_base_of_every_kind_of_block) {
  std::map<std::string, std::uint64_t> bases;
  for (const Row& row : table_rows(kPage, {"block", "base"})) bases[row[0]] = std::stoull(row[1]);
  ASSERT_EQ(bases.size(), 4U);
  EXPECT_EQ(bases["root of the record"], kHeaderWords);
  EXPECT_EQ(bases["root of a dynamic reference"], kReferenceWords);
  EXPECT_EQ(block_slots(4, 3), 1U);
  EXPECT_EQ(block_slots(4, 4), 2U);
  EXPECT_EQ(block_slots(1, 0), 1U);
  EXPECT_EQ(block_slots(0, 0), 0U);
  EXPECT_EQ(block_slots(0, 250), 36U);
}

}  // namespace stopbit::record::layout_page_test
