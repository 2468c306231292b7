#include "host/nic/atu/atu.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace stopbit::nic::atu_test {

constexpr Vpid kMine = 7;
constexpr Vpid kOther = 8;

void acknowledge_all(Atu& atu) {
  for (std::size_t unit = 0; unit < kUnits; ++unit) atu.acknowledge(static_cast<Unit>(unit), atu.flush_number());
}

AtuOptions small() {
  return {2, 8, 4, 55};
}

TEST(Atu, translates_for_the_owner_alone_on_miss_and_on_hit) {
  Atu atu(small());
  const std::vector<PageNumber> pages = {100, 33};
  const Nla nla = atu.register_pages(kMine, pages, Access::ReadWrite).value();
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(atu.translate(kOther, nla, Access::Read).ok);
    EXPECT_TRUE(atu.translate(kMine, nla + 17, Access::Write).ok);
    EXPECT_EQ(atu.translate(kMine, nla + 4095, Access::Read).page, 100U);
    EXPECT_EQ(atu.translate(kMine, nla + 4096, Access::Read).page, 33U);
    EXPECT_FALSE(atu.translate(kMine, nla + 8192, Access::Read).ok);
  }
}

TEST(Atu, keeps_page_numbers_of_40_bits_whole_beside_owner_and_rights) {
  Atu atu(small());
  const std::vector<PageNumber> pages = {(PageNumber{1} << 40U) - 1, PageNumber{1} << 39U, 0};
  const Nla nla = atu.register_pages(kMine, pages, Access::Read).value();
  for (int round = 0; round < 2; ++round) {  // out of the table, then out of the cache
    for (std::size_t i = 0; i < pages.size(); ++i) {
      EXPECT_EQ(atu.translate(kMine, nla + i * kPageBytes, Access::Read).page, pages[i]);
      EXPECT_FALSE(atu.translate(kOther, nla + i * kPageBytes, Access::Read).ok);
      EXPECT_FALSE(atu.translate(kMine, nla + i * kPageBytes, Access::Write).ok);
    }
  }
}

TEST(Atu, enforces_rights_on_miss_and_on_hit) {
  Atu atu(small());
  const std::vector<PageNumber> page = {5};
  const Nla readable = atu.register_pages(kMine, page, Access::Read).value();
  const Nla writable = atu.register_pages(kMine, page, Access::Write).value();
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(atu.translate(kMine, readable, Access::Write).ok);
    EXPECT_TRUE(atu.translate(kMine, readable, Access::Read).ok);
    EXPECT_FALSE(atu.translate(kMine, writable, Access::Read).ok);
    EXPECT_TRUE(atu.translate(kMine, writable, Access::Write).ok);
  }
}

TEST(Atu, costs_what_the_source_document_says) {
  Atu atu(small());
  const std::vector<PageNumber> page = {5};
  const Nla nla = atu.register_pages(kMine, page, Access::Read).value();
  EXPECT_EQ(atu.translate(kMine, nla, Access::Read).cycles, 75U);
  EXPECT_EQ(atu.translate(kMine, nla, Access::Read).cycles, 9U);
  EXPECT_EQ(atu.counters().hits, 1U);
  EXPECT_EQ(atu.counters().misses, 1U);
}

TEST(Atu, finds_nothing_at_wild_addresses) {
  Atu atu(small());
  const std::vector<PageNumber> pages(8, 1);
  ASSERT_TRUE(atu.register_pages(kMine, pages, Access::ReadWrite));
  for (const Nla nla : {Nla{8} * kPageBytes, Nla{1} << 30U, Nla{2} << 30U, Nla{1} << 39U, ~Nla{0}}) {
    EXPECT_FALSE(atu.translate(kMine, nla, Access::Read).ok) << nla;
    EXPECT_FALSE(atu.revoke(kMine, nla, 1)) << nla;
    EXPECT_TRUE(atu.is_flushed(nla) || nla == Nla{1} << 30U);
  }
}

TEST(Atu, keeps_a_range_in_one_table_and_refuses_what_does_not_fit) {
  Atu atu(small());
  EXPECT_FALSE(atu.register_pages(kMine, {}, Access::Read));
  EXPECT_FALSE(atu.register_pages(kMine, std::vector<PageNumber>(9, 1), Access::Read));
  EXPECT_FALSE(atu.register_pages(kMine, std::vector<PageNumber>{PageNumber{1} << 40U}, Access::Read));
  EXPECT_EQ(atu.register_pages(kMine, std::vector<PageNumber>(5, 1), Access::Read), Nla{0});
  EXPECT_EQ(atu.register_pages(kMine, std::vector<PageNumber>(5, 1), Access::Read), Nla{1} << 30U);
  EXPECT_FALSE(atu.register_pages(kMine, std::vector<PageNumber>(4, 1), Access::Read));
  EXPECT_TRUE(atu.register_pages(kMine, std::vector<PageNumber>(3, 1), Access::Read));
}

TEST(Atu, gives_a_page_back_only_when_every_unit_has_acknowledged) {
  Atu atu({1, 1, 4, 55});
  const std::vector<PageNumber> page = {5};
  const Nla nla = atu.register_pages(kMine, page, Access::Read).value();
  EXPECT_TRUE(atu.translate(kMine, nla, Access::Read).ok);  // now it is cached
  ASSERT_TRUE(atu.revoke(kMine, nla, 1));
  EXPECT_FALSE(atu.translate(kMine, nla, Access::Read).ok);
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    EXPECT_FALSE(atu.is_flushed(nla));
    EXPECT_FALSE(atu.register_pages(kOther, page, Access::Read));
    atu.acknowledge(static_cast<Unit>(unit), atu.flush_number());
  }
  EXPECT_TRUE(atu.is_flushed(nla));
  EXPECT_TRUE(atu.register_pages(kOther, page, Access::Read));
  EXPECT_FALSE(atu.translate(kMine, nla, Access::Read).ok);
}

TEST(Atu, does_not_take_an_old_acknowledgement_for_a_later_flush) {
  Atu atu(small());
  const std::vector<PageNumber> page = {5};
  const Nla first = atu.register_pages(kMine, page, Access::Read).value();
  const Nla second = atu.register_pages(kMine, page, Access::Read).value();
  ASSERT_TRUE(atu.revoke(kMine, first, 1));
  const std::uint64_t seen = atu.flush_number();
  ASSERT_TRUE(atu.revoke(kMine, second, 1));
  for (std::size_t unit = 0; unit < kUnits; ++unit) atu.acknowledge(static_cast<Unit>(unit), seen);
  EXPECT_TRUE(atu.is_flushed(first));
  EXPECT_FALSE(atu.is_flushed(second));
  for (std::size_t unit = 0; unit < kUnits; ++unit) atu.acknowledge(static_cast<Unit>(unit), ~std::uint64_t{0});
  EXPECT_TRUE(atu.is_flushed(second));
  ASSERT_TRUE(atu.register_pages(kMine, page, Access::Read));
}

TEST(Atu, revokes_nothing_of_another_and_nothing_twice) {
  Atu atu(small());
  const Nla nla = atu.register_pages(kMine, std::vector<PageNumber>{1, 2}, Access::Read).value();
  EXPECT_FALSE(atu.revoke(kOther, nla, 1));
  EXPECT_FALSE(atu.revoke(kMine, nla, 3));
  EXPECT_FALSE(atu.revoke(kMine, nla, 0));
  EXPECT_TRUE(atu.translate(kMine, nla, Access::Read).ok);
  EXPECT_TRUE(atu.revoke(kMine, nla, 2));
  EXPECT_FALSE(atu.revoke(kMine, nla, 2));
  acknowledge_all(atu);
  EXPECT_EQ(atu.counters().flushes, 2U);
  EXPECT_EQ(atu.counters().flushed, 2U);
}

/// Against a map: 200,000 random requests of several ports, with revocations of which units acknowledge late.
TEST(Atu, agrees_with_a_map_over_random_requests) {
  std::mt19937_64 random(20260101);
  Atu atu({2, 32, 8, 55});
  struct Owned {
    Vpid owner;
    PageNumber page;
    Access access;
  };
  std::map<std::uint64_t, Owned> expected;
  for (int i = 0; i < 200'000; ++i) {
    const auto who = static_cast<Vpid>(random() % 3);
    const auto access = static_cast<Access>(1 + random() % 3);
    const std::uint64_t page = (random() % 2) << kEntryBits | random() % 34;
    switch (random() % 8) {
      case 0: {
        std::vector<PageNumber> pages(1 + random() % 3);
        for (PageNumber& number : pages) number = random() % 1000;
        if (const auto nla = atu.register_pages(who, pages, access)) {
          for (std::size_t p = 0; p < pages.size(); ++p) {
            ASSERT_TRUE(expected.emplace(nla_page(*nla) + p, Owned{who, pages[p], access}).second);
          }
        }
        break;
      }
      case 1: {
        const auto it = expected.find(page);
        const bool may = it != expected.end() && it->second.owner == who;
        ASSERT_EQ(atu.revoke(who, page * kPageBytes, 1), may);
        if (may) expected.erase(it);
        break;
      }
      case 2: atu.acknowledge(static_cast<Unit>(random() % kUnits), atu.flush_number()); break;
      default: {
        const auto it = expected.find(page);
        const bool may = it != expected.end() && it->second.owner == who && allows(it->second.access, access);
        const Translation translation = atu.translate(who, page * kPageBytes + random() % kPageBytes, access);
        ASSERT_EQ(translation.ok, may);
        if (may) {
          ASSERT_EQ(translation.page, it->second.page);
        }
      }
    }
  }
  acknowledge_all(atu);
  EXPECT_EQ(atu.counters().flushes, atu.counters().flushed);
  EXPECT_GT(atu.counters().hits, 1000U);
}

}  // namespace stopbit::nic::atu_test
