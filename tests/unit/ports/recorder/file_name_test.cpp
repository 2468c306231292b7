#include "host/ports/recorder/file_name.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "host/ports/byte_stream.hpp"
#include "host/ports/recorder/archive.hpp"
#include "host/ports/recorder/compress.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::recorder::file_name_test {

namespace fs = std::filesystem;

TEST(RecordedFileName, is_read_as_it_was_written) {
  for (const FileName& name : {FileName{"seven-a", 12, false, false}, FileName{"seven-a", 12, true, false},
                               FileName{"a-b-b", 1'234'567, true, true}}) {
    const auto read = parse_file_name(to_text(name));
    ASSERT_TRUE(read) << to_text(name);
    EXPECT_EQ(to_text(*read), to_text(name));
    EXPECT_EQ(read->line, name.line);
    EXPECT_EQ(read->number, name.number);
  }
  EXPECT_EQ(to_text({"seven-a", 12, true, true}), "frozen-seven-a-000012.pcapng.zst");
}

TEST(RecordedFileName, is_none_of_other_files) {
  for (const char* name : {"", "-000001.pcapng", "seven-a.pcapng", "seven-a-.pcapng", "seven-a-12x.pcapng",
                           "seven-a-000001.pcap", "seven-a-000001.pcapng.zst", "seven-a-000001.pcapng.zst.part",
                           "seven-a-99999999999999999999.pcapng", "frozen-000001.pcapng.gz"}) {
    EXPECT_FALSE(parse_file_name(name)) << name;
  }
}

TEST(RecordedFiles, are_listed_by_line_and_number_and_links_are_not) {
  testing::Scratch folder;
  for (const char* name : {"b-a-000002.pcapng", "b-a-000001.pcapng", "frozen-a-a-000009.pcapng.zst", "notes.txt"}) {
    folder.write(name, "x");
  }
  fs::create_symlink(folder.path("notes.txt"), folder.path("b-a-000003.pcapng"));
  std::error_code error;
  const auto files = recorded_files(folder.path(), error);
  ASSERT_FALSE(error);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].name.line, "a-a");
  EXPECT_TRUE(files[0].name.is_compressed);
  EXPECT_EQ(files[1].name.number, 1U);
  EXPECT_EQ(files[2].name.number, 2U);
  EXPECT_EQ(files[2].bytes, 1U);
}

TEST(RecordedFiles, are_read_once_though_a_compressed_copy_is_left) {
  testing::Scratch folder;
  for (const char* name : {"frozen-a-a-000001.pcapng", "frozen-a-a-000001.pcapng.zst", "frozen-a-a-000002.pcapng.zst",
                           "frozen-a-b-000001.pcapng.zst"}) {
    folder.write(name, "x");
  }
  std::error_code error;
  std::vector<std::string> names;
  for (const RecordedFile& file : without_copies(recorded_files(folder.path(), error))) {
    names.push_back(to_text(file.name));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("frozen-a-a-000001.pcapng", "frozen-a-a-000002.pcapng.zst",
                                            "frozen-a-b-000001.pcapng.zst"));
}

TEST(Compress, replaces_a_file_by_one_that_gives_its_bytes) {
  testing::Scratch folder;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 1000);
  folder.write("frozen-a-a-000001.pcapng", text);
  const fs::path path = folder.path("frozen-a-a-000001.pcapng");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(48));
  const auto written = fs::last_write_time(path);
  const auto done = compress_file(path.string());
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(done.value().bytes_before, text.size());
  EXPECT_LT(done.value().bytes_after, text.size());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(fs::last_write_time(done.value().path), written) << "expiry goes by the time of the packets";
  const auto stream = std::move(ingest::ByteStream::open(done.value().path)).value();
  std::string read(text.size() + 1, '\0');
  EXPECT_EQ(stream->read(reinterpret_cast<std::byte*>(read.data()), read.size()), text.size());
  read.pop_back();
  EXPECT_EQ(read, text);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1) << "no part is left";
}

TEST(Compress, ends_what_was_killed_before_the_removal_and_replaces_no_other_file) {
  testing::Scratch folder;
  folder.write("plain", "abc");
  const auto first = compress_file(folder.path("plain"));
  ASSERT_TRUE(first) << first.message();
  folder.write("plain", "abc");
  const auto again = compress_file(folder.path("plain"));
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(again.value().bytes_after, first.value().bytes_after);
  EXPECT_FALSE(fs::exists(folder.path("plain")));
  folder.write("plain", "other");
  EXPECT_NE(compress_file(folder.path("plain")).message().find("does not give the bytes"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path("plain")));
  EXPECT_TRUE(fs::exists(first.value().path));
}

/// After kill -9; the file that it was to replace may have expired since.
TEST(Compress, finds_what_was_not_finished_unless_it_is_being_written) {
  const testing::Scratch folder;
  const std::string left = folder.write("frozen-seven-a-000001.pcapng.zst.part", "xx");
  const std::string busy = folder.write("frozen-seven-a-000002.pcapng.zst.part", "xx");
  folder.write("frozen-seven-a-000003.pcapng.part", "of no compression");
  folder.write("seven-a-000004.pcapng.zst.part", "of no recorder");
  folder.write("notes.part", "an operator's");
  const int writer = ::open(busy.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  EXPECT_EQ(abandoned_files(folder.path()), std::vector<std::string>{left});
  folder.write("frozen-seven-a-000002.pcapng", "packets");
  EXPECT_THAT(compress_file(folder.path("frozen-seven-a-000002.pcapng")).message(),
              ::testing::HasSubstr("is being compressed by another process"));
  EXPECT_EQ(folder.read("frozen-seven-a-000002.pcapng.zst.part"), "xx");
  ::close(writer);
  EXPECT_EQ(abandoned_files(folder.path()).size(), 2U);
  EXPECT_TRUE(compress_file(folder.path("frozen-seven-a-000002.pcapng")));
  EXPECT_EQ(abandoned_files(folder.path()), std::vector<std::string>{left});
}

TEST(Compress, leaves_the_file_to_its_owner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root hands files over";
  testing::Scratch folder;
  folder.write("plain", "abc");
  ASSERT_EQ(::chown(folder.path("plain").c_str(), 65'534, 65'534), 0);
  const auto done = compress_file(folder.path("plain"));
  ASSERT_TRUE(done) << done.message();
  struct stat status {};
  ASSERT_EQ(::stat(done.value().path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65'534U);
  EXPECT_EQ(status.st_gid, 65'534U);
}

TEST(Compress, leaves_the_file_if_it_fails) {
  testing::Scratch folder;
  folder.write("plain", "abc");
  fs::create_symlink(folder.path("plain"), folder.path("link"));
  EXPECT_FALSE(compress_file(folder.path("link")));
  EXPECT_FALSE(compress_file(folder.path("none")));
  fs::create_directory(folder.path("plain.zst.part"));  // the name is taken by what cannot be removed
  EXPECT_FALSE(compress_file(folder.path("plain")));
  EXPECT_TRUE(fs::exists(folder.path("plain")));
}

TEST(Archive, freezes_again_when_frozen_files_are_fewer) {
  testing::Scratch folder;
  Archive archive({.folder = folder.path(),
                   .name = "a-a",
                   .file_bytes = 4'000,
                   .total_bytes = 12'000,
                   .frozen_bytes = 5'000,
                   .freeze_before_ns = 1,
                   .freeze_after_ns = 1});
  const std::vector<std::byte> payload(1'000);
  const auto fill_and_freeze = [&](std::uint64_t begin) {
    for (std::uint64_t i = 0; i < 4; ++i) archive.add({1, 1}, {2, 2}, payload, begin + i);
    archive.freeze(begin + 1);
  };
  fill_and_freeze(1'000);
  fill_and_freeze(2'000);
  EXPECT_EQ(archive.counts().frozen_files, 1U);
  ASSERT_NE(archive.counts().refused_freezes, 0U) << "the limit is reached";
  archive.set_frozen_bytes(0);
  fill_and_freeze(3'000);
  fill_and_freeze(4'000);
  EXPECT_GE(archive.counts().frozen_files, 2U);
}

}  // namespace stopbit::recorder::file_name_test
