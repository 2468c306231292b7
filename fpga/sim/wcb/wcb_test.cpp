/// One thing at a time, and what it costs.
#include <iostream>

#include "wcb_fixture.hpp"

namespace stopbit::sim {
namespace {

using nic::Command;
using nic::Error;

void add(Wcb& wcb, std::size_t page, const std::vector<Command>& parts) {
  for (const Command& command : parts) wcb.add(part_of(page, command));
}

TEST(Wcb, puts_a_message_of_any_length_together_from_parts_in_reverse) {
  Wcb wcb(1);
  std::uint64_t sent = 0;
  std::vector<std::size_t> lengths = {1, 7, 8, 9, 39, 40, 41, 48, 80, 120, 127, 128, 129, 255, 256, 257, 1'024};
  for (std::size_t length = 2'000; length <= 2'048; ++length) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    std::vector<Command> parts =
        cut(static_cast<std::uint8_t>(length), bytes_of(length, wcb.random()), wcb.random(), false);
    std::reverse(parts.begin(), parts.end());
    add(wcb, 5, parts);
    ++sent;
  }
  wcb.drain();
  EXPECT_EQ(wcb.whole[5], sent);
  EXPECT_EQ(wcb.refused[5], 0U);
}

TEST(Wcb, is_as_fast_as_its_input_with_two_slots) {
  for (const std::size_t length : {std::size_t{40}, std::size_t{80}, std::size_t{2'040}}) {
    Wcb wcb(2);
    const int messages = length == 40 ? 100 : 20;
    for (int i = 0; i < messages; ++i) {
      add(wcb, 0, cut(static_cast<std::uint8_t>(i), bytes_of(length, wcb.random()), wcb.random(), true));
    }
    const std::uint64_t begin = wcb.cycles();
    const std::uint64_t words = static_cast<std::uint64_t>(messages) * length / 40 * 7;
    const std::uint64_t before = wcb.words_in;
    while (wcb.words_in - before < words) wcb.cycle();
    std::cout << length << " bytes: " << words << " words in " << wcb.cycles() - begin << " cycles\n";
    EXPECT_EQ(wcb.cycles() - begin, words) << length;
    wcb.drain();
    EXPECT_EQ(wcb.whole[0], static_cast<std::uint64_t>(messages));
  }
}

TEST(Wcb, takes_five_cycles_for_a_short_part) {
  Wcb wcb(3);
  for (std::uint8_t i = 0; i < 100; ++i) {
    add(wcb, i % kPages, cut(i, bytes_of(8, wcb.random()), wcb.random(), true));
  }
  const std::uint64_t begin = wcb.cycles();
  while (wcb.pending() > 0) wcb.cycle();
  EXPECT_LE(wcb.cycles() - begin, 510U);
  wcb.drain();
}

TEST(Wcb, shows_a_message_soon_after_its_last_word) {
  Wcb wcb(4);
  add(wcb, 0, cut(1, bytes_of(8, wcb.random()), wcb.random(), true));
  const std::uint64_t begin = wcb.cycles();
  wcb.drain();
  std::cout << "first word in to first word out: " << wcb.first_out - begin << " cycles\n";
  EXPECT_EQ(wcb.first_out - begin, 12U);
}

TEST(Wcb, gives_up_a_message_whose_parts_do_not_come) {
  Wcb wcb(5);
  std::vector<Command> parts = cut(1, bytes_of(200, wcb.random()), wcb.random(), true);
  wcb.add(part_of(2, parts[0]));
  wcb.add(part_of(2, parts[3]));  // the gap is 0
  for (int i = 0; i < 50; ++i) wcb.cycle();
  add(wcb, 3, {parts[1]});  // no first part: nobody knows where it should go
  for (int i = 0; i < 50; ++i) wcb.cycle();
  for (int i = 0; i < kPatience; ++i) {
    EXPECT_EQ(wcb.late, 0U);
    wcb.tick();
    for (int wait = 0; wait < 8; ++wait) wcb.cycle();
  }
  for (std::size_t i = 0; i < kPages; ++i) {
    wcb.tick();
    for (int wait = 0; wait < 8; ++wait) wcb.cycle();
  }
  wcb.drain();
  EXPECT_EQ(wcb.late, 2U);
  EXPECT_EQ(wcb.given_up(), 2U);
  EXPECT_EQ(wcb.cut_short, 1U);
}

TEST(Wcb, gives_up_late_messages_when_a_part_comes) {
  Wcb wcb(6);
  const std::vector<Command> parts = cut(1, bytes_of(200, wcb.random()), wcb.random(), true);
  const std::vector<Command> others = cut(2, bytes_of(200, wcb.random()), wcb.random(), true);
  add(wcb, 7, {parts[0], others[2]});
  wcb.drain();
  for (int i = 0; i < kPatience; ++i) {
    wcb.tick();
    for (int wait = 0; wait < 8; ++wait) wcb.cycle();
  }
  add(wcb, 7, cut(3, bytes_of(100, wcb.random()), wcb.random(), true));
  wcb.drain();
  EXPECT_EQ(wcb.given_up(), 2U);
  EXPECT_EQ(wcb.whole[7], 1U);
  EXPECT_EQ(wcb.refused[7], 0U);
}

TEST(Wcb, cuts_a_message_when_its_sender_says_so) {
  Wcb wcb(7);
  const std::vector<std::byte> bytes = bytes_of(203, wcb.random());
  const std::vector<Command> parts = cut(4, bytes, wcb.random(), true);
  Command abort = command_of(4, bytes, 0, 0);
  abort.modifiers |= nic::kAbort;
  add(wcb, 0, {abort});  // nothing to cut
  add(wcb, 0, {parts[0], parts[5], abort});
  add(wcb, 0, {parts[4], abort});  // to where the abort says
  wcb.drain();
  EXPECT_EQ(wcb.errors,
            (std::vector<Error>{Error::Command, Error::None, Error::None, Error::None, Error::None, Error::None}));
  EXPECT_EQ(wcb.cut_short, 2U);
}

TEST(Wcb, refuses_a_third_message_and_lets_other_pages_go_on) {
  Wcb wcb(8);
  std::vector<std::vector<Command>> messages;
  for (std::uint8_t m = 0; m < 3; ++m) messages.push_back(cut(m, bytes_of(120, wcb.random()), wcb.random(), true));
  add(wcb, 1, {messages[0][0], messages[1][1], messages[2][0]});
  add(wcb, 0, messages[2]);
  add(wcb, 1, {messages[0][1], messages[1][2], messages[0][2], messages[1][0]});
  wcb.drain();
  EXPECT_EQ(wcb.refused[1], 1U);
  EXPECT_EQ(wcb.errors[2], Error::Full);
  EXPECT_EQ(wcb.whole[1], 2U);
  EXPECT_EQ(wcb.whole[0], 1U);
}

TEST(Wcb, finds_a_word_that_comes_twice_in_any_row) {
  Wcb wcb(12);
  std::uint8_t message = 0;
  for (const std::size_t twice : {0U, 1U, 25U, 47U, 50U}) {
    const std::vector<Command> parts = cut(++message, bytes_of(2'048, wcb.random()), wcb.random(), true);
    add(wcb, 2, {parts[47], parts[0], parts[1], parts[25], parts[50], parts[48]});
    wcb.drain();
    EXPECT_EQ(wcb.errors.back(), Error::None);
    add(wcb, 2, {parts[twice]});
    wcb.drain();
    EXPECT_EQ(wcb.errors.back(), Error::OriginOffset) << twice;
  }
  EXPECT_EQ(wcb.given_up(), 5U);
}

TEST(Wcb, leaves_out_what_is_no_part_of_an_open_page) {
  Wcb wcb(9);
  const Command command = cut(1, bytes_of(16, wcb.random()), wcb.random(), true)[0];
  Part part = part_of(0, command);
  part.vpid = kPorts;
  wcb.add(part);
  part.vpid = 0;
  part.traffic_class = 2;
  wcb.add(part);
  part.traffic_class = 0;
  part.is_misshapen = true;
  part.words.pop_back();
  wcb.add(part);  // a word too few
  part.words.assign(1, part.words[0]);
  part.command.tag = 0;
  wcb.add(part);  // only the head
  part = part_of(0, command);
  part.is_misshapen = true;
  part.words.resize(12);
  wcb.add(part);  // too many
  part = part_of(0, command);
  part.command.operation = nic::Operation::FastSend;
  part.words[0] = (part.words[0] & ~std::uint64_t{0xFF}) | 1;
  wcb.add(part);
  wcb.add_stray(1);
  wcb.add_begun(2);
  wcb.add_stray(3);  // ends it: one more, which is no SendPart
  part = part_of(1, command);
  part.words = {2, 3};
  part.is_misshapen = true;
  part.command.operation = static_cast<nic::Operation>(2);
  part.command.tag = 3;
  // What add_begun began is a part to the unit.
  wcb.note(part);
  wcb.add(part_of(0, command));
  wcb.drain();
  EXPECT_EQ(wcb.errors,
            (std::vector<Error>{Error::OriginVpid, Error::OriginVpid, Error::OriginLength, Error::OriginLength,
                                Error::OriginLength, Error::Command, Error::Command, Error::None}));
  EXPECT_EQ(wcb.strays, 1U);
  // A part that another one interrupts.
  wcb.add_begun(7);
  wcb.add(part_of(0, command));
  wcb.drain();
  EXPECT_EQ(wcb.strays, 2U);
  EXPECT_EQ(wcb.whole[0], 2U);
}

TEST(Wcb, gives_up_what_a_process_left_when_its_page_is_closed) {
  Wcb wcb(10);
  const std::vector<Command> parts = cut(1, bytes_of(80, wcb.random()), wcb.random(), true);
  const std::vector<Command> others = cut(2, bytes_of(80, wcb.random()), wcb.random(), true);
  add(wcb, 3, {parts[0], others[1]});
  wcb.drain();
  wcb.set(3, false);
  add(wcb, 3, {parts[1]});
  wcb.drain();
  EXPECT_EQ(wcb.given_up(), 2U);
  EXPECT_EQ(wcb.cut_short, 1U);
  EXPECT_EQ(wcb.errors.back(), Error::OriginVpid);
  // The next process does not finish a message of the last one.
  wcb.set(3, true);
  add(wcb, 3, {parts[1]});
  wcb.drain();
  EXPECT_EQ(wcb.whole[3], 0U);
  add(wcb, 3, {parts[0]});
  wcb.drain();
  EXPECT_EQ(wcb.whole[3], 1U);
}

TEST(Wcb, judges_a_part_by_its_page_as_it_was_when_its_turn_came) {
  Wcb wcb(13);
  wcb.set_out(false);
  for (std::uint8_t i = 0; i < 20; ++i) add(wcb, 1, cut(i, bytes_of(400, wcb.random()), wcb.random(), true));
  for (int i = 0; i < 2'000; ++i) wcb.cycle();
  const std::size_t taken = wcb.errors.size();
  wcb.begin_set(1, false);  // while a part waits
  for (int i = 0; i < 20; ++i) wcb.cycle();
  EXPECT_TRUE(wcb.is_open(1));
  wcb.set_out(true);
  wcb.drain();
  EXPECT_FALSE(wcb.is_open(1));
  ASSERT_LT(taken + 1, wcb.errors.size());
  EXPECT_EQ(wcb.errors[taken], Error::None);
  EXPECT_EQ(wcb.errors[taken + 1], Error::OriginVpid);
}

TEST(Wcb, waits_for_its_output_and_tells_the_level) {
  Wcb wcb(11);
  wcb.set_out(false);
  for (std::uint8_t i = 0; i < 40; ++i) {
    add(wcb, i % kPages, cut(i, bytes_of(400, wcb.random()), wcb.random(), true));
  }
  for (int i = 0; i < 4'000; ++i) wcb.cycle();
  EXPECT_GT(wcb.pending(), 0U);
  wcb.tick();
  for (int i = 0; i < 4; ++i) wcb.cycle();
  ASSERT_FALSE(wcb.levels.empty());
  EXPECT_EQ(wcb.levels.back(), 512U);
  wcb.tick();
  for (int i = 0; i < 4; ++i) wcb.cycle();
  EXPECT_EQ(wcb.levels.size(), 1U) << "the same level is told once";
  wcb.set_out(true);
  wcb.drain();
  wcb.tick();
  for (int i = 0; i < 4; ++i) wcb.cycle();
  EXPECT_EQ(wcb.levels.back(), 0U);
  EXPECT_EQ(wcb.given_up(), 0U);
}

}  // namespace
}  // namespace stopbit::sim
