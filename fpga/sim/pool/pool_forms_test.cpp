/// Other forms of a pool: as right, and as fast as they can be.
#include <Vrtl_unit_pool.h>
#include <Vrtl_unit_pool_look.h>
#include <Vrtl_unit_pool_single.h>

#include <iostream>

#include "pool.hpp"

namespace stopbit::sim {
namespace {

TEST(UnitPoolForms, keep_the_order_of_equal_keys) {
  expect_order_of_equal_keys<Vrtl_unit_pool_look>();
  expect_order_of_equal_keys<Vrtl_unit_pool_single>();
}

/// Requests in a hundred cycles: contexts send bursts with equal keys, and stages take 1 to `most` cycles.
template <class Model>
double rate(std::uint16_t keys, std::uint64_t burst, std::uint64_t most) {
  Random random(21);
  Pool<Model> pool(any_time(most));
  constexpr std::size_t kRequests = 4'000;
  for (std::size_t i = 0; i < kRequests;) {
    const auto key = static_cast<std::uint16_t>(random.below(keys));
    for (std::uint64_t j = 0; j < burst && i < kRequests; ++j, ++i) (void)pool.add(port_of(key), key);
  }
  const std::uint64_t begin = pool.cycles();
  pool.drain();
  return 100.0 * kRequests / static_cast<double>(pool.cycles() - begin);
}

TEST(UnitPoolForms, are_slower_with_single_issue) {
  struct Load {
    const char* name;
    std::uint16_t keys;
    std::uint64_t burst;
    std::uint64_t most;
  };
  for (const Load& load :
       {Load{"any keys, stages of 1 cycle", 4'096, 1, 1}, Load{"any keys, stages of 1 to 4 cycles", 4'096, 1, 4},
        Load{"16 keys, bursts of 4, 1 cycle", 16, 4, 1}, Load{"16 keys, bursts of 4, 1 to 4 cycles", 16, 4, 4}}) {
    const double single = rate<Vrtl_unit_pool_single>(load.keys, load.burst, load.most);
    const double look = rate<Vrtl_unit_pool_look>(load.keys, load.burst, load.most);
    const double multi = rate<Vrtl_unit_pool>(load.keys, load.burst, load.most);
    std::cout << "unit pool, " << load.name << ": requests in 100 cycles " << single << " single issue, " << look
              << " with a look ahead and wait queues, " << multi << " two issues\n";
    // Of few keys, in slow stages, the units are what limits.
    EXPECT_GE(multi, look * 0.93);
    EXPECT_GE(look, single * 0.99);
    if (load.most == 1) {
      EXPECT_GE(multi, 1.5 * single);
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
