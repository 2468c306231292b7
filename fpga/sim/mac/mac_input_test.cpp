#include <Vrtl_mac_input.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bits.hpp"
#include "mac_driver.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kKernels[] = {3'333, 4'001, 5'000, 10'000};

/// Reads the words of a frame from the kernel's side.
template <class Model>
void take_word(MacFrame& frame, const Model& model) {
  unsigned count = 0;
  while (count < 64 && (model.keep_o >> count & 1) != 0) ++count;
  const std::uint64_t run = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  ASSERT_EQ(model.keep_o, run);
  ASSERT_GT(count, 0U);
  ASSERT_TRUE(model.last_o || count == 64);
  if (frame.bytes.empty()) frame.arrival = model.arrival_ns_o;
  for (unsigned i = 0; i < count; ++i) {
    frame.bytes.push_back(static_cast<std::uint8_t>(bits_at(model.data_o, 8 * i, 8)));
  }
  frame.bad = model.last_o && model.bad_o;
}

class MacBench final : public MacDriver<Vrtl_mac_input> {
 public:
  MacBench(std::uint64_t seed, std::uint64_t mac_period, std::uint64_t kernel_period)
      : MacDriver(seed, mac_period, kernel_period) {
    start();
  }

  std::uint32_t stall = 0;  ///< Percent of the cycles in which the kernel takes nothing,
  bool is_open = true;      ///< if it takes anything.
  int reset_in = 0;         ///< Cycles of the kernel to a reset of some cycles; 0: there is none.
  int reset_cycles = 0;

  [[nodiscard]] const std::vector<MacFrame>& received() const { return received_; }
  [[nodiscard]] std::uint32_t passed() { return model().passed_o; }
  [[nodiscard]] std::uint32_t lost() { return model().lost_o; }
  [[nodiscard]] std::uint32_t cut() { return model().cut_o; }

  /// Each frame came whole, or not at all, or ended early as a bad one; and the counters say which.
  void check() {
    is_open = true;
    stall = 0;
    rest(600);  // the kernel takes what there is, and the counters come over
    std::size_t at = 0;
    std::uint32_t whole = 0;
    std::uint32_t cut_here = 0;
    for (const MacFrame& frame : received_) {
      while (at < sent().size() && sent()[at].arrival != frame.arrival) ++at;
      ASSERT_LT(at, sent().size()) << "a frame that was not sent, or out of order";
      const MacFrame& from = sent()[at++];
      if (frame.bytes == from.bytes && frame.bad == from.bad) {
        ++whole;
        continue;
      }
      ASSERT_TRUE(frame.bad) << frame.bytes.size() << " of " << from.bytes.size() << " bytes";
      ASSERT_EQ(frame.bytes.size() % 64, 1U);
      ASSERT_GT(frame.bytes.size(), 64U);
      ASSERT_LE(frame.bytes.size(), from.bytes.size() + 64);
      ASSERT_TRUE(std::equal(frame.bytes.begin(), frame.bytes.end() - 1, from.bytes.begin()));
      ++cut_here;
    }
    EXPECT_EQ(passed(), whole);
    EXPECT_EQ(lost(), sent().size() - whole);
    EXPECT_EQ(cut(), cut_here);
  }

 private:
  void forget() override {
    received_.clear();
    now_ = {};
  }
  void before_kernel_edge() override {
    if (!model().rst_ni || !model().valid_o || !model().ready_i) return;
    take_word(now_, model());
    if (!model().last_o) return;
    received_.push_back(std::move(now_));
    now_ = {};
  }
  void after_kernel_edge() override {
    model().ready_i = is_open && !random().chance(stall);
    if (reset_in > 0 && --reset_in == 0) {
      model().rst_ni = 0;
      forget();
    } else if (!model().rst_ni && reset_cycles > 0 && --reset_cycles == 0) {
      model().rst_ni = 1;
    }
  }

  std::vector<MacFrame> received_;
  MacFrame now_;
};

/// Around the boundaries of beats and words. Not one byte more than words: what is cut has such a length.
std::size_t random_length(Random& random) {
  const std::size_t length = random.chance(70) ? 60 + random.below(160) : 60 + random.below(1'500);
  return length % 64 == 1 ? length + 1 : length;
}

TEST(MacInput, frames_of_every_length_pass_whole_between_clocks_of_any_ratio) {
  std::uint64_t seed = 1;
  for (const std::uint64_t mac : {kMac25Ps, kMac10Ps}) {
    for (const std::uint64_t kernel : kKernels) {
      SCOPED_TRACE(testing::Message() << mac << " ps, " << kernel << " ps");
      MacBench bench(++seed, mac, kernel);
      for (std::size_t length = 1; length < 300; ++length) {
        bench.gaps = static_cast<std::uint32_t>(bench.random().below(2) * 30);
        bench.send(bytes_of(bench.random(), length), bench.random().chance(10));
        if (length < 64) bench.rest(20);  // shorter than a frame of Ethernet, so a MAC has a longer gap
      }
      for (const std::size_t length : {1'517UL, 1'518UL, 9'000UL, 16'384UL, 65'000UL}) {
        bench.send(bytes_of(bench.random(), length));
      }
      bench.check();
      EXPECT_EQ(bench.lost(), 0U);
      EXPECT_EQ(bench.received().size(), bench.sent().size());
      if (HasFailure()) return;
    }
  }
}

TEST(MacInput, frames_without_room_are_lost_whole_or_end_as_bad_and_are_counted) {
  for (std::uint64_t seed = 100; seed < 112; ++seed) {
    SCOPED_TRACE(seed);
    MacBench bench(seed, seed % 2 == 0 ? kMac25Ps : kMac10Ps, kKernels[seed % 4]);
    for (int round = 0; round < 20; ++round) {
      bench.is_open = !bench.random().chance(20);
      bench.stall = bench.random().chance(50) ? 97 : 0;
      for (int i = 0; i < 20; ++i) {
        bench.send(bytes_of(bench.random(), random_length(bench.random())), bench.random().chance(10));
      }
    }
    bench.check();
    EXPECT_GT(bench.lost(), 0U);
    EXPECT_GT(bench.cut(), 0U);
    EXPECT_GT(bench.passed(), 0U);
    // And then as if nothing had been.
    const std::uint32_t lost = bench.lost();
    for (int i = 0; i < 50; ++i) bench.send(bytes_of(bench.random(), random_length(bench.random())));
    bench.check();
    EXPECT_EQ(bench.lost(), lost);
    if (HasFailure()) return;
  }
}

TEST(MacInput, a_kernel_that_takes_nothing_loses_all_but_what_is_kept) {
  MacBench bench(7, kMac25Ps, 4'000);
  bench.is_open = false;
  for (int i = 0; i < 1'000; ++i) bench.send(bytes_of(bench.random(), 64));
  bench.check();
  EXPECT_EQ(bench.passed(), 32U);  // the depth of the bench's FIFO
  EXPECT_EQ(bench.lost(), 968U);
  EXPECT_EQ(bench.cut(), 0U);
}

TEST(MacInput, a_keep_that_cannot_be_makes_the_frame_bad) {
  MacBench bench(8, kMac10Ps, 4'000);
  for (int i = 0; i < 300; ++i) {
    const std::size_t length = 64 + 8 * bench.random().below(20);
    const int beats = static_cast<int>(length / 8);
    const int beat = static_cast<int>(bench.random().below(static_cast<std::uint64_t>(beats)));
    constexpr std::uint8_t kOdd[] = {0x00, 0x02, 0x80, 0xFE, 0x55, 0x7E, 0xBF};
    const std::uint8_t keep = beat + 1 == beats || bench.random().chance(50) ? kOdd[i % 7] : 0x7F;
    bench.send(bytes_of(bench.random(), length), false, beat, keep);
    bench.send(bytes_of(bench.random(), length));
  }
  bench.check();
  EXPECT_EQ(bench.lost(), 0U);
  for (std::size_t i = 0; i < bench.received().size(); ++i) EXPECT_EQ(bench.received()[i].bad, i % 2 == 0);
}

TEST(MacInput, a_link_that_goes_down_in_a_frame_ends_it) {
  for (std::uint64_t seed = 200; seed < 208; ++seed) {
    SCOPED_TRACE(seed);
    MacBench bench(seed, kMac25Ps, kKernels[seed % 4]);
    for (int i = 0; i < 300; ++i) {
      bench.stall = bench.random().chance(10) ? 95 : 0;
      if (bench.random().chance(20)) bench.pulse_abort();  // between frames: nothing is open
      if (bench.random().chance(50)) {
        const std::size_t length = 8 * (1 + bench.random().below(40));
        bench.send_aborted(bytes_of(bench.random(), length), bench.random().chance(50));
      } else {
        bench.send(bytes_of(bench.random(), random_length(bench.random())));
      }
    }
    bench.check();
    EXPECT_GT(bench.cut(), 0U);
    if (HasFailure()) return;
  }
}

TEST(MacInput, after_a_reset_only_frames_that_began_later_come) {
  for (std::uint64_t seed = 300; seed < 340; ++seed) {
    SCOPED_TRACE(seed);
    MacBench bench(seed, seed % 3 == 0 ? kMac10Ps : kMac25Ps, kKernels[seed % 4]);
    bench.is_open = seed % 2 == 0;
    for (int i = 0; i < 30; ++i) bench.send(bytes_of(bench.random(), random_length(bench.random())));
    const std::uint64_t strays = bench.random().below(20);
    for (std::uint64_t i = 0; i < strays; ++i) bench.show_stray(false);
    const bool has_stopped = seed % 5 == 0;
    bench.clocks().stop_first(has_stopped);
    bench.reset(6 + static_cast<int>(bench.random().below(50)));  // an edge of the kernel's clock among them
    if (has_stopped) {
      EXPECT_TRUE(bench.received().empty());
      bench.clocks().stop_first(false);
      bench.rest(200);
      EXPECT_TRUE(bench.received().empty());
    }
    bench.is_open = true;
    if (strays != 0) bench.show_stray(true);
    for (int i = 0; i < 30; ++i) bench.send(bytes_of(bench.random(), random_length(bench.random())));
    bench.check();
    EXPECT_EQ(bench.received().size(), 30U);
    if (HasFailure()) return;
  }
}

TEST(MacInput, a_mac_that_sends_during_a_reset_is_heard_from_the_next_frame_on) {
  for (std::uint64_t seed = 400; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    MacBench bench(seed, seed % 3 == 0 ? kMac10Ps : kMac25Ps, kKernels[seed % 4]);
    Random& random = bench.random();
    bench.is_open = random.chance(50);
    bench.reset_in = 1 + static_cast<int>(random.below(300));
    bench.reset_cycles = 1 + static_cast<int>(random.below(100));
    const auto send = [&] {
      if (random.chance(20)) {
        bench.send_aborted(bytes_of(random, 8 * (1 + random.below(20))), random.chance(50));
      } else {
        bench.send(bytes_of(random, random_length(random)));
      }
    };
    while (bench.reset_in > 0 || bench.reset_cycles > 0) send();
    bench.is_open = true;
    for (int i = 0; i < 10; ++i) send();  // the sides leave the reset
    const std::size_t heard = bench.sent().size();
    for (int i = 0; i < 20; ++i) bench.send(bytes_of(random, random_length(random)));
    bench.rest(600);
    ASSERT_GE(bench.received().size(), 20U);
    EXPECT_EQ(bench.received()[bench.received().size() - 20].arrival, bench.sent()[heard].arrival);
    std::size_t at = 0;
    std::size_t whole = 0;
    for (const MacFrame& frame : bench.received()) {
      while (at < bench.sent().size() && bench.sent()[at].arrival != frame.arrival) ++at;
      ASSERT_LT(at, bench.sent().size()) << "a frame that was not sent, or a part of one";
      whole += frame.bytes == bench.sent()[at].bytes && frame.bad == bench.sent()[at].bad ? 1 : 0;
    }
    EXPECT_EQ(bench.passed(), whole);
    EXPECT_EQ(bench.cut(), bench.received().size() - whole);
    if (HasFailure()) return;
  }
}

TEST(MacInput, counters_are_whole_while_they_change) {
  MacBench bench(9, kMac10Ps, 5'000);
  std::uint32_t before = 0;
  for (int i = 0; i < 3'000; ++i) {
    bench.send(bytes_of(bench.random(), 64));
    EXPECT_GE(bench.passed(), before);
    EXPECT_LE(bench.passed(), static_cast<std::uint32_t>(i + 1));
    EXPECT_EQ(bench.lost(), 0U);
    before = bench.passed();
  }
  bench.check();
  EXPECT_EQ(bench.passed(), 3'000U);
}

}  // namespace
}  // namespace stopbit::sim
