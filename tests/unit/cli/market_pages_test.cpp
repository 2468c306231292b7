#include "host/cli/common/market_pages.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/lib/scratch.hpp"
#include "tests/unit/market/small_market.hpp"

namespace stopbit::tools::market_pages_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// How often this process has a file mapped under a name that ends so.
std::size_t mappings_of(const std::string& end) {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.ends_with(end) ? 1 : 0;
  return count;
}

TEST(MarketPages, of_a_ring_that_has_no_tables_are_an_error) {
  MarketPages pages;
  for (const char* const ring : {"", "there-is-no-such-ring", "../<script>"}) {
    EXPECT_THAT(pages.book(ring, "X"), StartsWith(R"({"error":")")) << ring;
    EXPECT_THAT(pages.instruments(ring), StartsWith(R"({"error":")")) << ring;
  }
}

TEST(MarketPages, keep_the_tables_of_a_ring_until_they_are_replaced) {
  const testing::Scratch scratch;
  const std::string ring = scratch.path("md");
  const market::SmallMarket market;
  MarketPages pages;
  EXPECT_THAT(pages.instruments(ring), StartsWith(R"({"error":")"));
  const auto first = market.create(ring);
  EXPECT_EQ(pages.instruments(ring), R"({"count":0,"instruments":[]})") << "an error is not kept";
  const std::size_t mapped = mappings_of("/md.instruments");
  market.trade(*first, "A", "10.5");
  EXPECT_THAT(pages.book(ring, "A"), HasSubstr(R"("last":"10.5")"));
  market.trade(*first, "A", "11");
  EXPECT_THAT(pages.book(ring, "A"), HasSubstr(R"("last":"11")"));
  EXPECT_EQ(mapped, 1U);
  EXPECT_EQ(mappings_of("/md.instruments"), 1U);
  EXPECT_EQ(mappings_of("/md.state"), 1U);
  const auto second = market.create(ring, first.get());
  market.trade(*second, "B", "12");
  EXPECT_EQ(pages.instruments(ring), R"({"count":1,"instruments":["B"]})");
  EXPECT_EQ(mappings_of("/md.instruments"), 1U);
  EXPECT_EQ(mappings_of("/md.instruments (deleted)"), 0U);
}

TEST(MarketPages, keep_no_more_tables_than_they_may) {
  const testing::Scratch scratch;
  const market::SmallMarket market;
  MarketPages pages;
  for (std::size_t i = 0; i < 2 * MarketPages::kMostKept; ++i) {
    const std::string ring = scratch.path(std::to_string(i));
    const auto output = market.create(ring);
    EXPECT_THAT(pages.instruments(ring), StartsWith(R"({"count":0)"));
  }
  EXPECT_LE(mappings_of(".instruments"), MarketPages::kMostKept);
}

}  // namespace stopbit::tools::market_pages_test
