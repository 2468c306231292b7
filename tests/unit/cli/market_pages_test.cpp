#include "host/cli/common/market_pages.hpp"

#include <gmock/gmock.h>

namespace stopbit::tools::market_pages_test {

using ::testing::StartsWith;

TEST(Pages, of_a_ring_that_has_no_tables_are_an_error) {
  for (const char* const ring : {"", "there-is-no-such-ring", "../<script>"}) {
    EXPECT_THAT(book_json(ring, "X"), StartsWith(R"({"error":")")) << ring;
    EXPECT_THAT(instruments_json(ring), StartsWith(R"({"error":")")) << ring;
  }
}

}  // namespace stopbit::tools::market_pages_test
