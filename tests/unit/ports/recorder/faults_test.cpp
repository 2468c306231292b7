#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>

#include "host/ports/recorder/archive.hpp"
#include "tests/lib/failing_disk.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::recorder::faults_test {

namespace fs = std::filesystem;
using testing::FailingDisk;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kStart = 1'700'000'000 * kSecond;
constexpr std::uint64_t kPackets = 400;
constexpr std::uint64_t kTotal = 8'000;
constexpr std::uint64_t kAfter = 80;  // packets when the disk is well again

/// Records, changes files, deletes old ones, freezes; then the disk is well, and it goes on.
struct Story {
  explicit Story(FailingDisk& failing, std::uint64_t total_bytes = kTotal) : disk(failing) {
    const disk::ReplacedCalls replaced(disk);
    Archive archive({.folder = scratch.path(),
                     .name = "x-a",
                     .file_bytes = 4'000,
                     .total_bytes = total_bytes,
                     .frozen_bytes = 1U << 20,
                     .freeze_before_ns = 10 * kSecond,
                     .freeze_after_ns = 10 * kSecond});
    const auto add = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t second = from; second < to; ++second) {
        archive.add({0x0A010203, 20'000}, {0xE0003201, 30'001}, std::array<std::byte, 8>{}, kStart + second * kSecond);
        if (second % 10 == 9) archive.flush();
        if (second % 200 == 50) archive.freeze(kStart + second * kSecond);
      }
    };
    add(0, kPackets);
    calls = disk.calls;
    disk.fails_from = FailingDisk::kNever;
    const std::uint64_t before = archive.counts().recorded;
    add(kPackets, kPackets + kAfter);
    archive.flush();
    counts = archive.counts();
    recovered = counts.recorded - before;
    is_failing = archive.is_failing();
  }

  /// Packets in the files, none of which may be damaged but at its end. Nothing if one is.
  [[nodiscard]] std::uint64_t packets_on_disk() const {
    std::uint64_t packets = 0;
    for (const auto& entry : fs::directory_iterator(scratch.folder())) {
      const std::string bytes = testing::file_text(entry.path());
      for (std::size_t at = 0; at + 12 <= bytes.size();) {
        std::uint32_t type = 0;
        std::uint32_t length = 0;
        std::memcpy(&type, &bytes[at], 4);
        std::memcpy(&length, &bytes[at + 4], 4);
        if (length < 12 || length % 4 != 0) {
          ADD_FAILURE() << entry.path() << " is damaged at " << at;
          return 0;
        }
        if (at + length > bytes.size()) break;
        if (type == 6) ++packets;
        at += length;
      }
    }
    return packets;
  }
  [[nodiscard]] std::uint64_t bytes_on_disk() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(scratch.folder())) {
      if (!entry.path().filename().string().starts_with("frozen-")) bytes += entry.file_size();
    }
    return bytes;
  }

  testing::Scratch scratch;
  FailingDisk& disk;
  std::uint64_t calls = 0;
  Archive::Counts counts;
  std::uint64_t recovered = 0;
  bool is_failing = false;
};

class ArchiveFaults : public ::testing::TestWithParam<int> {
 protected:
  static std::uint64_t calls() {
    FailingDisk well;
    const Story story(well);
    EXPECT_GT(story.counts.deleted_files, 2U);
    EXPECT_GT(story.counts.frozen_files, 1U);
    return story.calls;
  }
};

TEST_P(ArchiveFaults, each_call_in_turn_fails_once) {
  const std::uint64_t all = calls();
  ASSERT_GT(all, 50U);
  for (std::uint64_t n = 0; n < all; ++n) {
    SCOPED_TRACE(n);
    FailingDisk disk;
    disk.fails_from = n;
    disk.fails_until = n + 1;
    disk.error = GetParam();
    const Story story(disk);
    ASSERT_GE(disk.failures, 1U);
    ASSERT_EQ(story.counts.recorded + story.counts.not_recorded, kPackets + kAfter);
    ASSERT_FALSE(story.is_failing) << story.counts.last_error;
    ASSERT_GE(story.recovered, kAfter - 3);  // it tries again after a sixteenth of a file
    ASSERT_LE(story.bytes_on_disk(), kTotal);
    ASSERT_GT(story.packets_on_disk(), kAfter / 2);
  }
}

TEST_P(ArchiveFaults, the_disk_fails_from_each_call_on_until_it_is_well) {
  const std::uint64_t all = calls();
  for (std::uint64_t n = 0; n < all; ++n) {
    SCOPED_TRACE(n);
    FailingDisk disk;
    disk.fails_from = n;
    disk.error = GetParam();
    const Story story(disk);
    ASSERT_EQ(story.counts.recorded + story.counts.not_recorded, kPackets + kAfter);
    ASSERT_FALSE(story.is_failing) << story.counts.last_error;
    ASSERT_GE(story.recovered, kAfter - 3);
    ASSERT_LE(story.bytes_on_disk(), kTotal);
    (void)story.packets_on_disk();
  }
}

TEST_P(ArchiveFaults, what_counts_as_recorded_is_on_disk) {
  constexpr std::uint64_t kAll = 1U << 30;
  FailingDisk well;
  const std::uint64_t all = Story(well, kAll).calls;
  for (const std::uint64_t length : {std::uint64_t{1}, FailingDisk::kNever}) {
    for (std::uint64_t n = 0; n < all; ++n) {
      SCOPED_TRACE(n);
      FailingDisk disk;
      disk.fails_from = n;
      disk.fails_until = length == FailingDisk::kNever ? length : n + length;
      disk.error = GetParam();
      const Story story(disk, kAll);
      ASSERT_EQ(story.counts.recorded + story.counts.not_recorded, kPackets + kAfter);
      ASSERT_GE(story.packets_on_disk(), story.counts.recorded);
    }
  }
}

/// Files can be made, but none can be deleted.
class Undeletable final : public disk::Calls {
 public:
  int unlink(const char* path) noexcept override {
    if (is_well) return Calls::unlink(path);
    errno = EIO;
    return -1;
  }
  bool is_well = false;
};

TEST(Archive, keeps_within_its_size_on_a_disk_that_deletes_nothing) {
  const testing::Scratch scratch;
  Undeletable disk;
  const disk::ReplacedCalls replaced(disk);
  Archive archive({.folder = scratch.path(), .name = "x-a", .file_bytes = 4'000, .total_bytes = kTotal});
  const auto add = [&](std::uint64_t packets) {
    for (std::uint64_t i = 0; i < packets; ++i) {
      archive.add({0x0A010203, 20'000}, {0xE0003201, 30'001}, std::array<std::byte, 8>{}, kStart + i);
    }
    archive.flush();
  };
  add(2'000);
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(scratch.folder())) bytes += entry.file_size();
  EXPECT_LE(bytes, kTotal);
  EXPECT_TRUE(archive.is_failing());
  EXPECT_NE(archive.counts().last_error.find("Input/output error"), std::string::npos);
  EXPECT_EQ(archive.counts().recorded + archive.counts().not_recorded, 2'000U);
  disk.is_well = true;
  const std::uint64_t before = archive.counts().recorded;
  add(100);
  EXPECT_GE(archive.counts().recorded, before + 97);
  EXPECT_FALSE(archive.is_failing());
}

INSTANTIATE_TEST_SUITE_P(Errors, ArchiveFaults,
                         ::testing::Values(ENOSPC, EIO, EDQUOT, EROFS, FailingDisk::kShortWrite));

}  // namespace stopbit::recorder::faults_test
