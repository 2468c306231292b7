#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::stress_test {

using test::kMaxRecordSlots;
using test::kSlots;
using test::seed_of;
using test::write_record;

class RingStress : public test::RingTest {};

constexpr std::uint32_t slots_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>(1 + seed * 2654435761 % kMaxRecordSlots);
}

/// Checks what one reader sees: every record whole, seeds rising, and seen + lost = written, slot for slot.
struct Witness {
  std::uint64_t records = 0;
  std::uint64_t laps_lost = 0;
  std::uint64_t last = 0;
  std::uint64_t position = 0;
  bool damaged = false;

  /// True if there was a record.
  bool take(Reader& reader) {
    switch (reader.poll()) {
      case Poll::Record: {
        const std::uint64_t seed = seed_of(reader.record());
        EXPECT_EQ(reader.record().size(), slots_of(seed));
        // Padding may lie between; nothing else.
        EXPECT_GE(reader.record_number(), position);
        EXPECT_LT(reader.record_number() - position, kMaxRecordSlots);
        EXPECT_TRUE(records == 0 || seed > last);
        last = seed;
        ++records;
        position = reader.position();
        return true;
      }
      case Poll::Lost:
        // Padding may have been read before the loss showed.
        EXPECT_LT(reader.position() - reader.lost() - position, kMaxRecordSlots);
        position = reader.position();
        ++laps_lost;
        return true;
      case Poll::Damaged: damaged = true; return false;
      case Poll::Nothing: return false;
    }
    return false;
  }
};

TEST_F(RingStress, slow_and_fast_readers_see_whole_records_only) {
  constexpr std::uint64_t kRecords = 300'000;
  Writer writer = make_writer();
  Witness witnesses[2];
  std::vector<std::thread> threads;
  for (int which = 0; which < 2; ++which) {
    threads.emplace_back([this, which, &witness = witnesses[which]] {
      Reader reader = make_reader();
      witness.position = reader.position();
      std::mt19937_64 random(static_cast<std::uint64_t>(which));
      for (;;) {
        if (!witness.take(reader)) {
          if (witness.damaged) break;
          if (reader.writer() != WriterState::Running && !witness.take(reader)) break;
          std::this_thread::yield();
        }
        if (which == 1 && random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
    });
  }
  while (!os::exists(name_)) std::this_thread::yield();
  for (std::uint64_t seed = 1; seed <= kRecords; ++seed) {
    write_record(writer, slots_of(seed), seed);
    if (seed % 16 == 0) std::this_thread::yield();  // or no reader gets to run
  }
  writer.finish();
  for (std::thread& thread : threads) thread.join();
  for (const Witness& witness : witnesses) {
    EXPECT_FALSE(witness.damaged);
    EXPECT_EQ(witness.last, kRecords);
    EXPECT_EQ(witness.position, writer.head());
    EXPECT_GT(witness.records, 0U);
  }
  EXPECT_GT(witnesses[1].laps_lost, 0U) << "the slow reader was never overtaken: the test shows nothing";
}

/// Writers die at random instructions; a reader of the same name sees whole records, and an end.
TEST_F(RingStress, killed_writers_leave_whole_records) {
  std::mt19937_64 random(3);
  std::uint64_t records = 0;
  // On a busy machine a writer may overtake the reader all the time: then there are more of them.
  for (int round = 0; round < 60 || (records == 0 && round < 6'000); ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Writer> writer = Writer::create(name_, test::small_program(), {.slot_count = kSlots});
      if (!writer) ::_exit(1);
      for (std::uint64_t seed = 1;; ++seed) write_record(writer.value(), slots_of(seed), seed);
    }
    const auto is_named = [&] {
      const Result<Reader> probe = Reader::open(name_);
      return probe.ok() && probe.value().writer_pid() == static_cast<std::uint32_t>(child);
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_named()) ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the child made no ring";
    Reader reader = make_reader();
    Witness witness;
    witness.position = reader.position();
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 2000);
    while (std::chrono::steady_clock::now() < end) witness.take(reader);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(reader.writer(), WriterState::Dead);
    while (witness.take(reader)) {
    }
    EXPECT_FALSE(witness.damaged);
    EXPECT_EQ(reader.poll(), Poll::Nothing);
    records += witness.records;
  }
  EXPECT_GT(records, 0U);
}

/// Readers are killed and stopped; the writer does not notice, and the next reader finds everything.
TEST_F(RingStress, killed_and_stopped_readers_leave_no_trace) {
  Writer writer = make_writer();
  std::mt19937_64 random(4);
  std::uint64_t seed = 0;
  std::vector<pid_t> stopped;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Reader> reader = Reader::open(name_);
      if (!reader) ::_exit(1);
      for (;;) (void)reader.value().poll();
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
    while (std::chrono::steady_clock::now() < end) {
      ++seed;
      write_record(writer, slots_of(seed), seed);
    }
    if (round % 4 == 0) {
      ::kill(child, SIGSTOP);
      stopped.push_back(child);
    } else {
      ::kill(child, SIGKILL);
      ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    }
  }
  Reader reader = make_reader(Start::Newest);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ++seed;
    write_record(writer, slots_of(seed), seed);
    ASSERT_EQ(reader.poll(), Poll::Record);
    ASSERT_EQ(seed_of(reader.record()), seed);
  }
  for (const pid_t child : stopped) {
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
}

/// Writers race for one name; exactly one gets it.
TEST_F(RingStress, one_of_several_writers_gets_the_name) {
  for (int round = 0; round < 30; ++round) {
    std::vector<pid_t> children;
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(pipes[0]);
        Result<Writer> writer = Writer::create(name_, test::small_program(), {.slot_count = kSlots});
        const char answer = writer.ok() ? 'y' : 'n';
        (void)!::write(pipes[1], &answer, 1);
        ::pause();
      }
      children.push_back(child);
    }
    ::close(pipes[1]);
    int winners = 0;
    for (int i = 0; i < 4; ++i) {
      char answer = 0;
      ASSERT_EQ(::read(pipes[0], &answer, 1), 1);
      winners += answer == 'y' ? 1 : 0;
    }
    EXPECT_EQ(winners, 1);
    Reader reader = make_reader();
    EXPECT_EQ(reader.writer(), WriterState::Running);
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    }
    ::close(pipes[0]);
    EXPECT_EQ(reader.writer(), WriterState::Dead);
  }
}

}  // namespace stopbit::ring::stress_test
