#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "frames_through_kernel.hpp"

// Ethernet frames through the kernel as it is; each slot compared with what the interpreter writes for the datagrams
// that have to pass, and with the event records of gaps between them.

namespace stopbit::sim {
namespace {

void two_lines(ResetRule reset, bool cut_through, std::uint32_t stall) {
  FramesThroughKernel bench(reset, cut_through, stall);
  Random random(17 + stall);
  std::uint32_t sequence = 1000;
  for (int i = 0; i < 300; ++i) {
    sequence += 1 + static_cast<std::uint32_t>(random.chance(10) ? random.below(3) : 0);
    ByteVector data;
    for (std::uint64_t messages = random.below(4); messages > 0; --messages) {
      data = data + quote(random, reset != ResetRule::Packet && random.chance(50));
    }
    if (random.chance(15) && !data.empty()) {
      data[random.below(data.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    const int first = random.chance(50) ? 1 : 2;
    const ByteVector bytes = FramesThroughKernel::frame(first, sequence, data);
    const std::uint64_t arrival_ns = random.bits();
    if (!cut_through && random.chance(10)) {
      bench.send(bytes, 5, true);  // bad: the other line's copy has to do
    }
    if (random.chance(10)) bench.send(FramesThroughKernel::frame(9, sequence, data), 6, false);
    bench.expect(first, sequence, data, arrival_ns);
    bench.send(bytes, arrival_ns, false);
    if (random.chance(70)) bench.send(FramesThroughKernel::frame(3 - first, sequence, data), 7, false);
  }
  bench.check();
  EXPECT_GT(bench.gaps(), 10U);
  EXPECT_GT(bench.expected(), 200U);
}

TEST(Frames, of_two_lines_become_the_records_of_the_interpreter_and_gaps_become_events) {
  two_lines(ResetRule::Packet, false, 0);
}
TEST(Frames, of_two_lines_become_the_same_records_when_everything_stalls) {
  two_lines(ResetRule::Packet, false, 60);
}
TEST(Frames, that_are_cut_through_become_the_same_records) {
  two_lines(ResetRule::Packet, true, 30);
}
TEST(Frames, behind_a_gap_wait_for_a_reset_if_their_dictionary_outlives_a_datagram) {
  two_lines(ResetRule::Template, false, 20);
}

TEST(Frames, that_turn_out_bad_when_their_beginning_has_left_end_in_an_error) {
  FramesThroughKernel bench(ResetRule::Packet, true, 0);
  Random random(5);
  ByteVector data;
  for (int i = 0; i < 20; ++i) data = data + quote(random, false);
  bench.send(FramesThroughKernel::frame(1, 1, data), 77, true);
  bench.model().run(3000);
  std::size_t records = 0;
  std::size_t events = 0;
  while (bench.ring().poll() == ring::Poll::Record) {
    const record::Slot& slot = bench.ring().record()[0];
    EXPECT_EQ(slot.words[1], 77U);
    EXPECT_EQ(events, 0U) << "the event is the last";
    if ((slot.words[0] & 0xFFFF) != record::kEventIndex) {
      ++records;
      continue;
    }
    ++events;
    EXPECT_EQ(slot.words[4] & 0xFF, static_cast<std::uint64_t>(record::EventKind::DecodeError));
    EXPECT_EQ(slot.words[4] >> 8 & 0xFF, static_cast<std::uint64_t>(ErrorCode::X1));
  }
  EXPECT_GT(records, 5U);
  EXPECT_LT(records, 20U);
  EXPECT_EQ(events, 1U);
  EXPECT_EQ(bench.kernel().counters().value().verdicts[device::kVerdictFrameBad], 1U);
}

/// Whatever comes: the kernel is idle soon after, and decodes what comes next as if nothing had been.
TEST(Frames, of_any_bytes_leave_the_kernel_idle_soon_after_their_last_beat) {
  // The status looks at 64 calm cycles; a garbled datagram of 1,500 bytes may be one string.
  constexpr std::uint64_t kSoon = 1'000;
  for (const bool cut_through : {false, true}) {
    FramesThroughKernel bench(ResetRule::Packet, cut_through, 0);
    Random random(23);
    std::uint64_t longest = 0;
    for (int i = 0; i < 300; ++i) {
      ByteVector data;
      for (std::uint64_t messages = 1 + random.below(40); messages > 0; --messages) data = data + quote(random, false);
      ByteVector bytes = FramesThroughKernel::frame(1, static_cast<std::uint32_t>(i), data);
      for (std::uint64_t flips = random.below(6); flips > 0; --flips) {
        bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
      }
      if (random.chance(20)) bytes.resize(1 + random.below(bytes.size()));
      if (random.chance(10)) bytes.resize(20'000, static_cast<std::byte>(random.bits()));
      if (random.chance(10)) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
      }
      bench.send(bytes, 1, random.chance(20));
      while (bench.model().waiting() > 0) bench.model().run(1);
      const std::uint64_t last_beat = bench.model().cycles();
      while (!bench.kernel().idle().value() && bench.model().cycles() - last_beat < 10 * kSoon) bench.model().run(10);
      longest = std::max(longest, bench.model().cycles() - last_beat);
      while (bench.ring().poll() == ring::Poll::Record) continue;
    }
    std::printf("frames, %s: idle at most %llu cycles after a frame's last beat\n",
                cut_through ? "cut-through" : "store and forward", static_cast<unsigned long long>(longest));
    EXPECT_LT(longest, kSoon);
    EXPECT_EQ(bench.kernel().take_errors().value(), 0U);
    EXPECT_EQ(bench.model().problem(), "");
  }
}

}  // namespace
}  // namespace stopbit::sim
