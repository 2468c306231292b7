#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "frames_through_kernel.hpp"

// Ethernet frames through the kernel as it is, with one decode core and with several; each slot compared with what the
// interpreter writes for the datagrams that have to pass, and with the event records of gaps between them. So are the
// kernel's accounts, which are those of the frames, however many cores there are.

namespace stopbit::sim {
namespace {

using Fate = FramesThroughKernel::Fate;

constexpr int kForeignLine = 60;
constexpr std::uint16_t kChannels = 5;  // no multiple of the cores

void expect_accounts(FramesThroughKernel& bench, bool is_clean) {
  const device::Counters got = bench.kernel().counters().value();
  const device::Counters wanted = bench.wanted();
  EXPECT_EQ(got.datagrams, wanted.datagrams);
  EXPECT_EQ(got.datagram_bytes, wanted.datagram_bytes);
  EXPECT_EQ(got.datagrams_dropped, 0U);
  EXPECT_EQ(got.datagrams_decoded, wanted.datagrams_decoded);
  EXPECT_EQ(got.records, wanted.records);
  EXPECT_EQ(got.line_passed, wanted.line_passed);
  EXPECT_EQ(got.line_duplicates, wanted.line_duplicates);
  EXPECT_EQ(got.line_late, 0U);
  EXPECT_EQ(got.gaps, wanted.gaps);
  EXPECT_EQ(got.numbers_missing, wanted.numbers_missing);
  EXPECT_EQ(got.verdicts, wanted.verdicts);
  EXPECT_EQ(got.chunks, 0U);
  EXPECT_EQ(got.records_unmatched, 0U);
  // After an error younger instructions are counted that the interpreter never executes.
  if (is_clean) {
    EXPECT_EQ(got.instructions, wanted.instructions);
    EXPECT_EQ(got.records_withdrawn, 0U);
  }
  EXPECT_EQ(bench.ring().counters().value().records, wanted.records);
}

void two_lines(ResetRule reset, bool cut_through, std::uint32_t stall, std::uint16_t channels = 1,
               bool is_clean = false) {
  FramesThroughKernel bench(reset, cut_through, stall, channels);
  Random random(17 + stall);
  std::vector<std::uint32_t> sequences(channels, 1000);
  const int count = 200 + 100 * channels;
  for (int i = 0; i < count; ++i) {
    const auto channel = static_cast<std::uint16_t>(random.below(channels));
    std::uint32_t& sequence = sequences[channel];
    sequence += 1 + static_cast<std::uint32_t>(!is_clean && random.chance(10) ? random.below(3) : 0);
    ByteVector data;
    for (std::uint64_t messages = random.below(4); messages > 0; --messages) {
      data = data + quote(random, reset != ResetRule::Packet && random.chance(50));
    }
    if (!is_clean && random.chance(15) && !data.empty()) {
      data[random.below(data.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    const int first = random.chance(50) ? 1 : 2;
    const ByteVector bytes = FramesThroughKernel::frame(first, sequence, data, channel);
    const std::uint64_t arrival_ns = random.bits();
    if (!cut_through && random.chance(10)) {
      bench.send(bytes, 5, Fate::Bad);  // the other line's copy has to do
    }
    if (random.chance(10)) {
      bench.send(FramesThroughKernel::frame(kForeignLine, sequence, data, channel), 6, Fate::Stranger);
    }
    bench.expect(first, sequence, data, arrival_ns, channel);
    bench.send(bytes, arrival_ns, Fate::First);
    if (random.chance(70)) {
      bench.send(FramesThroughKernel::frame(3 - first, sequence, data, channel), 7, Fate::Second);
    }
  }
  bench.check();
  expect_accounts(bench, is_clean);
  EXPECT_EQ(bench.gaps() > 10, !is_clean);
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

TEST(Frames, of_several_channels_become_the_records_of_the_interpreter_of_each_in_its_order) {
  for (const std::uint32_t stall : {0U, 60U}) {
    SCOPED_TRACE(stall);
    two_lines(ResetRule::Packet, false, stall, kChannels);
    two_lines(ResetRule::Template, false, stall, kChannels);
    two_lines(ResetRule::Packet, true, stall, kChannels);
  }
}
TEST(Frames, without_errors_take_the_instructions_that_the_interpreter_executes) {
  two_lines(ResetRule::Packet, false, 0, kChannels, true);
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

TEST(Frames, find_a_kernel_that_says_how_many_cores_it_has) {
  FramesThroughKernel bench(ResetRule::Packet, false, 0);
  EXPECT_EQ(bench.kernel().engines(), STOPBIT_ENGINES);
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
