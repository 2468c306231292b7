#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "host/nic/error.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::queue_test {

constexpr std::size_t kSlots = PageLayout::kCommands;

Command numbered(std::uint64_t number) {
  Command command;
  command.operation = Operation::NotificationPut;
  command.tag = number;
  command.address = ~number;
  command.more = number * 3;
  return command;
}

class Queue : public ::testing::Test {
 protected:
  Queue() { memory.set_state(PortState::Enabled); }

  Issue insert(std::size_t count) {
    std::vector<Command> commands;
    for (std::size_t i = 0; i < count; ++i) commands.push_back(numbered(next + i));
    const Issue issue = queue.insert(commands);
    next += issue.accepted;
    return issue;
  }

  PageMemory memory;
  CommandQueue queue{memory.page()};
  CommandSource source{memory.page()};
  std::uint64_t next = 0;
};

TEST_F(Queue, gives_commands_back_in_their_order_and_unchanged_over_many_laps) {
  Command taken;
  std::uint64_t expected = 0;
  for (int lap = 0; lap < 1000; ++lap) {
    ASSERT_EQ(insert(static_cast<std::size_t>(lap % 7)).reply, Reply::NoError);
    while (source.take(taken)) {
      Command command = numbered(expected);
      command.number = ++expected;
      ASSERT_EQ(std::memcmp(&taken, &command, sizeof(Command)), 0);
    }
  }
  EXPECT_EQ(expected, next);
}

TEST_F(Queue, accepts_a_part_of_a_batch_and_refuses_when_full) {
  EXPECT_EQ(insert(kSlots - 3).reply, Reply::NoError);
  const Issue part = insert(5);
  EXPECT_EQ(part.reply, Reply::Partial);
  EXPECT_EQ(part.accepted, 3U);
  const Issue none = insert(1);
  EXPECT_EQ(none.reply, Reply::Full);
  EXPECT_EQ(none.accepted, 0U);
  Command taken;
  for (std::size_t i = 0; i < kSlots; ++i) ASSERT_TRUE(source.take(taken));
  EXPECT_EQ(taken.tag, kSlots - 1);
  EXPECT_FALSE(source.take(taken));
  EXPECT_EQ(insert(kSlots).accepted, kSlots);
}

TEST_F(Queue, tells_the_port_of_free_slots_now_and_then_and_at_the_latest_when_it_is_empty) {
  const auto told = [&] { return memory.page().word(PageWord::Taken).load(); };
  insert(kSlots);
  Command taken;
  for (std::size_t i = 0; i < kSlots / 4 - 1; ++i) ASSERT_TRUE(source.take(taken));
  EXPECT_EQ(told(), 0U);
  ASSERT_TRUE(source.take(taken));
  EXPECT_EQ(told(), kSlots / 4);
  while (source.take(taken)) {
  }
  insert(1);
  ASSERT_TRUE(source.take(taken));
  EXPECT_EQ(told(), kSlots);
  EXPECT_FALSE(source.take(taken));
  EXPECT_EQ(told(), kSlots + 1);
}

TEST_F(Queue, has_three_rings_and_a_full_one_holds_up_no_other) {
  EXPECT_EQ(insert(kSlots).accepted, kSlots);
  EXPECT_EQ(insert(1).reply, Reply::Full);
  for (const CommandRing ring : {CommandRing::High, CommandRing::Transfer}) {
    CommandSource other(memory.page(), ring);
    const Command command = numbered(1000 + static_cast<std::uint64_t>(ring));
    EXPECT_EQ(CommandQueue(memory.page(), ring).insert({&command, 1}).reply, Reply::NoError);
    Command taken;
    ASSERT_TRUE(other.take(taken));
    EXPECT_EQ(taken.tag, command.tag);
    EXPECT_FALSE(other.take(taken));
  }
  Command taken;
  for (std::size_t i = 0; i < kSlots; ++i) ASSERT_TRUE(source.take(taken));
  EXPECT_EQ(taken.tag, kSlots - 1);
}

TEST_F(Queue, names_the_first_command_that_is_none) {
  std::vector<Command> commands = {numbered(0), numbered(1), Command{}, numbered(2)};
  const Issue issue = queue.insert(commands);
  EXPECT_EQ(issue.reply, Reply::Invalid);
  EXPECT_EQ(issue.accepted, 2U);
}

TEST_F(Queue, refuses_at_a_port_that_is_closed_or_stopped) {
  memory.set_state(PortState::Closed);
  EXPECT_EQ(insert(1).reply, Reply::Forbidden);
  memory.set_state(PortState::Disabled);
  EXPECT_EQ(insert(1).reply, Reply::Disabled);
  Command taken;
  EXPECT_FALSE(source.take(taken));
}

TEST(QueueStore, uses_an_instruction_that_was_never_run_only_if_somebody_says_so) {
  EXPECT_FALSE(chooses_line_store(true, nullptr)) << "it is there, and nobody has asked for it";
  EXPECT_FALSE(chooses_line_store(true, ""));
  EXPECT_FALSE(chooses_line_store(true, "1"));
  EXPECT_FALSE(chooses_line_store(false, "on"));
  EXPECT_TRUE(chooses_line_store(true, "on"));
}

TEST_F(Queue, survives_nonsense_in_the_page) {
  for (const std::uint64_t nonsense : {~std::uint64_t{0}, std::uint64_t{1} << 63U, std::uint64_t{1000}}) {
    memory.page().word(PageWord::Taken).store(nonsense);
    const Issue issue = insert(1);
    EXPECT_LE(issue.accepted, 1U) << nonsense;
  }
  Command taken;
  std::size_t count = 0;
  while (count < 10 && source.take(taken)) ++count;
  EXPECT_LE(count, 3U);
}

TEST_F(Queue, loses_and_doubles_nothing_with_many_producers_and_keeps_the_order_of_each) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 5'000;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const CommandQueue own(memory.page());
      for (std::uint64_t sent = 0; sent < kEach;) {
        std::vector<Command> batch;
        for (std::uint64_t i = sent; i < std::min(kEach, sent + 1 + sent % 5); ++i) {
          batch.push_back(numbered(thread << 32U | i));
        }
        const Issue issue = own.insert(batch);
        sent += issue.accepted;
        if (issue.accepted == 0) std::this_thread::yield();
      }
    });
  }
  std::vector<std::uint64_t> seen(kThreads, 0);
  Command taken;
  for (std::uint64_t count = 0; count < kThreads * kEach;) {
    if (!source.take(taken)) {
      std::this_thread::yield();
      continue;
    }
    ++count;
    const std::uint64_t thread = taken.tag >> 32U;
    if (thread >= kThreads || (taken.tag & 0xFFFF'FFFFU) != seen[thread] || taken.address != ~taken.tag ||
        taken.more != taken.tag * 3) {
      ADD_FAILURE() << "command " << count << " has tag " << taken.tag;
      break;
    }
    ++seen[thread];
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(source.take(taken));
}

TEST(NicError, has_the_numbers_of_the_table) {
  EXPECT_EQ(static_cast<int>(Error::Capability), 10);
  EXPECT_EQ(static_cast<int>(Error::Truncated), 17);
  EXPECT_STREQ(to_name(Error::TargetWindow), "ERR_TWINID");
  EXPECT_STREQ(to_meaning(Error::Capability), "wrong capability");
  EXPECT_STREQ(to_name(static_cast<Error>(kErrors)), "ERR_?");
  EXPECT_STRNE(to_name(static_cast<Error>(kErrors - 1)), "ERR_?");
}

}  // namespace stopbit::nic::queue_test
