#include "host/fix/fix_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stopbit::fix::fix_text_test {

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

}  // namespace stopbit::fix::fix_text_test
