#include "host/os/doorbell.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace stopbit::os_test {

using namespace std::chrono_literals;

/// Each sleep is far longer than a test may take.
TEST(Doorbell, ends_a_sleep_and_one_that_is_about_to_begin) {
  std::uint32_t word = 0;
  os::Doorbell bell(word);
  bell.lie_down();
  bell.ring();
  bell.sleep(24h);
  bell.get_up();
  bell.ring();  // nobody sleeps
  EXPECT_EQ(word, 0U);
}

TEST(Doorbell, lets_no_work_be_overslept) {
  constexpr std::uint32_t kWork = 20'000;
  std::uint32_t word = 0;
  os::Doorbell bell(word);
  std::atomic<std::uint32_t> given = 0;
  std::atomic<std::uint32_t> taken = 0;
  std::thread worker([&] {
    os::Doorbell own(word);
    while (taken.load() != kWork) {
      own.lie_down();
      if (given.load(std::memory_order_relaxed) == taken.load()) own.sleep(24h);
      own.get_up();
      taken.store(given.load(std::memory_order_relaxed));
    }
  });
  for (std::uint32_t n = 1; n <= kWork; ++n) {
    given.store(n, std::memory_order_relaxed);
    bell.ring();
    while (taken.load() != n) std::this_thread::yield();
  }
  worker.join();
  EXPECT_EQ(taken.load(), kWork);
}

}  // namespace stopbit::os_test
