#include "host/refill/fix_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host/refill/moex.hpp"

namespace stopbit::refill::fix_text_test {

std::string readable(std::string text) {
  std::replace(text.begin(), text.end(), '\1', '|');
  return text;
}

TEST(FixText, has_length_and_sum) {
  const FixField fields[] = {{35, "0"}, {49, "A"}, {56, "B"}, {34, "7"}, {52, "20190404-08:36:00.123"}};
  char to[128];
  const std::size_t size = write_fix(to, "FIX.4.4", fields);
  const std::string text(to, size);
  const std::size_t body = text.find("35=");
  EXPECT_EQ(text.substr(0, body), "8=FIX.4.4\0019=" + std::to_string(text.find("10=") - body) + "\1");
  unsigned sum = 0;
  for (const char c : text.substr(0, text.find("10="))) sum += static_cast<unsigned char>(c);
  EXPECT_EQ(std::stoul(text.substr(text.find("10=") + 3, 3)), sum % 256);
  EXPECT_EQ(text.back(), '\1');
  for (std::size_t room = 0; room < size; ++room)
    EXPECT_EQ(write_fix(std::span(to).first(room), "FIX.4.4", fields), 0U);
}

TEST(FixText, has_times_of_utc) {
  EXPECT_EQ(FixText::time(1'554'366'960'123'456'789).view(), "20190404-08:36:00.123");
  EXPECT_EQ(FixText::time(0).view(), "19700101-00:00:00.000");
  EXPECT_EQ(FixText::time(1'582'934'399'999'000'000).view(), "20200228-23:59:59.999");
  EXPECT_EQ(FixText::number(~std::uint64_t{0}).view(), "18446744073709551615");
}

TEST(FixText, of_moscow_names_feed_and_range) {
  const Moex moex = Moex::make({.sender = "us", .user = "u", .password = "p", .feed = "OLR"}).value();
  char to[512];
  const std::string on = readable(std::string(to, moex.log_on(to, 1, 1'554'366'960'123'000'000)));
  EXPECT_NE(on.find("|35=A|49=us|56=MOEX|34=1|52=20190404-08:36:00.123|98=0|108=0|1137=9|553=u|554=p|10="),
            std::string::npos)
      << on;
  const std::string request = readable(std::string(to, moex.request(to, 2, 0, {1'000, 2'999})));
  EXPECT_NE(request.find("|35=V|49=us|56=MOEX|34=2|52=19700101-00:00:00.000|1180=OLR|1182=1000|1183=2999|10="),
            std::string::npos)
      << request;
  EXPECT_NE(readable(std::string(to, moex.log_out(to, 3, 0))).find("|35=5|"), std::string::npos);
  const std::byte length[] = {std::byte{0x02}, std::byte{0x01}, std::byte{0}, std::byte{0x80}};
  EXPECT_FALSE(moex.frame(std::span(length).first(3)));
  EXPECT_EQ(moex.frame(length)->body_bytes, 0x8000'0102U);
}

TEST(FixText, has_no_value_that_ends_a_field) {
  for (const std::string& bad :
       {std::string(), std::string("a\1b"), std::string("a\nb"), std::string(65, 'a'), std::string("\xC3\xA4")}) {
    EXPECT_FALSE(Moex::make({.sender = bad, .feed = "OLR"}).ok()) << bad;
    EXPECT_FALSE(Moex::make({.sender = "us", .feed = bad}).ok()) << bad;
    if (!bad.empty()) {
      EXPECT_FALSE(Moex::make({.sender = "us", .password = bad, .feed = "OLR"}).ok()) << bad;
    }
  }
}

}  // namespace stopbit::refill::fix_text_test
