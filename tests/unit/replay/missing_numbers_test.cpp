#include "host/replay/missing_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <random>
#include <vector>

namespace stopbit::replay::missing_numbers_test {

net::Framing framing(std::string_view text) {
  return net::parse_framing(text).value();
}

struct Counted {
  explicit Counted(std::string_view text = "cme") : numbers(framing(text), 2) {}

  Counted& take(std::initializer_list<std::uint64_t> sequences, std::uint64_t sender = 0) {
    for (const std::uint64_t sequence : sequences) one(sequence, sender);
    return *this;
  }
  Counted& run(std::uint64_t first, std::uint64_t last, std::uint64_t sender = 0) {
    for (std::uint64_t i = first; i <= last; ++i) one(i, sender);
    return *this;
  }
  void one(std::uint64_t sequence, std::uint64_t sender = 0, std::uint16_t chunk = 1) {
    net::Preamble preamble;
    preamble.sequence = sequence;
    preamble.sender = sender;
    preamble.chunk = chunk;
    numbers.take(0, preamble);
  }
  [[nodiscard]] NumberCount count() const { return numbers.count(0); }

  MissingNumbers numbers;
};

#define EXPECT_MISSING(counted, missing_, gaps_)      \
  do {                                                \
    const NumberCount seen = (counted).count();       \
    EXPECT_EQ(seen.missing, std::uint64_t{missing_}); \
    EXPECT_EQ(seen.gaps, std::uint64_t{gaps_});       \
  } while (false)

TEST(MissingNumbers, counts_numbers_and_gaps_by_channel) {
  Counted counted;
  counted.take({7, 8, 10, 11, 15});
  EXPECT_MISSING(counted, 4, 2);
  EXPECT_EQ(counted.numbers.count(1).missing, 0U);
  EXPECT_EQ(counted.count().runs, 1U);
}

TEST(MissingNumbers, begins_anywhere) {
  EXPECT_MISSING(Counted().take({4'000'000'000, 4'000'000'001}), 0, 0);
}

TEST(MissingNumbers, of_numbers_that_come_late_are_none) {
  Counted counted;
  counted.take({1, 2, 5, 4, 6});
  EXPECT_MISSING(counted, 1, 1);
  counted.take({3});
  EXPECT_MISSING(counted, 0, 0);
  EXPECT_EQ(counted.count().late, 2U);
  Counted middle;
  middle.take({1, 9, 5});  // 2 to 4 and 6 to 8
  EXPECT_MISSING(middle, 6, 2);
  middle.take({5, 2, 4, 3, 8, 6, 7});
  EXPECT_MISSING(middle, 0, 0);
  EXPECT_EQ(middle.count().again, 1U);
}

TEST(MissingNumbers, come_twice_where_two_lines_share_a_group) {
  Counted counted;
  for (std::uint64_t i = 1; i < 1'000; ++i) {
    if (i % 100 != 0) counted.one(i);
    if (i > 10 && (i - 10) % 150 != 0) counted.one(i - 10);  // ten behind
  }
  EXPECT_MISSING(counted, 3, 3);  // 300, 600 and 900 came on neither
}

TEST(MissingNumbers, of_a_carousel_are_those_within_a_turn) {
  Counted counted("moex");
  for (int turn = 0; turn < 50; ++turn) counted.run(1, 8);
  EXPECT_MISSING(counted, 0, 0);
  EXPECT_EQ(counted.count().runs, 50U);
  counted.take({1, 2, 3, 5, 6, 7, 8}).run(1, 8);
  EXPECT_MISSING(counted, 1, 1);
}

TEST(MissingNumbers, do_not_come_of_a_reset) {
  EXPECT_MISSING(Counted().run(500'000, 500'100).run(1, 50), 0, 0);
  EXPECT_MISSING(Counted().run(1'000, 1'100).run(900, 1'200), 0, 0);             // lower, and in order
  EXPECT_MISSING(Counted().run(1, 50).run(2'000'000'000, 2'000'000'050), 0, 0);  // another day
}

TEST(MissingNumbers, wrap_with_their_width) {
  EXPECT_MISSING(Counted().take({0xFFFF'FFFE, 0xFFFF'FFFF, 0, 1}), 0, 0);
  EXPECT_MISSING(Counted().take({0xFFFF'FFFE, 1}), 2, 1);
  EXPECT_MISSING(Counted().take({0xFFFF'FFFE, 2, 0, 0xFFFF'FFFF, 1}), 0, 0);
  EXPECT_MISSING(Counted("custom:seq=u16be@0").take({65'534, 65'535, 0, 1, 3}), 1, 1);
  EXPECT_MISSING(Counted("custom:seq=u64be@0").take({~std::uint64_t{0}, 1}), 1, 1);
}

TEST(MissingNumbers, of_two_senders_are_their_own) {
  Counted counted("t7");
  for (std::uint64_t i = 1; i < 100; ++i) counted.take({i}, 7).take({5'000 + i}, 8);
  EXPECT_MISSING(counted, 0, 0);
  counted.take({105}, 7).take({5'101}, 8);
  EXPECT_MISSING(counted, 6, 2);
  for (std::uint64_t sender = 100; sender < 120; ++sender) counted.take({1, 3}, sender);
  EXPECT_MISSING(counted, 26, 22);  // what is forgotten of senders stays counted
}

TEST(MissingNumbers, of_chunks_are_those_of_their_messages) {
  Counted counted("b3");
  for (std::uint64_t i = 1; i < 10; ++i) {
    for (std::uint16_t chunk = 1; chunk <= 3; ++chunk) counted.one(i, 0, chunk);
  }
  EXPECT_MISSING(counted, 0, 0);
  EXPECT_EQ(counted.count().again, 0U);
}

TEST(MissingNumbers, are_not_counted_where_there_are_none) {
  Counted none("none");
  none.take({1, 9});
  EXPECT_MISSING(none, 0, 0);
}

TEST(MissingNumbers, are_exact_under_loss_and_disorder) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> sent(2'000);
    std::iota(sent.begin(), sent.end(), 1'000U);
    std::vector<std::uint64_t> got;
    std::uint64_t lost = 0;
    for (const std::uint64_t number : sent) {
      const bool is_lost = number > 1'010 && number < 2'990 && random() % 50 == 0;
      lost += is_lost ? 1 : 0;
      if (!is_lost) got.push_back(number);
    }
    for (std::size_t i = 1; i + 1 < got.size(); ++i) {
      if (random() % 10 == 0) std::swap(got[i], got[i + 1]);
    }
    Counted counted;
    for (const std::uint64_t number : got) counted.one(number);
    EXPECT_EQ(counted.count().missing, lost) << round;
  }
}

}  // namespace stopbit::replay::missing_numbers_test
