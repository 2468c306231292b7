#include "host/ring/writer.hpp"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "microcode/image/image.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::writer_test {

using test::kMaxRecordSlots;
using test::kSlots;
using test::small_program;
using test::write_record;

class RingWriter : public test::RingTest {
 protected:
  std::string refusal(const WriterOptions& options = {.slot_count = kSlots}) {
    const Result<Writer> writer = Writer::create(name_, small_program(), options);
    return writer ? "" : writer.message();
  }
};

TEST(RingName, stands_for_shared_memory_or_a_file) {
  EXPECT_EQ(os::path_of("feed-1.a_B").value(), "/dev/shm/stopbit-" + std::to_string(::geteuid()) + "/feed-1.a_B");
  EXPECT_EQ(os::path_of("./feed").value(), "./feed");
  EXPECT_EQ(os::path_of("/tmp/feed").value(), "/tmp/feed");
}

TEST(RingName, is_refused_if_it_could_mean_something_else) {
  using namespace std::string_literals;
  for (const std::string& name : {""s, "."s, ".."s, "-x"s, ".hidden"s, "a b"s, "a\nb"s, "a\0b"s, "/tmp/a\0b"s,
                                  "\xC3\xA9"s, "a/"s, std::string(65, 'a'), "/" + std::string(5000, 'a')}) {
    EXPECT_FALSE(os::path_of(name).ok()) << name;
    EXPECT_FALSE(os::exists(name)) << name;
  }
  EXPECT_TRUE(os::path_of(std::string(64, 'a')).ok());
}

TEST_F(RingWriter, makes_shared_memory_that_others_may_only_read_whatever_the_mask) {
  const mode_t mask = ::umask(0777);
  const Writer writer = make_writer();
  ::umask(mask);
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct stat status {};
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
  EXPECT_EQ(status.st_size, static_cast<off_t>(kPageBytes + kSlots * record::kSlotBytes));
  ::close(fd);
}

TEST_F(RingWriter, works_in_a_file) {
  const stopbit::testing::Scratch scratch;
  name_ = scratch.path("ring");
  path_ = name_;
  Writer writer = make_writer();
  write_record(writer, 2, 7);
  Reader reader = make_reader();
  EXPECT_EQ(reader.poll(), Poll::Record);
  EXPECT_EQ(test::seed_of(reader.record()), 7U);
}

TEST_F(RingWriter, keeps_the_image_beside_the_records) {
  const Program program = small_program();
  const Writer writer = make_writer();
  const Reader reader = make_reader();
  const Result<Program> read = image::read(reader.image());
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read.value(), canonical(program));
  EXPECT_EQ(reader.layout_hash(), layout_hash(program));
  EXPECT_EQ(reader.slot_count(), kSlots);
  EXPECT_EQ(reader.max_record_slots(), kMaxRecordSlots);
  EXPECT_EQ(reader.writer_pid(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(reader.epoch(), writer.epoch());
}

TEST_F(RingWriter, refuses_slot_counts_that_cannot_be) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{63}, std::uint64_t{65},
                                    kMaxSlotCount * 2, ~std::uint64_t{0}}) {
    EXPECT_NE(refusal({.slot_count = count}).find("power of two"), std::string::npos) << count;
  }
  EXPECT_FALSE(os::exists(name_));
}

TEST_F(RingWriter, refuses_records_longer_than_an_eighth_of_the_ring) {
  EXPECT_EQ(refusal({.slot_count = 16}),
            "a record can take at most an eighth of the ring: records of 4 slots need a ring of 32");
  EXPECT_EQ(refusal({.slot_count = 32}), "");
}

TEST_F(RingWriter, refuses_a_name_with_a_live_writer) {
  Writer writer = make_writer();
  write_record(writer, 1, 1);
  EXPECT_EQ(refusal(), "the ring '" + path_ + "' has a live writer, process " + std::to_string(::getpid()));
  Reader reader = make_reader();
  EXPECT_EQ(reader.poll(), Poll::Record);  // the ring is unharmed
}

TEST_F(RingWriter, replaces_the_ring_of_a_writer_that_is_gone) {
  std::uint64_t first_epoch = 0;
  {
    const Writer writer = make_writer();
    first_epoch = writer.epoch();
  }
  Reader old_reader = make_reader();
  EXPECT_FALSE(old_reader.replaced());
  Writer writer = make_writer();
  write_record(writer, 1, 5);
  EXPECT_NE(writer.epoch(), first_epoch);
  EXPECT_TRUE(old_reader.replaced());
  EXPECT_EQ(old_reader.poll(), Poll::Nothing);
  EXPECT_EQ(old_reader.writer(), WriterState::Finished);
  Reader reader = make_reader();
  EXPECT_EQ(reader.epoch(), writer.epoch());
  EXPECT_EQ(reader.poll(), Poll::Record);
}

TEST_F(RingWriter, removes_what_makers_of_its_name_that_died_left_unfinished) {
  const stopbit::testing::Scratch scratch;
  name_ = scratch.path("ring");
  std::ofstream(name_ + ".new-4000000") << "half";
  std::ofstream(name_ + ".new-4000001x") << "of somebody";
  std::ofstream(name_ + "s.new-4000002") << "of another name";
  const os::Descriptor made(::open((name_ + ".new-4000003").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(lock(made));  // its maker is alive
  const Writer writer = make_writer();
  EXPECT_FALSE(std::filesystem::exists(name_ + ".new-4000000"));
  for (const char* other : {".new-4000001x", "s.new-4000002", ".new-4000003"}) {
    EXPECT_TRUE(std::filesystem::exists(name_ + other)) << other;
  }
}

TEST_F(RingWriter, replaces_the_ring_of_a_writer_that_is_gone_though_a_reader_has_locked_it) {
  std::uint64_t first_epoch = 0;
  {
    const Writer writer = make_writer();
    first_epoch = writer.epoch();
  }
  const os::Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(file.get(), F_OFD_SETLK, &whole), 0);
  {
    const Writer writer = make_writer();
    EXPECT_NE(writer.epoch(), first_epoch);
    EXPECT_EQ(make_reader().epoch(), writer.epoch());
    EXPECT_EQ(refusal(), "the ring '" + path_ + "' has a live writer, process " + std::to_string(::getpid()));
  }
  // Only the ring is left.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const std::string name = std::filesystem::path(path_).filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(name + ".new")) << entry.path();
  }
}

TEST_F(RingWriter, leaves_a_file_alone_that_is_no_ring) {
  const stopbit::testing::Scratch scratch;
  name_ = scratch.path("ring");
  path_ = name_;
  std::ofstream(path_) << "precious";
  EXPECT_EQ(refusal(), "'" + path_ + "' exists and is not a ring; it was not replaced");
  std::string content;
  std::ifstream(path_) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(RingWriter, does_not_follow_a_symbolic_link) {
  const stopbit::testing::Scratch scratch;
  const std::string target = scratch.write("target", "precious");
  ASSERT_EQ(::symlink(target.c_str(), path_.c_str()), 0);
  EXPECT_NE(refusal(), "");
  std::string content;
  std::ifstream(target) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(RingWriter, leaves_no_temporary_file_behind) {
  const stopbit::testing::Scratch scratch;
  name_ = scratch.path("ring");
  path_ = name_;
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(scratch.folder()), std::filesystem::directory_iterator());
  };
  { const Writer writer = make_writer(); }
  EXPECT_EQ(files(), 1);
  const Writer writer = make_writer();  // in place of the first one
  EXPECT_EQ(files(), 1);
  EXPECT_NE(refusal(), "");
  EXPECT_EQ(files(), 1);
}

TEST_F(RingWriter, begins_at_lap_one_with_the_other_phase) {
  Writer writer = make_writer();
  const record::RecordSink::Place place = writer.open();
  EXPECT_EQ(place.stamp(), kSlots);
  EXPECT_TRUE(place.phase());
  EXPECT_EQ(writer.open().slots, place.slots);  // the same place until there is a commit
}

TEST_F(RingWriter, pads_the_end_of_the_ring_and_turns_the_phase) {
  Writer writer = make_writer();
  const record::Slot* const begin = writer.open().slots;
  for (std::uint64_t i = 0; i < 20; ++i) write_record(writer, 3, i);
  EXPECT_EQ(writer.head(), kSlots + 60);
  EXPECT_EQ(writer.open().slots, begin + 60);  // four slots are left, just enough
  write_record(writer, 1, 20);
  const record::RecordSink::Place place = writer.open();
  EXPECT_EQ(place.slots, begin);
  EXPECT_EQ(place.stamp(), 2 * kSlots);
  EXPECT_FALSE(place.phase());
  EXPECT_EQ(begin[61].words[0], record::kPadIndex | 3U << 16 | (kSlots + 61) << 32);
  EXPECT_EQ(begin[61].words[record::kTagWord], first_slot_tags(true));
}

TEST_F(RingWriter, claims_slots_before_it_gives_them_away) {
  Writer writer = make_writer();
  const Segment segment(path_);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const record::RecordSink::Place place = writer.open();
    const auto number = segment.header().head;
    ASSERT_EQ(place.stamp(), number);
    ASSERT_GE(segment.header().claim, number + kMaxRecordSlots);
    ASSERT_LE(segment.header().claim, number + kMaxRecordSlots + claim_step(kSlots));
    write_record(writer, static_cast<std::uint32_t>(1 + i % kMaxRecordSlots), i);
  }
}

TEST_F(RingWriter, puts_a_record_of_one_slot_as_open_and_commit_do) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  for (std::uint64_t i = 0; i < 5 * kSlots; ++i) {
    if (i % 7 == 0) {
      write_record(writer, 3, i);  // so that laps end with padding
    } else {
      record::Slot slot{};
      for (std::size_t word = 1; word < record::kValueWords; ++word) slot.words[word] = i * 1'000'003 + word;
      // Stamp and phase of another ring.
      slot.words[0] = i % 1000 | std::uint64_t{1} << 16 | std::uint64_t{0xDEAD} << 32;
      slot.words[record::kTagWord] = first_slot_tags(i % 2 == 0);
      writer.put(slot.words);
    }
    ASSERT_EQ(reader.poll(), Poll::Record) << i;
    ASSERT_EQ(test::seed_of(reader.record()), i);
    ASSERT_EQ(reader.poll(), Poll::Nothing) << i;
  }
  EXPECT_EQ(writer.records(), 5 * kSlots);
}

TEST_F(RingWriter, makes_no_system_call_after_its_creation) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer makes system calls of its own";
  Writer writer = make_writer();
  Reader reader = make_reader();
  const pid_t child = ::fork();
  if (child == 0) {
    // From here the kernel kills the process at any call but read, write and exit; allocation would need brk or mmap.
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(2);
    std::uint64_t read = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      write_record(writer, static_cast<std::uint32_t>(1 + i % kMaxRecordSlots), i);
      writer.beat(i);
      if (reader.poll() == Poll::Record) ++read;
    }
    for (int i = 0; i < 200; ++i) write_record(writer, 1, 1);
    const bool lost = reader.poll() == Poll::Lost;
    writer.finish();
    ::syscall(SYS_exit, read == 10'000 && lost ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace stopbit::ring::writer_test
