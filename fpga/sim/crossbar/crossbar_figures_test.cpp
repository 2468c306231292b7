#include <cstdio>

#include "crossbar_bench.hpp"

/// Figures of the source (Geib 2012, 3.8.12), counted in cycles; 200 MHz where it names a rate.
namespace stopbit::sim {
namespace {

class CrossbarFigures : public CrossbarTest {
 protected:
  /// Every input sends to an output of its own, as fast as it can: cycles a packet.
  double cycles_per_packet(std::size_t cells) {
    restart();
    constexpr std::uint64_t kWarm = 60;
    constexpr std::uint64_t kPackets = 400;
    const auto fill = [&] {
      for (std::size_t in = 0; in < kPorts; ++in) {
        while (waiting_[in].size() < 4) {
          const std::size_t traffic_class = turn_++ % kClasses;
          send(in, packet(to((in + 1) % kPorts, traffic_class, turn_ % kVcs, turn_ % kVcs), in, cells));
        }
      }
    };
    const auto until = [&](std::uint64_t packets) {
      run([&] {
        fill();
        return *std::min_element(arrived_.begin(), arrived_.end()) >= packets;
      });
    };
    until(kWarm);
    const std::uint64_t begin = cycles();
    const auto before = arrived_;
    until(kWarm + kPackets);
    std::uint64_t packets = 0;
    for (std::size_t i = 0; i < kPorts; ++i) packets += arrived_[i] - before[i];
    return static_cast<double>(cycles() - begin) * kPorts / static_cast<double>(packets);
  }

  std::size_t turn_ = 0;
};

TEST_F(CrossbarFigures, a_port_carries_a_packet_every_four_cycles_or_as_fast_as_its_cells) {
  constexpr double kMhz = 200;
  for (const std::size_t cells : {1U, 2U, 3U, 4U, 8U, 16U, 32U}) {
    const double cycles = cycles_per_packet(cells);
    ASSERT_FALSE(HasFailure());
    EXPECT_NEAR(cycles, static_cast<double>(std::max<std::size_t>(4, cells + 2)), 0.02) << cells;
    const double rate = kMhz / cycles;  // million packets a second
    if (cells <= 3) {
      EXPECT_GT(rate, 33);
    }
    if (cells == 32) {
      EXPECT_NEAR(rate * 256, 1505, 2);  // MB/s, of 1,600: 94.1 %
    }
    std::printf("%zu bytes: %.3f cycles a packet, %.1f million/s, %.0f MB/s\n", 8 * cells, cycles, rate,
                rate * 8 * static_cast<double>(cells));
  }
}

/// All inputs always have packets for all outputs, of all channels: outputs are busy.
TEST_F(CrossbarFigures, outputs_are_busy_under_uniform_load) {
  for (const std::size_t cells : {2U, 8U, 32U}) {
    restart();
    std::uint64_t begin = 0;
    std::uint64_t before = 0;
    const auto all = [this] {
      std::uint64_t packets = 0;
      for (const std::uint64_t each : arrived_) packets += each;
      return packets;
    };
    for (std::uint64_t packets : {2'000U, 20'000U}) {
      begin = cycles();
      before = all();
      run([&] {
        for (std::size_t in = 0; in < kPorts; ++in) {
          while (waiting_[in].size() < 14) {
            send(in,
                 packet(to(random_.below(kPorts), random_.below(kClasses), random_.below(kVcs), random_.below(kVcs)),
                        in, cells));
          }
        }
        return all() >= packets;
      });
      ASSERT_FALSE(HasFailure());
    }
    const double share =
        static_cast<double>((all() - before) * (cells + 2)) / static_cast<double>((cycles() - begin) * kPorts);
    std::printf("%zu bytes, uniform: %.3f of the cells\n", 8 * cells, share);
    EXPECT_GT(share, 0.94) << cells;
  }
}

/// An output whose peer frees nothing takes its room less the reserves of other channels and what the longest packet
/// may need; the store takes a packet in each of its slots.
TEST_F(CrossbarFigures, a_store_takes_a_packet_in_every_slot) {
  hold(5, true);
  checks_ = false;
  for (int i = 0; i < 400; ++i) inject(1, packet(to(5), 1, 8));
  run([this] { return !injects(1); }, 100'000);
  settle();
  const std::uint64_t sent = 1 + (kSlots - kMostSlots - (kChannels - 1) * kReserve);
  EXPECT_EQ(arrived_[5], sent);
  EXPECT_EQ(events_[1].overrun, 400 - sent - kSlots);
}

}  // namespace
}  // namespace stopbit::sim
