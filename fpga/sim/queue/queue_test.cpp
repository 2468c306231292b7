/// Posted writes, one thing at a time, and what it costs.
#include <iostream>

#include "queue_fixture.hpp"

namespace stopbit::sim::queue {
namespace {

using PostedQueue = QueueTest;

TEST_F(PostedQueue, makes_a_command_of_a_store_of_16_bytes_and_its_address) {
  for (unsigned code = 1; code <= static_cast<unsigned>(Short::Message); ++code) {
    for (unsigned flags = 0; flags < 16; ++flags) {
      for (int i = 0; i < 4; ++i) {
        post(write_of(address_of(unit_.random.below(kPorts), {static_cast<Short>(code), (flags & 1U) != 0,
                                                              (flags & 2U) != 0, (flags & 4U) != 0, (flags & 8U) != 0}),
                      {unit_.random.bits(), unit_.random.bits()}));
      }
    }
  }
  check();
}

TEST_F(PostedQueue, gives_whole_lines_to_their_unit_unchanged) {
  for (int i = 0; i < 500; ++i) {
    post(write_line(unit_.random.below(kPorts), unit_.random.below(32), random_line(i % 2 == 0)));
  }
  check();
}

TEST_F(PostedQueue, passes_a_fast_send_of_every_length_and_what_is_wrong_in_one_to_the_message_unit) {
  for (std::uint64_t length = 0; length < 100; ++length) {
    for (unsigned modifiers = 0; modifiers < 256; modifiers += 17) {
      Command command;
      command.operation = Operation::FastSend;
      command.modifiers = static_cast<std::uint8_t>(modifiers);
      command.window = static_cast<std::uint16_t>(length);
      command.target_node = 5;
      command.target_vpid = static_cast<std::uint16_t>(length * 40);
      command.tag = unit_.random.bits();
      command.more = unit_.random.bits();
      post(write_line(length % kPorts, length % 32, to_line(command)));
    }
    unit_.settle();
  }
  check();
}

TEST_F(PostedQueue, puts_lines_together_from_pieces_in_any_order) {
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t vpid = unit_.random.below(kPorts);
    const std::uint64_t number = unit_.random.below(32);
    for (const htax::Packet& piece : pieces(vpid, number, random_line(i % 3 == 0))) post(piece);
  }
  check();
  EXPECT_TRUE(model_.events.empty());
}

TEST_F(PostedQueue, puts_two_lines_of_each_of_many_ports_together_at_once) {
  std::vector<htax::Packet> all;
  for (std::uint64_t vpid = 0; vpid < kPorts; ++vpid) {
    for (std::uint64_t number = 8; number < 10; ++number) {
      const std::vector<htax::Packet> some = pieces(vpid, number, random_line(false));
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[unit_.random.below(i)]);
  for (const htax::Packet& piece : all) post(piece);
  EXPECT_EQ(transfers_.size(), 2 * kPorts);
  check();
}

TEST_F(PostedQueue, begins_a_line_anew_when_a_word_comes_again_or_another_line_or_all_of_it) {
  const Line line = random_line(false);
  post(write_of(address_of(3, 4, 0), {1, 2, 3}));
  post(write_of(address_of(3, 4, 2), {line[2], line[3]}));  // word 2 again
  post(write_of(address_of(3, 4, 4), {line[4], line[5], line[6], line[7]}));
  post(write_of(address_of(3, 4, 0), {line[0], line[1]}));
  post(write_of(address_of(3, 4, 7), {7}));
  post(write_of(address_of(3, 6, 0), {line[0]}));  // another one
  post(write_of(address_of(3, 6, 1), {line[1], line[2], line[3], line[4], line[5], line[6], line[7]}));
  post(write_of(address_of(3, 6, 1), {9}));
  post(write_line(3, 8, line));  // all of it
  post(write_of(address_of(3, 8, 0), {1}));
  post(write_of(address_of(3, 3, 0), {1}));  // an odd one is by itself
  EXPECT_EQ(model_.events.size(), 3U);
  EXPECT_EQ(transfers_.size(), 3U);
  check();
}

TEST_F(PostedQueue, leaves_out_what_is_no_command) {
  const std::vector<std::uint64_t> words(15, 0x5);
  const auto some = [&](std::size_t count) {
    return std::vector<std::uint64_t>(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (std::size_t count = 0; count <= 15; ++count) {
    post(write_of(address_of(5, {Short::Put}), some(count)));
    post(write_of(address_of(5, {Short::Put}) + 8, some(count)));
    post(write_of(address_of(6, 2, 0), some(count)));
    post(write_of(address_of(6, 2, 3), some(count)));
    post(write_of(address_of(6, 2, 0) + 4, some(count)));
    post(write_of(address_of(kPorts, 2, 0), some(count)));
    post(write_of(address_of(65'535, {Short::Get}), some(count)));
  }
  for (const unsigned code : {0U, 7U}) post(write_of(address_of(5, {static_cast<Short>(code)}), some(2)));
  for (unsigned mask = 0; mask < 256; mask += 5) {
    post({htax::to_phit({.length = 1, .origin = mask >> 5U, .tag = mask & 31U, .address = address_of(7, 0, 0)}), 1});
  }
  htax::Packet refused = write_line(8, 0, random_line(false));
  refused[0] |= std::uint64_t{1} << 63U;
  post(refused);
  post(write_line(9, 0, random_line(false)));
  EXPECT_GT(model_.events.size(), 100U);
  check();
}

TEST_F(PostedQueue, waits_when_it_is_full_and_loses_and_doubles_nothing) {
  unit_.transfers_are_shut = true;
  for (int i = 0; i < 400; ++i) {
    post(i % 2 == 0 ? write_line(unit_.random.below(kPorts), unit_.random.below(32), random_line(false))
                    : write_of(address_of(unit_.random.below(kPorts), {Short::Immediate}), {1, unit_.random.bits()}));
  }
  unit_.settle();
  EXPECT_GT(unit_.posted.size(), 300U) << "it waits";
  EXPECT_LT(unit_.posted.size(), 320U) << "512 words of commands find room";
  // Messages are after them on the channel, and so wait too: the source's whole-core stall.
  post(write_line(1, 0, random_line(true)));
  unit_.settle();
  EXPECT_TRUE(unit_.messages.empty());
  unit_.transfers_are_shut = false;
  check();
}

TEST_F(PostedQueue, lets_the_other_unit_go_on_while_there_is_room) {
  unit_.transfers_are_shut = true;
  for (int i = 0; i < 50; ++i) post(write_line(2, 0, random_line(false)));
  for (int i = 0; i < 50; ++i) post(write_line(3, 1, random_line(true)));
  unit_.settle();
  EXPECT_EQ(unit_.messages.size(), 50U);
  EXPECT_TRUE(unit_.transfers.empty());
  unit_.transfers_are_shut = false;
  unit_.messages_are_shut = true;
  for (int i = 0; i < 50; ++i) post(write_line(3, 1, random_line(true)));
  for (int i = 0; i < 200; ++i) post(write_of(address_of(4, {Short::Notify}), {1, 2}));
  unit_.settle();
  EXPECT_EQ(unit_.transfers.size(), 250U);
  EXPECT_EQ(unit_.messages.size(), 50U);
  unit_.messages_are_shut = false;
  check();
}

TEST_F(PostedQueue, forgets_lines_of_a_port_that_is_opened_again_and_commands_of_its_last_owner) {
  // What is on its way is not the next owner's.
  unit_.transfers_are_shut = unit_.messages_are_shut = true;
  for (int i = 0; i < 10; ++i) {
    unit_.posted.push_back(write_line(7, 0, random_line(i % 2 == 0)));
    unit_.posted.push_back(write_of(address_of(7, {Short::Message}), {8, 7}));
  }
  post(write_of(address_of(7, 1, 0), {1, 2, 3, 4}));
  post(write_of(address_of(7, 2, 4), {5, 6, 7, 8}));
  unit_.settle();
  open(7);
  post(write_of(address_of(7, 1, 4), {5, 6, 7, 8}));
  post(write_of(address_of(7, 2, 0), {1, 2, 3, 4}));
  unit_.settle();
  unit_.transfers_are_shut = unit_.messages_are_shut = false;
  EXPECT_TRUE(transfers_.empty() && messages_.empty());
  check();
  EXPECT_EQ(unit_.stale, 20U);
  post(write_line(7, 3, random_line(true)));
  post(write_line(7, 3, random_line(false)));
  close(8);
  post(write_line(8, 3, random_line(false)));
  unit_.set_port(9, State::Disabled, 1);
  model_.set(9, false);
  post(write_of(address_of(9, {Short::Message}), {1, 2}));
  check();
  EXPECT_EQ(unit_.stale, 20U);
}

TEST_F(PostedQueue, takes_less_than_100_ns_from_a_store_to_its_unit) {
  const auto cost = [&](const htax::Packet& packet, const std::uint64_t& left) {
    post(packet);
    unit_.settle();
    return left - unit_.header_cycle;
  };
  const std::uint64_t one = cost(write_of(address_of(1, {Short::Notify}), {1, 2}), unit_.transfer_cycle);
  const std::uint64_t message = cost(write_of(address_of(1, {Short::Message}), {8, 2}), unit_.message_cycle);
  const std::uint64_t line = cost(write_line(1, 0, random_line(false)), unit_.transfer_cycle);
  const std::uint64_t fast = cost(write_line(1, 0, random_line(true)), unit_.message_cycle);
  std::cout << "header to unit, cycles of 5 ns: store of 16 bytes, transfer " << one << ", message " << message
            << "; line, transfer " << line << ", message " << fast << '\n';
  EXPECT_EQ(one, 8U);
  EXPECT_EQ(message, 6U);
  EXPECT_EQ(line, 18U);
  EXPECT_EQ(fast, 13U);
  for (const std::uint64_t cycles : {one, message, line, fast}) EXPECT_LT(cycles * 5, 100U);
  // A line in two pieces: from the header of the second one.
  post(write_of(address_of(1, 0, 4), {5, 6, 7, 8}));
  const std::uint64_t pieces = cost(write_of(address_of(1, 0, 0), {2, 2, 3, 4}), unit_.transfer_cycle);
  std::cout << "line in pieces, from the header of the last one: " << pieces << '\n';
  EXPECT_EQ(pieces, 24U);
  check();
}

TEST_F(PostedQueue, takes_a_command_each_few_cycles) {
  const auto each = [&](const htax::Packet& packet) {
    for (int i = 0; i < 100; ++i) post(packet);
    while (unit_.posted.size() > 50) unit_.cycle();
    const std::uint64_t begin = unit_.now();
    while (unit_.posted.size() > 10) unit_.cycle();
    return static_cast<double>(unit_.now() - begin) / 40;
  };
  const double one = each(write_of(address_of(1, {Short::Notify}), {1, 2}));
  const double line = each(write_line(1, 0, random_line(false)));
  std::cout << "cycles from one to the next: store of 16 bytes " << one << ", line " << line << '\n';
  EXPECT_LE(one, 5.0);
  EXPECT_LE(line, 11.0);
  check();
}

}  // namespace
}  // namespace stopbit::sim::queue
