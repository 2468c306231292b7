#include "host/ring/reader.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>

#include "tests/unit/ring/fixture.hpp"

namespace stopbit::ring::reader_test {

using test::kMaxRecordSlots;
using test::kSlots;
using test::seed_of;
using test::write_record;

class RingReader : public test::RingTest {};

/// Seeds of the records up to Nothing; a loss ends the test.
std::vector<std::uint64_t> drain(Reader& reader) {
  std::vector<std::uint64_t> seeds;
  for (;;) {
    switch (reader.poll()) {
      case Poll::Record: seeds.push_back(seed_of(reader.record())); break;
      case Poll::Nothing: return seeds;
      default: ADD_FAILURE() << "lost or damaged at " << reader.position(); return seeds;
    }
  }
}

TEST_F(RingReader, finds_nothing_in_a_new_ring) {
  const Writer writer = make_writer();
  Reader reader = make_reader();
  EXPECT_EQ(reader.poll(), Poll::Nothing);
  EXPECT_TRUE(reader.record().empty());
  EXPECT_EQ(reader.position(), kSlots);
}

TEST_F(RingReader, gets_every_record_over_many_laps) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto slots = static_cast<std::uint32_t>(1 + i * 7 % kMaxRecordSlots);
    write_record(writer, slots, i);
    ASSERT_EQ(reader.poll(), Poll::Record) << i;
    ASSERT_EQ(reader.record().size(), slots);
    ASSERT_EQ(seed_of(reader.record()), i);
    ASSERT_EQ(reader.poll(), Poll::Nothing);
  }
  EXPECT_EQ(reader.total_lost(), 0U);
}

TEST_F(RingReader, does_not_see_a_record_before_its_commit) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  for (int lap = 0; lap < 5; ++lap) {
    for (std::uint64_t i = 0; i < kSlots / 2; ++i) {
      const record::RecordSink::Place place = writer.open();
      std::memset(place.slots[1].words, 0, sizeof(place.slots[1].words));
      place.slots[1].words[record::kTagWord] = record::tag_word_base(place.phase(), 1);
      ASSERT_EQ(reader.poll(), Poll::Nothing);
      record::Slot first{};
      first.words[0] = std::uint64_t{2} << 16 | std::uint64_t{place.stamp()} << 32;
      first.words[record::kTagWord] = first_slot_tags(place.phase());
      writer.commit(first, 2);
      ASSERT_EQ(reader.poll(), Poll::Record);
    }
  }
}

TEST_F(RingReader, is_not_deceived_by_values_that_look_like_a_header) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  // Every word of every slot is the first word that the same place will have one lap later.
  for (std::uint64_t i = 0; i < kSlots / kMaxRecordSlots; ++i) {
    const record::RecordSink::Place place = writer.open();
    record::Slot first{};
    for (std::uint32_t slot = 0; slot < kMaxRecordSlots; ++slot) {
      record::Slot& to = slot == 0 ? first : place.slots[slot];
      const std::uint64_t bait = std::uint64_t{1} << 16 | (place.stamp() + slot + kSlots) << 32;
      for (std::size_t word = 0; word < record::kValueWords; ++word) to.words[word] = bait;
      to.words[record::kTagWord] =
          slot == 0 ? first_slot_tags(place.phase()) : record::tag_word_base(place.phase(), slot) | 0x0807060504030201;
    }
    first.words[0] = std::uint64_t{kMaxRecordSlots} << 16 | std::uint64_t{place.stamp()} << 32;
    writer.commit(first, kMaxRecordSlots);
    ASSERT_EQ(reader.poll(), Poll::Record);
  }
  for (std::uint64_t i = 0; i < kSlots / 2; ++i) {
    ASSERT_EQ(reader.poll(), Poll::Nothing);
    (void)writer.open();
    ASSERT_EQ(reader.poll(), Poll::Nothing);
    write_record(writer, 1, i);
    ASSERT_EQ(reader.poll(), Poll::Record);
  }
}

TEST_F(RingReader, skips_what_an_abandoned_record_left_behind) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  for (std::uint64_t i = 0; i < 500; ++i) {
    const record::RecordSink::Place place = writer.open();
    for (std::uint32_t slot = 1; slot < kMaxRecordSlots; ++slot) {
      std::memset(place.slots[slot].words, 0xA5, sizeof(place.slots[slot].words));
      place.slots[slot].words[record::kTagWord] = record::tag_word_base(place.phase(), slot);
    }
    ASSERT_EQ(reader.poll(), Poll::Nothing);
    write_record(writer, 1, i);
    ASSERT_EQ(reader.poll(), Poll::Record);
    ASSERT_EQ(seed_of(reader.record()), i);
    ASSERT_EQ(reader.poll(), Poll::Nothing);
  }
}

TEST_F(RingReader, tells_exactly_how_many_slots_it_lost) {
  for (const std::uint64_t behind : {kSlots - 3, kSlots, kSlots + 1, 2 * kSlots, 2 * kSlots + 5, 10 * kSlots + 1}) {
    Writer writer = make_writer();
    Reader reader = make_reader();
    write_record(writer, 1, 0);
    ASSERT_EQ(reader.poll(), Poll::Record);
    const std::uint64_t was = reader.position();
    std::uint64_t last = 0;
    while (writer.head() < was + behind) write_record(writer, 3, ++last);
    ASSERT_EQ(reader.poll(), Poll::Lost) << behind;
    EXPECT_EQ(reader.lost(), reader.position() - was);
    EXPECT_EQ(reader.total_lost(), reader.lost());
    const std::uint64_t lost_records = reader.lost_records();
    EXPECT_EQ(reader.total_lost_records(), lost_records);
    // It goes on at a record, and misses none from there.
    const std::vector<std::uint64_t> seeds = drain(reader);
    ASSERT_FALSE(seeds.empty());
    for (std::size_t i = 0; i < seeds.size(); ++i) EXPECT_EQ(seeds[i], last + 1 - seeds.size() + i);
    EXPECT_EQ(seeds[0], 1 + lost_records);
    EXPECT_EQ(reader.delivered() + reader.total_lost_records(), writer.records());
    EXPECT_EQ(reader.position(), writer.head());
    EXPECT_GE(seeds.size() * 3, kSlots / 4);  // not more is lost than must be
  }
}

TEST_F(RingReader, loses_nothing_while_the_writer_is_less_than_a_ring_ahead) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  const std::uint64_t room = kSlots - 2 * kMaxRecordSlots - claim_step(kSlots);
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 100; ++round) {
    while (writer.head() + kMaxRecordSlots <= reader.position() + room) write_record(writer, 3, written++);
    for (const std::uint64_t seed : drain(reader)) ASSERT_EQ(seed, read++);
  }
  EXPECT_EQ(read, written);
}

TEST_F(RingReader, takes_what_is_there_at_once_if_asked) {
  Writer writer = make_writer(1024);
  Reader reader = make_reader();
  EXPECT_EQ(reader.poll_batch(), Poll::Nothing);
  EXPECT_TRUE(reader.record().empty());
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (const std::size_t limit : {std::size_t{1}, std::size_t{3}, Reader::kMaxBatch}) {
    for (int round = 0; round < 50; ++round) {
      for (std::uint64_t i = 0; i < 200; ++i, ++written) {
        write_record(writer, static_cast<std::uint32_t>(1 + written % kMaxRecordSlots), written);
      }
      while (reader.poll_batch(limit) == Poll::Record) {
        std::size_t records = 0;
        for (const std::span<const record::Slot> record : reader.records()) {
          ASSERT_EQ(record.size(), 1 + read % kMaxRecordSlots);
          ASSERT_EQ(seed_of(record), read++);
          ++records;
        }
        ASSERT_GE(records, 1U);
        ASSERT_LE(records, limit);
      }
      ASSERT_EQ(read, written);
      ASSERT_EQ(reader.delivered(), written);
    }
  }
}

TEST_F(RingReader, tells_a_loss_behind_the_records_of_a_batch) {
  Writer writer = make_writer();
  Reader reader = make_reader();
  for (std::uint64_t i = 0; i < 8; ++i) write_record(writer, 1, i);
  ASSERT_EQ(reader.poll_batch(4), Poll::Record);
  for (std::uint64_t i = 8; i < 500; ++i) write_record(writer, 1, i);
  ASSERT_EQ(reader.poll_batch(), Poll::Lost);
  EXPECT_TRUE(reader.record().empty());
  EXPECT_EQ(4 + reader.lost_records(), reader.next_record());
  ASSERT_EQ(reader.poll_batch(), Poll::Record);
  EXPECT_EQ(seed_of(reader.record()), 4 + reader.lost_records());
}

TEST_F(RingReader, begins_with_the_oldest_record_that_is_left) {
  Writer writer = make_writer();
  for (std::uint64_t i = 0; i < 10; ++i) write_record(writer, 2, i);
  Reader all = make_reader();
  EXPECT_EQ(drain(all).size(), 10U);

  for (std::uint64_t i = 10; i < 1000; ++i) {
    write_record(writer, 2, i);
    Reader reader = make_reader();
    const std::vector<std::uint64_t> seeds = drain(reader);
    ASSERT_FALSE(seeds.empty());
    EXPECT_EQ(seeds.back(), i);
    EXPECT_EQ(reader.first_record(), seeds.front());
    EXPECT_EQ(reader.published(), i + 1);
    if (i > kSlots) {
      EXPECT_GE(seeds.size() * 2, kSlots * 5 / 8);
    }
  }
  writer.finish();
  Reader finished = make_reader();
  EXPECT_GE(drain(finished).size() * 2, kSlots * 3 / 4);
}

TEST_F(RingReader, begins_with_the_next_record_if_asked) {
  Writer writer = make_writer();
  for (std::uint64_t i = 0; i < 10; ++i) write_record(writer, 2, i);
  Reader reader = make_reader(Start::Newest);
  EXPECT_EQ(reader.poll(), Poll::Nothing);
  write_record(writer, 2, 10);
  EXPECT_EQ(drain(reader), std::vector<std::uint64_t>{10});
}

TEST_F(RingReader, learns_that_the_writer_has_finished) {
  std::vector<Reader> readers;
  {
    Writer writer = make_writer();
    readers.push_back(make_reader());
    EXPECT_EQ(readers[0].writer(), WriterState::Running);
    writer.beat(4711);
    EXPECT_EQ(readers[0].heartbeat_ns(), 4711U);
    write_record(writer, 1, 1);
  }
  EXPECT_EQ(readers[0].writer(), WriterState::Finished);
  EXPECT_EQ(drain(readers[0]), std::vector<std::uint64_t>{1});
  Reader late = make_reader();
  EXPECT_EQ(drain(late), std::vector<std::uint64_t>{1});
  EXPECT_EQ(late.writer(), WriterState::Finished);
}

TEST_F(RingReader, learns_that_the_writer_was_killed_and_reads_what_it_left) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Writer writer = make_writer();
    for (std::uint64_t i = 0; i < 5; ++i) write_record(writer, 2, i);
    write_record(writer, 1, 5);
    (void)writer.open();  // in the middle of a record
    (void)!::write(ready[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Reader reader = make_reader();
  EXPECT_EQ(reader.writer(), WriterState::Running);
  EXPECT_FALSE(Writer::create(name_, test::small_program(), {.slot_count = kSlots}).ok());
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(reader.writer(), WriterState::Dead);
  EXPECT_EQ(drain(reader).size(), 6U);

  Writer next = make_writer();
  EXPECT_TRUE(reader.replaced());
  EXPECT_EQ(reader.writer(), WriterState::Dead);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(RingReader, maps_the_ring_without_the_right_to_write) {
  const Writer writer = make_writer();
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  const std::string inode = " " + std::to_string(status.st_ino) + " ";  // what is mapped may have had no name then
  const auto count = [&](const std::string& rights) {
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(inode) != std::string::npos && line.find(" " + rights + " ") != std::string::npos) ++found;
    }
    return found;
  };
  EXPECT_EQ(count("rw-s"), 1);
  const Reader reader = make_reader();
  EXPECT_EQ(count("r--s"), 1);
  EXPECT_EQ(count("rw-s"), 1);
}

TEST_F(RingReader, refuses_what_is_no_ring) {
  EXPECT_FALSE(Reader::open(name_).ok());
  EXPECT_FALSE(Reader::open("/dev/null").ok());
  EXPECT_FALSE(Reader::open("/dev").ok());
  std::ofstream(path_) << std::string(10'000, 'x');
  const Result<Reader> reader = Reader::open(name_);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.message(), "cannot read the ring '" + path_ + "': it is not a ring");
}

TEST_F(RingReader, refuses_lengths_that_lie) {
  const Writer writer = make_writer();
  const Segment segment(path_);
  const Header good = segment.header();
  const auto refused = [&](auto change) {
    change(segment.header());
    const bool opened = Reader::open(name_).ok();
    segment.header() = good;
    return !opened;
  };
  EXPECT_FALSE(refused([](Header&) {}));
  EXPECT_TRUE(refused([](Header& h) { h.magic ^= 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.version = kVersion + 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.slot_count *= 2; }));
  EXPECT_TRUE(refused([](Header& h) { h.slot_count = 48; }));
  EXPECT_TRUE(refused([](Header& h) { h.slot_count = 0; }));
  EXPECT_TRUE(refused([](Header& h) { h.slot_count = std::uint64_t{1} << 63; }));
  EXPECT_TRUE(refused([](Header& h) { h.max_record_slots = 0; }));
  EXPECT_TRUE(refused([](Header& h) { h.max_record_slots = 9; }));
  EXPECT_TRUE(refused([](Header& h) { h.slots_offset += kPageBytes; }));
  EXPECT_TRUE(refused([](Header& h) { h.slots_offset -= 8; }));
  EXPECT_TRUE(refused([](Header& h) { h.slots_offset = ~std::uint64_t{0} - kPageBytes + 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.segment_bytes += 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.segment_bytes = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Header& h) { h.image_offset = 0; }));
  EXPECT_TRUE(refused([](Header& h) { h.image_offset = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Header& h) { h.image_bytes = h.slots_offset; }));
  EXPECT_TRUE(refused([](Header& h) { h.image_bytes = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Header& h) {
    h.head = 0;
    std::memset(h.marks, 0, sizeof(h.marks));
  }));
}

TEST_F(RingReader, calls_a_record_damaged_whose_length_cannot_be) {
  Writer writer = make_writer();
  const Segment segment(path_);
  for (const std::uint64_t slots : {0U, kMaxRecordSlots + 1, 0xFFFFU}) {
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{record::kPadIndex}}) {
      write_record(writer, 1, 0);
      Reader reader = make_reader(Start::Newest);
      const std::uint64_t number = reader.position();
      record::Slot& slot = segment.slots()[number % kSlots];
      slot.words[record::kTagWord] = first_slot_tags(phase_of(number, kSlots));
      slot.words[0] = index | slots << 16 | number << 32;
      EXPECT_EQ(reader.poll(), Poll::Damaged);
      EXPECT_EQ(reader.poll(), Poll::Damaged);
      EXPECT_TRUE(reader.record().empty());
    }
  }
}

TEST_F(RingReader, calls_a_ring_damaged_that_claims_without_a_head) {
  const Writer writer = make_writer();
  Reader reader = make_reader();
  const Segment segment(path_);
  segment.header().claim = 100 * kSlots;
  EXPECT_EQ(reader.poll(), Poll::Damaged);
  segment.header().claim = ~std::uint64_t{0};
  segment.header().head = ~std::uint64_t{0};
  EXPECT_EQ(reader.poll(), Poll::Damaged);
}

/// Any bytes at any time: no crash, no endless work, no record longer than promised. Sanitizers watch the rest.
TEST_F(RingReader, survives_any_bytes) {
  Writer writer = make_writer();
  const Segment segment(path_);
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same every time
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const std::uint64_t interesting[] = {0, 1, kSlots, 2 * kSlots, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0xFFFF};
  std::uint64_t outcomes[4] = {};
  const Header good = segment.header();
  for (int round = 0; round < 3000; ++round) {
    if (below(2) == 0) segment.header() = good;
    for (std::uint64_t i = below(40); i > 0; --i) write_record(writer, static_cast<std::uint32_t>(1 + below(4)), i);
    Result<Reader> opened = Reader::open(name_, below(2) == 0 ? Start::Oldest : Start::Newest);
    for (std::uint64_t i = below(20); i > 0; --i) {
      const std::size_t words = segment.bytes / 8;
      const std::size_t at = below(2) == 0 ? below(kHeaderBytes / 8) : below(words);
      std::uint64_t value = below(3) == 0 ? interesting[below(std::size(interesting))] : random();
      if (below(3) == 0) value = segment.header().head + below(2 * kSlots) - kSlots;
      std::memcpy(segment.data + at * 8, &value, 8);
    }
    Result<Reader> reopened = Reader::open(name_);
    for (Result<Reader>* result : {&opened, &reopened}) {
      if (!result->ok()) continue;
      Reader& reader = result->value();
      for (int i = 0; i < 100; ++i) {
        const Poll poll = reader.poll();
        ++outcomes[static_cast<std::size_t>(poll)];
        ASSERT_LE(reader.record().size(), reader.max_record_slots());
        ASSERT_EQ(poll == Poll::Record, !reader.record().empty());
        if (poll == Poll::Nothing || poll == Poll::Damaged) break;
      }
      (void)reader.writer();
      (void)reader.replaced();
    }
  }
  for (const std::uint64_t count : outcomes) EXPECT_GT(count, 0U);
}

}  // namespace stopbit::ring::reader_test
