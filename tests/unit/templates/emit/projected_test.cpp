// A generated header of a program that leaves fields out of its records, on records that an engine makes.

#include <gtest/gtest.h>

#include <vector>

#include "decoder/engine/engine.hpp"
#include "projected.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/unit/templates/emit/maker.hpp"

namespace stopbit::emit::projected_test {

using record::ReadError;

const Program& program() {
  static const Program compiled =
      testing::compile_file(STOPBIT_EMIT_TEST_FOLDER "/projected.xml", STOPBIT_PROJECTED_FIELDS);
  return compiled;
}

/// The only record of a datagram.
cases::Record decoded(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(std::string(bytes), diagnostics);
  EXPECT_TRUE(steps) << diagnostics.format();
  cases::RecordingSink sink(program());
  const Outcome outcome = make_interpreter(program(), {})->decode(steps->front().bytes, {}, sink);
  EXPECT_EQ(outcome.error, ErrorCode::None) << code_text(outcome.error) << " at " << outcome.offset_bytes;
  EXPECT_EQ(sink.problems(), std::vector<std::string>());
  EXPECT_EQ(sink.records().size(), 1U);
  return sink.records().front();
}

TEST(ProjectedViews, find_what_stands_behind_things_that_are_not_stored) {
  const cases::Record record = decoded(R"(pmap(1) u32(1)
      u32(2) u32(1) u32(1) u32(2) u32(3) u32(4) u32(0) u32(5) u32(6)
      u32(2) u32(0) u32(17) u32(2) u32(18) u32(19) u32(20) u32(21) u32(1) u32(22) u32(23)
             u32(1) u32(24) u32(25) u32(0) u32(1) u32(26) u32(27)
      u32(1) u32(28)
      pmap(1) u32(1) u32(29) u32?(30) u32(31) u32?(null)
      u32(2) u32(32) u32(33)
      u32(34))");
  const projected::Feed feed = projected::Feed::open(layout_hash(program())).value();
  ASSERT_EQ(feed.check(record), ReadError::None);
  const auto view = projected::M::from(record);
  ASSERT_TRUE(view);
  const auto behind_none = view->after_None();
  std::vector<unsigned> found;
  for (const auto& outer : behind_none.Outer()) {
    const auto first = outer.after_None();
    found.push_back(first.First());
    for (const auto& inner : first.Inner()) found.push_back(inner.Deep());
    found.push_back(first.after_Inner().Behind());
  }
  EXPECT_EQ(found, (std::vector<unsigned>{17, 18, 20, 23, 25, 27}));
  const auto behind_outer = behind_none.after_Outer();
  EXPECT_EQ(behind_outer.G().InG(), 30U);
  ASSERT_TRUE(behind_outer.G().H());
  EXPECT_EQ(behind_outer.G().H()->InH(), std::nullopt);
  EXPECT_EQ(behind_outer.Counted().size(), 2U);
  EXPECT_EQ(behind_outer.after_Counted().Last(), 34U);
  EXPECT_EQ(behind_outer.after_Counted().Constant(), "c");
}

TEST(ProjectedViews, tell_messages_without_fields_by_their_header) {
  const cases::Record record = decoded("c0 82 u32(1) u32(1) u32(5)");
  const projected::Feed feed = projected::Feed::open(layout_hash(program())).value();
  ASSERT_EQ(feed.check(record), ReadError::None);
  const auto view = projected::Header::from(record);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->header().slots(), 1U);
}

}  // namespace stopbit::emit::projected_test
