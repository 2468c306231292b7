// Where a run goes on after another one had the channel, and what is taken for a run that begins anew.

#include <algorithm>
#include <array>
#include <string>

#include "tests/lib/random.hpp"
#include "tests/unit/feed/arbitrate/fixture.hpp"

namespace stopbit::arbitrate::testing {
namespace {

constexpr Line A = Line::A;
constexpr Line B = Line::B;
constexpr std::uint64_t kWindow = 1'000;
constexpr std::uint64_t kSilence = 10'000;

/// What a packet has beside its line and number.
struct From {
  std::uint32_t source = 1;
  std::uint64_t sender = 0;
  std::span<const std::byte> payload = {};
};

std::string offer(Bench& bench, Line line, std::initializer_list<std::uint64_t> sequences, const From& from = {}) {
  for (const std::uint64_t sequence : sequences) {
    Packet packet;
    packet.preamble.sequence = sequence;
    packet.preamble.sender = from.sender;
    packet.line = line;
    packet.source = from.source;
    packet.payload = from.payload;
    bench.offer(packet);
  }
  return bench.story.take();
}

/// The numbers from `first` to `last` on a line.
void offer_all(Bench& bench, Line line, std::uint64_t first, std::uint64_t last, const From& from = {}) {
  for (std::uint64_t number = first; number <= last; ++number) offer(bench, line, {number}, from);
}

TEST(Return, is_to_the_run_that_was_left_last) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 177);
  bench.tick(2 * kSilence);
  EXPECT_EQ(offer(bench, A, {315, 316}), "");  // a leap at 178
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(178+137) 315 316");
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 30);  // a reset
  bench.tick(2 * kSilence);
  offer_all(bench, A, 31, 170);
  bench.tick(2 * kSilence);
  offer(bench, B, {3'000'000'000, 3'000'000'001}, {.source = 9});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {176, 177, 178});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(176) gap(171+5) 176 177 178");
}

TEST(Return, is_to_the_place_just_before_though_it_is_short_and_an_older_run_was_long) {
  Bench bench(fast_options());
  offer_all(bench, A, 300, 499);
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 30);  // a reset
  bench.tick(2 * kSilence);
  offer_all(bench, A, 31, 600);
  bench.tick(2 * kSilence);
  offer(bench, A, {700, 701, 702, 703});  // the run goes on after a gap
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(601+99) 700 701 702 703");
  bench.tick(2 * kSilence);
  offer(bench, B, {3'000'000'000, 3'000'000'001}, {.source = 9});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {707, 708});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(707) gap(704+3) 707 708");
}

TEST(Return, of_a_sender_that_has_moved_to_an_address_of_another) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 110, {.source = 1, .sender = 1});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 10, {.source = 2, .sender = 2});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {113, 114}, {.source = 2, .sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(113) gap(111+2) 113 114");
}

TEST(Return, of_a_sender_that_has_moved_while_a_stranger_had_its_name) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 110, {.source = 1, .sender = 1});
  bench.tick(2 * kSilence);
  offer(bench, A, {5'000, 5'001}, {.source = 9, .sender = 2});
  bench.tick(2 * kSilence);
  offer(bench, A, {9'000'000, 9'000'001}, {.source = 9, .sender = 1});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {300, 301}, {.source = 3, .sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(300) gap(111+189) 300 301");
}

TEST(Return, to_what_was_passed_by_a_return_far_ahead) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 110, {.source = 1, .sender = 1});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 10, {.source = 2, .sender = 2});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {400, 401}, {.source = 9, .sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(400) gap(111+289) 400 401");
  offer(bench, A, {111, 112}, {.source = 1, .sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(111) 111 112");
}

TEST(Return, is_not_to_where_a_leap_began_with_a_reset_whose_first_numbers_had_no_room) {
  Bench bench(ordered_options());
  offer_all(bench, A, 1, 29);
  bench.tick(2 * kWindow);
  offer(bench, A, {200, 201});
  bench.tick(2 * kSilence);
  offer(bench, A, {202});
  bench.story.take();
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  offer_all(bench, A, 1, 100, {.payload = other});
  const std::string told = bench.tick(2 * kSilence);
  EXPECT_EQ(told.substr(0, told.find(" 36")), "reset(35) gap(1+34) 35");
}

TEST(Return, is_to_the_later_of_two_places_that_are_near_each_other) {
  Bench bench(fast_options());
  const auto offer_run = [&](std::uint64_t sender, std::uint64_t first, std::uint64_t last) {
    offer_all(bench, A, first, last, {.source = static_cast<std::uint32_t>(sender), .sender = sender});
    bench.tick(2 * kSilence);
  };
  offer_run(1, 1, 60);
  offer_run(2, 1, 10);
  offer_run(1, 1, 58);  // it has begun anew
  offer_run(77, 5'000, 5'001);
  bench.story.take();
  offer(bench, A, {140, 141}, {.sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(140) gap(59+81) 140 141");
}

TEST(Return, is_to_where_a_leap_has_led_if_the_run_goes_on_beyond) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 130);
  bench.tick(2 * kSilence);
  offer(bench, A, {230, 231, 232});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(131+99) 230 231 232");
  offer(bench, A, {9'000'000, 9'000'001}, {.source = 9, .sender = 9});
  EXPECT_EQ(bench.tick(2 * kSilence), "sender(9000000) 9000000 9000001");
  offer(bench, A, {240, 241});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(240) gap(233+7) 240 241");
}

/// Leaps may lead the run round all numbers, to those below its first one.
TEST(Return, is_not_to_numbers_below_the_first_that_the_run_has_come_to_again) {
  Options options = fast_options();
  options.sequence_bits = 64;
  Bench bench(options);
  offer_all(bench, A, 300, 310);
  bench.tick(2 * kSilence);
  for (std::uint64_t quarter = 1; quarter < 4; ++quarter) {
    offer(bench, A, {quarter << 62U, (quarter << 62U) + 1});
    bench.tick(2 * kSilence);
  }
  offer(bench, A, {200, 201});
  bench.tick(2 * kSilence);
  offer(bench, B, {200, 201});
  EXPECT_EQ(offer(bench, A, {202, 203}), "202 203");
  bench.tick(kWindow);
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  EXPECT_EQ(offer(bench, B, {202}, {.payload = other}), "conflict(202)");
}

/// Numbers of a leap that come late are a group of their own, which copies that differ do not join.
TEST(Return, begins_with_no_copy_that_differs_on_a_line_that_is_in_the_run) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 110);
  offer_all(bench, B, 100, 110);
  bench.tick(2 * kSilence);
  offer(bench, A, {180, 181});
  bench.tick(2 * kWindow);
  bench.story.take();
  offer(bench, A, {182, 183, 184});
  offer(bench, B, {178, 179, 180, 181, 182});
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  EXPECT_EQ(offer(bench, B, {183}, {.payload = other}), "conflict(183)");
}

/// What the run has outlived is dropped when that is known, even by a caller that ticks only when something is due.
TEST(Return, has_a_deadline_for_what_the_run_outlives) {
  Bench bench(fast_options());
  bench.is_read_in_order = false;
  offer_all(bench, A, 1, 40);
  bench.tick(kSilence);
  offer(bench, A, {41});
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  offer(bench, A, {3}, {.payload = other});
  EXPECT_EQ(bench.arbiter.account().packets.held, 1U);
  bench.now_ns += kSilence;
  offer(bench, A, {42});
  ASSERT_TRUE(bench.arbiter.next_deadline().has_value());
  EXPECT_LE(*bench.arbiter.next_deadline(), bench.now_ns);
  bench.tick(0);
  EXPECT_EQ(bench.arbiter.account().packets.held, 0U);
}

TEST(Leap, tells_when_the_number_before_it_came_however_long_it_is) {
  Bench bench(fast_options());
  offer(bench, A, {100});
  const std::uint64_t before_ns = bench.now_ns;
  bench.tick(2 * kSilence);
  offer(bench, A, {100'000, 100'001});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(101+99899) 100000 100001");
  EXPECT_EQ(bench.story.last_gap.before_t_ns, before_ns);
}

TEST(Leap, is_of_the_present_run_rather_than_of_one_that_stopped_near_it) {
  Options options = ordered_options();
  options.history = 65'536;
  Bench bench(options);
  offer_all(bench, A, 100, 595);
  bench.tick(5 * kWindow);
  offer(bench, A, {1, 2});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 3, 561);
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {24'320, 24'321});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(562+23758) 24320 24321");
  offer(bench, A, {562, 563});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(562) 562 563");
}

TEST(Leap, to_the_nearer_one_that_is_about_to_be_believed) {
  Bench bench(fast_options());
  offer(bench, A, {100});
  bench.tick(kSilence / 2);
  EXPECT_EQ(offer(bench, A, {5'000, 5'001}), "");
  bench.tick(kSilence / 2 - kWindow / 2);
  EXPECT_EQ(offer(bench, A, {200, 201}), "");
  EXPECT_EQ(bench.tick(kWindow * 3 / 4), "");
  EXPECT_EQ(bench.tick(kWindow), "gap(101+99) 200 201");
}

TEST(Leap, to_the_nearer_one_that_came_before_the_other_was_confirmed) {
  Options options = fast_options();
  options.switch_silence_ns = 10'000'000;
  Bench bench(options);
  offer(bench, A, {100});
  bench.is_read_in_order = false;
  bench.now_ns += kWindow;
  offer(bench, A, {300});
  bench.now_ns += 2'000'000;
  EXPECT_EQ(offer(bench, A, {170, 171, 301}), "");
  EXPECT_EQ(bench.tick(kWindow / 2), "");
  const std::string output = bench.tick(kWindow);
  EXPECT_EQ(output.substr(0, output.find(" gap", 1)), "gap(101+69) 170 171");
}

TEST(Leap, to_the_nearer_one_that_came_first_when_many_are_read_at_once) {
  Options options = fast_options();
  options.switch_silence_ns = 10'000'000;
  Bench bench(options);
  offer(bench, A, {100});
  bench.is_read_in_order = false;
  bench.now_ns += 2'000'000;
  offer(bench, A, {200, 201});
  bench.now_ns += 2'000'000;
  offer_all(bench, A, 300, 320);
  const std::string told = bench.tick(2'000'000);
  EXPECT_EQ(told.substr(0, told.find(" 300")), "gap(101+99) 200 201 gap(202+98)");
}

TEST(Leap, keeps_the_first_packet_from_the_runs_address_among_many_strangers) {
  Options options = fast_options();
  options.sequence_bits = 16;
  Bench bench(options);
  offer_all(bench, A, 100, 110);
  bench.tick(5 * kWindow);
  offer(bench, A, {111, 500});  // 388 are lost before it
  for (std::uint64_t i = 1; i <= 20; ++i) {
    bench.tick(1);
    offer(bench, A, {i * 1'000}, {.source = 9});
  }
  offer(bench, A, {501});
  const std::string told = bench.tick(kSilence);
  EXPECT_EQ(told.substr(0, told.find(" 501")), "gap(112+388) 500");
}

TEST(Leap, keeps_what_came_last_among_many_wild_numbers_of_both_lines) {
  Bench bench(fast_options());
  offer(bench, A, {100});
  bench.tick(5 * kWindow);
  const auto offer_wild = [&](std::uint64_t number) {
    offer(bench, A, {number * 1'000'000}, {.source = 9});
    offer(bench, B, {number * 1'000'000}, {.source = 9});
    bench.tick(1);
  };
  for (std::uint64_t i = 1; i <= 16; ++i) offer_wild(i);
  EXPECT_EQ(offer(bench, A, {101, 260}), "101");
  bench.tick(1);
  offer_wild(17);
  offer(bench, A, {261});
  const std::string told = bench.tick(kSilence);
  EXPECT_EQ(told.substr(0, told.find(" gap", 1)), "gap(102+158) 260 261");
}

TEST(Leap, in_fast_mode_leaves_out_nothing_that_its_new_address_has_brought) {
  Bench bench(fast_options());
  offer(bench, A, {100});
  bench.tick(5 * kWindow);
  offer(bench, A, {101});
  EXPECT_EQ(offer(bench, A, {102, 103, 106}, {.source = 2}), "102 103");
  EXPECT_EQ(offer(bench, A, {104}, {.source = 2}), "104");
  EXPECT_EQ(offer(bench, A, {107}, {.source = 2}), "gap(105+1) 106 107");
}

TEST(Leap, goes_not_on_to_second_copies_that_the_run_has_outlived) {
  Options options = fast_options();
  options.sequence_bits = 16;
  options.history = 65'536;
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 200);
  bench.tick(kWindow);
  offer(bench, A, {2, 53});
  bench.tick(kWindow);
  EXPECT_EQ(offer(bench, A, {201, 32'800}).substr(0, 3), "201");
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(202+32598) 32800");
}

TEST(Reset, begins_with_what_came_at_the_time_of_the_last_packet_of_the_run) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 100, 300);
  offer(bench, A, {1});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {2, 3});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(1) 1 2 3");
}

TEST(Reset, is_not_made_of_numbers_that_come_just_after_they_were_given_up) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 6);
  offer_all(bench, A, 8, 47);
  offer_all(bench, A, 49, 200);
  bench.story.take();
  offer(bench, A, {7, 48});
  EXPECT_EQ(bench.tick(2 * kSilence), "");
  bench.finish();
  EXPECT_EQ(bench.arbiter.total().packets.late, 2U);
}

TEST(Reset, does_not_begin_with_a_late_number_that_the_run_has_outlived) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 6);
  offer_all(bench, A, 8, 200);
  offer(bench, A, {7});
  bench.tick(kWindow);
  offer(bench, A, {201});
  bench.tick(kWindow);
  bench.story.take();
  offer(bench, A, {5, 6, 8});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(5) 5 6 gap(7+1) 8");
}

TEST(Reset, that_is_announced_does_not_take_what_a_late_line_brings) {
  Bench bench(fast_options());
  offer(bench, A, {1, 2});
  offer_all(bench, A, 4, 100);
  offer(bench, B, {1, 2});
  bench.arbiter.announce(1);
  offer(bench, B, {3});
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
}

TEST(Reset, that_is_announced_begins_without_copies_that_differed_long_before) {
  Bench bench(fast_options());
  const std::array<std::byte, 2> damaged = {std::byte{0x66}, std::byte{0x66}};
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  offer_all(bench, A, 1, 100);
  offer_all(bench, B, 1, 5);
  bench.arbiter.announce(1);
  offer(bench, B, {6, 8}, {.payload = damaged});
  bench.tick(kWindow);
  offer(bench, A, {101});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer_all(bench, A, 1, 6, {.payload = other});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(1) 1 2 3 4 5 6");
  EXPECT_TRUE(std::ranges::equal(bench.story.last_bytes, other));
}

TEST(Reset, is_not_one_of_the_first_numbers_that_a_line_brings_late_with_other_bytes) {
  Bench bench(fast_options());
  offer_all(bench, A, 1, 30);
  offer(bench, B, {1, 2, 3, 4, 6, 7, 8});
  bench.tick(5 * kWindow);
  bench.story.take();
  const std::array<std::byte, 2> damaged = {std::byte{0x66}, std::byte{0x66}};
  EXPECT_EQ(offer(bench, B, {5}, {.payload = damaged}), "conflict(5)");
}

TEST(Reset, at_numbers_that_were_given_up_long_ago) {
  Options options = ordered_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 16);
  offer_all(bench, A, 42, 200);
  bench.tick(2 * kWindow);
  offer_all(bench, A, 201, 210);
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {19, 20, 21});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(19) 19 20 21");
}

/// A port without stamps reads the last packets of the run after a pause, just before the first ones of the reset.
TEST(Reset, at_numbers_that_were_given_up_long_ago_even_if_the_run_seems_to_be_alive) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 16);
  offer_all(bench, A, 42, 200);
  bench.tick(kSilence);
  offer_all(bench, A, 201, 210);
  bench.story.take();
  offer(bench, A, {19, 20, 21});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(19) 19 20 21");
}

TEST(Reset, is_not_one_number_that_comes_very_late) {
  Options options = ordered_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 100, 119);
  offer_all(bench, A, 121, 200);
  bench.tick(6 * kWindow);
  bench.story.take();
  offer(bench, A, {120});
  EXPECT_EQ(bench.tick(3 * kSilence), "");
  EXPECT_EQ(offer(bench, A, {201}), "201");
  EXPECT_EQ(bench.finish(), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 1U);
}

TEST(Reset, at_one_of_the_first_numbers_even_if_it_was_given_up_just_now) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 11);
  offer_all(bench, A, 13, 200);
  bench.story.take();
  offer(bench, A, {12, 13, 14});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(12) 12 13 14");
}

TEST(Reset, below_a_run_that_has_gone_on_after_a_downtime) {
  Bench bench(fast_options());
  bench.arbiter.resume_after(0, 300);
  EXPECT_EQ(offer(bench, A, {340}), "start(340) gap(301+39) 340");
  bench.tick(5 * kWindow);
  EXPECT_EQ(offer(bench, B, {20, 21}), "");
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(20) 20 21");
}

TEST(Reset, begins_with_what_both_lines_brought_before_the_last_packets_of_the_run) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer_all(bench, line, 1, 100);
  bench.tick(2 * kWindow);
  offer_all(bench, A, 101, 150);
  bench.tick(kWindow / 4);
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  for (const Line line : {A, B}) offer(bench, line, {3}, {.payload = other});
  bench.tick(kWindow / 4);
  offer_all(bench, B, 101, 150);
  bench.tick(5 * kWindow);
  bench.story.take();
  for (const std::uint64_t number : {4U, 5U}) {
    for (const Line line : {A, B}) offer(bench, line, {number}, {.payload = other});
  }
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(3) 3 4 5");
}

TEST(Reset, is_not_second_copies_of_the_first_numbers_that_come_at_the_end_of_a_short_run) {
  Bench bench(fast_options());
  for (const Line line : {A, B}) offer_all(bench, line, 1, 40);
  bench.tick(2 * kWindow);
  bench.story.take();
  offer(bench, B, {4, 7});
  EXPECT_EQ(bench.tick(3 * kSilence), "");
  EXPECT_EQ(bench.arbiter.total().packets.duplicate, 42U);
}

TEST(Reset, is_not_second_copies_of_chunks_that_come_at_the_end_of_a_short_run) {
  Options options = ordered_options();
  options.chunks = true;
  Bench bench(options);
  const auto offer_chunk = [&](Line line, std::uint64_t number, std::uint16_t chunk) {
    const std::array<std::byte, 2> bytes = {static_cast<std::byte>(number), static_cast<std::byte>(chunk)};
    Packet packet;
    packet.preamble.sequence = number;
    packet.preamble.chunk = chunk;
    packet.preamble.chunks = 2;
    packet.line = line;
    packet.payload = bytes;
    bench.offer(packet);
  };
  for (const Line line : {A, B}) {
    for (std::uint64_t number = 1; number <= 40; ++number) {
      offer_chunk(line, number, 1);
      offer_chunk(line, number, 2);
    }
  }
  bench.tick(2 * kWindow);
  bench.story.take();
  offer_chunk(B, 4, 2);
  offer_chunk(B, 7, 1);
  EXPECT_EQ(bench.tick(3 * kSilence), "");
}

TEST(Reset, is_not_second_copies_on_the_only_line_with_the_last_packets_of_a_run) {
  Options options = ordered_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 60);
  bench.tick(kWindow / 2);
  bench.story.take();
  offer(bench, A, {9, 14});
  EXPECT_EQ(bench.tick(3 * kSilence), "");
  EXPECT_EQ(offer(bench, A, {15, 16}), "reset(9) 9 gap(10+4) 14 15 16") << "it goes on: a sender has begun anew";
}

TEST(Return, has_its_own_packet_where_one_of_a_leap_came_late_before_it) {
  Bench bench(ordered_options());
  offer_all(bench, B, 1, 29);
  bench.tick(2 * kWindow);
  for (const Line line : {A, B}) offer(bench, line, {200, 201, 202});
  bench.tick(2 * kSilence);
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  for (const Line line : {A, B}) offer(bench, line, {203});
  for (const Line line : {A, B}) offer(bench, line, {32}, {.payload = other});
  offer(bench, A, {35});  // of the numbers that were leapt over
  bench.story.take();
  bench.tick(6 * kWindow);
  for (const Line line : {A, B}) offer(bench, line, {33, 34, 35}, {.payload = other});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(32) 32 33 34 35");
  EXPECT_TRUE(std::ranges::equal(bench.story.last_bytes, other));
}

TEST(Reset, that_was_announced_goes_on_over_the_number_where_the_run_fell_silent) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer_all(bench, line, 1, 30);
  bench.tick(2 * kWindow);
  bench.story.take();
  bench.arbiter.announce(1);
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  for (std::uint64_t number = 1; number <= 35; ++number) {
    if (number == 31) continue;  // lost
    for (const Line line : {A, B}) EXPECT_EQ(offer(bench, line, {number}, {.payload = other}), "") << number;
    bench.tick(kSilence / 50);
  }
  EXPECT_EQ(bench.tick(2 * kSilence),
            "reset(1) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 gap(31+1) 32 33 "
            "34 35");
}

TEST(Reset, of_which_one_first_number_came_goes_on_over_the_number_where_the_run_fell_silent) {
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  Bench bench(ordered_options());
  offer_all(bench, B, 1, 3);
  bench.tick(3 * kSilence);
  bench.story.take();
  offer(bench, B, {1}, {.payload = other});  // 2 and 3 are lost
  bench.tick(kWindow);
  EXPECT_EQ(offer(bench, B, {4, 5}, {.payload = other}), "reset(1) 1");
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(2+2) 4 5");
}

TEST(Reset, is_not_shown_by_one_first_number_of_an_unknown_address_or_that_was_given_up) {
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer(bench, line, {1, 2, 4, 5});
  bench.tick(3 * kSilence);
  EXPECT_EQ(offer(bench, B, {1}, {.source = 0, .payload = other}), "");
  bench.tick(kWindow);
  EXPECT_EQ(offer(bench, B, {6}), "6");
  bench.tick(3 * kSilence);
  EXPECT_EQ(offer(bench, B, {3}), "");
  bench.tick(kWindow);
  EXPECT_EQ(offer(bench, B, {7}), "7");
}

TEST(Reset, does_not_take_what_a_late_line_has_brought_of_numbers_that_were_leapt_over) {
  Bench bench(ordered_options());
  offer_all(bench, B, 1, 29);
  bench.tick(2 * kWindow);
  offer(bench, B, {200, 201});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 60);  // a line that is read late: 30 to 60 have been leapt over
  offer(bench, A, {200, 201, 202});
  bench.tick(2 * kWindow);
  offer(bench, B, {202, 203});
  bench.tick(kWindow);
  bench.story.take();
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  for (const Line line : {A, B}) offer(bench, line, {7, 8, 9}, {.payload = other});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(7) 7 8 9");
}

TEST(Reset, keeps_what_came_before_a_pause_if_the_times_are_known_by_the_poll_only) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer_all(bench, line, 100, 150);
  bench.tick(2 * kWindow);
  for (const Line line : {A, B}) offer(bench, line, {5, 6});
  offer(bench, A, {151});
  bench.tick(kWindow);
  offer(bench, B, {151});
  bench.tick(5 * kWindow);  // the machine pauses
  bench.story.take();
  for (const Line line : {A, B}) offer(bench, line, {7, 8});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(5) 5 6 7 8");
}

TEST(Leap, to_a_number_of_several_chunks_keeps_the_first_one_when_there_is_no_room) {
  Options options = ordered_options();
  options.chunks = true;
  options.room_packets = 8;
  options.window_packets = 8;
  Bench bench(options);
  offer_all(bench, A, 1, 20);
  bench.tick(2 * kWindow);
  bench.story.take();
  offer_all(bench, A, 1'000'000, 1'000'012, {.source = 9});
  for (std::uint16_t chunk = 1; chunk <= 3; ++chunk) {
    Packet packet;
    packet.preamble.sequence = 200;
    packet.preamble.chunk = chunk;
    packet.preamble.chunks = 3;
    packet.source = 1;
    bench.offer(packet);
  }
  EXPECT_EQ(bench.tick(2 * kSilence).substr(0, 32), "gap(21+179) 200.1 200.2 200.3 ga");
}

TEST(Leap, tells_what_had_no_room_apart_from_what_it_has_overtaken) {
  Options options = fast_options();
  options.room_packets = 8;
  Bench bench(options);
  for (const Line line : {A, B}) offer_all(bench, line, 1, 20);
  offer_all(bench, B, 100, 119);
  bench.is_read_in_order = false;  // one poll brings them all
  offer_all(bench, A, 21, 44);
  EXPECT_EQ(offer(bench, A, {45}), "45 gap(46+54) gap(100+10) 110 111 112 113 114 115 116 117 118 119");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Room);
}

TEST(Downtime, a_late_copy_of_what_was_delivered_before_it_begins_no_run) {
  Bench bench(fast_options());
  bench.arbiter.resume_after(0, 100);
  EXPECT_EQ(bench.offer(A, {98, 99, 100}), "");
  EXPECT_EQ(bench.arbiter.account().packets.late, 3U);
  EXPECT_EQ(bench.offer(A, {103}), "start(103) gap(101+2) 103");
}

TEST(Downtime, what_a_late_line_brings_is_delivered_as_far_below_as_numbers_are_believed_ahead) {
  Bench bench(ordered_options());
  bench.arbiter.resume_after(0, 100);
  EXPECT_EQ(offer(bench, B, {130}), "start(130)");
  EXPECT_EQ(offer(bench, A, {110, 111}), "") << "further below than the packets that a window holds";
  EXPECT_EQ(bench.tick(2 * kWindow), "gap(101+9) 110 111 gap(112+18) 130");
  EXPECT_EQ(bench.arbiter.account().packets.late, 0U);
}

TEST(Reset, that_begins_just_below_the_first_number_of_the_run_goes_on_with_its_other_bytes) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer_all(bench, line, 6, 60);
  offer_all(bench, B, 61, 120);
  bench.tick(5 * kWindow);
  bench.story.take();
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  std::string reset = "reset(2)";
  for (std::uint64_t number = 2; number <= 40; ++number) {
    for (const Line line : {A, B}) offer(bench, line, {number}, {.payload = other});
    bench.now_ns += kWindow / 100;
    reset += " " + std::to_string(number);
  }
  EXPECT_EQ(bench.tick(2 * kSilence), reset);
}

TEST(Reset, does_not_join_late_numbers_of_a_moment_before_the_run_fell_silent) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 2);
  offer_all(bench, A, 4, 120);  // read late, all with the same time
  offer(bench, A, {3});
  bench.tick(9 * kWindow);
  bench.story.take();
  offer(bench, A, {1, 2, 4});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(1) 1 2 gap(3+1) 4");
}

TEST(Leap, takes_along_a_single_number_that_its_new_address_has_brought_just_ahead_of_the_run) {
  Bench bench(ordered_options());
  offer(bench, A, {1, 2, 3, 4, 5}, {.source = 1});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {400}, {.source = 2});
  offer(bench, A, {20}, {.source = 2});
  offer(bench, A, {402, 404}, {.source = 2});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(6+14) 20 gap(21+379) 400 gap(401+1) 402 gap(403+1) 404");
}

TEST(Leap, takes_along_a_single_number_just_ahead_of_the_run_when_neighbours_show_its_new_address) {
  Bench bench(ordered_options());
  offer(bench, A, {1, 2, 3, 4, 5}, {.source = 1});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {20}, {.source = 2});
  offer(bench, A, {400, 401, 402}, {.source = 2});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(6+14) 20 gap(21+379) 400 401 402");
}

TEST(Carousel, a_line_that_is_read_late_begins_no_cycle_of_its_own_after_the_leader) {
  Options options = ordered_options();
  options.carousel = true;
  Bench bench(options);
  const std::array<std::byte, 2> first = {std::byte{1}, std::byte{1}};
  const std::array<std::byte, 2> second = {std::byte{2}, std::byte{2}};
  offer(bench, A, {1, 2, 3}, {.payload = first});
  EXPECT_EQ(bench.tick(2 * kWindow), "1 2 3");
  bench.tick(5 * kWindow);
  offer(bench, B, {1, 2, 3}, {.payload = first});
  bench.tick(kWindow / 2);
  EXPECT_EQ(offer(bench, A, {1}, {.payload = second}), "cycle(1)");
  EXPECT_EQ(offer(bench, B, {1}, {.payload = second}), "") << "the same cycle";
  offer(bench, A, {2}, {.payload = second});
  EXPECT_EQ(bench.tick(2 * kWindow), "1 2");
}

TEST(Carousel, a_second_copy_that_is_read_late_is_of_no_cycle_that_has_begun_meanwhile) {
  Options options = ordered_options();
  options.carousel = true;
  Bench bench(options);
  const std::array<std::byte, 2> first = {std::byte{1}, std::byte{1}};
  const std::array<std::byte, 2> second = {std::byte{2}, std::byte{2}};
  for (const Line line : {A, B}) offer(bench, line, {1, 2, 3}, {.payload = first});
  bench.tick(5 * kWindow);
  bench.story.take();
  EXPECT_EQ(offer(bench, A, {1}, {.payload = second}), "cycle(1)");
  offer(bench, B, {3, 4}, {.payload = first});
  offer(bench, A, {2}, {.payload = second});
  EXPECT_EQ(bench.tick(2 * kWindow), "1 2");
}

/// Second copies on the only line have no bytes to compare.
TEST(Reset, does_not_join_late_numbers_after_which_the_line_has_gone_on) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 11);
  offer_all(bench, A, 13, 100);
  offer(bench, A, {12, 13});
  bench.tick(kWindow / 10);
  offer_all(bench, A, 101, 170);
  bench.tick(kWindow / 10);
  bench.story.take();
  offer(bench, A, {5, 6, 8});
  bench.tick(5 * kWindow);
  offer(bench, A, {9});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(5) 5 6 gap(7+1) 8 9");
}

TEST(Reset, is_not_outlived_by_a_late_packet_of_the_run_before) {
  Options options = fast_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 98);
  bench.tick(5 * kWindow);
  offer(bench, A, {100});
  bench.tick(kWindow / 10);
  offer(bench, A, {2, 3});
  bench.tick(kWindow / 10);
  offer(bench, A, {99});  // delayed
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {4, 5});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(2) 2 3 4 5");
}

TEST(Reset, takes_numbers_just_below_the_first_of_a_run_that_was_gone_back_to) {
  Options options = ordered_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 100, 150, {.sender = 1});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 9, {.sender = 2});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 151, 190, {.sender = 1});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {120, 121}, {.sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(120) 120 121");
}

TEST(Stranger, that_the_run_comes_up_to_does_not_close_the_window_of_what_is_missing_below) {
  Options options = ordered_options();
  options.lines = {true, false};
  Bench bench(options);
  offer_all(bench, A, 1, 5);
  bench.tick(5 * kWindow);
  offer(bench, A, {6});
  offer(bench, A, {11}, {.source = 9});
  bench.tick(2 * kWindow);
  bench.story.take();
  EXPECT_EQ(offer(bench, A, {7, 9, 10}), "7");
  EXPECT_EQ(offer(bench, A, {8}), "8 9 10 11");
}

TEST(Stranger, on_both_lines_does_not_make_its_address_the_run_s_own) {
  Bench bench(fast_options());
  for (const Line line : {A, B}) offer_all(bench, line, 1, 5);
  bench.tick(5 * kWindow);
  for (const Line line : {A, B}) offer(bench, line, {6});
  bench.story.take();
  EXPECT_EQ(offer(bench, A, {7}, {.source = 9}), "7");
  EXPECT_EQ(offer(bench, B, {7}, {.source = 9}), "") << "a copy of its own";
  EXPECT_EQ(offer(bench, A, {30}, {.source = 9}), "");
}

TEST(Leap, to_numbers_of_a_new_address_takes_along_the_last_one_of_the_old_address) {
  Bench bench(fast_options());
  offer(bench, A, {1, 2, 3, 4, 5});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {400});
  offer(bench, A, {401, 402, 403}, {.source = 2});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(6+394) 400 401 402 403");
}

TEST(Leap, waits_for_what_the_held_packets_of_the_run_leave_out) {
  Options options = ordered_options();
  options.lines = {true, false};
  options.window_ns = 1'000'000;
  options.switch_silence_ns = 10'000'000;
  Bench bench(options);
  offer_all(bench, A, 1, 4);
  bench.tick(2'000'000);
  offer(bench, A, {5});
  bench.story.take();
  offer_all(bench, A, 80, 90);
  offer(bench, A, {7});
  EXPECT_EQ(bench.tick(500'000), "");
  EXPECT_EQ(offer(bench, A, {6}), "6 7");
}

TEST(Return, is_to_the_later_of_two_runs_of_the_sender) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 249, {.sender = 1});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 100, {.sender = 1});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 20, {.sender = 2});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {330, 331}, {.sender = 1});
  EXPECT_EQ(bench.tick(2 * kSilence), "back(330) gap(101+229) 330 331");
}

TEST(Return, begins_with_copies_only_just_after_the_run_was_left) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 169, {.sender = 2});
  bench.tick(2 * kSilence);
  offer_all(bench, A, 1, 10, {.sender = 1});
  bench.tick(6 * kWindow);
  offer_all(bench, A, 11, 20, {.sender = 1});
  bench.tick(kWindow);
  bench.story.take();
  offer(bench, A, {166, 167, 168, 169, 170, 171}, {.sender = 2});  // much later: others
  EXPECT_EQ(bench.tick(2 * kSilence), "sender(166) 166 167 168 169 170 171");
}

TEST(Carousel, what_came_before_the_cycle_began_is_not_of_it) {
  Options options = ordered_options();
  options.carousel = true;
  Bench bench(options);
  bench.is_read_in_order = false;
  const std::uint64_t early_ns = bench.now_ns;
  bench.now_ns += 5 * kWindow;
  offer(bench, A, {1, 2, 3});
  EXPECT_EQ(bench.tick(2 * kWindow), "1 2 3");
  Packet packet;
  packet.preamble.sequence = 5;
  packet.line = B;
  packet.t_ns = early_ns;
  bench.offer(packet);
  EXPECT_EQ(bench.tick(2 * kWindow), "");
}

TEST(Switch, waits_for_what_the_run_itself_goes_on_with) {
  Bench bench(fast_options());
  bench.is_read_in_order = false;
  offer_all(bench, A, 1, 20, {.sender = 1});
  bench.now_ns += 2 * kSilence;  // the caller was stopped
  bench.story.take();
  offer(bench, A, {120, 121, 122}, {.sender = 1});
  offer(bench, A, {749'851, 749'852}, {.source = 9, .sender = 77});
  EXPECT_EQ(bench.tick(0), "");
  EXPECT_EQ(bench.tick(2 * kWindow), "gap(21+99) 120 121 122");
}

TEST(Leap, is_to_no_number_that_its_own_lines_go_on_far_below) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer_all(bench, line, 1, 10);
  bench.tick(2 * kWindow);
  for (const Line line : {A, B}) offer(bench, line, {217});
  bench.tick(3 * kWindow / 2);
  for (const Line line : {A, B}) offer_all(bench, line, 11, 80);
  bench.story.take();
  EXPECT_EQ(bench.tick(2 * kSilence), "");
  EXPECT_EQ(offer(bench, A, {81}), "81");
}

TEST(Room, is_why_a_number_is_lost_that_the_run_comes_to_after_it_was_set_aside_and_dropped) {
  Bench bench(fast_options());
  bench.is_read_in_order = false;
  offer_all(bench, A, 1, 20);
  offer_all(bench, B, 150, 400);  // far ahead: only the last ones have room
  offer_all(bench, A, 21, 159);
  EXPECT_EQ(offer(bench, A, {161}), "gap(160+1) 161");
  EXPECT_EQ(bench.story.last_gap.reason, GapReason::Room);
}

/// The story of a sender that begins anew, slowly, within the numbers of a run that both lines have brought from
/// `first` to `last` and that has been silent for long. A number `lost` comes on neither line.
std::string begins_anew_below(std::uint64_t first, std::uint64_t last, std::uint64_t begin, std::uint64_t lost = 0) {
  Bench bench(ordered_options());
  for (std::uint64_t number = first; number <= last; ++number) {
    for (const Line line : {A, B}) offer(bench, line, {number});
    bench.tick(kWindow);
  }
  bench.tick(3 * kSilence);
  bench.story.take();
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  std::string story;
  for (std::uint64_t number = begin; number <= last + 2; ++number) {
    if (number == lost) continue;
    for (const Line line : {A, B}) story += offer(bench, line, {number}, {.payload = other});
    story += bench.tick(kSilence / 20);
  }
  return story;
}

TEST(Reset, among_the_numbers_of_a_short_run_is_told_before_it_comes_to_its_end) {
  EXPECT_TRUE(begins_anew_below(4, 30, 1).starts_with("reset(")) << "of before the run's first number, too";
  EXPECT_TRUE(begins_anew_below(26, 37, 8).starts_with("reset(")) << "seen from its eighth number on";
  EXPECT_TRUE(begins_anew_below(40, 140, 117).starts_with("reset(")) << "and from its 117th";
  EXPECT_TRUE(begins_anew_below(1, 30, 1, 2).starts_with("reset("));
}

TEST(Reset, in_one_burst_goes_over_the_end_of_a_short_run) {
  Bench bench(ordered_options());
  for (const Line line : {A, B}) offer(bench, line, {1, 2, 3, 4});
  bench.tick(3 * kSilence);
  bench.story.take();
  bench.is_read_in_order = false;
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  offer(bench, A, {1, 2, 3, 4, 5, 6, 7}, {.payload = other});
  offer(bench, B, {1, 2, 3, 4, 5, 6, 7}, {.payload = other});
  EXPECT_EQ(bench.tick(kWindow), "reset(1) 1 2 3 4 5 6 7");
}

TEST(Reset, is_not_what_the_other_line_brings_as_late_as_the_silence) {
  Bench bench(ordered_options());
  for (std::uint64_t number = 1; number <= 30; ++number) {
    offer(bench, A, {number});
    if (number <= 10) offer(bench, B, {number});
    bench.tick(kWindow);
  }
  bench.tick(2 * kSilence);
  bench.story.take();
  std::string story;
  for (std::uint64_t number = 11; number <= 32; ++number) {  // of which 31 and 32 are new
    story += offer(bench, B, {number});
    story += bench.tick(kWindow);
  }
  EXPECT_EQ(story, "3132");
}

TEST(Reset, is_not_what_another_address_sends_among_the_numbers_of_a_silent_run) {
  const std::array<std::byte, 2> other = {std::byte{0x77}, std::byte{0x77}};
  const auto story_of = [&](std::initializer_list<std::uint64_t> forged, std::uint64_t after_ns) {
    Bench bench(ordered_options());
    for (std::uint64_t number = 1; number <= 105; ++number) {
      for (const Line line : {A, B}) offer(bench, line, {number});
      bench.tick(kWindow);
    }
    bench.tick(2 * kSilence);
    bench.story.take();
    std::string story = offer(bench, A, forged, {.source = 9, .payload = other});
    story += bench.tick(after_ns);
    for (const Line line : {A, B}) story += offer(bench, line, {106});
    return story + bench.tick(2 * kSilence);
  };
  EXPECT_EQ(story_of({103, 104, 105}, 2 * kWindow), "conflict(103) conflict(104) conflict(105)106");
  EXPECT_EQ(story_of({50}, 2 * kSilence), "conflict(50)106") << "it has waited for the silence";
}

TEST(Reset, is_seen_by_other_bytes_of_chunks_that_its_line_left_long_ago) {
  constexpr std::array kOther = {std::byte{77}};
  Options options = fast_options();
  options.chunks = true;
  Bench bench(options);
  const auto offer_chunks = [&](Line line, std::uint64_t number, std::span<const std::byte> payload) {
    Packet packet;
    packet.preamble = {.sequence = number, .chunk = 1, .chunks = 1};
    packet.line = line;
    packet.source = 1;
    packet.payload = payload;
    bench.offer(packet);
  };
  for (const Line line : {A, B}) {
    for (std::uint64_t number = 1; number <= 100; ++number) {
      if (line == B || number > 50) offer_chunks(line, number, {});
    }
  }
  bench.tick(5 * kWindow);
  for (const Line line : {A, B}) offer_chunks(line, 101, {});
  bench.story.take();
  for (const std::uint64_t number : {23U, 24U, 25U}) {
    for (const Line line : {A, B}) offer_chunks(line, number, kOther);
  }
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(23) 23 24 25");
}

TEST(Reset, keeps_what_came_before_a_lower_number_that_was_delayed) {
  Options options = ordered_options();
  options.lines = {true, false};
  options.switch_silence_ns = 100 * kWindow;
  Bench bench(options);
  offer_all(bench, A, 1, 100);
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {3, 4, 5, 7, 8, 9, 10, 11, 12});
  bench.tick(20 * kWindow);
  offer(bench, A, {6, 13});
  EXPECT_EQ(bench.tick(200 * kWindow), "reset(3) 3 4 5 6 7 8 9 10 11 12 13");
}

TEST(Reset, that_is_slow_keeps_the_numbers_before_its_first_one_that_was_delayed) {
  Options options = ordered_options();
  options.lines = {true, false};
  options.switch_silence_ns = 200 * kWindow;
  Bench bench(options);
  offer_all(bench, A, 1, 100);
  bench.tick(3 * kWindow);
  bench.story.take();
  for (const std::uint64_t number : {8U, 9U, 7U, 10U}) {
    offer(bench, A, {number});
    bench.tick(5 * kWindow);
  }
  EXPECT_EQ(bench.tick(300 * kWindow), "reset(7) 7 8 9 10");
}

TEST(Reset, that_is_slow_keeps_a_number_that_overtook_most_of_those_below_it) {
  Options options = ordered_options();
  options.lines = {true, false};
  options.switch_silence_ns = 200 * kWindow;
  Bench bench(options);
  offer_all(bench, A, 1, 100);
  bench.tick(100 * kWindow);  // long after the run's last packet: nothing of it can still come late
  bench.story.take();
  for (const std::uint64_t number : {5U, 6U, 7U, 8U, 14U, 13U, 10U, 11U, 15U, 9U, 12U}) {
    offer(bench, A, {number});
    bench.tick(2 * kWindow);
  }
  EXPECT_EQ(bench.tick(300 * kWindow), "reset(5) 5 6 7 8 9 10 11 12 13 14 15");
}

TEST(Reset, does_not_go_on_with_what_came_late_of_the_run_before) {
  Options options = ordered_options();
  options.room_packets = 256;
  options.switch_silence_ns = 100 * kWindow;
  Bench bench(options);
  for (const Line line : {A, B}) offer_all(bench, line, 1, 41);
  bench.tick(2 * kWindow);
  offer_all(bench, A, 175, 180);
  bench.tick(100 * kWindow);
  offer(bench, A, {181});
  offer(bench, B, {145, 146, 147});  // of the numbers that were leapt over
  bench.tick(kWindow);
  offer(bench, A, {182});
  bench.tick(20 * kWindow);
  bench.story.take();
  constexpr std::array kOther = {std::byte{77}};
  for (const Line line : {A, B}) offer_all(bench, line, 1, 144, {.payload = kOther});
  EXPECT_EQ(bench.tick(200 * kWindow).substr(0, 10), "reset(1) 1");
  EXPECT_EQ(offer(bench, A, {145}, {.payload = kOther}), "145");
}

TEST(Carousel, a_line_that_was_led_into_a_cycle_is_where_its_copies_are) {
  constexpr std::array kOfNext = {std::byte{77}};
  Options options = ordered_options();
  options.carousel = true;
  Bench bench(options);
  for (const Line line : {A, B}) offer_all(bench, line, 1, 30);
  bench.tick(5 * kWindow);
  offer(bench, B, {1, 2, 3}, {.payload = kOfNext});
  bench.tick(5 * kWindow);
  bench.story.take();
  offer(bench, A, {29, 30}, {.payload = kOfNext});  // after a pause, and just before the next cycle
  offer(bench, B, {1, 2, 4});
  EXPECT_EQ(offer(bench, A, {1, 2, 3}), "");
  EXPECT_EQ(bench.tick(2 * kWindow), "1 2 3 4");
}

TEST(HandOver, goes_on_after_what_something_else_has_brought) {
  Bench bench(fast_options());
  EXPECT_EQ(offer(bench, A, {100, 101, 102}), "start(100) 100 101 102");
  bench.arbiter.hand_over(bench.story);
  bench.check();
  EXPECT_EQ(bench.arbiter.next_sequence(), std::nullopt);
  bench.arbiter.resume_after(0, 150, 3, bench.now_ns);
  EXPECT_EQ(offer(bench, B, {101, 149, 150}), "") << "late";
  EXPECT_EQ(offer(bench, B, {153}), "start(153) gap(151+2) 153");
  EXPECT_EQ(bench.arbiter.epoch(), 3U);
  EXPECT_EQ(bench.arbiter.total().numbers.expected, 6U);
  EXPECT_EQ(bench.arbiter.total().numbers.lost, 2U);
  EXPECT_EQ(bench.arbiter.total().packets.received[0] + bench.arbiter.total().packets.received[1], 7U);
}

TEST(HandOver, takes_copies_for_late_however_low_unless_time_has_passed) {
  for (const bool is_soon : {true, false}) {
    Bench bench(fast_options());
    bench.arbiter.resume_after(0, 9, 0, bench.now_ns);
    if (!is_soon) bench.tick(2 * kSilence);
    EXPECT_EQ(offer(bench, B, {8, 9, 10}), is_soon ? "start(10) 10" : "start(8) 8 9 10");
  }
}

TEST(HandOver, leads_to_no_run_of_before) {
  Bench bench(fast_options());
  offer_all(bench, A, 100, 177);
  bench.tick(2 * kSilence);
  offer(bench, A, {315, 316});  // a leap at 178
  bench.tick(2 * kSilence);
  bench.story.take();
  bench.arbiter.hand_over(bench.story);
  bench.arbiter.resume_after(0, 1'000, 0, bench.now_ns);
  EXPECT_EQ(offer(bench, A, {1'001, 1'002}), "start(1001) 1001 1002");
  bench.tick(2 * kSilence);
  offer(bench, A, {178, 179});  // where the leap began
  EXPECT_EQ(bench.tick(2 * kSilence), "reset(178) 178 179");
}

TEST(HandOver, gives_up_what_waits_and_keeps_the_account) {
  Bench bench(ordered_options());
  offer(bench, A, {10, 11});
  bench.tick(2 * kWindow);
  offer(bench, A, {13, 14});
  offer(bench, B, {5'000});  // far ahead: set aside
  bench.story.take();
  bench.arbiter.hand_over(bench.story);
  bench.check();
  EXPECT_EQ(bench.story.take(), "gap(12+1) 13 14");
  EXPECT_EQ(bench.arbiter.total().packets.held, 0U);
  EXPECT_EQ(bench.arbiter.total().numbers.held, 0U);
  EXPECT_EQ(bench.arbiter.total().numbers.expected, 5U);
  bench.arbiter.hand_over(bench.story);  // there is nothing
  bench.check();
  EXPECT_EQ(bench.arbiter.total().numbers.expected, 5U);
}

/// Something else has the numbers again and again.
TEST(HandOver, delivers_each_other_number_once_or_in_a_gap) {
  cases::Random random(7);
  for (int round = 0; round < 40; ++round) {
    Bench bench(random.chance(50) ? ordered_options() : fast_options());
    std::uint64_t next = 1'000;
    std::uint64_t brought = 0;  // by something else
    for (int turn = 0; turn < 50; ++turn) {
      const std::uint64_t begin = next;
      for (std::uint64_t count = 1 + random.below(30); count != 0; --count, ++next) {
        bench.tick(random.below(20));
        // The first and the last one come, so that every missing one is found.
        const bool is_edge = next == begin || count == 1;
        for (const Line line : {A, B}) {
          if (is_edge || !random.chance(30)) offer(bench, line, {next});
        }
      }
      bench.story.take();
      bench.arbiter.hand_over(bench.story);
      bench.check();
      const Account total = bench.arbiter.total();
      ASSERT_EQ(total.numbers.expected, next - 1'000 - brought);
      ASSERT_EQ(total.numbers.expected, total.numbers.delivered + total.numbers.lost);
      const std::uint64_t more = random.below(200);
      brought += more;
      next += more;
      bench.arbiter.resume_after(0, next - 1, 0, bench.now_ns);
    }
  }
}

TEST(History, of_numbers_of_16_bits_leaves_most_of_them_out_of_reach) {
  Options options = fast_options();
  options.sequence_bits = 16;
  options.history = 65'536;
  Bench bench(options);
  offer_all(bench, A, 100, 110);
  bench.tick(2 * kSilence);
  offer(bench, A, {60'000, 60'001});
  bench.tick(2 * kSilence);
  bench.story.take();
  offer(bench, A, {20'000, 20'001});
  EXPECT_EQ(bench.tick(2 * kSilence), "gap(60002+25534) 20000 20001");
}

}  // namespace
}  // namespace stopbit::arbitrate::testing
