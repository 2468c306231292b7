// From an event to books, ring and state table, and from there to a reader: no allocation and no system call after the
// start.

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/state/publisher.hpp"
#include "host/market/state/reader.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/market/book/stream.hpp"

namespace stopbit::market::allocation_test {

constexpr BookShape kShapes[] = {
    {BookKind::Level, 10, 0}, {BookKind::Level, 0, 0},    {BookKind::Price, 5, 0},
    {BookKind::Order, 0, 0},  {BookKind::Position, 0, 0},
};
constexpr std::uint32_t kRows = std::size(kShapes);
constexpr BookRoom kRoom = {.instruments = kRows,
                            .implied = 1,
                            .rows = 2'000,
                            .orders = 300,
                            .levels = 300,
                            .listed = 1'000,
                            .ladders = 2,
                            .placed = 300,
                            .positions = 2'000};

/// Made beforehand, as the stream's own memory is not what is looked at.
std::vector<Event> some_events(std::size_t count) {
  cases::Random random(5);
  testing::Stream stream(random, 5);
  std::vector<testing::Subject> subjects;
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    subjects.push_back({.row = row,
                        .of = BookOf::Direct,
                        .shape = kShapes[row - 1],
                        .reference = testing::make_reference(kShapes[row - 1])});
  }
  std::vector<Event> events;
  while (events.size() < count) {
    testing::Subject& subject = random.pick(subjects);
    Content content = stream.next(subject);
    if (random.chance(30)) content.flags |= kFlagLastOfEvent;
    events.push_back(Event::of(content));
    if (is_entry(content.kind) && content.book == BookOf::Direct) {
      if (cause_of(subject.reference->apply(events.back(), false)) != Cause::None) subject.reference->lose();
    }
  }
  return events;
}

/// Everything that is made at the start.
struct Market {
  Market()
      : program([] {
          Program made;
          made.max_record_slots = 1;
          return made;
        }()),
        ring(ring::Writer::create(folder.path("events"), program)),
        table(state::Table::create(folder.path("market"), {.rows = kRows, .levels = 5})),
        reader(state::Reader::open(folder.path("market"))),
        ring_reader(ring::Reader::open(folder.path("events"))),
        books(kRoom),
        copy(kRoom),
        publisher(books, &ring.value(), &table.value()) {
    for (BookSet* set : {&books, &copy}) {
      for (std::uint32_t row = 1; row <= kRows; ++row) {
        const BookShape implied = row == 1 ? BookShape{BookKind::Level, 2, 0} : BookShape{};
        EXPECT_EQ(set->define(row, {kShapes[row - 1], implied, 0}), Fault::None);
      }
    }
  }
  void run(const std::vector<Event>& events) {
    for (const Event& event : events) {
      (void)publisher.take(event);
      while (ring_reader.value().poll() == ring::Poll::Record) {
        const Event read = Event::from(ring_reader.value().record()[0]);
        taken += is_event(ring_reader.value().record()[0]) ? 1 : 0;
        (void)copy.apply(read);
        while (copy.take_stale().row != 0) {
        }
      }
      state::Top top;
      state::DayView day;
      state::Reader::Counts counts;
      (void)reader.value().read(1, top, day);
      (void)reader.value().read_levels(1, bids, asks, counts);
      (void)books.merged_rows(1, Side::Bid, bids);
    }
    faults = books.faults(Fault::Room) + books.faults(Fault::BeyondEnd);
  }

  stopbit::testing::Scratch folder;
  Program program;
  Result<ring::Writer> ring;
  Result<state::Table> table;
  Result<state::Reader> reader;
  Result<ring::Reader> ring_reader;
  BookSet books;
  BookSet copy;
  Publisher publisher;
  std::array<Row, 5> bids{};
  std::array<Row, 5> asks{};
  std::uint64_t faults = 0;
  std::uint64_t taken = 0;
};

TEST(Market, allocates_nothing_after_its_start) {
  const std::vector<Event> events = some_events(100'000);
  Market market;
  ASSERT_TRUE(market.ring) << market.ring.message();
  ASSERT_TRUE(market.table) << market.table.message();
  ASSERT_TRUE(market.reader) << market.reader.message();
  ASSERT_TRUE(market.ring_reader) << market.ring_reader.message();
  const std::uint64_t before = attack::allocations();
  void* volatile kept = new int;
  delete static_cast<int*>(kept);
  ASSERT_GT(attack::allocations(), before) << "allocations are not counted at all";
  const std::uint64_t at_start = attack::allocations();
  market.run(events);
  EXPECT_EQ(attack::allocations() - at_start, 0U);
  EXPECT_GE(market.taken, events.size());
  EXPECT_GT(market.faults, 0U) << "books without room and contradictions are part of it";
}

TEST(Market, makes_no_system_call_after_its_start) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer makes some of its own";
  const std::vector<Event> events = some_events(100'000);
  Market market;
  ASSERT_TRUE(market.ring && market.table && market.reader && market.ring_reader);
  const pid_t child = ::fork();
  if (child == 0) {
    // From here on read, write and exit are all that the kernel allows; anything else is SIGKILL.
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(77);
    market.run(events);
    ::syscall(SYS_exit, market.taken >= events.size() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace stopbit::market::allocation_test
