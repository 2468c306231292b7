#include "pool.hpp"

#include <Vrtl_unit_pool.h>

namespace stopbit::sim {
namespace {

using UnitPool = Pool<Vrtl_unit_pool>;

TEST(UnitPool, keeps_the_order_of_equal_keys) {
  expect_order_of_equal_keys<Vrtl_unit_pool>();
}

TEST(UnitPool, begins_again_after_a_reset_at_any_time) {
  Random random(3);
  UnitPool pool(any_time(6));
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round) {
    for (int i = 0; i < 60; ++i) {
      const auto key = static_cast<std::uint16_t>(random.below(7));
      (void)pool.add(port_of(key), key);
    }
    for (std::uint64_t left = random.below(60); left > 0; --left) pool.cycle();
    pool.reset();
    for (std::uint16_t key = 0; key < 12; ++key) (void)pool.add(port_of(key), key);
    pool.drain();
    pool.expect_order();
    pool.reset();
  }
}

TEST(UnitPool, lets_equal_keys_overtake_if_asked_to) {
  UnitPool pool(any_time(9));
  pool.set_in_order(false);
  for (int i = 0; i < 200; ++i) (void)pool.add(0, 1);
  pool.drain();
  EXPECT_TRUE(pool.has_overtaken());
}

const auto kAtOnce = [](std::size_t, std::size_t) -> std::uint64_t { return 1; };

TEST(UnitPool, begins_a_request_four_cycles_after_it_came) {
  UnitPool pool(kAtOnce);
  const std::size_t number = pool.add(2, 7);
  pool.drain();
  EXPECT_EQ(pool.begun(number, 0) - pool.request(number).in, 4U);
  EXPECT_EQ(pool.begun(number, 4) - pool.begun(number, 0), 4U);
}

TEST(UnitPool, sends_dependent_work_to_its_unit_without_a_wait) {
  UnitPool pool(kAtOnce);
  for (int i = 0; i < 500; ++i) (void)pool.add(0, 1);
  const std::uint64_t begin = pool.cycles();
  pool.drain();
  pool.expect_order();
  EXPECT_LE(pool.cycles() - begin, 500U + 10);  // one a cycle
}

TEST(UnitPool, issues_two_requests_a_cycle) {
  UnitPool pool(kAtOnce);
  for (std::uint16_t i = 0; i < 1'000; ++i) (void)pool.add(port_of(i), i);
  const std::uint64_t begin = pool.cycles();
  pool.drain();
  EXPECT_LE(pool.cycles() - begin, 500U + 10);
}

TEST(UnitPool, sends_requests_to_units_where_nothing_waits) {
  UnitPool pool([](std::size_t, std::size_t) -> std::uint64_t { return 20; });
  for (std::uint16_t i = 0; i < 4; ++i) (void)pool.add(i, i);
  for (int i = 0; i < 10; ++i) pool.cycle();
  EXPECT_EQ(pool.busy(), kUnits);
}

TEST(UnitPool, belongs_to_one_process_if_no_other_wants_it) {
  UnitPool pool([](std::size_t, std::size_t) -> std::uint64_t { return 8; });
  for (std::uint16_t i = 0; i < 400; ++i) (void)pool.add(1, i);
  const std::uint64_t begin = pool.cycles();
  for (int i = 0; i < 100; ++i) pool.cycle();
  EXPECT_EQ(pool.busy(), kUnits);
  pool.drain();
  EXPECT_LE(pool.cycles() - begin, 400U * 8 / kUnits + 60);
}

TEST(UnitPool, has_equal_shares_for_all_ports) {
  UnitPool pool(any_time(8));
  Random random(9);
  for (int i = 0; i < 4'000; ++i) {
    const auto key = static_cast<std::uint16_t>(random.below(4'096));
    (void)pool.add(port_of(key), key);
  }
  for (int i = 0; i < 3'000; ++i) pool.cycle();
  std::array<std::uint64_t, kPorts> taken{};
  for (std::size_t p = 0; p < kPorts; ++p) {
    ASSERT_NE(pool.waiting(p), 0U);
    taken[p] = pool.taken(p);
  }
  const auto [least, most] = std::minmax_element(taken.begin(), taken.end());
  EXPECT_LE(*most - *least, *most / 20);
}

TEST(UnitPool, serves_a_port_that_seldom_asks_beside_one_that_always_does) {
  UnitPool pool(any_time(4));
  for (std::uint16_t i = 0; i < 4'000; ++i) (void)pool.add(0, static_cast<std::uint16_t>(i << 2));
  for (int i = 0; i < 200; ++i) pool.cycle();
  std::uint64_t longest = 0;
  for (std::uint16_t i = 0; i < 50; ++i) {
    const std::uint64_t begin = pool.cycles();
    const std::size_t number = pool.add(3, static_cast<std::uint16_t>(i << 2 | 3));
    while (pool.begun(number, 0) == 0 && pool.cycles() < begin + 1'000) pool.cycle();
    longest = std::max(longest, pool.cycles() - begin);
  }
  // What is before it: five in the window, and four that wait in its unit, each at most 4 cycles.
  EXPECT_LE(longest, 50U);
}

TEST(UnitPool, goes_on_beside_a_request_that_never_ends) {
  UnitPool pool([](std::size_t number, std::size_t) -> std::uint64_t { return number == 0 ? 0 : 2; });
  for (int i = 0; i < 5; ++i) (void)pool.add(0, 0);  // all that its unit has room for
  for (int i = 0; i < 30; ++i) pool.cycle();
  for (std::uint16_t i = 1; i < 300; ++i) (void)pool.add(1 + i % 3, i);
  for (int i = 0; i < 600; ++i) pool.cycle();
  EXPECT_EQ(pool.out().size(), 299U);
  pool.set_time(kAtOnce);
  pool.drain();
  pool.expect_order();
}

}  // namespace
}  // namespace stopbit::sim
