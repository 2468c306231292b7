#include "host/device/filter.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/lib/workloads/workload.hpp"

namespace stopbit::device::filter_test {

Program program() {
  const Result<Program> made = bench::compile_text("filter", R"(
    <templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
      <template name="Other" id="1"><uInt32 name="Id"/></template>
      <template name="Trade" id="2">
        <uInt32 name="Id"/><int64 name="Profit" presence="optional"/><string name="Symbol"/><decimal name="Price"/>
        <string name="Market"><constant value="X"/></string>
        <sequence name="Entries"><uInt32 name="Size"/></sequence>
        <uInt32 name="Behind"/>
      </template>
    </templates>)");
  EXPECT_TRUE(made.ok()) << made.message();
  return made.value();
}

TEST(Filter, knows_the_word_of_a_field_and_what_it_has_to_be) {
  const Program trades = program();
  const Result<Filter> id = filter_by_integer(trades, "Trade", "Id", 7);
  ASSERT_TRUE(id.ok()) << id.message();
  EXPECT_EQ(id.value().word, 0U);
  EXPECT_EQ(id.value().value, 7U);
  EXPECT_EQ(id.value().mask, ~std::uint64_t{0});
  ASSERT_TRUE(id.value().template_index.has_value());
  EXPECT_EQ(trades.name(trades.templates[*id.value().template_index].name), "Trade");
  EXPECT_FALSE(id.value().channel.has_value());
  const Result<Filter> profit = filter_by_integer(trades, "Trade", "Profit", -2);
  ASSERT_TRUE(profit.ok()) << profit.message();
  EXPECT_EQ(profit.value().word, 1U);
  EXPECT_EQ(profit.value().value, ~std::uint64_t{1});
  const Result<Filter> symbol = filter_by_text(trades, "Trade", "Symbol", "ESZ6");
  ASSERT_TRUE(symbol.ok()) << symbol.message();
  EXPECT_EQ(symbol.value().word, 2U);
  EXPECT_EQ(symbol.value().value, 0x0400'0000'365A'5345U);
}

TEST(Filter, says_why_a_field_cannot_be_looked_at) {
  const Program trades = program();
  const auto why = [&](const char* of, const char* field) {
    const Result<Filter> filter = filter_by_integer(trades, of, field, 1);
    return filter.ok() ? std::string() : filter.message();
  };
  EXPECT_EQ(why("Order", "Id"), "the program has no template 'Order'");
  EXPECT_EQ(why("Trade", "Ids"), "template 'Trade' has no field 'Ids'");
  EXPECT_EQ(why("Trade", "Symbol"), "field 'Symbol' is not an integer");
  EXPECT_EQ(why("Trade", "Price"), "field 'Price' is not an integer");
  EXPECT_NE(why("Trade", "Market").find("has no word in records"), std::string::npos);
  EXPECT_NE(why("Trade", "Size").find("in or after a sequence"), std::string::npos);
  EXPECT_NE(why("Trade", "Behind").find("in or after a sequence"), std::string::npos);
  EXPECT_NE(filter_by_text(trades, "Trade", "Symbol", "too long a symbol").message().find("longer than"),
            std::string::npos);
  EXPECT_EQ(filter_by_text(trades, "Trade", "Id", "7").message(), "field 'Id' is not a string");
}

}  // namespace stopbit::device::filter_test
