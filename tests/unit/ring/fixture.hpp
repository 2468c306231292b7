#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::ring::test {

constexpr std::uint32_t kMaxRecordSlots = 4;
constexpr std::uint64_t kSlots = 64;

inline Program small_program(std::uint32_t max_record_slots = kMaxRecordSlots) {
  Program program;
  program.max_record_slots = max_record_slots;
  program.names = "a program";
  return program;
}

/// A record of `slots` slots whose every word follows from `seed`, written as an engine writes.
inline void write_record(record::RecordSink& sink, std::uint32_t slots, std::uint64_t seed) {
  const record::RecordSink::Place place = sink.open();
  record::Slot first;
  for (std::uint32_t i = 0; i < slots; ++i) {
    record::Slot& slot = i == 0 ? first : place.slots[i];
    for (std::size_t word = i == 0 ? 1 : 0; word < record::kValueWords; ++word) {
      record::store_word(slot.words[word], seed * 1'000'003 + i * 8 + word);
    }
    const std::uint64_t tags = i == 0 ? first_slot_tags(place.phase()) : record::tag_word_base(place.phase(), i);
    record::store_word(slot.words[record::kTagWord], tags);
  }
  first.words[0] = seed % 1000 | std::uint64_t{slots} << 16 | std::uint64_t{place.stamp()} << 32;
  sink.commit(first, slots);
}

/// The seed of such a record; fails the test if it is not whole.
inline std::uint64_t seed_of(std::span<const record::Slot> record) {
  if (record.empty()) {
    ADD_FAILURE() << "no record";
    return 0;
  }
  const std::uint64_t seed = (record[0].words[1] - 1) / 1'000'003;
  for (std::size_t i = 0; i < record.size(); ++i) {
    for (std::size_t word = i == 0 ? 1 : 0; word < record::kValueWords; ++word) {
      EXPECT_EQ(record[i].words[word], seed * 1'000'003 + i * 8 + word) << "slot " << i << " word " << word;
    }
    EXPECT_EQ(record[i].words[record::kTagWord] >> 56 & 0x7F, i & 0x7F);
  }
  EXPECT_EQ(record[0].words[0] & 0xFFFF, seed % 1000);
  return seed;
}

/// A ring name of its own per test, cleaned up after it.
class RingTest : public ::testing::Test {
 protected:
  RingTest() {
    static std::atomic<int> count = 0;
    name_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    path_ = os::path_of(name_).value();
  }
  ~RingTest() override { ::unlink(path_.c_str()); }

  Writer make_writer(std::uint64_t slots = kSlots, std::uint32_t max_record_slots = kMaxRecordSlots) {
    Result<Writer> writer = Writer::create(name_, small_program(max_record_slots), {.slot_count = slots});
    if (!writer) throw std::runtime_error(writer.message());
    return std::move(writer).value();
  }
  Reader make_reader(Start start = Start::Oldest) {
    Result<Reader> reader = Reader::open(name_, start);
    if (!reader) throw std::runtime_error(reader.message());
    return std::move(reader).value();
  }

  /// The segment, writable: for tests that play a hostile writer.
  struct Segment {
    explicit Segment(const std::string& path) {
      const int fd = ::open(path.c_str(), O_RDWR);
      struct stat status {};
      EXPECT_EQ(::fstat(fd, &status), 0);
      bytes = static_cast<std::size_t>(status.st_size);
      void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      EXPECT_NE(mapped, MAP_FAILED);
      data = static_cast<unsigned char*>(mapped);
      ::close(fd);
    }
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment() { ::munmap(data, bytes); }

    [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(data); }
    [[nodiscard]] record::Slot* slots() const { return reinterpret_cast<record::Slot*>(data + header().slots_offset); }

    unsigned char* data = nullptr;
    std::size_t bytes = 0;
  };

  std::string name_;
  std::string path_;
};

}  // namespace stopbit::ring::test
