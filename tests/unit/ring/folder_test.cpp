// Shared memory that is full, that its owner makes shorter, and that belongs to strangers.
#include "host/os/shm/folder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include "host/monitor/counters/reader.hpp"
#include "host/monitor/counters/writer.hpp"
#include "host/ring/reader_registration.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::folder_test {

namespace fs = std::filesystem;
using test::small_program;
using test::write_record;

constexpr uid_t kMallory = 54'321;
constexpr int kSkip = 77;

/// The result of `run` in a process of its own, whose /dev/shm is empty and of `size`; empty: no failure.
std::string in_own_memory(const char* size, const std::function<std::string()>& run) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::unsetenv("RUNTIME_DIRECTORY");
    ::unsetenv("STOPBIT_USER");
    const std::string options = std::string("mode=1777,size=") + size;
    const bool is_alone = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("tmpfs", "/dev/shm", "tmpfs", 0, options.c_str()) == 0;
    if (!is_alone) ::_exit(kSkip);
    const std::string said = run();
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(said.empty() ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char bytes[512];
  for (ssize_t got = 0; (got = ::read(ends[0], bytes, sizeof(bytes))) > 0;) {
    said.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == kSkip) return "skip";
  return said;
}

#define EXPECT_WELL(said)                                                         \
  do {                                                                            \
    const std::string what = (said);                                              \
    if (what == "skip") GTEST_SKIP() << "no mounts of its own without privilege"; \
    EXPECT_EQ(what, "");                                                          \
  } while (false)

/// All but `pages` pages of /dev/shm, taken.
class Filler {
 public:
  Filler() : file_(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {}
  [[nodiscard]] bool leave(std::size_t pages) const {
    if (::ftruncate(file_.get(), 0) != 0) return false;
    const std::size_t free = free_pages();
    return free >= pages &&
           (free == pages || ::posix_fallocate(file_.get(), 0, static_cast<off_t>((free - pages) * kPageBytes)) == 0);
  }
  [[nodiscard]] static std::size_t free_pages() { return fs::space("/dev/shm").free / kPageBytes; }

 private:
  os::Descriptor file_;
};

/// What `make` makes of each number of free pages up to enough: an error that says so, and nothing left, or the thing.
std::string with_every_size(std::size_t pages, std::size_t bytes, const std::function<std::string()>& make) {
  if (const Status made = os::make_own_folder(); !made) return made.message();
  const Filler filler;
  for (std::size_t free = 0; free <= pages; ++free) {
    if (!filler.leave(free)) return "the memory cannot be filled";
    const std::string said = make();
    const std::string expected = "not enough space in /dev/shm: needs " + std::to_string(bytes) + " bytes, " +
                                 std::to_string(free * kPageBytes) + " free";
    const bool is_good = free == pages ? said.empty() : said.find(expected) != std::string::npos;
    if (!is_good) return std::to_string(free) + " pages are free: '" + said + "' in place of '" + expected + "'";
    if (free != pages && Filler::free_pages() != free) return "something is left behind";
    if (free != pages && !fs::is_empty(os::own_folder()) &&
        std::distance(fs::directory_iterator(os::own_folder()), fs::directory_iterator()) != 1) {
      return "a file is left behind";
    }
  }
  return {};
}

counters::Schema big_schema() {
  counters::Schema schema;
  for (int i = 0; i < 8; ++i) {
    schema.add(counters::Kind::Histogram, "h" + std::to_string(i), {}, "help");
  }
  return schema;
}

TEST(SharedMemoryFull, a_ring_is_an_error_and_no_signal_with_every_number_of_free_pages) {
  constexpr std::uint64_t kSlots = 1'024;
  EXPECT_WELL(in_own_memory("1m", [] {
    constexpr std::size_t kPages = 1 + kSlots * record::kSlotBytes / kPageBytes;
    return with_every_size(kPages, kPages * kPageBytes, []() -> std::string {
      const Result<Writer> writer = Writer::create("full", small_program(), {.slot_count = kSlots});
      return writer ? "" : writer.message();
    });
  }));
}

TEST(SharedMemoryFull, a_lossless_ring_and_counters_and_a_sign_are_errors_and_no_signals) {
  EXPECT_WELL(in_own_memory("1m", [] {
    return with_every_size(2, 2 * kPageBytes, []() -> std::string {
      const Result<Writer> writer = Writer::create("full", small_program(), {.slot_count = 64, .lossless = Patience{}});
      return writer ? "" : writer.message();
    });
  }));
  std::size_t pages = 0;
  {
    const auto segment = counters::Segment::create_private(big_schema());
    ASSERT_TRUE(segment) << segment.message();
    pages = segment.value().bytes().size() / kPageBytes;
  }
  ASSERT_GT(pages, 4U);
  EXPECT_WELL(in_own_memory("1m", [&] {
    return with_every_size(pages, pages * kPageBytes, []() -> std::string {
      const auto segment = counters::Segment::create("full", big_schema());
      return segment ? "" : segment.message();
    });
  }));
  EXPECT_WELL(in_own_memory("1m", [] {
    return with_every_size(1, 112, []() -> std::string {
      const auto sign = ReaderRegistration::create("none", "book");
      return sign ? "" : sign.message();
    });
  }));
}

/// A ring goes on if there is no room for its successor.
TEST(SharedMemoryFull, leaves_the_ring_that_is_to_be_replaced) {
  EXPECT_WELL(in_own_memory("1m", []() -> std::string {
    Result<Writer> first = Writer::create("old", small_program(), {.slot_count = 64});
    if (!first) return first.message();
    Result<Reader> reader = Reader::open("old");
    if (!reader) return reader.message();
    const Filler filler;
    if (!filler.leave(1)) return "the memory cannot be filled";
    const Result<Writer> second =
        Writer::create("old", small_program(), {.slot_count = 64, .replaces = &first.value()});
    if (second) return "there was room";
    write_record(first.value(), 2, 7);
    if (reader.value().poll() != Poll::Record || reader.value().replaced()) return "the old ring does not go on";
    return {};
  }));
}

class Truncated : public test::RingTest {
 protected:
  void cut(std::uint64_t bytes) const { ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(bytes)), 0); }
};

TEST_F(Truncated, is_an_error_of_its_readers) {
  for (const std::uint64_t left : {std::uint64_t{0}, kPageBytes, std::uint64_t{kPageBytes + 4096}}) {
    Writer writer = make_writer(1'024);
    for (std::uint64_t i = 0; i < 200; ++i) write_record(writer, 4, i);
    Reader reader = make_reader();
    Reader copied = make_reader();
    ASSERT_EQ(reader.poll(), Poll::Record);
    EXPECT_EQ(test::seed_of(reader.record()), 0U);
    cut(left);
    // Whole records, and then the error for good; never a record of zeros.
    Poll poll = reader.poll();
    for (std::uint64_t next = 1; poll == Poll::Record; poll = reader.poll()) {
      ASSERT_EQ(test::seed_of(reader.record()), next++);
    }
    EXPECT_EQ(poll, Poll::Damaged) << left;
    EXPECT_EQ(reader.poll_batch(), Poll::Damaged);
    EXPECT_EQ(reader.writer(), WriterState::Dead);
    EXPECT_STREQ(reader.damage(), "the ring's file was truncated while it was read");
    const Result<Writer> other = Writer::create(name_ + "-copy", small_program(), {.slot_count = 1'024});
    ASSERT_TRUE(other) << other.message();
    std::uint32_t slots = 0;
    Poll copy = Poll::Record;
    while (copy == Poll::Record) copy = copied.copy_to(const_cast<Writer&>(other.value()), slots);
    EXPECT_EQ(copy, Poll::Damaged);
    other.value().unlink();
    EXPECT_FALSE(Reader::open(name_));
    ::unlink(path_.c_str());
  }
}

TEST_F(Truncated, does_not_end_its_writer_and_the_next_ring_works) {
  Writer writer = make_writer(1'024);
  cut(0);
  EXPECT_FALSE(writer.is_broken());
  for (std::uint64_t i = 0; i < 2'000; ++i) write_record(writer, 4, i);
  writer.beat(1);
  EXPECT_TRUE(writer.is_broken());
  Result<Writer> next = Writer::create(name_, small_program(), {.slot_count = 64, .replaces = &writer});
  ASSERT_TRUE(next) << next.message();
  write_record(next.value(), 1, 3);
  EXPECT_EQ(make_reader().poll(), Poll::Record);
  // The same of one whose writer has exited.
  { const Writer gone = std::move(next).value(); }
  cut(0);
  Writer last = make_writer();
  write_record(last, 1, 3);
  EXPECT_EQ(make_reader().poll(), Poll::Record);
}

TEST_F(Truncated, cursor_detaches_its_reader) {
  std::vector<ReaderEvent::Kind> events;
  Patience patience;
  patience.on_event = [&](const ReaderEvent& event) { events.push_back(event.kind); };
  Result<Writer> made = Writer::create(name_, small_program(), {.slot_count = 64, .lossless = patience});
  ASSERT_TRUE(made) << made.message();
  Writer& writer = made.value();
  Result<Reader> reader = Reader::ask_for_seat(name_);
  ASSERT_TRUE(reader) << reader.message();
  while (!reader.value().take_seat().value()) writer.beat(1);
  for (const auto& file : fs::directory_iterator(readers_folder(path_))) fs::resize_file(file.path(), 0);
  for (std::uint64_t i = 0; i < 200; ++i) write_record(writer, 4, i);  // the writer waits for no reader
  EXPECT_EQ(events, (std::vector{ReaderEvent::Kind::Seated, ReaderEvent::Kind::Died}));
}

TEST(TruncatedCounters, do_not_end_their_writer_or_reader) {
  const stopbit::testing::Scratch scratch;
  const std::string name = scratch.path("c");
  counters::Schema schema = big_schema();
  const auto id = schema.add(counters::Kind::Counter, "count", {}, "help");
  Result<counters::Segment> segment = counters::Segment::create(name, schema);
  ASSERT_TRUE(segment) << segment.message();
  counters::Counter count = segment.value().counter(id);
  count.add(5);
  Result<counters::Reader> reader = counters::Reader::open(name);
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ(reader.value().value("count"), 5U);
  fs::resize_file(name + ".counters", 0);
  EXPECT_EQ(reader.value().value("count"), 0U);
  EXPECT_EQ(reader.value().writer(), counters::Reader::Writer::Dead);
  count.add(1);
  segment.value().beat(1);
  EXPECT_TRUE(segment.value().is_broken());
  EXPECT_FALSE(counters::Reader::open(name));
}

/// Other faults end the process as before: the handler is for mapped rings alone.
TEST(Guard, leaves_other_faults_to_who_was_there_before) {
  const auto ends_with = [](const std::function<void()>& run) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGBUS, SIG_DFL);  // also what a sanitizer has set
      const stopbit::testing::Scratch scratch;
      const Result<Writer> writer = Writer::create(scratch.path("ring"), small_program(), {.slot_count = 64});
      run();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  // Of the first guard in this process the handler before it is the default one, or a sanitizer's.
  EXPECT_EQ(ends_with([] { ::raise(SIGBUS); }), SIGBUS);
}

TEST(GuardTable, has_room_for_any_number_of_mappings) {
  const stopbit::testing::Scratch scratch;
  std::vector<Writer> writers;
  for (int i = 0; i < 200; ++i) {
    Result<Writer> made = Writer::create(scratch.path("r" + std::to_string(i)), small_program(), {.slot_count = 32});
    ASSERT_TRUE(made) << made.message();
    writers.push_back(std::move(made).value());
  }
  for (int i : {0, 63, 64, 128, 199}) {
    fs::resize_file(scratch.path("r" + std::to_string(i)), 0);
    write_record(writers[static_cast<std::size_t>(i)], 1, 1);
    EXPECT_TRUE(writers[static_cast<std::size_t>(i)].is_broken());
  }
  EXPECT_FALSE(writers[1].is_broken());
}

/// In a child: `run` as another user of this machine, in a process of its own. Its exit status.
int as_mallory(const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(kMallory, kMallory, kMallory) != 0 || ::setresuid(kMallory, kMallory, kMallory) != 0) ::_exit(99);
    ::_exit(run());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST(Strangers, are_not_read_and_are_named) {
  EXPECT_WELL(in_own_memory("4m", []() -> std::string {
    // Mallory makes a ring, in his folder and where a path leads.
    const int status = as_mallory([] {
      for (const char* name : {"feed", "/dev/shm/loose"}) {
        Result<Writer> writer = Writer::create(name, small_program(), {.slot_count = 64});
        if (!writer) return 1;
        write_record(writer.value(), 1, 1);
      }
      return counters::Segment::create("feed", big_schema()) ? 0 : 2;
    });
    if (status == 99) return "skip";
    if (status != 0) return "mallory makes no ring: " + std::to_string(status);
    for (const char* name : {"feed", "/dev/shm/loose", "/dev/shm/stopbit-54321/feed"}) {
      const Result<Reader> reader = Reader::open(name);
      if (reader) return std::string("a ring of mallory is read: ") + name;
      if (reader.message().find("belongs to") == std::string::npos ||
          reader.message().find("uid 54321") == std::string::npos) {
        return reader.message();
      }
    }
    if (counters::Reader::open("feed")) return "counters of mallory are read";
    // A caller that names the user gets them.
    if (!Reader::open("feed", Start::Oldest, os::Accepted(kMallory))) return "not accepted";
    ::setenv("STOPBIT_USER", "54321", 1);
    if (!Reader::open("feed") || !counters::Reader::open("feed")) return "not accepted by environment";
    ::setenv("STOPBIT_USER", "no-such-user-here", 1);
    if (Reader::open("feed").message().find("no user 'no-such-user-here'") == std::string::npos) return "no problem";
    ::unsetenv("STOPBIT_USER");
    // His names do not keep ours from being made, and ours are read.
    Result<Writer> ours = Writer::create("feed", small_program(), {.slot_count = 64});
    if (!ours) return ours.message();
    write_record(ours.value(), 1, 42);
    Result<Reader> reader = Reader::open("feed");
    if (!reader) return reader.message();
    if (reader.value().poll() != Poll::Record || test::seed_of(reader.value().record()) != 42) return "another ring";
    // And ours, of root, are read by him.
    return as_mallory([] { return Reader::open("feed", Start::Oldest, os::Accepted(0)) ? 0 : 1; }) == 0 ? ""
                                                                                                        : "not by him";
  }));
}

TEST(Strangers, cannot_give_us_their_folder_and_ours_must_be_ours_alone) {
  EXPECT_WELL(in_own_memory("4m", []() -> std::string {
    const std::string folder = os::own_folder();
    const auto refusal = []() -> std::string {
      const Result<Writer> writer = Writer::create("feed", small_program(), {.slot_count = 64});
      return writer ? "not refused" : writer.message();
    };
    ::mkdir(folder.c_str(), 0755);
    if (::chown(folder.c_str(), kMallory, kMallory) != 0) return "skip";
    if (refusal().find("belongs to the user of uid 54321") == std::string::npos) return refusal();
    if (::chown(folder.c_str(), ::geteuid(), 0) != 0 || ::chmod(folder.c_str(), 0777) != 0) return "no chmod";
    if (refusal().find("other users can write to") == std::string::npos) return refusal();
    ::rmdir(folder.c_str());
    ::mkdir("/dev/shm/elsewhere", 0755);
    if (::symlink("/dev/shm/elsewhere", folder.c_str()) != 0) return "no link";
    if (Writer::create("feed", small_program(), {.slot_count = 64})) return "a link was followed";
    ::unlink(folder.c_str());
    ::umask(0777);
    if (const Status made = os::make_own_folder(); !made) return made.message();
    struct stat status {};
    struct stat signs {};
    ::stat(folder.c_str(), &status);
    ::stat((folder + "/.readers").c_str(), &signs);
    if ((status.st_mode & 07777) != 0755 || (signs.st_mode & 07777) != 01777) return "the mask decides on modes";
    ::chmod(folder.c_str(), 0700);  // a mode of the owner's choice stays
    if (!os::make_own_folder()) return "a folder of mode 0700 is refused";
    ::stat(folder.c_str(), &status);
    return (status.st_mode & 07777) == 0700 ? "" : "the mode changes";
  }));
}

TEST(Strangers, have_no_ring_read_that_lies_in_our_folder_or_where_a_link_leads) {
  EXPECT_WELL(in_own_memory("4m", []() -> std::string {
    const std::string folder = os::own_folder();
    const std::string file = folder + "/feed";
    Result<Writer> ours = Writer::create("feed", small_program(), {.slot_count = 64});
    if (!ours) return ours.message();
    if (!Reader::open("feed")) return "our own ring is refused";
    if (::symlink(file.c_str(), "/dev/shm/link") != 0) return "no link";
    if (Reader::open("/dev/shm/link")) return "a link is followed";
    if (::symlink("feed", (folder + "/other").c_str()) != 0) return "no link in the folder";
    if (Reader::open("other")) return "a link in the folder is followed";
    // A file that another user has in our folder.
    if (::chown(file.c_str(), kMallory, kMallory) != 0) return "skip";
    const Result<Reader> foreign = Reader::open("feed");
    if (foreign) return "a file of mallory in our folder is read";
    if (foreign.message().find("belongs to the user of uid 54321") == std::string::npos) return foreign.message();
    if (::chown(file.c_str(), ::geteuid(), 0) != 0) return "no chown back";
    // A folder that others can write to, that is another user's, or that is a link.
    if (::chmod(folder.c_str(), 0777) != 0) return "no chmod";
    if (Reader::open("feed")) return "a ring is read from a folder that others can write to";
    if (::chmod(folder.c_str(), 0755) != 0 || ::chown(folder.c_str(), kMallory, kMallory) != 0) return "no chown";
    if (Reader::open("feed")) return "a ring is read from a folder of mallory";
    if (::chown(folder.c_str(), ::geteuid(), 0) != 0) return "no chown back";
    if (!Reader::open("feed")) return "our own ring is refused afterwards";
    if (::rename(folder.c_str(), "/dev/shm/moved") != 0 || ::symlink("/dev/shm/moved", folder.c_str()) != 0) {
      return "no link to the folder";
    }
    return Reader::open("feed") ? "a link to a folder is followed" : "";
  }));
}

TEST(Strangers, leave_signs_at_our_rings_and_cannot_hide_others) {
  EXPECT_WELL(in_own_memory("64m", []() -> std::string {
    Result<Writer> ring = Writer::create("feed", small_program(), {.slot_count = 64});
    if (!ring) return ring.message();
    const std::string signs = os::own_folder() + "/.readers/";
    int stays[2];
    if (::pipe(stays) != 0) return "no pipe";
    // A reader of another user shows itself, though the name that it would have is taken. It ends with this process.
    const pid_t reader = ::fork();
    if (reader == 0) {
      ::close(stays[1]);
      std::ofstream(signs + "feed.by-book-" + std::to_string(::getpid())) << "squatted";
      if (::setresgid(kMallory, kMallory, kMallory) != 0 || ::setresuid(kMallory, kMallory, kMallory) != 0) ::_exit(99);
      const auto sign = ReaderRegistration::create("feed", "book");
      char one = 0;
      (void)!::read(stays[0], &one, sign ? 1 : 0);
      ::_exit(0);
    }
    const std::vector<std::string> rings = {"feed"};
    std::vector<SeenReader> seen;
    while (seen.empty() && ::waitpid(reader, nullptr, WNOHANG) == 0) seen = find_readers(rings);
    if (seen.size() != 1 || seen[0].name != "book" || !seen[0].is_running) return "the reader is not seen";
    // Any number of files of strangers: some looks later they are removed, and the reader is seen as before.
    if (as_mallory([&] {
          for (int i = 0; i < 6'000; ++i) {
            const std::string name = signs + "feed.by-x-" + std::to_string(i);
            if (!os::Descriptor(::open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).ok()) return 1;
          }
          return 0;
        }) != 0) {
      return "mallory makes no files";
    }
    for (int i = 0; i < 4; ++i) seen = find_readers(rings);
    if (seen.size() != 1) return "files of strangers hide the reader";
    if (std::distance(fs::directory_iterator(signs), fs::directory_iterator()) != 1) return "rubbish stays";
    ::close(stays[1]);
    ::waitpid(reader, nullptr, 0);
    seen = find_readers(rings);  // of a reader that ended without a word
    return seen.size() == 1 && !seen[0].is_running ? "" : "the reader is not seen to be gone";
  }));
}

std::string removed_when_looked_at;

/// In place of libc's: a stranger's file can go at any moment, here it goes just before somebody looks whose it is.
extern "C" int lstat(const char* path, struct stat* status) noexcept {
  if (!removed_when_looked_at.empty() && removed_when_looked_at == path) ::unlink(path);
  return ::fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

TEST(Strangers, file_that_goes_while_a_reader_looks_at_it_is_no_error) {
  EXPECT_WELL(in_own_memory("4m", []() -> std::string {
    const Result<Writer> ring = Writer::create("feed", small_program(), {.slot_count = 64});
    if (!ring) return ring.message();
    const std::string taken = os::own_folder() + "/.readers/feed.by-book-" + std::to_string(::getpid());
    std::ofstream(taken) << "squatted";
    removed_when_looked_at = taken;
    const Result<ReaderRegistration> sign = ReaderRegistration::create("feed", "book");
    if (fs::exists(taken)) return "nobody looked at the file";
    return sign ? "" : sign.message();
  }));
}

TEST(Folders, of_several_users_give_the_live_ring_and_never_one_of_two) {
  EXPECT_WELL(in_own_memory("4m", []() -> std::string {
    if (::geteuid() != 0) return "skip";
    int stays[2];
    int ready[2];
    if (::pipe(stays) != 0 || ::pipe(ready) != 0) return "no pipe";
    Result<Writer> ours = Writer::create("feed", small_program(), {.slot_count = 64});
    if (!ours) return ours.message();
    write_record(ours.value(), 1, 1);
    const pid_t other = ::fork();
    if (other == 0) {
      ::close(stays[1]);
      if (::setresgid(kMallory, kMallory, kMallory) != 0 || ::setresuid(kMallory, kMallory, kMallory) != 0) ::_exit(99);
      Result<Writer> writer = Writer::create("feed", small_program(), {.slot_count = 64});
      write_record(writer.value(), 1, 2);
      (void)!::write(ready[1], "x", 1);
      char one = 0;
      (void)!::read(stays[0], &one, 1);
      ::_exit(0);
    }
    char one = 0;
    if (::read(ready[0], &one, 1) != 1) return "no other ring";
    const auto seed = [](const os::Accepted& accepted) -> std::string {
      Result<Reader> reader = Reader::open("feed", Start::Oldest, accepted);
      if (!reader) return reader.message();
      return reader.value().poll() == Poll::Record ? std::to_string(test::seed_of(reader.value().record())) : "nothing";
    };
    // Named: that user's. Not named: ours, others are not accepted.
    if (seed(os::Accepted(kMallory)) != "2") return seed(os::Accepted(kMallory));
    if (seed(os::Accepted()) != "1") return seed(os::Accepted());
    ::close(stays[1]);
    ::waitpid(other, nullptr, 0);
    return {};
  }));
}

}  // namespace stopbit::ring::folder_test
