#include "host/ports/byte_stream.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/ports/captures.hpp"

namespace stopbit::ingest::byte_stream_test {

using testing::gzip;
using testing::memory_file;
using testing::u32;
using testing::zstd;

std::unique_ptr<ByteStream> stream_of(std::string_view content) {
  auto opened = ByteStream::from_descriptor(memory_file(content), "memory");
  EXPECT_TRUE(opened.ok());
  return std::move(opened).value();
}

std::string read_all(ByteStream& stream, std::size_t piece = 1000) {
  std::string all;
  std::string part(piece, '\0');
  std::size_t count = 0;
  do {
    count = stream.read(reinterpret_cast<std::byte*>(part.data()), piece);
    all.append(part, 0, count);
  } while (count == piece);
  return all;
}

/// Text that does not compress to nothing, longer than the buffers.
std::string long_text() {
  std::string text;
  for (unsigned i = 0; text.size() < 700'000; ++i) text += std::to_string(i * 2'654'435'761U);
  return text;
}

TEST(ByteStream, hands_out_plain_files) {
  for (const std::string& text : {std::string(), std::string("x"), std::string("\x1F"), long_text()}) {
    const auto stream = stream_of(text);
    EXPECT_EQ(read_all(*stream), text);
    EXPECT_EQ(stream->position(), text.size());
    EXPECT_EQ(stream->fault(), "");
    EXPECT_FALSE(stream->compressed());
    EXPECT_EQ(stream->file_bytes_done(), text.size());
    EXPECT_EQ(stream->file_bytes_total(), text.size());
  }
}

TEST(ByteStream, decompresses_any_number_of_members) {
  const std::string text = long_text();
  const std::string file = gzip(text) + gzip("") + gzip("tail") + std::string(512, '\0');
  const auto stream = stream_of(file);
  EXPECT_TRUE(stream->compressed());
  EXPECT_EQ(read_all(*stream, 77), text + "tail");
  EXPECT_EQ(stream->fault(), "");
  EXPECT_EQ(stream->position(), text.size() + 4);
  EXPECT_EQ(stream->file_bytes_done(), file.size());
}

TEST(ByteStream, decompresses_frames_of_zstd) {
  const std::string text = long_text();
  const std::string skippable = u32(0x184D2A53) + u32(5) + "notes";
  const std::string file = zstd(text) + skippable + zstd("") + zstd("tail") + std::string(512, '\0');
  for (const std::size_t piece : {77U, 1'000'000U}) {
    const auto stream = stream_of(file);
    EXPECT_TRUE(stream->compressed());
    EXPECT_EQ(read_all(*stream, piece), text + "tail");
    EXPECT_EQ(stream->fault(), "");
  }
}

TEST(ByteStream, decompresses_what_swells_to_many_times_its_buffers) {
  const std::string zeros(3'000'000, '\0');
  for (const std::string& file : {zstd(zeros), gzip(zeros)}) {
    const auto stream = stream_of(file);
    EXPECT_EQ(read_all(*stream), zeros);
    EXPECT_EQ(stream->fault(), "");
  }
}

TEST(ByteStream, hands_out_all_that_comes_before_a_cut_of_zstd) {
  const std::string text = long_text();
  const std::string file = zstd(text);
  for (std::size_t size = 4; size < file.size(); size += 1 + size / 10) {
    const auto stream = stream_of(std::string_view(file).substr(0, size));
    EXPECT_TRUE(text.starts_with(read_all(*stream)));
    EXPECT_EQ(stream->fault(),
              "the compressed data ends early, at byte " + std::to_string(size) + " of the compressed file");
  }
}

TEST(ByteStream, refuses_a_zstd_frame_that_wants_more_memory_than_is_good) {
  // A frame header that asks for a window of 2 GiB.
  const auto stream = stream_of(std::string("\x28\xB5\x2F\xFD\x00\xA8", 6) + std::string(20, '\0'));
  EXPECT_EQ(read_all(*stream), "");
  EXPECT_NE(stream->fault().find("damaged near byte"), std::string::npos) << stream->fault();
  EXPECT_NE(stream->fault().find("too much memory"), std::string::npos) << stream->fault();
}

TEST(ByteStream, shows_how_it_starts_and_takes_nothing) {
  for (const std::string& file : {std::string("start and rest"), gzip("start and rest"), zstd("start and rest")}) {
    const auto stream = stream_of(file);
    const auto starts = [&](const std::string& text) { return stream->starts_with(std::as_bytes(std::span(text))); };
    EXPECT_TRUE(starts("start"));
    EXPECT_FALSE(starts("rest"));
    EXPECT_FALSE(starts("start and rest and more"));
    EXPECT_EQ(read_all(*stream), "start and rest");
  }
}

TEST(ByteStream, reads_pipes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = long_text();
  const std::string file = gzip(text);
  std::thread writer([&] {
    for (std::size_t at = 0; at < file.size(); at += 100) {
      const std::size_t count = std::min<std::size_t>(100, file.size() - at);
      EXPECT_EQ(::write(ends[1], file.data() + at, count), static_cast<ssize_t>(count));
    }
    ::close(ends[1]);
  });
  auto opened = ByteStream::from_descriptor(ends[0], "pipe");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(read_all(*opened.value()), text);
  EXPECT_EQ(opened.value()->file_bytes_total(), 0U);
  writer.join();
}

TEST(ByteStream, hands_out_all_that_comes_before_a_cut) {
  const std::string text = "several words of text, several words";
  const std::string file = gzip(text);
  for (std::size_t size = 2; size < file.size(); ++size) {
    const auto stream = stream_of(std::string_view(file).substr(0, size));
    const std::string got = read_all(*stream, 5);
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_EQ(stream->fault(),
              "the compressed data ends early, at byte " + std::to_string(size) + " of the compressed file");
  }
}

TEST(ByteStream, names_damage_and_keeps_what_came_before) {
  const std::string text = long_text();
  std::string file = gzip(text);
  file[file.size() - 6] = static_cast<char>(file[file.size() - 6] ^ 1);  // in the CRC
  const auto stream = stream_of(file);
  EXPECT_EQ(read_all(*stream), text);
  EXPECT_NE(stream->fault().find("damaged"), std::string::npos) << stream->fault();
}

TEST(ByteStream, refuses_other_bytes_behind_the_compressed_data) {
  const auto stream = stream_of(gzip("text") + "garbage");
  EXPECT_EQ(read_all(*stream), "text");
  EXPECT_NE(stream->fault().find("not gzip"), std::string::npos) << stream->fault();
}

TEST(ByteStream, says_why_it_cannot_open) {
  const auto missing = ByteStream::open("/nonexistent/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.message(), "/nonexistent/file: No such file or directory");
  const auto folder = ByteStream::open("/");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.message(), "/: it is a folder");
}

}  // namespace stopbit::ingest::byte_stream_test
