#include "host/ports/recorder/archive.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::recorder::archive_test {

namespace fs = std::filesystem;

constexpr net::Endpoint kSource = {0x0A010203, 20'000};
constexpr net::Endpoint kGroup = {0xE0003201, 30'001};
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kStart = 1'700'000'000 * kSecond;

class ArchiveTest : public ::testing::Test {
 protected:
  [[nodiscard]] ArchiveOptions options() const {
    return {.folder = folder_.string(),
            .name = "310-a",
            .file_bytes = 4'000,
            .total_bytes = 12'000,
            .frozen_bytes = 1U << 20,
            .freeze_before_ns = 30 * kSecond,
            .freeze_after_ns = 30 * kSecond};
  }

  /// Seconds from..to, a packet each with its second as its bytes; about 36 make a file.
  static void add(Archive& archive, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t second = from; second < to; ++second) {
      std::array<std::byte, 8> payload{};
      for (std::size_t i = 0; i < 8; ++i) payload[i] = static_cast<std::byte>(second >> 8 * i);
      archive.add(kSource, kGroup, payload, kStart + second * kSecond);
    }
  }

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    return names;
  }

  /// The seconds in a file.
  [[nodiscard]] std::vector<std::uint64_t> seconds_of(const std::string& file) const {
    std::vector<std::uint64_t> seconds;
    const auto source = std::move(ingest::open_capture((folder_ / file).string())).value();
    ingest::Packet packet;
    while (source->next(packet) == ingest::Next::Packet) {
      net::Datagram datagram;
      EXPECT_EQ(net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram), net::Verdict::Accepted);
      EXPECT_EQ(datagram.source, kSource);
      EXPECT_EQ(datagram.destination, kGroup);
      std::uint64_t second = 0;
      for (std::size_t i = 0; i < 8; ++i) second |= std::to_integer<std::uint64_t>(datagram.payload[i]) << 8 * i;
      EXPECT_EQ(packet.arrival_ns, kStart + second * kSecond);
      seconds.push_back(second);
    }
    return seconds;
  }

  const testing::Scratch scratch_;
  const fs::path& folder_ = scratch_.folder();
};

TEST_F(ArchiveTest, keeps_everything_while_there_is_room) {
  {
    Archive archive(options());
    add(archive, 0, 60);
    archive.flush();
    EXPECT_EQ(archive.counts().recorded, 60U);
  }
  std::vector<std::uint64_t> all;
  for (const std::string& file : files()) {
    const auto part = seconds_of(file);
    all.insert(all.end(), part.begin(), part.end());
  }
  ASSERT_EQ(all.size(), 60U);
  for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(all[i], i);
  EXPECT_EQ(*files().begin(), "310-a-000001.pcapng");
}

TEST_F(ArchiveTest, stays_within_its_size_and_deletes_the_oldest) {
  Archive archive(options());
  add(archive, 0, 1'000);
  archive.flush();
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_LE(entry.file_size(), 4'000U);
    bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 12'000U);
  EXPECT_GT(archive.counts().deleted_files, 10U);
  EXPECT_EQ(seconds_of(*files().rbegin()).back(), 999U);
  EXPECT_FALSE(files().contains("310-a-000001.pcapng"));
}

TEST_F(ArchiveTest, what_lies_around_a_gap_stays) {
  {
    Archive archive(options());
    add(archive, 0, 200);
    archive.freeze(kStart + 199 * kSecond);
    add(archive, 200, 2'000);
    EXPECT_GE(archive.counts().frozen_files, 2U);
  }
  std::set<std::uint64_t> frozen;
  for (const std::string& file : files()) {
    if (!file.starts_with("frozen-")) continue;
    for (const std::uint64_t second : seconds_of(file)) frozen.insert(second);
  }
  for (std::uint64_t second = 170; second <= 228; ++second) EXPECT_TRUE(frozen.contains(second)) << second;
  EXPECT_LT(frozen.size(), 200U);
}

TEST_F(ArchiveTest, freezes_no_more_than_it_may) {
  ArchiveOptions small = options();
  small.frozen_bytes = 5'000;
  Archive archive(small);
  add(archive, 0, 100);
  archive.freeze(kStart + 50 * kSecond);
  add(archive, 100, 400);
  EXPECT_EQ(archive.counts().frozen_files, 1U);
  EXPECT_GT(archive.counts().refused_freezes, 0U);
}

TEST_F(ArchiveTest, goes_on_where_an_earlier_run_has_stopped) {
  {
    Archive archive(options());
    add(archive, 0, 60);
  }
  const auto before = files();
  Archive archive(options());
  add(archive, 100, 101);
  archive.flush();
  EXPECT_EQ(files().size(), before.size() + 1);
  EXPECT_EQ(seconds_of(*files().rbegin()), std::vector<std::uint64_t>{100});
  add(archive, 101, 1'000);
  EXPECT_FALSE(files().contains("310-a-000001.pcapng"));
}

TEST_F(ArchiveTest, a_file_that_cannot_be_written_is_counted_and_tried_again) {
  ArchiveOptions nowhere = options();
  nowhere.folder = (folder_ / "missing").string();
  Archive archive(nowhere);
  add(archive, 0, 3);
  EXPECT_EQ(archive.counts().not_recorded, 3U);
  EXPECT_NE(archive.counts().last_error.find("missing"), std::string::npos);
  fs::create_directory(folder_ / "missing");
  add(archive, 3, 20);
  archive.flush();
  EXPECT_GT(archive.counts().recorded, 10U);
  EXPECT_EQ(archive.counts().recorded + archive.counts().not_recorded, 20U);
}

}  // namespace stopbit::recorder::archive_test
