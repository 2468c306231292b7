#include "host/market/stage/event_ring.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/market/state/tables.hpp"
#include "host/ring/reader.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/market/small_market.hpp"

namespace stopbit::market::event_ring_test {

using ::testing::HasSubstr;

class EventRings : public ::testing::Test {
 protected:
  std::unique_ptr<EventRing> prepare(const EventRing* replaces = nullptr) { return market_.prepare(name_, replaces); }
  std::unique_ptr<EventRing> create(const EventRing* replaces = nullptr) { return market_.create(name_, replaces); }

  testing::Scratch scratch_;
  std::string name_ = scratch_.path("md");
  SmallMarket market_;
};

TEST_F(EventRings, have_no_names_until_they_take_them) {
  { const auto forgotten = prepare(); }
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.folder())) << "it has left something";
  EXPECT_FALSE(Tables::open(name_));
  const auto output = create();
  const Result<Tables> tables = Tables::open(name_);
  ASSERT_TRUE(tables) << tables.message();
  EXPECT_TRUE(tables.value().belong_to(output->ring().epoch()));
}

TEST_F(EventRings, leave_ring_and_tables_of_the_names_if_one_is_not_free) {
  const auto before = create();
  std::filesystem::remove(name_ + ".state");
  (void)scratch_.write("md.state", "something else");
  const auto next = prepare(before.get());
  EXPECT_THAT(next->check_names().message(), HasSubstr("not a state table"));
  // The name was taken after the check: the ring, which readers wait for, comes last.
  EXPECT_FALSE(next->take_names());
  EXPECT_EQ(ring::Reader::open(name_).value().epoch(), before->ring().epoch());
}

TEST_F(EventRings, replace_each_other_and_a_reader_never_mixes_their_tables) {
  const auto first = create();
  const Tables of_first = std::move(Tables::open(name_).value());
  const auto second = create(first.get());
  EXPECT_TRUE(of_first.replaced());
  EXPECT_TRUE(of_first.belong_to(first->ring().epoch()));
  EXPECT_FALSE(of_first.belong_to(second->ring().epoch()));
  EXPECT_TRUE(Tables::open(name_, second->ring().epoch()));
  EXPECT_THAT(Tables::open(name_, first->ring().epoch()).message(), HasSubstr("belong to another ring"));
}

TEST_F(EventRings, whose_tables_were_exchanged_are_refused) {
  for (const char* const table : {".instruments", ".state"}) {
    const auto first = create();
    std::filesystem::copy_file(name_ + table, name_ + ".kept");
    const auto second = create(first.get());
    ASSERT_TRUE(Tables::open(name_));
    std::filesystem::rename(name_ + ".kept", name_ + table);
    EXPECT_THAT(Tables::open(name_).message(), HasSubstr("belong to another ring")) << table;
    for (const char* const part : {"", ".instruments", ".state"}) std::filesystem::remove(name_ + part);
  }
}

}  // namespace stopbit::market::event_ring_test
