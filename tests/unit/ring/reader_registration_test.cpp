#include "host/ring/reader_registration.hpp"

#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/lib/scratch.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::reader_registration_test {

namespace fs = std::filesystem;

class RingSign : public ::testing::Test {
 protected:
  void SetUp() override {
    rings_ = {(folder_ / "other").string(), (folder_ / "ring").string()};
    Result<Writer> made = Writer::create(rings_[1], test::small_program(), {.slot_count = test::kSlots});
    ASSERT_TRUE(made) << made.message();
    writer_.emplace(std::move(made).value());
  }

  [[nodiscard]] ReaderRegistration sign(const std::string& name) const {
    Result<ReaderRegistration> made = ReaderRegistration::create(rings_[1], name);
    EXPECT_TRUE(made) << made.message();
    return std::move(made).value();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const testing::Scratch scratch_;
  const fs::path& folder_ = scratch_.folder();
  std::vector<std::string> rings_;
  std::optional<Writer> writer_;
};

TEST_F(RingSign, says_what_the_reader_has_read_and_lost_and_goes_with_it) {
  Result<Reader> opened = Reader::open(rings_[1]);
  ASSERT_TRUE(opened) << opened.message();
  Reader& reader = opened.value();
  {
    ReaderRegistration shown = sign("book-1");
    auto seen = find_readers(rings_);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].ring, 1U);
    EXPECT_EQ(seen[0].name, "book-1");
    EXPECT_EQ(seen[0].pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_TRUE(seen[0].is_running);
    EXPECT_EQ(seen[0].delivered + seen[0].lost_records, 0U);
    for (std::uint64_t i = 0; i < 1'000; ++i) test::write_record(*writer_, 1 + i % 4, i);
    for (Poll poll = reader.poll(); poll != Poll::Nothing; poll = reader.poll()) {
    }
    shown.show(reader);
    seen = find_readers(rings_);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_GT(seen[0].lost_records, 0U);
    EXPECT_EQ(seen[0].lost_records, reader.total_lost_records());
    EXPECT_EQ(seen[0].lost_slots, reader.total_lost());
    EXPECT_EQ(seen[0].delivered + seen[0].lost_records, 1'000U);
  }
  EXPECT_TRUE(find_readers(rings_).empty());
  EXPECT_EQ(files(), 1U);
}

TEST_F(RingSign, of_a_killed_reader_stays_until_one_of_its_name_comes) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<ReaderRegistration> made = ReaderRegistration::create(rings_[1], "book");
    ::_exit(made ? 0 : 1);  // without the end of anything
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const ReaderRegistration other = sign("boo");
  auto seen = find_readers(rings_);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].name, "book");
  EXPECT_FALSE(seen[1].is_running);
  const ReaderRegistration again = sign("book");
  seen = find_readers(rings_);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].is_running);
  EXPECT_TRUE(seen[1].is_running);
}

TEST_F(RingSign, takes_away_what_a_reader_left_that_died_while_it_made_one) {
  const std::string begin = rings_[1] + ".by-book-";
  const auto put = [](const std::string& name, std::size_t bytes) { std::ofstream(name) << std::string(bytes, '\0'); };
  put(begin + "1.new-a", 0);
  put(begin + "2.new-b", 112);
  put(begin + "3.new-c", 113);  // no sign has this size
  put(begin + "new", 0);
  const std::string held = begin + "4.new-d";
  const os::Descriptor holder(::open(held.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(lock(holder));
  const ReaderRegistration made = sign("book");
  EXPECT_EQ(files(), 5U);  // ring, sign, and the last three
  EXPECT_TRUE(fs::exists(held));
  EXPECT_EQ(find_readers(rings_).size(), 1U);
}

TEST_F(RingSign, is_there_however_many_make_one_of_the_same_name_at_once) {
  constexpr int kProcesses = 8;
  constexpr int kTimes = 200;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int n = 0; n < kTimes; ++n) {
      if (!ReaderRegistration::create(rings_[1], "book")) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(RingSign, is_not_made_twice_by_a_process_nor_under_a_bad_name) {
  const ReaderRegistration first = sign("book");
  EXPECT_FALSE(ReaderRegistration::create(rings_[1], "book"));
  EXPECT_EQ(find_readers(rings_).size(), 1U);
  for (const char* const bad : {"", "a/b", ".a", "-a", "a b", "a.by-b"}) {
    EXPECT_FALSE(ReaderRegistration::create(rings_[1], bad)) << bad;
  }
  EXPECT_FALSE(ReaderRegistration::create(rings_[1], std::string(65, 'a')));
  EXPECT_FALSE(ReaderRegistration::create((folder_ / "not" / "there").string(), "book"));
  EXPECT_EQ(files(), 2U);
}

TEST_F(RingSign, ignores_whatever_else_lies_there) {
  const std::string good = (folder_ / "good").string();
  const std::string begin = rings_[1] + ".by-";
  {
    const ReaderRegistration shown = sign("x");
    fs::copy_file(begin + "x-" + std::to_string(::getpid()), good);
  }
  std::string bytes(fs::file_size(good), '\0');
  std::ifstream(good).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const auto put = [&](const std::string& name, const std::string& content) { std::ofstream(begin + name) << content; };
  put("x-1", bytes.substr(0, bytes.size() - 1));
  put("x-2", "");
  put("y-3", bytes);  // another name inside
  std::string named = bytes;
  named[16] = '/';
  put("x-4", named);
  std::string endless = bytes;
  std::fill(endless.begin() + 16, endless.begin() + 88, 'a');
  put("a-5", endless);
  std::string magic = bytes;
  magic[0] = 'x';
  put("x-6", magic);
  fs::create_directory(begin + "x-7");
  fs::create_symlink(good, begin + "x-8");
  ASSERT_EQ(::mkfifo((begin + "x-9").c_str(), 0600), 0);
  EXPECT_TRUE(find_readers(rings_).empty());
  put("x-10", bytes);
  const auto seen = find_readers(rings_);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_FALSE(seen[0].is_running);
}

}  // namespace stopbit::ring::reader_registration_test
