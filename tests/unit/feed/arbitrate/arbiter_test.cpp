#include "host/feed/arbitrate/arbiter.hpp"

#include <gtest/gtest.h>

#include "tests/unit/feed/arbitrate/fixture.hpp"

namespace stopbit::arbitrate::arbiter_test {

using testing::Bench;
using testing::fast_options;
using testing::ordered_options;

constexpr Line A = Line::A;
constexpr Line B = Line::B;

/// Past the gathering of the first packets.
Bench started(const Options& options, std::uint64_t first = 100) {
  Bench bench(options);
  bench.offer(A, {first});
  bench.tick(options.window_ns);
  return bench;
}

/// A packet with other bytes than that number has elsewhere.
void offer_with(Bench& bench, Line line, std::uint64_t number, unsigned byte) {
  const std::array<std::byte, 1> other = {static_cast<std::byte>(byte)};
  Packet packet;
  packet.preamble.sequence = number;
  packet.line = line;
  packet.payload = other;
  bench.offer(packet);
}

// ------------------------------------------------------------------------------------------------------ ordered mode

TEST(OrderedMode, gathers_the_first_packets_and_begins_with_the_lowest) {
  Bench bench(ordered_options());
  EXPECT_EQ(bench.offer(A, {12, 11, 14}), "start(12)");
  EXPECT_EQ(bench.offer(B, {10}), "");
  EXPECT_EQ(bench.arbiter.account().numbers.expected, 5U);
  EXPECT_EQ(bench.arbiter.account().numbers.held, 5U);
  EXPECT_EQ(bench.tick(1'000), "10 11 12 gap(13+1) 14");
  EXPECT_EQ(bench.offer(A, {9}), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
  EXPECT_EQ(bench.arbiter.account().numbers.expected, 5U);
}

TEST(OrderedMode, takes_the_first_copy_of_two_lines) {
  Bench bench = started(ordered_options());
  EXPECT_EQ(bench.offer(A, {101, 102}), "101 102");
  EXPECT_EQ(bench.offer(B, {100, 101, 102, 103}), "103");
  EXPECT_EQ(bench.offer(A, {103, 103}), "");
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 5U);
  EXPECT_EQ(bench.arbiter.line(A).first_copies, 3U);
  EXPECT_EQ(bench.arbiter.line(B).first_copies, 1U);
}

TEST(OrderedMode, waits_for_the_other_line) {
  Bench bench = started(ordered_options());
  EXPECT_EQ(bench.offer(A, {102, 103}), "");
  EXPECT_EQ(bench.arbiter.account().packets.held, 2U);
  EXPECT_EQ(bench.arbiter.account().numbers.held, 3U);
  EXPECT_EQ(bench.offer(B, {101}), "101 102 103");
  EXPECT_EQ(bench.story.last_bytes.front(), std::byte{103});
}

TEST(OrderedMode, gives_up_when_the_oldest_has_waited_long_enough) {
  Bench bench = started(ordered_options());
  bench.offer(A, {103});
  EXPECT_EQ(bench.arbiter.next_deadline(), bench.now_ns + 1'000);
  EXPECT_EQ(bench.tick(999), "");
  EXPECT_EQ(bench.tick(1), "gap(101+2) 103");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Window);
  EXPECT_EQ(bench.story.last_gap.wall_ns, bench.now_ns) << "when the window of 103 was over";
  EXPECT_EQ(bench.story.last_gap.after_t_ns, bench.now_ns - 1'000);
  EXPECT_EQ(bench.arbiter.next_deadline(), std::nullopt);
  bench.offer(B, {101, 102, 101});
  EXPECT_EQ(bench.arbiter.account().packets.late, 2U);
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 1U);
  EXPECT_EQ(bench.arbiter.account().numbers.lost, 2U);
  EXPECT_EQ(bench.arbiter.late_by().count(), 2U);
}

TEST(OrderedMode, waits_for_each_gap_as_long_as_its_first_successor_has_waited) {
  Bench bench = started(ordered_options());
  bench.offer(A, {103});
  bench.tick(600);
  bench.offer(A, {106});
  EXPECT_EQ(bench.tick(400), "gap(101+2) 103");  // 104 and 105 may still come
  EXPECT_EQ(bench.offer(B, {104}), "104");
  EXPECT_EQ(bench.tick(599), "");
  EXPECT_EQ(bench.tick(1), "gap(105+1) 106");
}

TEST(OrderedMode, gives_up_when_so_many_packets_are_held) {
  Bench bench = started(ordered_options());
  EXPECT_EQ(bench.offer(A, {102, 103, 104, 106, 107, 108, 109}), "");
  EXPECT_EQ(bench.offer(A, {110}), "");
  EXPECT_EQ(bench.arbiter.next_deadline(), bench.now_ns + 1) << "the other line may have been read up to now only";
  EXPECT_EQ(bench.tick(1), "gap(101+1) 102 103 104");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Count);
  EXPECT_EQ(bench.arbiter.account().packets.held, 5U);
  EXPECT_EQ(bench.finish(), "gap(105+1) 106 107 108 109 110");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::End);
}

TEST(OrderedMode, gives_nothing_up_before_every_port_has_been_read) {
  Bench bench = started(ordered_options());
  bench.is_read_in_order = false;
  const std::uint64_t begin = bench.now_ns;
  bench.now_ns = begin + 100;
  bench.offer(A, {102});
  bench.now_ns = begin + 1'000'000;  // a stall: line A was read, line B was not
  bench.offer(A, {103, 104});
  EXPECT_EQ(bench.story.take(), "");
  Packet packet;
  packet.preamble.sequence = 101;
  packet.line = B;
  packet.t_ns = begin + 1'099;  // arrived within the window of 102
  bench.offer(packet);
  EXPECT_EQ(bench.story.take(), "101 102 103 104");
}

TEST(OrderedMode, holds_as_many_as_there_is_room_for) {
  Bench bench = started(ordered_options());
  bench.is_read_in_order = false;
  for (std::uint64_t number = 102; number < 102 + 64; ++number) EXPECT_EQ(bench.offer(A, {number}), "") << number;
  bench.offer(A, {166});
  EXPECT_EQ(bench.story.last_gap.count, 1U);
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Room);
  EXPECT_EQ(bench.arbiter.account().packets.held, 0U);
}

TEST(OrderedMode, closes_windows_by_the_time_of_packets_without_a_tick) {
  Bench bench = started(ordered_options());
  bench.offer(A, {102});
  bench.now_ns += 5'000;
  EXPECT_EQ(bench.offer(B, {101}), "gap(101+1) 102");
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
}

TEST(OrderedMode, a_packet_too_long_to_hold_closes_the_window) {
  Options options = ordered_options();
  options.datagram_bytes = 64;
  Bench bench = started(options);
  bench.offer(A, {102});
  const std::vector<std::byte> bytes(65);
  Packet packet;
  packet.payload = bytes;
  packet.preamble.sequence = 105;
  bench.offer(packet);
  EXPECT_EQ(bench.story.take(), "gap(101+1) 102 gap(103+2) 105");
  EXPECT_EQ(bench.story.last_bytes.size(), 65U);
}

TEST(OrderedMode, a_clock_that_goes_back_changes_nothing) {
  Bench bench = started(ordered_options());
  bench.offer(A, {102});
  bench.now_ns -= 1'000'000;
  EXPECT_EQ(bench.offer(A, {103}), "");
  bench.now_ns += 1'000'000;
  EXPECT_EQ(bench.tick(1'000), "gap(101+1) 102 103");
}

// --------------------------------------------------------------------------------------------------------- fast mode

TEST(FastMode, delivers_the_first_copy_at_once_and_never_goes_back) {
  Bench bench(fast_options());
  EXPECT_EQ(bench.offer(A, {10, 11}), "start(10) 10 11");
  EXPECT_EQ(bench.offer(B, {10, 13}), "gap(12+1) 13");
  EXPECT_EQ(bench.offer(A, {12, 13, 14}), "14");
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 2U);
  EXPECT_EQ(bench.arbiter.next_deadline(), std::nullopt);
}

// ------------------------------------------------------------------------------------------------- both, the numbers

TEST(Gap, says_what_each_line_had) {
  Bench bench = started(ordered_options());
  bench.offer(A, {104});
  bench.tick(1'000);
  const Gap gap = bench.story.last_gap;
  EXPECT_TRUE(gap.lines[0].heard);
  EXPECT_TRUE(gap.lines[0].passed);
  EXPECT_EQ(gap.lines[0].last_sequence, 104U);
  EXPECT_FALSE(gap.lines[1].heard);
  EXPECT_FALSE(gap.lines[1].passed);
  EXPECT_EQ(gap.lines[1].last_t_ns, 0U);
}

TEST(Numbers, wrap_at_32_bits) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench = started(options, 0xFFFF'FFFE);
    EXPECT_EQ(bench.offer(A, {0xFFFF'FFFF, 0, 1}), "4294967295 0 1") << ordered;
    bench.offer(A, {3});
    bench.finish();
    EXPECT_EQ(bench.story.last_gap.first, 2U);
    EXPECT_EQ(bench.arbiter.account().numbers.expected, 6U);
  }
}

TEST(Numbers, a_gap_may_span_the_wrap) {
  Bench bench = started(ordered_options(), 0xFFFF'FFFE);
  bench.offer(A, {2});
  EXPECT_EQ(bench.finish(), "gap(4294967295+3) 2");
}

TEST(Numbers, wrap_at_16_and_count_on_at_64_bits) {
  Options options = fast_options();
  options.sequence_bits = 16;
  Bench narrow(options);
  EXPECT_EQ(narrow.offer(A, {0xFFFF, 0, 2}), "start(65535) 65535 0 gap(1+1) 2");
  options.sequence_bits = 64;
  Bench wide(options);
  const std::uint64_t last = ~std::uint64_t{0};
  EXPECT_EQ(wide.offer(A, {last - 1, last, 0}),
            "start(18446744073709551614) 18446744073709551614 18446744073709551615 0");
}

TEST(Numbers, none_means_that_everything_is_delivered) {
  Options options = ordered_options();
  options.sequence_bits = 0;
  Bench bench(options);
  EXPECT_EQ(bench.offer(A, {0, 0, 0}), "start(0) 0 0 0");
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 3U);
}

// -------------------------------------------------------------------------------------------- packets far from all

TEST(Stranger, one_damaged_number_does_not_take_the_channel_away) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    for (const std::uint64_t wild : {std::uint64_t{166}, std::uint64_t{20'000}, std::uint64_t{2'000'000'000}}) {
      Bench bench = started(options);
      EXPECT_EQ(bench.offer(A, {wild, 101, 102}), "101 102") << wild;
      EXPECT_EQ(bench.arbiter.account().packets.held, 1U);
      bench.now_ns += 2'501;      // a quarter of the switch silence
      if (wild == 166) continue;  // the run gets there
      EXPECT_EQ(bench.offer(A, {103}), "103");
      EXPECT_EQ(bench.tick(0), "");
      EXPECT_EQ(bench.arbiter.account().packets.malformed, 1U);
    }
  }
}

TEST(Stranger, many_that_confirm_each_other_do_not_either_while_the_run_goes_on) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench = started(options);
    std::string story;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      bench.now_ns += 100;
      story += bench.offer(A, {8'388'708 + i});
      story += bench.offer(B, {8'388'708 + i});
      if (i % 50 == 0) story += bench.offer(A, {101 + i / 50}) + " ";
    }
    EXPECT_EQ(story, "101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 ");
    EXPECT_EQ(bench.arbiter.gaps(), 0U);
    EXPECT_LE(bench.arbiter.account().packets.held, options.room_packets + 2);
  }
}

TEST(Stranger, a_leap_is_believed_when_two_numbers_confirm_it_and_they_can_have_been_sent) {
  Bench bench = started(fast_options());
  EXPECT_EQ(bench.offer(A, {201}), "");
  EXPECT_EQ(bench.arbiter.account().packets.held, 1U);
  EXPECT_EQ(bench.offer(A, {202}), "");
  EXPECT_EQ(bench.tick(8'999), "") << "36 numbers more than are believed at once would take 360 us; the silence less";
  EXPECT_EQ(bench.tick(1), "gap(101+100) 201 202");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Leap);
  Bench lines = started(ordered_options());
  lines.offer(A, {50'003});
  lines.offer(B, {50'003, 50'001});  // the other line's copy confirms it
  EXPECT_EQ(lines.tick(10'000), "gap(101+49900) 50001 gap(50002+1) 50003");
  EXPECT_EQ(lines.arbiter.account().packets.duplicate, 1U);
}

TEST(Stranger, a_leap_of_one_packet_is_believed_after_the_silence) {
  Bench bench = started(fast_options());
  bench.offer(A, {50'000});
  EXPECT_EQ(bench.arbiter.next_deadline(), bench.now_ns + 10'000);
  EXPECT_EQ(bench.tick(10'000), "gap(101+49899) 50000");
  Bench end = started(fast_options());
  EXPECT_EQ(end.tick(10'000), "");
  EXPECT_EQ(end.offer(B, {50'000, 50'001}), "");
  EXPECT_EQ(end.finish(), "gap(101+49899) 50000 50001") << "at the end nothing waits for the window";
}

TEST(Stranger, wild_numbers_just_before_the_end_do_not_have_the_channel) {
  for (const bool is_confirmed : {false, true}) {
    Bench bench = started(ordered_options());
    bench.offer(A, {101});
    bench.offer(A, {50'000});
    if (is_confirmed) bench.offer(B, {50'000, 50'001});
    bench.now_ns += 1'000;
    EXPECT_EQ(bench.finish(), "") << "the run went on until now";
    EXPECT_EQ(bench.arbiter.next_sequence(), 102U);
    EXPECT_EQ(bench.arbiter.account().numbers.lost, 0U);
    EXPECT_EQ(bench.arbiter.account().packets.malformed, is_confirmed ? 2U : 1U);
  }
}

TEST(Stranger, a_leap_that_the_other_line_fills_is_none) {
  Bench bench = started(ordered_options());
  EXPECT_EQ(bench.offer(A, {300, 301}), "");
  std::string story;
  for (std::uint64_t number = 101; number < 301; ++number) story += bench.offer(B, {number});
  EXPECT_EQ(bench.arbiter.gaps(), 0U);
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 202U);
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 0U);
}

TEST(Stranger, a_range_that_was_leapt_over_has_the_channel_again_if_it_goes_on) {
  Bench bench = started(ordered_options());
  bench.offer(A, {20'000, 20'001});
  bench.tick(10'000);
  EXPECT_EQ(bench.tick(1'000), "");
  bench.now_ns += 500;
  EXPECT_EQ(bench.offer(A, {101, 102}), "");
  EXPECT_EQ(bench.tick(10'000), "back(101) 101 102");
  EXPECT_EQ(bench.offer(A, {103}), "103");
}

TEST(Stranger, that_speaks_first_has_the_channel_until_it_is_silent) {
  // Further ahead than is believed, within the numbers that are remembered, and beyond them; of one packet, and of a
  // run that goes on for a while.
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    for (const std::uint64_t wild : {std::uint64_t{400}, std::uint64_t{600}, std::uint64_t{5'000'000}}) {
      for (const std::uint64_t packets : {std::uint64_t{1}, std::uint64_t{5}}) {
        Bench bench(options);
        for (std::uint64_t i = 0; i < packets; ++i) bench.offer(A, {wild + i});
        std::string story;
        for (std::uint64_t number = 100; number < 130; ++number) {
          bench.now_ns += 500;
          story += bench.offer(number % 2 == 0 ? A : B, {number});
          story += bench.offer(number % 2 == 0 ? B : A, {number});
        }
        EXPECT_EQ(story.find("100"), story.find("reset(100)") + 6) << wild;
        EXPECT_EQ(story.find("gap"), std::string::npos) << story;
        EXPECT_EQ(bench.arbiter.account().numbers.delivered, 30U) << wild << ' ' << packets << ": " << story;
        EXPECT_EQ(bench.arbiter.account().numbers.lost, 0U);
        EXPECT_EQ(bench.arbiter.total().numbers.delivered, 30U + packets);
      }
    }
  }
}

TEST(Stranger, that_goes_on_while_the_true_sender_does_keeps_what_it_has) {
  Bench bench(ordered_options());
  std::string story;
  for (std::uint64_t i = 0; i < 100; ++i) {
    bench.now_ns += 500;
    story += bench.offer(A, {400 + i});
    story += bench.offer(B, {100 + i});
  }
  EXPECT_EQ(story.find("reset"), std::string::npos) << story;
  EXPECT_EQ(bench.finish(), "");
  EXPECT_EQ(bench.arbiter.account().packets.delivered, 100U);
  EXPECT_EQ(bench.arbiter.account().packets.late, 100U) << "a line that is behind from the start is late";
}

TEST(Stranger, that_speaks_first_after_a_restart_does_not_keep_what_it_skips) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench(options);
    bench.arbiter.resume_after(0, 90);
    std::string story = bench.offer(A, {500});
    for (std::uint64_t number = 100; number < 130; ++number) {
      bench.now_ns += 500;
      story += " " + bench.offer(A, {number});
      story += bench.offer(B, {number});
    }
    EXPECT_NE(story.find("gap(91+409)"), std::string::npos) << story;
    EXPECT_NE(story.find(" 128 129"), std::string::npos) << story;
    EXPECT_GE(bench.arbiter.total().numbers.delivered, 30U) << story;
  }
}

TEST(Stranger, half_the_numbers_away_is_late_nowhere) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  Options options = fast_options();
  options.sequence_bits = 64;
  Bench known(options);
  known.arbiter.resume_after(0, 100);
  EXPECT_NE(known.offer(A, {100 + kHalf}), "") << "what another process delivered is not there";
  Bench bench(options);
  bench.offer(A, {1, 2, 3});
  EXPECT_EQ(bench.offer(A, {4 + kHalf}), "");
  EXPECT_EQ(bench.offer(A, {4, 5}), "4 5");
  EXPECT_EQ(bench.arbiter.total().packets.late, 0U);
}

TEST(Stranger, far_from_the_run_and_where_another_stopped_is_that_one_however_long_after) {
  Options options = ordered_options();
  options.sequence_bits = 16;
  Bench bench = started(options, 45'000);
  bench.offer(A, {20'000, 20'001});
  EXPECT_EQ(bench.tick(10'000), "reset(20000) 20000 20001");
  bench.tick(1'000'000'000);  // enough to send all between
  bench.offer(A, {45'003, 45'004});
  EXPECT_EQ(bench.tick(10'000), "back(45003) gap(45001+2) 45003 45004");
}

TEST(Stranger, where_a_long_run_stopped_is_not_forgotten_for_many_short_ones) {
  Options options = ordered_options();
  options.sequence_bits = 16;
  Bench bench = started(options, 45'000);
  for (std::uint64_t number = 45'001; number < 45'020; ++number) bench.offer(A, {number});
  for (std::uint64_t number = 50'000; number < 60'000; number += 200) {
    bench.offer(A, {number, number + 1});
    bench.tick(2'000'000);
    bench.tick(1'000);
  }
  EXPECT_EQ(bench.arbiter.next_sequence(), 59'802U);
  bench.story.take();
  bench.offer(A, {45'020, 45'021});
  EXPECT_EQ(bench.tick(10'000), "back(45020) 45020 45021");
}

TEST(Stranger, just_ahead_of_the_run_keeps_its_place_among_many) {
  Bench bench = started(ordered_options());
  bench.offer(A, {180});  // 80 are missing
  for (std::uint64_t i = 1; i <= 40; ++i) bench.offer(A, {1'000'000 * i});
  bench.offer(A, {181});
  EXPECT_EQ(bench.tick(9'500), "gap(101+79) 180 181");
}

TEST(SequenceReset, waits_for_the_silence_of_the_run_and_begins_another) {
  Bench bench = started(ordered_options(), 900'000);
  bench.offer(A, {900'002});
  EXPECT_EQ(bench.offer(A, {1}), "");
  EXPECT_EQ(bench.offer(B, {1}), "");
  EXPECT_EQ(bench.tick(1'000), "gap(900001+1) 900002");
  EXPECT_EQ(bench.tick(8'999), "");
  EXPECT_EQ(bench.tick(1), "reset(1) 1");
  EXPECT_EQ(bench.story.last_run.before.numbers.expected, 3U);
  EXPECT_EQ(bench.story.last_run.before.numbers.lost, 1U);
  EXPECT_TRUE(bench.story.last_run.before.balanced());
  EXPECT_EQ(bench.arbiter.epoch(), 1U);
  EXPECT_EQ(bench.offer(B, {2}), "2");
  EXPECT_EQ(bench.arbiter.account().numbers.expected, 2U);
  EXPECT_EQ(bench.arbiter.total().numbers.expected, 5U);
  EXPECT_EQ(bench.arbiter.total().packets.all_received(), 5U);
}

TEST(SequenceReset, sooner_than_the_silence_is_delivered_after_it) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench = started(options, 900'000);
    bench.now_ns += 2'000;  // a fifth of the silence
    std::string story;
    for (std::uint64_t number = 1; number <= 40; ++number) {
      story += bench.offer(A, {number});
      story += bench.offer(B, {number});
      bench.now_ns += 100;
    }
    EXPECT_EQ(story, "") << "the run before may go on";
    EXPECT_EQ(bench.arbiter.account().packets.held, 40U);
    story = bench.tick(2'999);
    EXPECT_EQ(story, "");
    story = bench.tick(1);
    EXPECT_TRUE(story.starts_with("reset(1) 1 2 3 ")) << story;
    EXPECT_TRUE(story.ends_with(" 39 40")) << story;
    EXPECT_EQ(bench.story.last_run.reason, NewRun::Reason::SequenceReset);
    EXPECT_EQ(bench.arbiter.account().numbers.delivered, 40U);
    EXPECT_EQ(bench.arbiter.gaps(), 0U);
    EXPECT_EQ(bench.offer(B, {41}), "41");
  }
}

TEST(SequenceReset, sooner_than_the_silence_loses_what_has_no_room_and_tells_it) {
  Bench bench = started(ordered_options(), 900'000);
  bench.now_ns += 2'000;
  for (std::uint64_t number = 1; number <= 80; ++number) {  // there is room for 64, and for two more
    bench.offer(A, {number});
    bench.now_ns += 50;
  }
  EXPECT_EQ(bench.tick(3'000).substr(0, 25), "reset(15) gap(1+14) 15 16");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Room);
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 66U);
  EXPECT_EQ(bench.arbiter.account().numbers.lost, 14U);
}

TEST(SequenceReset, that_ends_within_the_silence_is_delivered_unless_everything_ends) {
  for (const bool everything_ends : {false, true}) {
    Bench bench = started(ordered_options(), 900'000);
    bench.now_ns += 2'000;
    EXPECT_EQ(bench.offer(A, {1, 2, 3}), "");
    if (everything_ends) {
      EXPECT_EQ(bench.finish(), "");
      EXPECT_EQ(bench.arbiter.account().packets.malformed, 3U);
    } else {
      EXPECT_EQ(bench.tick(10'000), "reset(1) 1 2 3");
    }
  }
}

TEST(SequenceReset, a_single_old_packet_is_none_while_the_run_goes_on) {
  Bench bench = started(ordered_options(), 900'000);
  EXPECT_EQ(bench.offer(A, {5, 900'001}), "900001");
  bench.now_ns += 3'000;
  EXPECT_EQ(bench.offer(A, {900'002}), "900002");
  EXPECT_EQ(bench.tick(1'000'000), "");
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 1U);
  bench.offer(B, {7});
  EXPECT_EQ(bench.finish(), "");
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 2U);
}

TEST(SequenceReset, is_seen_after_a_short_run_too) {
  Bench bench = started(ordered_options(), 1);
  bench.offer(A, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21});
  bench.tick(5'000);
  EXPECT_EQ(bench.offer(A, {1}), "");
  EXPECT_EQ(bench.offer(A, {2}), "");
  EXPECT_EQ(bench.tick(10'000), "reset(1) 1 2");
}

TEST(SequenceReset, is_seen_by_other_bytes_of_numbers_that_the_line_has_brought) {
  Bench bench = started(ordered_options(), 1);
  bench.offer(A, {2, 3, 4});
  bench.offer(B, {1, 2, 3, 4});
  const std::array<std::byte, 1> other = {std::byte{0xAA}};
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{2}}) {
    Packet packet;
    packet.preamble.sequence = number;
    packet.payload = other;
    bench.offer(packet);
  }
  EXPECT_EQ(bench.tick(10'000), "reset(1) 1 2");
}

TEST(SequenceReset, a_number_near_where_the_line_is_is_none_even_if_it_differs) {
  // A wild 130 came for the true one of B, which comes now, out of order.
  Bench bench = started(ordered_options(), 100);
  for (std::uint64_t number = 101; number < 140; ++number) bench.offer(B, {number});
  offer_with(bench, B, 130, 0xAA);
  offer_with(bench, A, 130, 0xAA);
  EXPECT_EQ(bench.tick(20'000), "conflict(130)");
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 2U);
}

TEST(SequenceReset, second_copies_of_the_run_do_not_come_along) {
  Bench bench = started(ordered_options(), 1);
  for (std::uint64_t number = 2; number < 200; ++number) bench.offer(A, {number});
  bench.story.take();
  bench.offer(A, {1});  // a second copy: it looks like a beginning
  bench.tick(5'000);
  for (std::uint64_t number = 3; number < 6; ++number) offer_with(bench, A, number, 0xBB);
  EXPECT_EQ(bench.tick(10'000), "reset(3) 3 4 5");
}

TEST(SequenceReset, a_late_line_is_none) {
  // B starts far behind A: its 1 and 2 are copies.
  Bench bench = started(ordered_options(), 1);
  for (std::uint64_t number = 2; number < 60; ++number) bench.offer(A, {number});
  EXPECT_EQ(bench.offer(B, {1, 2, 3}), "");
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 3U);
  EXPECT_EQ(bench.arbiter.epoch(), 0U);
}

TEST(SequenceReset, packets_of_the_run_before_are_late) {
  Bench bench = started(fast_options(), 900'000);
  bench.offer(B, {900'000});
  bench.tick(9'000);
  bench.offer(A, {1, 2});
  EXPECT_EQ(bench.tick(1'000), "reset(1) 1 2");
  EXPECT_EQ(bench.offer(B, {899'997, 899'998, 899'999}), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 3U);
  EXPECT_EQ(bench.offer(B, {1, 2, 3}), "3");
  EXPECT_EQ(bench.arbiter.epoch(), 1U);
}

TEST(SequenceReset, announced_by_the_feed_is_confirmed_by_its_first_packet) {
  Bench bench = started(ordered_options(), 50);
  bench.offer(A, {51});
  bench.arbiter.announce(40);
  EXPECT_EQ(bench.offer(A, {40}), "");
  EXPECT_EQ(bench.tick(10'000), "reset(40) 40");
  EXPECT_EQ(bench.offer(A, {41}), "41");
}

TEST(SequenceReset, announced_by_a_stranger_changes_nothing_while_the_run_goes_on) {
  Bench bench = started(ordered_options(), 50);
  bench.arbiter.announce(1);
  std::string story;
  for (std::uint64_t number = 51; number < 55; ++number) {
    bench.offer(A, {number - 50});
    bench.now_ns += 8'000;
    story += bench.offer(A, {number}) + " ";
  }
  EXPECT_EQ(story, "51 52 53 54 ");
  EXPECT_EQ(bench.arbiter.epoch(), 0U);
}

// ---------------------------------------------------------------------------------------------------------- addresses

constexpr std::uint32_t kPrimary = 0x0A00'0001;
constexpr std::uint32_t kStandby = 0x0A00'0002;

/// Packets from an address, one after the other.
std::string offer_from(Bench& bench, std::uint32_t source, Line line, std::initializer_list<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    Packet packet;
    packet.preamble.sequence = number;
    packet.line = line;
    packet.source = source;
    bench.offer(packet);
  }
  return bench.story.take();
}

/// A run of the primary's, long after its first windows.
Bench started_by_primary(const Options& options) {
  Bench bench(options);
  offer_from(bench, kPrimary, A, {100});
  bench.tick(5 * options.window_ns);
  offer_from(bench, kPrimary, A, {101});
  return bench;
}

TEST(Address, of_another_sender_makes_no_hole_while_the_run_goes_on) {
  Bench bench = started_by_primary(ordered_options());
  EXPECT_EQ(offer_from(bench, kStandby, A, {110, 130}), "");
  EXPECT_EQ(bench.tick(1'000), "");
  EXPECT_EQ(offer_from(bench, kPrimary, A, {102, 103}), "102 103");
  EXPECT_EQ(offer_from(bench, 0, A, {105}), "");  // an unknown one does
  EXPECT_EQ(bench.tick(1'000), "gap(104+1) 105");
}

TEST(Address, of_a_sender_that_takes_over_is_believed_at_once_when_its_numbers_go_on) {
  for (const Options& options : {ordered_options(), fast_options()}) {
    Bench bench = started_by_primary(options);
    EXPECT_EQ(offer_from(bench, kStandby, A, {102, 103, 104}), "102 103 104");
    EXPECT_EQ(offer_from(bench, kStandby, A, {106}), options.ordered ? "" : "gap(105+1) 106");  // its own by now
  }
}

TEST(Address, of_a_sender_that_takes_over_with_a_hole_is_believed_after_three_neighbours) {
  Bench bench = started_by_primary(ordered_options());
  EXPECT_EQ(offer_from(bench, kStandby, A, {104, 105, 106}), "");
  EXPECT_EQ(bench.tick(1'000), "gap(102+2) 104 105 106");
  EXPECT_EQ(offer_from(bench, kStandby, A, {107}), "107");
}

TEST(Address, that_brings_a_copy_is_the_runs_own) {
  Bench bench = started_by_primary(ordered_options());
  EXPECT_EQ(offer_from(bench, kStandby, B, {101, 103}), "");
  EXPECT_EQ(bench.tick(1'000), "gap(102+1) 103");
}

TEST(Address, of_another_sender_with_other_bytes_is_no_conflict) {
  Bench bench = started_by_primary(ordered_options());
  const std::array<std::byte, 1> other = {std::byte{1}};
  Packet packet;
  packet.preamble.sequence = 101;
  packet.line = B;
  packet.source = kStandby;
  packet.payload = other;
  bench.offer(packet);
  EXPECT_EQ(bench.story.take(), "");
  packet.source = kPrimary;
  bench.offer(packet);
  EXPECT_EQ(bench.story.take(), "conflict(101)");
}

TEST(Address, of_another_sender_leaps_only_after_the_silence) {
  Bench bench = started_by_primary(ordered_options());
  EXPECT_EQ(offer_from(bench, kStandby, A, {3'000, 3'200}), "");
  EXPECT_EQ(bench.tick(9'000), "");
  EXPECT_EQ(bench.tick(1'000), "gap(102+2898) 3000 gap(3001+199) 3200");
}

TEST(Address, in_fast_mode_what_another_has_brought_is_used_before_a_number_goes_past_it) {
  Bench bench = started_by_primary(fast_options());
  EXPECT_EQ(offer_from(bench, kStandby, B, {103}), "");
  EXPECT_EQ(offer_from(bench, kPrimary, A, {104}), "gap(102+1) 103 104");
}

// --------------------------------------------------------------------------------------------------------- fail-over

Packet from_sender(std::uint64_t sender, std::uint64_t sequence, Line line = A) {
  Packet packet;
  packet.preamble.sequence = sequence;
  packet.preamble.sender = sender;
  packet.line = line;
  return packet;
}

TEST(Sender, another_one_begins_a_run_when_the_first_is_silent) {
  Bench bench(fast_options());
  bench.offer(from_sender(7, 100));
  bench.offer(from_sender(8, 5));
  EXPECT_EQ(bench.story.take(), "start(100) 100");
  bench.offer(from_sender(8, 5, B));
  bench.tick(9'000);
  bench.offer(from_sender(8, 6));
  EXPECT_EQ(bench.story.take(), "");
  EXPECT_EQ(bench.tick(1'000), "sender(5) 5 6");
  EXPECT_EQ(bench.story.last_run.sender, 8U);
  bench.offer(from_sender(7, 99, B));  // the other line is behind
  bench.offer(from_sender(8, 7));
  EXPECT_EQ(bench.story.take(), "7");
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
}

TEST(Sender, ten_thousand_packets_of_another_one_change_nothing_while_the_first_goes_on) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench(options);
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      bench.now_ns += 10;
      if (i % 500 == 0) bench.offer(from_sender(7, 100 + i / 500));
      bench.offer(from_sender(8, i, i % 2 == 0 ? A : B));
    }
    bench.finish();
    EXPECT_EQ(bench.arbiter.runs(), 1U) << ordered;
    EXPECT_EQ(bench.arbiter.sender(), 7U);
    EXPECT_EQ(bench.arbiter.account().packets.delivered, 20U);
    EXPECT_EQ(bench.arbiter.account().packets.malformed, 10'000U);
  }
}

TEST(Sender, a_damaged_one_is_malformed) {
  Bench bench(fast_options());
  bench.offer(from_sender(7, 100));
  bench.offer(from_sender(9, 101));
  bench.offer(from_sender(7, 102));
  bench.tick(3'000);
  bench.offer(from_sender(7, 103));
  EXPECT_EQ(bench.tick(0), "103");
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 1U);
}

TEST(Sender, the_former_one_has_the_channel_again_if_it_goes_on_and_the_new_one_does_not) {
  Bench bench(ordered_options());
  bench.offer(from_sender(7, 100));
  bench.tick(1'000);
  bench.tick(20'000);
  bench.offer(from_sender(8, 1));
  bench.offer(from_sender(8, 2));
  EXPECT_EQ(bench.tick(1'000), "sender(1) 1 2") << bench.story.take();
  bench.tick(5'000);
  bench.offer(from_sender(7, 102));
  bench.offer(from_sender(7, 103));
  EXPECT_EQ(bench.tick(3'999), "");
  EXPECT_EQ(bench.tick(1), "back(102) gap(101+1) 102 103");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Switch);
}

TEST(Downtime, numbers_that_passed_meanwhile_are_a_gap) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench(options);
    bench.arbiter.resume_after(0, 100);
    std::string story = bench.offer(A, {151, 152});
    story += bench.finish();
    EXPECT_NE(story.find("gap(101+50)"), std::string::npos) << story;
    EXPECT_EQ(bench.story.last_gap.reason, GapReason::Down);
    EXPECT_EQ(bench.arbiter.account().numbers.expected, 52U);
    EXPECT_EQ(bench.arbiter.account().numbers.lost, 50U);
  }
}

TEST(Downtime, a_run_that_begins_anew_or_just_after_the_last_number_is_delivered) {
  for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{36}, std::uint64_t{101}}) {
    Bench bench(fast_options());
    bench.arbiter.resume_after(0, 100);
    const std::string number = std::to_string(first);
    EXPECT_EQ(bench.offer(A, {first}), "start(" + number + ") " + number);
    EXPECT_EQ(bench.arbiter.gaps(), 0U);
  }
}

TEST(Downtime, another_run_is_not_compared) {
  Bench bench(fast_options());
  bench.arbiter.resume_after(7, 100);
  bench.offer(from_sender(8, 500));
  EXPECT_EQ(bench.story.take(), "start(500) 500");
  Bench back(fast_options());
  back.arbiter.resume_after(0, 100'000);
  EXPECT_EQ(back.offer(A, {5}), "start(5) 5");
}

// ------------------------------------------------------------------------------------------------- copies that differ

TEST(Copies, that_differ_are_a_conflict_once) {
  Bench bench = started(ordered_options());
  const std::array<std::byte, 3> other = {};
  for (const Line line : {A, B, B}) {
    Packet packet;
    packet.preamble.sequence = 101;
    packet.line = line;
    if (line == B) packet.payload = other;
    bench.offer(packet);
  }
  EXPECT_EQ(bench.story.take(), "101 conflict(101)");
  EXPECT_EQ(bench.arbiter.conflicts(), 1U);
}

TEST(Copies, another_one_is_used_if_the_first_does_not_decode) {
  for (const bool ordered : {true, false}) {
    Options options = ordered_options();
    options.ordered = ordered;
    Bench bench = started(options);
    const std::array<std::byte, 1> bad = {std::byte{0xEE}};
    bench.story.undecodable = bad[0];
    Packet packet;
    packet.preamble.sequence = 101;
    packet.payload = bad;
    bench.offer(packet);
    EXPECT_EQ(bench.story.take(), "101");
    EXPECT_EQ(bench.arbiter.account().numbers.held, ordered ? 1U : 0U);
    EXPECT_EQ(bench.offer(B, {101}), "conflict(101) 101");
    EXPECT_EQ(bench.arbiter.account().packets.delivered, 3U);
    EXPECT_EQ(bench.arbiter.account().numbers.delivered, 2U);
    EXPECT_EQ(bench.offer(A, {102}), "102");
  }
}

/// 102 of that line, which waits for 101; it begins with the byte.
Packet waiting(Line line, std::span<const std::byte> bytes) {
  Packet packet;
  packet.preamble.sequence = 102;
  packet.line = line;
  packet.payload = bytes;
  return packet;
}

TEST(Downtime, numbers_that_come_below_the_first_packet_are_not_missing_on_their_line) {
  Bench bench(ordered_options());
  bench.arbiter.resume_after(0, 100);
  bench.offer(B, {205});
  bench.offer(A, {204, 205});
  bench.finish();
  EXPECT_EQ(bench.arbiter.line(A).missing, 0U);
  EXPECT_EQ(bench.arbiter.line(B).missing, 1U);
}

TEST(Copies, another_one_that_came_while_the_first_waited_is_used_if_that_does_not_decode) {
  const std::array<std::byte, 1> bad = {std::byte{0xEE}};
  const std::array<std::byte, 2> good = {std::byte{1}, std::byte{2}};
  for (const bool first_is_bad : {true, false}) {
    Bench bench = started(ordered_options());
    bench.story.undecodable = bad[0];
    bench.offer(waiting(A, first_is_bad ? std::span<const std::byte>(bad) : good));
    bench.offer(waiting(B, first_is_bad ? std::span<const std::byte>(good) : bad));
    EXPECT_EQ(bench.story.take(), "conflict(102)");
    EXPECT_EQ(bench.arbiter.account().packets.held, 2U);
    EXPECT_EQ(bench.offer(A, {101}), first_is_bad ? "101 102 102" : "101 102");
    EXPECT_TRUE(std::ranges::equal(bench.story.last_bytes, good));
    EXPECT_EQ(bench.story.last_line, first_is_bad ? B : A);
    EXPECT_EQ(bench.arbiter.account().packets.duplicate, first_is_bad ? 0U : 1U);
    EXPECT_EQ(bench.arbiter.account().numbers.delivered, 3U);
    EXPECT_EQ(bench.offer(A, {103}), "103");
    EXPECT_EQ(bench.finish(), "");
  }
}

TEST(Copies, one_that_differs_is_kept_and_equal_ones_are_not) {
  const std::array<std::byte, 1> bad = {std::byte{0xEE}};
  const std::array<std::byte, 2> good = {std::byte{1}, std::byte{2}};
  Bench bench = started(ordered_options());
  bench.story.undecodable = bad[0];
  bench.offer(waiting(A, bad));
  bench.offer(waiting(A, bad));
  bench.offer(waiting(B, bad));
  EXPECT_EQ(bench.arbiter.account().packets.held, 1U);
  bench.offer(waiting(A, good));  // a line's own second copy is as good
  bench.offer(waiting(B, good));
  EXPECT_EQ(bench.arbiter.account().packets.held, 2U) << "one is enough";
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 3U);
  EXPECT_EQ(bench.story.take(), "conflict(102)");
  EXPECT_EQ(bench.offer(B, {101}), "101 102 102");
  EXPECT_TRUE(std::ranges::equal(bench.story.last_bytes, good));
}

TEST(Copies, are_kept_in_bounded_room) {
  Options options = ordered_options();
  options.window_packets = options.room_packets = 200;
  Bench bench = started(options);
  const std::array<std::byte, 1> bad = {std::byte{0xEE}};
  for (const Line line : {A, B}) {
    for (std::uint64_t sequence = 102; sequence < 202; ++sequence) {
      Packet packet = waiting(line, line == A ? std::span<const std::byte>(bad) : std::span<const std::byte>());
      packet.preamble.sequence = sequence;
      bench.offer(packet);
    }
  }
  EXPECT_EQ(bench.arbiter.account().packets.held, 100U + Held::kMostCopies);
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 100U - Held::kMostCopies);
  bench.finish();
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 100U);
}

TEST(Copies, a_line_s_own_second_one_is_used_if_its_bytes_differ) {
  const std::array<std::byte, 1> bad = {std::byte{0xEE}};
  Bench bench = started(ordered_options());
  bench.story.undecodable = bad[0];
  Packet packet;
  packet.preamble.sequence = 101;
  packet.payload = bad;
  bench.offer(packet);
  bench.offer(packet);
  EXPECT_EQ(bench.story.take(), "101") << "the same bytes do not decode either";
  EXPECT_EQ(bench.offer(A, {101}), "conflict(101) 101");
  EXPECT_EQ(bench.offer(B, {101}), "") << "it has decoded";
}

TEST(Copies, another_one_is_waited_for_as_long_as_the_window) {
  Bench bench = started(ordered_options());
  const std::array<std::byte, 1> bad = {std::byte{0xEE}};
  bench.story.undecodable = bad[0];
  Packet packet;
  packet.preamble.sequence = 101;
  packet.payload = bad;
  bench.offer(packet);
  bench.story.take();
  EXPECT_EQ(bench.offer(A, {102}), "");
  EXPECT_EQ(bench.tick(999), "");
  EXPECT_EQ(bench.tick(1), "102");
  EXPECT_EQ(bench.arbiter.gaps(), 0U) << "an error is not a gap";
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 3U);
}

// ------------------------------------------------------------------------------------------------------------ chunks

Packet chunk(std::uint64_t sequence, std::uint16_t number, std::uint16_t of, Line line = A) {
  Packet packet;
  packet.preamble.sequence = sequence;
  packet.preamble.chunk = number;
  packet.preamble.chunks = of;
  packet.line = line;
  return packet;
}

Options with_chunks(Options options) {
  options.chunks = true;
  return options;
}

TEST(Chunks, of_a_number_go_on_together_from_whatever_line) {
  for (const bool ordered : {true, false}) {
    Options options = with_chunks(ordered_options());
    options.ordered = ordered;
    Bench bench = started(options);
    bench.story.take();
    bench.offer(chunk(101, 1, 3));
    bench.offer(chunk(101, 3, 3));
    bench.offer(chunk(101, 3, 3, B));
    EXPECT_EQ(bench.story.take(), "");
    bench.offer(chunk(101, 2, 3, B));
    EXPECT_EQ(bench.story.take(), "101.1 101.2 101.3") << ordered;
    EXPECT_EQ(bench.arbiter.account().packets.duplicate, 1U);
    EXPECT_EQ(bench.arbiter.account().numbers.delivered, 2U);
    EXPECT_EQ(bench.arbiter.account().packets.delivered, 4U);
  }
}

TEST(Chunks, of_a_number_that_is_given_up_are_incomplete) {
  Bench ordered = started(with_chunks(ordered_options()));
  ordered.offer(chunk(101, 1, 2));
  ordered.offer(chunk(102, 1, 1));
  EXPECT_EQ(ordered.tick(1'000), "gap(101+1) 102");
  EXPECT_EQ(ordered.arbiter.account().packets.incomplete, 1U);
  ordered.offer(chunk(101, 2, 2));
  EXPECT_EQ(ordered.arbiter.account().packets.late, 1U);

  Bench fast = started(with_chunks(fast_options()));
  fast.offer(chunk(101, 1, 2));
  fast.offer(chunk(102, 1, 1));
  EXPECT_EQ(fast.story.take(), "gap(101+1) 102");
  fast.offer(chunk(103, 2, 2));
  EXPECT_EQ(fast.finish(), "gap(103+1)");
  EXPECT_EQ(fast.arbiter.account().packets.incomplete, 2U);
}

TEST(Chunks, that_contradict_each_other_are_malformed) {
  Bench bench = started(with_chunks(ordered_options()));
  bench.offer(chunk(101, 1, 2));
  bench.offer(chunk(101, 2, 3));
  bench.offer(chunk(102, 0, 1));
  bench.offer(chunk(102, 2, 1));
  bench.offer(chunk(102, 1, 65));
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 4U);
  Bench without = started(ordered_options());
  without.offer(chunk(101, 1, 2));
  EXPECT_EQ(without.arbiter.account().packets.malformed, 1U);
}

// --------------------------------------------------------------------------------------------------------- carousels

Options carousel_options() {
  Options options = ordered_options();
  options.carousel = true;
  options.switch_silence_ns = 1'000'000'000;
  return options;
}

TEST(Carousel, number_one_after_a_higher_one_begins_a_cycle) {
  Bench bench(carousel_options());
  bench.offer(A, {41, 42});
  EXPECT_EQ(bench.tick(1'000), "41 42");
  EXPECT_EQ(bench.offer(A, {1, 2}), "cycle(1)");
  EXPECT_EQ(bench.tick(2'000), "1 2");
  EXPECT_EQ(bench.offer(A, {4, 1}), "gap(3+1) 4 cycle(1)");
  EXPECT_EQ(bench.story.last_run.before.numbers.lost, 1U);
  EXPECT_EQ(bench.arbiter.epoch(), 2U);
}

TEST(Carousel, number_one_may_be_lost) {
  Bench bench(carousel_options());
  for (std::uint64_t number = 1; number <= 40; ++number) bench.offer(A, {number});
  bench.tick(1'000);
  EXPECT_EQ(bench.offer(A, {2}), "cycle(2)");
}

TEST(Carousel, begins_after_a_pause_with_any_chunk_of_a_number_that_the_line_has_passed) {
  Bench bench(with_chunks(carousel_options()));
  for (std::uint64_t number = 1; number <= 5; ++number) bench.offer(chunk(number, 1, 1));
  bench.tick(2'000);
  bench.story.take();
  bench.offer(chunk(1, 2, 3));  // the first chunk is lost
  bench.offer(chunk(1, 3, 3));
  bench.offer(chunk(2, 1, 1));
  bench.offer(chunk(3, 1, 1));
  EXPECT_EQ(bench.tick(2'000), "cycle(1) gap(1+1) 2 3");
}

TEST(Carousel, has_number_one_again_after_a_cycle_without) {
  Bench bench(carousel_options());
  const auto cycle = [&](std::uint64_t first, std::uint8_t filler) {
    for (std::uint64_t number = first; number <= 5; ++number) {
      for (const Line line : {A, B}) offer_with(bench, line, number, filler);
      bench.now_ns += 400;  // no pause
    }
  };
  cycle(1, 1);
  cycle(2, 2);  // number 1 is lost
  bench.story.take();
  cycle(1, 3);
  cycle(1, 4);
  EXPECT_EQ(bench.tick(2'000), "cycle(1) 1 2 3 4 5 cycle(1) 1 2 3 4 5");
}

TEST(Carousel, leaps_on_the_word_of_two_packets_only) {
  Bench bench(carousel_options());
  bench.offer(A, {1, 2});
  EXPECT_EQ(bench.tick(1'000), "1 2");
  EXPECT_EQ(bench.offer(A, {8'000, 3}), "3");
  EXPECT_EQ(bench.offer(A, {120, 121}), "");
  EXPECT_EQ(bench.tick(10'000'000), "gap(4+116) 120 121");
}

TEST(Carousel, a_second_copy_or_an_overtaken_number_one_begins_none) {
  Bench bench(carousel_options());
  bench.offer(A, {1, 2, 1});
  EXPECT_EQ(bench.tick(1'000), "1 2");
  EXPECT_EQ(bench.arbiter.account().packets.duplicate, 1U);
  Bench overtaken(carousel_options());
  overtaken.offer(A, {2, 1});
  EXPECT_EQ(overtaken.tick(1'000), "1 2");
  EXPECT_EQ(overtaken.arbiter.epoch(), 0U);
}

TEST(Carousel, a_line_in_step_fills_in) {
  Bench bench(carousel_options());
  bench.offer(A, {1, 3});
  bench.offer(B, {1, 2, 3});
  EXPECT_EQ(bench.tick(1'000), "1 2 3");
  std::array<std::byte, 1> other{};
  Packet again;
  again.preamble.sequence = 1;
  again.payload = other;  // the first packet of the next cycle has another time in it
  bench.offer(again);
  EXPECT_EQ(bench.story.take(), "cycle(1)");
  again.line = B;
  bench.offer(again);
  bench.offer(B, {2});
  EXPECT_EQ(bench.tick(1'000), "1 2");
  EXPECT_EQ(bench.arbiter.epoch(), 1U);
  EXPECT_EQ(bench.arbiter.line(B).first_copies, 2U);
}

TEST(Carousel, a_line_out_of_step_is_ignored_until_the_leader_is_silent) {
  Bench bench(carousel_options());
  for (std::uint64_t number = 1; number <= 40; ++number) bench.offer(A, {number});
  bench.tick(500'000);
  bench.story.take();
  const auto offer_others = [&bench](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number <= last; ++number) offer_with(bench, B, number, 0xBB);
    return bench.story.take();
  };
  EXPECT_EQ(offer_others(1, 3), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 3U);
  bench.tick(1'000'000'000);
  offer_others(4, 40);
  EXPECT_EQ(offer_others(1, 1), "cycle(1)");
}

TEST(Carousel, the_same_bytes_put_a_line_in_step_and_others_put_it_out) {
  Bench bench(carousel_options());
  bench.offer(A, {1});
  bench.tick(1'000);
  for (std::uint64_t number = 2; number <= 40; ++number) {
    if (number != 33 && number != 34) bench.offer(A, {number});
  }
  bench.story.take();
  offer_with(bench, B, 1, 0xBB);
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U) << "of a cycle that nobody knows";
  EXPECT_EQ(bench.offer(B, {32, 33}), "33");
  offer_with(bench, B, 39, 0xBB);
  EXPECT_EQ(bench.offer(B, {34}), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 3U);
}

TEST(Carousel, a_line_that_goes_back_with_other_bytes_or_after_a_pause_begins_a_cycle) {
  Bench bench(carousel_options());
  bench.offer(A, {1, 2, 3, 4, 5});
  offer_with(bench, A, 3, 0xBB);
  EXPECT_EQ(bench.story.take(), "1 2 3 4 5 cycle(3)");
  Bench paused(carousel_options());
  paused.offer(A, {1, 3, 4, 5});
  EXPECT_EQ(paused.offer(A, {2}), "") << "it was overtaken";
  EXPECT_EQ(paused.tick(1'000), "1 2 3 4 5");
  paused.offer(A, {7});
  paused.tick(1'000);
  EXPECT_EQ(paused.offer(A, {6}), "cycle(6)");
}

/// A line that is read late, and has brought nothing to compare, seems to be ahead when the next cycle begins soon
/// after.
TEST(Carousel, a_first_packet_that_is_the_same_begins_no_second_cycle) {
  Bench bench(carousel_options());
  for (std::uint64_t number = 3; number <= 40; ++number) offer_with(bench, A, number, 1);
  bench.tick(2'000'000);
  offer_with(bench, B, 1, 1);
  offer_with(bench, B, 2, 1);
  bench.tick(500);
  bench.story.take();
  offer_with(bench, A, 1, 2);
  EXPECT_EQ(bench.story.take(), "cycle(1)");
  offer_with(bench, B, 1, 2);
  offer_with(bench, A, 2, 2);
  EXPECT_EQ(bench.tick(1'000), "1 2");
  EXPECT_EQ(bench.arbiter.epoch(), 1U);
}

TEST(Carousel, a_line_that_returns_from_death_is_in_step_from_the_next_cycle_on_even_ahead_of_the_leader) {
  Bench bench(carousel_options());
  const auto cycle_of = [&bench](Line line) {
    for (std::uint64_t number = 1; number <= 40; ++number) bench.offer(line, {number});
  };
  cycle_of(A);
  cycle_of(B);
  bench.tick(500'000'000);
  cycle_of(B);  // A is dead
  bench.tick(500'000'000);
  for (std::uint64_t number = 1; number <= 20; ++number) bench.offer(B, {number});
  bench.tick(100'000'000);
  bench.story.take();
  EXPECT_EQ(bench.offer(A, {20, 21}), "21") << "in the middle of a cycle the bytes tell which one it is";
  bench.tick(100'000'000);
  cycle_of(B);
  bench.tick(100'000'000);
  bench.story.take();
  EXPECT_EQ(bench.offer(A, {1, 2}), "") << "the leader has not begun it yet";
  EXPECT_EQ(bench.offer(B, {1}), "cycle(1)");
  EXPECT_EQ(bench.offer(A, {3, 4}), "");
  EXPECT_EQ(bench.offer(B, {2}), "");
  bench.tick(100'000'000);
  EXPECT_EQ(bench.arbiter.account().packets.delivered, 4U) << "A fills in what B has not brought yet";
  EXPECT_EQ(bench.arbiter.line(A).last_sequence, 4U);
}

// ------------------------------------------------------------------------------------------------------------- lines

TEST(Lines, what_one_lost_and_the_other_saved_is_counted) {
  Bench bench = started(fast_options());
  for (std::uint64_t number = 101; number < 200; ++number) {
    if (number % 10 != 0) bench.offer(A, {number});
    bench.now_ns += 100;
    bench.offer(B, {number});
  }
  bench.finish();
  EXPECT_EQ(bench.arbiter.line(A).missing, 9U);
  EXPECT_EQ(bench.arbiter.line(A).saved, 9U);
  EXPECT_EQ(bench.arbiter.line(B).missing, 1U);  // number 100
  EXPECT_EQ(bench.arbiter.line(B).saved, 1U);
  EXPECT_EQ(bench.arbiter.line(B).behind.count(), 90U);
  EXPECT_EQ(bench.arbiter.line(B).behind.at_most(0.99), 127U);
  EXPECT_EQ(bench.arbiter.line(A).behind.count(), 0U);
}

TEST(Lines, skew_is_that_of_the_arrivals_not_of_the_order_of_reading) {
  Bench bench = started(fast_options());
  for (std::uint64_t number = 101; number < 120; ++number) {
    Packet packet;
    packet.preamble.sequence = number;
    packet.t_ns = bench.now_ns + number;
    bench.offer(packet);
  }
  for (std::uint64_t number = 101; number < 120; ++number) {
    Packet packet;
    packet.preamble.sequence = number;
    packet.line = B;
    packet.t_ns = bench.now_ns + number - 50;  // was first
    bench.offer(packet);
  }
  EXPECT_EQ(bench.arbiter.line(A).behind.count(), 19U);
  EXPECT_EQ(bench.arbiter.line(A).behind.at_most(0.99), 63U);
  EXPECT_EQ(bench.arbiter.line(B).behind.count(), 0U);
  EXPECT_EQ(bench.arbiter.line(B).first_copies, 19U);
  EXPECT_EQ(bench.arbiter.line(A).first_copies, 1U);  // number 100
}

TEST(Lines, are_judged_while_packets_flow) {
  Bench bench = started(fast_options());
  for (std::uint64_t number = 101; number <= 150; ++number) {
    bench.offer(B, {number});
    if (number != 120) bench.offer(A, {number});
  }
  EXPECT_EQ(bench.arbiter.line(A).missing, 1U);
  bench.offer(A, {120});  // very late, but there
  EXPECT_EQ(bench.arbiter.line(A).missing, 0U);
  EXPECT_EQ(bench.arbiter.line(A).saved, 0U);
}

TEST(Lines, one_that_dies_and_returns_makes_no_gap) {
  Bench bench = started(fast_options());
  for (std::uint64_t number = 101; number <= 5'000; ++number) {
    if (number < 1'000 || number > 4'000) bench.offer(A, {number});
    bench.offer(B, {number});
  }
  bench.finish();
  EXPECT_EQ(bench.arbiter.gaps(), 0U);
  EXPECT_EQ(bench.arbiter.line(A).missing, 3'001U);
  EXPECT_EQ(bench.arbiter.line(A).saved, 3'001U);
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 4'901U);
}

TEST(Lines, a_recovery_line_counts_apart) {
  Bench bench = started(ordered_options());
  bench.offer(A, {102});
  EXPECT_EQ(bench.offer(Line::Replay, {101}), "101 102");
  EXPECT_EQ(bench.arbiter.account().numbers.recovered, 1U);
  EXPECT_EQ(bench.arbiter.account().numbers.delivered, 2U);
  EXPECT_EQ(bench.arbiter.account().packets.received[2], 1U);
}

TEST(Malformed, preambles_are_counted_before_and_in_a_run) {
  Bench bench(ordered_options());
  Packet packet;
  packet.preamble.error = ErrorCode::X9;
  bench.offer(packet);
  EXPECT_EQ(bench.arbiter.account().packets.malformed, 1U);
  bench.offer(A, {5});
  bench.offer(packet);
  bench.finish();
  EXPECT_EQ(bench.arbiter.total().packets.malformed, 2U);
  EXPECT_EQ(bench.arbiter.total().packets.all_received(), 3U);
}

TEST(Options, of_a_framing) {
  EXPECT_EQ(options_for(net::parse_framing("moex").value()).sequence_bits, 32);
  EXPECT_EQ(options_for(net::parse_framing("none").value()).sequence_bits, 0);
  EXPECT_EQ(options_for(net::parse_framing("t7").value()).sequence_bits, 32);
  EXPECT_EQ(options_for(net::parse_framing("custom:seq=u16le@0").value()).sequence_bits, 16);
  EXPECT_TRUE(options_for(net::parse_framing("b3").value()).chunks);
}

// Numbers that were given up, and come by a replay.

TEST(Replay, brings_back_each_number_that_was_given_up_once) {
  for (const bool is_ordered : {true, false}) {
    Bench bench(is_ordered ? ordered_options() : fast_options());
    (void)bench.offer(Line::A, {1, 2});
    (void)bench.tick(5'000);
    (void)bench.offer(Line::A, {6, 7});
    (void)bench.tick(5'000);
    const std::uint16_t epoch = bench.arbiter.epoch();
    ASSERT_EQ(bench.arbiter.account().numbers.lost, 3U);
    const auto recover = [&](std::uint64_t number) {
      const bool is_of_use = bench.arbiter.recover(number, epoch);
      bench.check();
      return is_of_use;
    };
    EXPECT_TRUE(recover(4));
    EXPECT_TRUE(recover(3)) << "in any order";
    EXPECT_FALSE(recover(4));
    EXPECT_FALSE(recover(2)) << "it was delivered";
    EXPECT_FALSE(recover(0)) << "before the run";
    EXPECT_FALSE(recover(8)) << "not sent yet";
    EXPECT_FALSE(recover(1'000'000));
    EXPECT_EQ(bench.arbiter.account().numbers.lost, 1U);
    EXPECT_EQ(bench.arbiter.account().numbers.recovered, 2U);
    EXPECT_EQ(bench.arbiter.account().packets.received[2], 7U);
    // A line that is late brings what has come, and what has not.
    EXPECT_EQ(bench.offer(Line::B, {4, 5, 5, 6}), "");
    EXPECT_TRUE(recover(5)) << "a late copy was not used";
    EXPECT_EQ(bench.offer(Line::B, {3, 8}), "8");
    EXPECT_EQ(bench.arbiter.conflicts(), 0U);
    EXPECT_EQ(bench.arbiter.account().numbers.lost, 0U);
    (void)bench.finish();
  }
}

TEST(Replay, does_not_bring_numbers_of_a_run_that_has_ended) {
  Bench bench(ordered_options());
  (void)bench.offer(Line::A, {100, 101});
  (void)bench.tick(5'000);
  (void)bench.offer(Line::A, {103});
  (void)bench.tick(5'000);
  const std::uint16_t epoch = bench.arbiter.epoch();
  (void)bench.tick(50'000);
  (void)bench.offer(Line::A, {1, 2, 3});
  (void)bench.tick(50'000);
  (void)bench.offer(Line::A, {4});
  ASSERT_NE(bench.arbiter.epoch(), epoch);
  EXPECT_FALSE(bench.arbiter.recover(102, epoch));
  EXPECT_FALSE(bench.arbiter.recover(102, bench.arbiter.epoch()));
  bench.check();
}

TEST(Replay, is_no_loss_of_a_line_twice) {
  Bench bench(ordered_options());
  for (std::uint64_t n = 1; n <= 10; ++n) (void)bench.offer(Line::A, {n});
  for (std::uint64_t n = 14; n <= 30; ++n) {
    (void)bench.offer(Line::A, {n});
    (void)bench.offer(Line::B, {n});
    (void)bench.tick(2'000);
  }
  ASSERT_EQ(bench.arbiter.account().numbers.lost, 3U);
  const std::uint64_t missing = bench.arbiter.line(Line::A).missing;
  const std::uint64_t saved = bench.arbiter.line(Line::A).saved;
  EXPECT_EQ(missing, 3U);
  EXPECT_TRUE(bench.arbiter.recover(12, bench.arbiter.epoch()));
  EXPECT_EQ(bench.arbiter.line(Line::A).missing, missing);
  EXPECT_EQ(bench.arbiter.line(Line::A).saved, saved + 1);
  (void)bench.finish();
}

}  // namespace stopbit::arbitrate::arbiter_test
