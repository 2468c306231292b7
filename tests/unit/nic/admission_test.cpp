#include "host/remote/admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stopbit::remote::admission_test {

constexpr std::uint64_t kSecond = 1'000'000'000;

nic::HostAddress host(std::uint8_t last, std::uint8_t before = 0) {
  nic::HostAddress address;
  address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, before, last};
  return address;
}

int taken(RequestRates& rates, const nic::HostAddress& address, std::uint64_t now_ns, int tries = 100) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += rates.take(address, now_ns) ? 1 : 0;
  return count;
}

TEST(RequestRates, give_each_address_so_many_at_once_and_in_each_second) {
  RequestRates rates(5);
  std::uint64_t now = 100 * kSecond;
  EXPECT_EQ(taken(rates, host(1), now), 5);
  EXPECT_EQ(taken(rates, host(2), now), 5);
  EXPECT_EQ(taken(rates, host(1), now += kSecond / 5), 1);
  EXPECT_EQ(taken(rates, host(1), now += 100 * kSecond), 5);
  // A subscriber that keeps asking gets no more than one that waits.
  int count = 0;
  for (int i = 0; i < 10'000; ++i) count += rates.take(host(3), now += kSecond / 1'000) ? 1 : 0;
  EXPECT_GE(count, 50);
  EXPECT_LE(count, 55);
}

TEST(RequestRates, without_a_limit_have_none) {
  RequestRates rates(0);
  EXPECT_EQ(taken(rates, host(1), 0, 10'000), 10'000);
}

TEST(RequestRates, forget_who_has_not_asked_for_longest) {
  RequestRates rates(1);
  EXPECT_EQ(taken(rates, host(1), 1), 1);
  for (int i = 0; i < 255; ++i) EXPECT_TRUE(rates.take(host(static_cast<std::uint8_t>(i), 1), 2));
  EXPECT_FALSE(rates.take(host(0, 1), 3));
  EXPECT_FALSE(rates.take(host(1), 4));      // there is a place for each of 256
  EXPECT_TRUE(rates.take(host(255, 1), 5));  // now one has to go,
  EXPECT_TRUE(rates.take(host(1, 1), 6));    // which is this one
  EXPECT_FALSE(rates.take(host(1), 7));
}

TEST(ByteRate, lets_so_many_bytes_go_in_each_second) {
  for (const std::uint64_t per_second : {std::uint64_t{1'000}, std::uint64_t{1'500'000}, ByteRate::kMost}) {
    ByteRate rate(per_second);
    std::uint64_t sent = 0;
    std::uint64_t now = 5 * kSecond;
    const std::size_t message = std::max<std::size_t>(1, per_second / 5'000);
    for (int i = 0; i < 40'000; ++i, now += kSecond / 10'000) {
      while (rate.has_room(now)) {
        rate.take(message);
        sent += message;
      }
    }
    const std::uint64_t expected = 4 * per_second;
    EXPECT_GE(sent, expected - expected / 100) << per_second;
    EXPECT_LE(sent, expected + per_second / 10 + 2 * message) << per_second;
  }
}

TEST(ByteRate, saves_up_no_more_than_a_tenth_of_a_second) {
  ByteRate rate(1'000);
  std::uint64_t sent = 0;
  for (; rate.has_room(1'000 * kSecond); ++sent) rate.take(1);
  EXPECT_EQ(sent, 100U);
  rate.take(500);  // more than there was room for
  EXPECT_FALSE(rate.has_room(1'000 * kSecond + kSecond / 10));
  ByteRate none(0);
  none.take(1'000'000);
  EXPECT_TRUE(none.has_room(0));
}

}  // namespace stopbit::remote::admission_test
