#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "host/ring/cursor.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::lossless_test {

using namespace std::chrono_literals;
using test::kMaxRecordSlots;
using test::kSlots;
using test::seed_of;
using test::write_record;
using Kind = ReaderEvent::Kind;

constexpr std::uint64_t kLong = 60'000'000'000;

constexpr std::uint32_t slots_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>(1 + seed * 2654435761 % kMaxRecordSlots);
}

class LosslessRing : public test::RingTest {
 protected:
  ~LosslessRing() override { ::rmdir(readers_folder(path_).c_str()); }

  Writer make_lossless(std::uint64_t stuck_ns = kLong, std::function<bool()> keep_waiting = {},
                       std::uint64_t slots = kSlots) {
    Patience patience{.stuck_ns = stuck_ns,
                      .on_event = [this](const ReaderEvent& event) { events_.push_back(event); },
                      .keep_waiting = std::move(keep_waiting)};
    Result<Writer> writer =
        Writer::create(name_, test::small_program(), {.slot_count = slots, .lossless = std::move(patience)});
    if (!writer) throw std::runtime_error(writer.message());
    return std::move(writer).value();
  }
  Reader attach() {
    Result<Reader> reader = Reader::attach(name_, kLong);
    if (!reader) throw std::runtime_error(reader.message());
    return std::move(reader).value();
  }
  /// Attaches while the writer waits for one more reader.
  Reader attach_to(Writer& writer) {
    const std::size_t seated = writer.seated();
    std::optional<Reader> reader;
    std::thread thread([&] { reader.emplace(attach()); });
    EXPECT_TRUE(writer.wait_for_readers(seated + 1));
    thread.join();
    return std::move(*reader);
  }
  /// A process that attaches, reads `records` records, says so and sleeps.
  pid_t start_reader(std::uint64_t records) {
    int pipes[2];
    EXPECT_EQ(::pipe(pipes), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Reader> reader = Reader::attach(name_, kLong);
      if (!reader) ::_exit(1);
      while (reader.value().delivered() < records) (void)reader.value().poll();
      (void)!::write(pipes[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(pipes[1]);
    ready_ = pipes[0];
    return child;
  }
  void wait_until_ready() {
    char byte = 0;
    EXPECT_EQ(::read(ready_, &byte, 1), 1);
    ::close(ready_);
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const ReaderEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }

  std::vector<ReaderEvent> events_;
  int ready_ = -1;
};

/// Reads to the end; every record, in order, from `next` on.
std::uint64_t read_all(Reader& reader, std::uint64_t next, std::size_t batch, unsigned nap_in) {
  std::mt19937_64 random(next);
  for (bool ended = false;;) {
    const Poll poll = reader.poll_batch(batch);
    if (poll == Poll::Record) {
      for (const std::span<const record::Slot> record : reader.records()) {
        EXPECT_EQ(seed_of(record), next);
        EXPECT_EQ(record.size(), slots_of(next));
        ++next;
      }
      if (nap_in != 0 && random() % nap_in == 0) std::this_thread::sleep_for(100us);
      continue;
    }
    EXPECT_EQ(poll, Poll::Nothing);
    if (poll != Poll::Nothing || ended) return next;
    ended = reader.writer() != WriterState::Running;
    if (!ended) std::this_thread::yield();
  }
}

TEST_F(LosslessRing, waits_for_the_slowest_of_its_readers) {
  constexpr std::uint64_t kRecords = 30'000;
  Writer writer = make_lossless();
  std::uint64_t read[3] = {};
  std::uint64_t lost[3] = {};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::size(read); ++i) {
    threads.emplace_back([&, i] {
      Reader reader = attach();
      read[i] = read_all(reader, 0, i == 0 ? Reader::kMaxBatch : i, i == 2 ? 50 : 0);
      lost[i] = reader.total_lost();
      EXPECT_EQ(reader.delivered(), reader.published());
      EXPECT_FALSE(reader.is_detached());
    });
  }
  ASSERT_TRUE(writer.wait_for_readers(3));
  for (std::uint64_t seed = 0; seed < kRecords; ++seed) write_record(writer, slots_of(seed), seed);
  writer.finish();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < std::size(read); ++i) {
    EXPECT_EQ(read[i], kRecords);
    EXPECT_EQ(lost[i], 0U);
  }
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::Seated, Kind::Seated}));
}

TEST_F(LosslessRing, lets_readers_come_and_go_while_it_writes) {
  constexpr std::uint64_t kRecords = 20'000;
  Writer writer = make_lossless();
  std::atomic<bool> done = false;
  std::thread visitors([&] {
    for (int i = 0; i < 20 && !done; ++i) {
      Result<Reader> reader = Reader::attach(name_, kLong);
      if (!reader) break;
      std::uint64_t next = reader.value().first_record();
      for (int k = 0; k < 200 && !done; ++k) {
        if (reader.value().poll() != Poll::Record) continue;
        ASSERT_EQ(seed_of(reader.value().record()), next++);
      }
      ASSERT_EQ(reader.value().total_lost(), 0U);
    }
    done = true;
  });
  for (std::uint64_t seed = 0; seed < kRecords || !done; ++seed) {
    write_record(writer, slots_of(seed), seed);
    writer.beat(seed);
  }
  done = true;
  visitors.join();
  writer.beat(0);
  EXPECT_EQ(writer.seated(), 0U);
  EXPECT_GE(events_.size(), 2U);
  for (const ReaderEvent& event : events_) {
    EXPECT_TRUE(event.kind == Kind::Seated || event.kind == Kind::Left) << static_cast<int>(event.kind);
  }
}

TEST_F(LosslessRing, goes_on_without_a_reader_that_was_killed) {
  Writer writer = make_lossless();
  const pid_t child = start_reader(5);
  ASSERT_TRUE(writer.wait_for_readers(1));
  for (std::uint64_t seed = 0; seed < 5; ++seed) write_record(writer, 1, seed);
  wait_until_ready();
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (std::uint64_t seed = 5; seed < 1000; ++seed) write_record(writer, 1, seed);  // would wait for ever
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::Died}));
  EXPECT_EQ(events_[1].pid, static_cast<std::uint32_t>(child));
  EXPECT_EQ(events_[1].delivered, 5U);
  EXPECT_EQ(writer.seated(), 0U);
}

TEST_F(LosslessRing, detaches_a_stopped_reader_after_its_time_and_not_before) {
  Writer writer = make_lossless(200'000'000);
  const pid_t child = start_reader(5);
  ASSERT_TRUE(writer.wait_for_readers(1));
  for (std::uint64_t seed = 0; seed < 5; ++seed) write_record(writer, 1, seed);
  wait_until_ready();
  ::kill(child, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 5; seed < 1000; ++seed) write_record(writer, 1, seed);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::Stuck}));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(LosslessRing, tells_a_detached_reader_and_counts_what_it_loses) {
  Writer writer = make_lossless(20'000'000);
  Reader reader = attach_to(writer);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) write_record(writer, slots_of(seed), seed);
  EXPECT_TRUE(reader.is_detached());
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::Stuck}));
  writer.finish();
  ASSERT_EQ(reader.poll(), Poll::Lost);
  const std::uint64_t next = reader.next_record();
  EXPECT_EQ(read_all(reader, next, 1, 0), 1000U);
  EXPECT_EQ(reader.total_lost_records() + reader.delivered(), 1000U);
  EXPECT_EQ(reader.next_record(), reader.published());
}

TEST_F(LosslessRing, gives_up_readers_if_it_is_told_to) {
  bool keeps_waiting = true;
  Writer writer = make_lossless(kLong, [&] { return keeps_waiting; });
  const Reader reader = attach_to(writer);
  keeps_waiting = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) write_record(writer, 1, seed);
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::GivenUp}));
  EXPECT_TRUE(reader.is_detached());
  EXPECT_FALSE(writer.wait_for_readers(1));
}

TEST_F(LosslessRing, does_not_wait_for_those_who_only_look) {
  Writer writer = make_lossless();
  Reader reader = make_reader();
  for (std::uint64_t seed = 0; seed < 1000; ++seed) write_record(writer, 1, seed);
  EXPECT_EQ(reader.poll(), Poll::Lost);
  EXPECT_EQ(reader.mode(), Mode::Lossless);
  EXPECT_TRUE(events_.empty());
}

TEST_F(LosslessRing, gives_all_that_is_left_to_who_comes_after_its_end) {
  {
    Writer writer = make_lossless();
    for (std::uint64_t seed = 0; seed < 1000; ++seed) write_record(writer, slots_of(seed), seed);
  }
  Reader reader = attach();
  EXPECT_FALSE(reader.is_detached());
  const std::uint64_t first = reader.first_record();
  EXPECT_EQ(read_all(reader, first, 7, 0), 1000U);
  EXPECT_GE(reader.delivered() * kMaxRecordSlots, kSlots / 2);
  EXPECT_EQ(reader.first_record() + reader.delivered(), 1000U);
  EXPECT_EQ(reader.total_lost(), 0U);
}

TEST_F(LosslessRing, leaves_the_seat_to_the_parent_of_a_reader_that_forked) {
  Writer writer = make_lossless();
  std::optional<Reader> reader = attach_to(writer);
  const auto cursors = [&] {
    const std::filesystem::directory_iterator folder(readers_folder(path_));
    return std::distance(begin(folder), end(folder));
  };
  ASSERT_EQ(cursors(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    reader.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cursors(), 1) << "the child took its parent's seat away";
  reader.reset();
  EXPECT_FALSE(std::filesystem::exists(readers_folder(path_)) && cursors() != 0);
}

TEST_F(LosslessRing, refuses_to_attach_where_nobody_waits) {
  const Writer writer = make_writer();
  const Result<Reader> reader = Reader::attach(name_);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.message(), "cannot attach to the ring '" + path_ + "': its writer does not wait for readers");
}

/// A writer names its ring before it makes the folder, and a last reader of the ring before it may take that away.
TEST_F(LosslessRing, waits_for_the_folder_of_its_readers) {
  Writer writer = make_lossless();
  ASSERT_EQ(::rmdir(readers_folder(path_).c_str()), 0);
  Result<Reader> opened = Reader::ask_for_seat(name_);
  ASSERT_TRUE(opened.ok()) << opened.message();
  Reader& reader = opened.value();
  const auto has_seat = [&] {
    const Result<bool> taken = reader.take_seat();
    EXPECT_TRUE(taken.ok()) << taken.message();
    return taken.ok() && taken.value();
  };
  EXPECT_FALSE(has_seat());
  writer.beat(0);  // makes the folder
  EXPECT_FALSE(has_seat());
  writer.beat(0);  // finds the cursor
  ASSERT_TRUE(has_seat());
  write_record(writer, slots_of(0), 0);
  writer.finish();
  EXPECT_EQ(read_all(reader, 0, 7, 0), 1U);
}

TEST_F(LosslessRing, waits_for_a_seat_as_long_as_it_is_told_to) {
  const Writer writer = make_lossless();  // which does not look for readers
  for (const std::uint64_t forever : {~std::uint64_t{0}, static_cast<std::uint64_t>(INT64_MAX)}) {
    int asked = 0;
    const Result<Reader> reader = Reader::attach(name_, forever, [&] { return ++asked < 3; });
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(reader.message(), "cannot attach to the ring '" + path_ + "': the wait was interrupted");
  }
}

TEST_F(LosslessRing, has_sixteen_seats) {
  Writer writer = make_lossless();
  std::vector<Reader> readers;
  for (std::size_t i = 0; i < kSeats; ++i) readers.push_back(attach_to(writer));
  Result<Reader> one_more = Failure{""};
  std::atomic<bool> is_answered = false;
  std::thread thread([&] {
    one_more = Reader::attach(name_, 30'000'000);
    is_answered = true;
  });
  while (!is_answered) {
    writer.beat(0);
    std::this_thread::sleep_for(1ms);
  }
  thread.join();
  ASSERT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.message(), "cannot attach to the ring '" + path_ + "': the writer accepts no more readers");
  readers.pop_back();
  writer.beat(0);
  EXPECT_EQ(writer.seated(), kSeats - 1);
  const Reader another = attach_to(writer);
  EXPECT_EQ(writer.seated(), kSeats);
}

TEST_F(LosslessRing, gives_a_seat_that_becomes_free_to_who_waits_for_it) {
  Writer writer = make_lossless();
  std::vector<Reader> readers;
  for (std::size_t i = 0; i < kSeats; ++i) readers.push_back(attach_to(writer));
  Result<Reader> waiting = Reader::ask_for_seat(name_);
  ASSERT_TRUE(waiting.ok()) << waiting.message();
  writer.beat(0);
  EXPECT_FALSE(waiting.value().take_seat().value());
  readers.pop_back();
  writer.beat(0);  // later beats do not read the folder again until a file comes or goes
  EXPECT_TRUE(waiting.value().take_seat().value());
}

TEST_F(LosslessRing, leaves_alone_what_is_no_cursor) {
  Writer writer = make_lossless(20'000'000);
  const std::string folder = readers_folder(path_);
  std::vector<std::string> names = {"0123456789abcdef", "0123456789abcdee", "0123456789abcded", "short", ".hidden"};
  std::ofstream(folder + '/' + names[0]) << "no cursor";
  std::ofstream(folder + '/' + names[1]) << std::string(kCursorBytes, '\xFF');
  ASSERT_EQ(::symlink("/etc/passwd", (folder + '/' + names[2]).c_str()), 0);
  std::ofstream(folder + '/' + names[3]) << "x";
  ASSERT_EQ(::mkdir((folder + '/' + names[4]).c_str(), 0700), 0);
  const Reader reader = attach_to(writer);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) write_record(writer, 1, seed);
  EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Seated, Kind::Stuck}));
  for (const std::string& name : names) {
    struct stat status {};
    EXPECT_EQ(::lstat((folder + '/' + name).c_str(), &status), 0) << name;
    ::remove((folder + '/' + name).c_str());
  }
}

TEST_F(LosslessRing, refuses_a_folder_that_others_may_write) {
  const std::string folder = readers_folder(path_);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const Result<Writer> writer =
      Writer::create(name_, test::small_program(), {.slot_count = kSlots, .lossless = Patience{}});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.message(), "'" + folder + "' must be a folder that only this user can write to");
}

/// A reader that lies about its position harms only itself.
TEST_F(LosslessRing, survives_cursors_that_lie) {
  for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    events_.clear();
    Writer writer = make_lossless(20'000'000);
    const Reader reader = attach_to(writer);
    const std::string folder = readers_folder(path_);
    // The only file there is the cursor.
    const std::string command = "ls " + folder;
    FILE* list = ::popen(command.c_str(), "r");
    char name[64] = {};
    ASSERT_EQ(std::fscanf(list, "%63s", name), 1);
    ::pclose(list);
    const int fd = ::open((folder + '/' + name).c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, &lie, sizeof(lie), offsetof(Cursor, position)), static_cast<ssize_t>(sizeof(lie)));
    ::close(fd);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) write_record(writer, 1, seed);
    EXPECT_EQ(writer.records(), 1000U);
  }
}

}  // namespace stopbit::ring::lossless_test
