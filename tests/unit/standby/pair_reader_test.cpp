// Two rings in shared memory, whose writers end and come again.

#include "host/standby/pair_reader.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "host/os/shm/folder.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::standby::pair_reader_test {

using record::HeaderView;
using record::Slot;

constexpr std::uint64_t kMs = 1'000'000;

class Numbers final : public Output {
 public:
  void record(std::span<const Slot> record, Side /*from*/) noexcept override {
    told += std::to_string(HeaderView(record[0]).sequence()) + " ";
  }
  std::string take() { return std::exchange(told, {}); }
  std::string told;
};

/// An appliance's ring.
class Machine {
 public:
  explicit Machine(std::string name) : name_(std::move(name)) { start(1); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    writer_.reset();
    ::unlink((os::own_folder() + "/" + name_).c_str());
  }
  /// Its records have a layout of their own for each number of blocks.
  void start(std::size_t blocks = 1) {
    Program program;
    program.max_record_slots = 4;
    program.blocks.resize(blocks);
    ++epoch_;
    auto made = ring::Writer::create(name_, program, {.slot_count = 1'024});
    ASSERT_TRUE(made) << made.message();
    writer_.emplace(std::move(made).value());
  }
  void end() {
    writer_->finish();
    writer_.reset();
  }
  void publish(std::uint32_t first, std::uint32_t last, std::uint64_t of_template = 0) {
    for (std::uint32_t n = first; n <= last; ++n) put(n, of_template, n * 7);
  }
  /// The event that a number is missing.
  void lose(std::uint32_t number) {
    put(number, record::kEventIndex, static_cast<std::uint64_t>(record::EventKind::Gap), number, 1);
  }

 private:
  void put(std::uint32_t number, std::uint64_t of_template, std::uint64_t word4, std::uint64_t word5 = 0,
           std::uint64_t word6 = 0) {
    const record::RecordSink::Place place = writer_->open();
    Slot slot{};
    slot.words[0] = of_template | std::uint64_t{1} << 16 | std::uint64_t{place.stamp()} << 32;
    slot.words[1] = number * kMs;
    slot.words[2] = number | std::uint64_t{1} << 32 | std::uint64_t{record::kFlagLastOfPacket} << 56;
    slot.words[3] = std::uint64_t{epoch_} << 32;
    slot.words[4] = word4;
    slot.words[5] = word5;
    slot.words[6] = word6;
    slot.words[record::kTagWord] = record::tag_word_base(place.phase(), 0);
    for (unsigned i = 0; i < 4; ++i) slot.words[record::kTagWord] |= std::uint64_t{record::kHeaderTag + i} << (8 * i);
    writer_->commit(slot, 1);
  }

  std::string name_;
  std::optional<ring::Writer> writer_;
  std::uint16_t epoch_ = 40;
};

std::string name_of(const char* which) {
  return "standby-test-" + std::to_string(::getpid()) + "-" + which;
}

struct Rings {
  Numbers numbers;
  Machine a{name_of("a")};
  Machine b{name_of("b")};
  PairReader pair{name_of("a"), name_of("b"), {.slots = 4'096, .max_record_slots = 4}, numbers};
  std::uint64_t now = 1'000 * kMs;

  std::string pass(std::uint64_t ms) {
    for (std::uint64_t i = 0; i <= ms; i += 10) {
      pair.poll(now);
      now += 10 * kMs;
    }
    return numbers.take();
  }
};

TEST(PairReader, goes_on_with_the_other_ring_when_a_writer_ends_and_comes_again) {
  Rings bench;
  bench.a.publish(1, 5);
  bench.b.publish(1, 3);
  EXPECT_EQ(bench.pass(20), "1 2 3 4 5 ");
  bench.a.end();
  bench.b.publish(4, 7);
  EXPECT_EQ(bench.pass(100), "6 7 ");
  EXPECT_FALSE(bench.pair.is_open(Side::First));
  bench.a.start();
  bench.b.publish(8, 9);
  bench.a.publish(7, 9);
  EXPECT_EQ(bench.pass(200), "8 9 ");
  EXPECT_TRUE(bench.pair.is_open(Side::First));
  bench.b.end();
  bench.a.publish(10, 12);
  EXPECT_EQ(bench.pass(200), "10 11 12 ");
  EXPECT_FALSE(bench.pair.has_ended());
  bench.a.end();
  EXPECT_EQ(bench.pass(100), "");
  EXPECT_TRUE(bench.pair.has_ended());
  EXPECT_EQ(bench.pair.merge().counts().unsure, 0U);
}

TEST(PairReader, takes_from_the_other_ring_what_was_overwritten) {
  Rings bench;
  bench.a.publish(1, 3);
  bench.b.publish(1, 3);
  EXPECT_EQ(bench.pass(0), "1 2 3 ");
  bench.a.publish(4, 3'000);  // more than the ring has
  std::string told;
  for (std::uint32_t n = 4; n <= 3'000; n += 500) {
    bench.b.publish(n, std::min(n + 499, 3'000U));
    told += bench.pass(0);
  }
  told += bench.pass(500);
  std::string all;
  for (std::uint32_t n = 4; n <= 3'000; ++n) all += std::to_string(n) + " ";
  EXPECT_GT(bench.pair.lost(Side::First), 0U);
  EXPECT_EQ(told == all, true) << told.substr(0, 200);
}

/// Stopped, or blocked by its output: what the other ring has got meanwhile is not lost.
TEST(PairReader, a_reader_that_was_stopped_reports_no_loss_that_is_none) {
  Rings bench;
  bench.a.publish(1, 3);
  bench.b.publish(1, 3);
  EXPECT_EQ(bench.pass(0), "1 2 3 ");
  bench.a.lose(4);
  bench.a.publish(5, 5);
  EXPECT_EQ(bench.pass(30), "") << "the other ring may still bring it";
  bench.now += 5'000 * kMs;
  bench.a.publish(6, 6);
  bench.b.publish(4, 6);
  EXPECT_EQ(bench.pass(200), "4 5 6 ");
  EXPECT_EQ(bench.pair.merge().counts().lost, 0U);
  // A loss of both is still one, in time.
  bench.a.lose(7);
  bench.b.lose(7);
  bench.a.publish(8, 8);
  bench.now += 5'000 * kMs;
  EXPECT_EQ(bench.pass(200), "7 8 ");
  EXPECT_EQ(bench.pair.merge().counts().lost, 1U);
}

TEST(PairReader, follows_no_ring_of_another_layout_while_the_other_is_alive) {
  Rings bench;
  bench.a.publish(1, 2);
  bench.b.publish(1, 2);
  EXPECT_EQ(bench.pass(20), "1 2 ");
  bench.b.end();
  EXPECT_EQ(bench.pass(100), "");
  bench.b.start(2);
  bench.b.publish(3, 4);
  EXPECT_EQ(bench.pass(300), "");
  EXPECT_NE(bench.pair.problem(Side::Second).find("another layout"), std::string::npos);
  bench.a.publish(3, 3);
  EXPECT_EQ(bench.pass(10), "3 ");
  EXPECT_EQ(bench.pair.images(), 1U);
  // Until nothing has the old one any more.
  bench.a.end();
  EXPECT_EQ(bench.pass(300), "4 ");
  EXPECT_EQ(bench.pair.images(), 2U);
  EXPECT_EQ(bench.pair.problem(Side::Second), "");
}

TEST(PairReader, a_silent_ring_of_another_layout_does_not_block_the_other_one) {
  Rings bench;
  bench.a.end();
  bench.a.start(2);
  EXPECT_EQ(bench.pass(20), "");
  EXPECT_TRUE(bench.pair.is_open(Side::First));
  EXPECT_NE(bench.pair.problem(Side::Second).find("another layout"), std::string::npos);
  bench.b.publish(1, 3);
  EXPECT_EQ(bench.pass(200), "1 2 3 ");
  EXPECT_NE(bench.pair.problem(Side::First).find("another layout"), std::string::npos) << "it is said";
  EXPECT_EQ(bench.pair.images(), 2U);
  // Too late for the first one, until the other one ends.
  bench.a.publish(4, 5);
  bench.b.publish(4, 4);
  EXPECT_EQ(bench.pass(200), "4 ");
  EXPECT_EQ(bench.pair.images(), 2U);
  bench.b.end();
  EXPECT_EQ(bench.pass(300), "5 ");
  EXPECT_EQ(bench.pair.problem(Side::First), "");
}

TEST(PairReader, takes_no_ring_twice) {
  Machine machine(name_of("twice"));
  Numbers numbers;
  PairReader pair(name_of("twice"), os::own_folder() + "/" + name_of("twice"), {.slots = 64}, numbers);
  machine.publish(1, 3);
  (void)pair.poll(kMs);
  EXPECT_EQ(numbers.take(), "1 2 3 ");
  EXPECT_FALSE(pair.is_open(Side::Second));
  EXPECT_NE(pair.problem(Side::Second).find("the same ring"), std::string::npos) << pair.problem(Side::Second);
}

TEST(PairReader, refuses_market_events) {
  Rings bench;
  bench.a.publish(1, 1, record::kMarketEventIndex);
  EXPECT_EQ(bench.pass(20), "");
  EXPECT_TRUE(bench.pair.has_market_events());
  EXPECT_FALSE(bench.pair.is_open(Side::First));
}

TEST(PairReader, knows_that_writers_ended) {
  Rings bench;
  bench.a.publish(1, 1);
  EXPECT_EQ(bench.pass(20), "1 ");
  bench.a.end();
  bench.b.end();
  EXPECT_EQ(bench.pass(100), "");
  EXPECT_TRUE(bench.pair.has_ended());
  EXPECT_FALSE(bench.pair.has_died());
}

TEST(PairReader, knows_that_writers_died) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const std::string names[] = {name_of("a"), name_of("b")};
  const pid_t child = ::fork();
  if (child == 0) {
    Machine a(names[0]);
    Machine b(names[1]);
    a.publish(1, 1);
    b.publish(1, 2);
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Numbers numbers;
  PairReader pair(names[0], names[1], {.slots = 64}, numbers);
  (void)pair.poll(kMs);
  EXPECT_EQ(numbers.take(), "1 2 ");
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  for (std::uint64_t ms = 10; ms <= 100; ms += 10) (void)pair.poll(ms * kMs);
  EXPECT_TRUE(pair.has_died());
  for (const Side side : {Side::First, Side::Second}) EXPECT_EQ(pair.problem(side), "its writer died");
  for (const int end : ready) ::close(end);
  for (const std::string& name : names) ::unlink((os::own_folder() + "/" + name).c_str());
}

}  // namespace stopbit::standby::pair_reader_test
