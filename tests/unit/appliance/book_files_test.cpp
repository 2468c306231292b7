// Instruments and books on disk: saved while the appliance runs, taken over by the next one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "host/appliance/book_files.hpp"
#include "host/appliance/housekeeper.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/failing_disk.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::book_files_test {

using test::OneChannel;
using test::tick;
using testing::FailingDisk;

constexpr std::uint64_t kSecond = 1'000'000'000;

/// An appliance whose instruments are the numbers of its ticks, with its state in a folder that outlives it.
class Saving {
 public:
  explicit Saving(const testing::Scratch& folder, std::uint64_t now = 1'700'000'000 * kSecond,
                  const std::string& map = "a map")
      : state_(folder.folder() / "state") {
    one_.emplace(
        test::map_of_ticks(folder, map), "[books]\nsave = \"2s\"\ninstruments = 100\n",
        [&](Settings& settings) { settings.state_folder = state_.string(); }, Topology(), OpenCard(), now);
    if (one_->made == nullptr) return;
    keeper_.emplace(*one_->made, one_->clocks(), [this](const Change& change) { log_.push_back(to_text(change)); });
    EXPECT_EQ(testing::why(keeper_->prepare()), "");
  }
  void ticks(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t n = first; n <= last; ++n) one_->give(0, tick(n, n));
    one_->work();
  }
  /// Time passes, so that one save is done.
  void pass() {
    for (int i = 0; i < 30; ++i) {
      one_->now += kSecond / 10;
      one_->work();
      (void)one_->agent().do_work();
      keeper_->step();
    }
  }
  /// The thread that saves, and one turn of the one that decodes.
  void look(std::uint64_t later_ns) {
    one_->now += later_ns;
    keeper_->step();
  }
  void turn() { (void)one_->agent().do_work(); }
  void reload() {
    Diagnostics diagnostics;
    EXPECT_EQ(testing::why(one_->made->reload("ticks", diagnostics)), "") << diagnostics.format();
  }
  void end() {
    one_->made->stop();
    keeper_->step();
    keeper_->finish();
  }
  /// How many lines of the log have this.
  std::size_t lines_with(const std::string& what) const {
    return static_cast<std::size_t>(std::count_if(
        log_.begin(), log_.end(), [&](const std::string& line) { return line.find(what) != std::string::npos; }));
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(state_)) {
      if (entry.path().filename().string().starts_with("books-")) names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  const std::string& log() const { return log_.empty() ? nothing_ : log_.front(); }
  MarketCounterSet& counts() { return output().market_counter_set(); }
  RecordOutput& output() { return *one_->made->outputs()[0]; }
  Result<FoundBooks> find() { return find(output().saved_head(0), one_->now); }
  Result<FoundBooks> find(const market::SavedHead& head, std::uint64_t now) {
    return FoundBooks::find(state_.string(), output().plan().events.ring, head, now);
  }
  std::uint32_t instruments() { return output().load()->events->maker().instruments().count(); }
  std::uint64_t now() const { return one_->now; }

 private:
  std::filesystem::path state_;
  std::optional<OneChannel> one_;
  std::optional<Housekeeper> keeper_;
  std::vector<std::string> log_;
  std::string nothing_;
};

TEST(BookFiles, are_saved_and_taken_over) {
  const testing::Scratch folder;
  std::uint64_t now = 0;
  {
    Saving first(folder);
    EXPECT_EQ(first.lines_with("none were saved"), 1U) << first.log();
    first.ticks(1, 40);
    first.pass();
    EXPECT_EQ(first.counts().saves.value(), 1U);
    ASSERT_EQ(first.files().size(), 1U);
    for (int i = 0; i < 5; ++i) first.pass();
    EXPECT_EQ(first.files().size(), 2U) << "older ones go";
    const auto found = first.find();
    ASSERT_TRUE(found) << found.message();
    EXPECT_EQ(found.value().books().rows(), 40U);
    first.ticks(41, 50);
    first.end();
    EXPECT_EQ(first.find().value().books().rows(), 50U) << "the end is saved, too";
    EXPECT_EQ(first.lines_with("not saved"), 0U);
    now = first.now();
  }
  Saving next(folder, now + 5 * kSecond);
  EXPECT_EQ(next.lines_with("books taken over"), 1U) << next.log();
  EXPECT_EQ(next.lines_with("instruments=50"), 1U) << next.log();
  EXPECT_EQ(next.instruments(), 50U);
  next.ticks(51, 60);
  next.pass();
  EXPECT_EQ(next.instruments(), 60U);
}

TEST(BookFiles, of_another_kind_are_not_taken) {
  const testing::Scratch folder;
  std::uint64_t now = 0;
  {
    Saving first(folder);
    first.ticks(1, 40);
    first.end();
    now = first.now();
    market::SavedHead head = first.output().saved_head(0);
    const auto why = [&](std::uint64_t at) { return first.find(head, at).message(); };
    ASSERT_TRUE(first.find(head, now));
    EXPECT_NE(why(now + 7 * 86'400 * kSecond + kSecond).find("it was saved "), std::string::npos);
    EXPECT_NE(why(now - 3 * kSecond).find("it is from the future"), std::string::npos);
    for (std::uint64_t market::SavedHead::*field :
         {&market::SavedHead::image, &market::SavedHead::map, &market::SavedHead::ring}) {
      head.*field ^= 1;
      EXPECT_NE(why(now).find("it is of another "), std::string::npos);
      head.*field ^= 1;
    }
    if (::geteuid() == 0) {
      const std::string file = first.files().front();
      ASSERT_EQ(::chown(file.c_str(), 12'345, 12'345), 0);
      EXPECT_NE(why(now).find("it belongs to another user"), std::string::npos);
      ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
    }
  }
  Saving next(folder, now + kSecond, "another map");
  EXPECT_EQ(next.lines_with("books begin anew"), 1U) << next.log();
  EXPECT_EQ(next.lines_with("it is of another feed map"), 1U) << next.log();
  EXPECT_EQ(next.instruments(), 0U);
}

TEST(BookFiles, that_are_old_give_definitions_only) {
  const testing::Scratch folder;
  std::uint64_t now = 0;
  {
    Saving first(folder);
    first.ticks(1, 40);
    first.end();
    now = first.now();
    const market::SavedHead head = first.output().saved_head(0);
    EXPECT_EQ(first.find(head, now + 3'599 * kSecond).value().why_no_books(), "");
    EXPECT_NE(first.find(head, now + 3'601 * kSecond).value().why_no_books().find("it was saved "), std::string::npos);
  }
  Saving next(folder, now + 3'601 * kSecond);
  EXPECT_EQ(next.lines_with("books begin anew"), 1U) << next.log();
  EXPECT_EQ(next.lines_with("definitions=0"), 1U) << next.log();
  EXPECT_EQ(next.instruments(), 0U) << "what was seen, and never defined, is worth nothing";
}

TEST(BookFiles, fall_back_to_the_one_before) {
  const testing::Scratch folder;
  Saving first(folder);
  first.ticks(1, 10);
  first.pass();
  first.ticks(11, 20);
  first.pass();
  const std::vector<std::string> files = first.files();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(first.find().value().books().rows(), 20U);
  const std::string whole = testing::file_text(files[1]);
  std::ofstream(files[1], std::ios::binary | std::ios::trunc) << whole.substr(0, whole.size() / 2);
  const auto found = first.find();
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found.value().books().rows(), 10U);
  std::filesystem::resize_file(files[0], 0);
  EXPECT_NE(first.find().message().find(files[1]), std::string::npos) << "it says what is wrong with the newest";
}

TEST(BookFiles, are_two_though_an_older_one_cannot_be_removed_and_names_lie) {
  const testing::Scratch folder;
  {
    Saving first(folder);
    first.ticks(1, 10);
    first.pass();
    const std::string oldest = first.files().front();
    const std::string prefix = oldest.substr(0, oldest.rfind('-') + 1);
    std::filesystem::remove(oldest);
    std::filesystem::create_directory(oldest);  // which no removal of a file takes away
    const std::ofstream last_name(prefix + "18446744073709551615.books");
    for (int i = 0; i < 4; ++i) first.pass();
    EXPECT_EQ(first.files().size(), 4U) << "these two and the newest two";
  }
  Saving second(folder);
  second.ticks(1, 10);
  second.pass();
  EXPECT_EQ(second.lines_with("books not saved"), 0U);
}

/// Each call to the disk fails once, in turn, and all of them from one on.
TEST(BookFiles, survive_a_disk_that_fails) {
  for (const int error : {EIO, ENOSPC, EROFS, FailingDisk::kShortWrite}) {
    for (const bool is_for_good : {false, true}) {
      for (std::uint64_t call = 0; call < 5; ++call) {
        const testing::Scratch folder;
        Saving saving(folder);
        saving.ticks(1, 30);
        saving.pass();
        ASSERT_EQ(saving.counts().saves.value(), 1U);
        FailingDisk disk;
        disk.error = error;
        disk.fails_from = call;
        disk.fails_until = is_for_good ? FailingDisk::kNever : call + 1;
        {
          const disk::ReplacedCalls replaced(disk);
          for (int i = 0; i < 4; ++i) saving.pass();
        }
        const std::string what = "error " + std::to_string(error) + ", call " + std::to_string(call);
        ASSERT_NE(disk.failures, 0U) << what;
        EXPECT_EQ(saving.lines_with("books not saved"), saving.counts().save_failures.value() == 0 ? 0U : 1U) << what;
        const auto found = saving.find();
        ASSERT_TRUE(found) << what << ": " << found.message();
        EXPECT_EQ(found.value().books().rows(), 30U) << what;
        EXPECT_TRUE(!is_for_good || saving.counts().save_failures.value() != 0) << what;
        // The disk is well again.
        const std::uint64_t saves = saving.counts().saves.value();
        saving.ticks(31, 40);
        saving.pass();
        saving.pass();
        EXPECT_GT(saving.counts().saves.value(), saves) << what;
        EXPECT_EQ(saving.lines_with("books saved again"), saving.lines_with("books not saved")) << what;
        EXPECT_EQ(saving.find().value().books().rows(), 40U) << what;
        EXPECT_LE(saving.files().size(), 3U) << what;
      }
    }
  }
}

/// The image changes while its books are copied: half of a save is none.
TEST(BookFiles, are_whole_though_the_image_changes) {
  const testing::Scratch folder;
  Saving saving(folder);
  saving.ticks(1, 100);
  saving.pass();
  ASSERT_EQ(saving.counts().saves.value(), 1U);
  saving.look(2 * kSecond);
  saving.turn();  // 64 of the rows
  saving.look(0);
  EXPECT_EQ(saving.files().size(), 2U) << "the second save has begun";
  saving.reload();
  saving.turn();
  saving.turn();
  saving.look(0);
  EXPECT_EQ(saving.files().size(), 1U) << "and was given up";
  EXPECT_EQ(saving.counts().saves.value(), 1U);
  EXPECT_EQ(saving.counts().save_failures.value(), 0U);
  EXPECT_EQ(saving.find().value().books().rows(), 100U);
  saving.ticks(101, 110);
  saving.pass();
  EXPECT_EQ(saving.counts().saves.value(), 2U);
  EXPECT_EQ(saving.find().value().books().rows(), 10U) << "of the books that began anew";
}

TEST(BookFiles, have_names_of_their_own_for_each_ring) {
  const opener::FileSet one = book_files("f", "cme-events");
  const opener::FileSet two = book_files("f", "/a/cme-events");
  const opener::FileSet three = book_files("f", "/b/cme-events");
  EXPECT_EQ(one.name(7).substr(0, 17), "books-cme-events-");
  EXPECT_EQ(one.number(one.name(7)), 7U);
  for (const opener::FileSet& other : {two, three}) EXPECT_FALSE(one.number(other.name(7)));
  EXPECT_FALSE(two.number(three.name(7)));
  EXPECT_EQ(book_files("f", "/a/../..").name(1).find('/'), std::string::npos);
}

}  // namespace stopbit::appliance::book_files_test
