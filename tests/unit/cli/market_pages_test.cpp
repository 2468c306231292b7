#include "host/cli/common/market_pages.hpp"

#include <gmock/gmock.h>

namespace stopbit::tools::market_pages_test {

using ::testing::StartsWith;

TEST(QueryValue, is_decoded) {
  EXPECT_EQ(query_value("market=1&instrument=A%2FB%20C+D", "instrument"), "A/B C D");
  EXPECT_EQ(query_value("market=1&instrument=A%2FB", "market"), "1");
  EXPECT_EQ(query_value("instruments=1&instrument=2", "instrument"), "2");
  EXPECT_EQ(query_value("instrument=%e2%82%AC", "instrument"), "\u20ac");
}

TEST(QueryValue, takes_what_is_malformed_as_it_is) {
  EXPECT_EQ(query_value("", "market"), "");
  EXPECT_EQ(query_value("market", "market"), "");
  EXPECT_EQ(query_value("&&=&market=", "market"), "");
  EXPECT_EQ(query_value("market=%", "market"), "%");
  EXPECT_EQ(query_value("market=%4", "market"), "%4");
  EXPECT_EQ(query_value("market=%zz", "market"), "%zz");
}

TEST(Pages, of_a_ring_that_has_no_tables_are_an_error) {
  for (const char* const ring : {"", "there-is-no-such-ring", "../<script>"}) {
    EXPECT_THAT(book_json(ring, "X"), StartsWith(R"({"error":")")) << ring;
    EXPECT_THAT(instruments_json(ring), StartsWith(R"({"error":")")) << ring;
  }
}

}  // namespace stopbit::tools::market_pages_test
