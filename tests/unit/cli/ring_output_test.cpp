#include "host/cli/common/ring_output.hpp"

#include <gtest/gtest.h>

#include "decoder/record/buffer_sink.hpp"

namespace stopbit::tools::ring_output_test {

/// The most slots that come within `window_ns`, of records of one slot with these arrivals.
std::uint64_t peak_of(const std::vector<std::uint64_t>& arrivals, std::uint64_t window_ns, double speed) {
  record::BufferSink memory(1, [](std::span<const record::Slot>) {});
  PeakSink peak(memory, window_ns, speed);
  for (const std::uint64_t arrival_ns : arrivals) {
    (void)peak.open();
    record::Slot first{};
    first.words[1] = arrival_ns;
    peak.commit(first, 1);
  }
  return peak.slots();
}

TEST(PeakSink, counts_at_the_pace_of_the_replay_however_slow_it_is) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kToday = 1'700'000'000 * kSecond;
  const std::vector<std::uint64_t> arrivals = {kToday, kToday + kSecond, kToday + 2 * kSecond,
                                               kToday + 2 * kSecond + 1};
  EXPECT_EQ(peak_of(arrivals, 10 * kSecond, 1), 4U);
  for (const double speed : {1.0, 0.1, 0.05, 1e-3, 1e-6}) {
    EXPECT_EQ(peak_of(arrivals, kSecond / 2, speed), 2U) << speed;
  }
  EXPECT_EQ(peak_of({kToday, kToday - kSecond, ~std::uint64_t{0}}, kSecond, 1e-6), 2U)
      << "times that go back, and none";
}

}  // namespace stopbit::tools::ring_output_test
