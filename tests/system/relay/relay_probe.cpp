#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/os/clock.hpp"
#include "host/relay/follower.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/nats/nats.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "microcode/image/image.hpp"
#include "tests/lib/market_tables.hpp"

// Both ends of a relay, for tests of it.
//
//     relay_probe write RING RUN RATE     writes records of run RUN, about RATE a second (0: as fast as it can), until
//     it
//                                         is killed; only while a reader has a seat, so that the ring has what a relay
//                                         that is killed has not stored
//     relay_probe fill RING SLOTS         writes records of run 1 until the ring has SLOTS slots, and ends
//     relay_probe books RING ROWS CHANGES makes tables of instruments and their states, and this many changes of bids,
//     as fast as it can; says "done", and is well until it is killed relay_probe count RING              records that
//     the ring has had, and its epoch relay_probe check ADDRESS [RINGS]   reads a stream from its oldest message to its
//     newest, or to the end of ring
//                                         number RINGS, and compares each word with what `write` has written; a line
//                                         for each ring
//     relay_probe message                 key, channel and bytes of a message as a relay writes it to Kafka, in hex

namespace {

using namespace stopbit;

constexpr std::uint32_t kLong = 150;  ///< More than two messages.
/// Minutes of records: however long a server is away, the ring is not full, so that a relay that is killed then leaves
/// everything in it.
constexpr std::uint64_t kRingSlots = 1U << 20;

Program program_of_records() {
  Program program;
  program.max_record_slots = kLong;
  program.names = "records of the test of relays";
  return program;
}

std::uint32_t slots_of(std::uint64_t index) {
  return index % 97 == 0 ? kLong : static_cast<std::uint32_t>(1 + index % 3);
}

/// Each word of each record differs from all others; the first has the run and the index.
std::uint64_t word_of(std::uint64_t run, std::uint64_t index, std::size_t slot, std::size_t word) {
  if (slot == 0 && word == 1) return run;
  if (slot == 0 && word == 2) return index / 50 % 4 << 32;  // the channel
  if (slot == 0 && word == 3) return index;
  return (run * 1'000'000'007 + index) * 4096 + slot * 8 + word;
}

void write_one(ring::Writer& writer, std::uint64_t run, std::uint64_t index) {
  const record::RecordSink::Place place = writer.open();
  const std::uint32_t slots = slots_of(index);
  record::Slot first{};
  for (std::size_t i = 0; i < slots; ++i) {
    record::Slot& slot = i == 0 ? first : place.slots[i];
    for (std::size_t word = i == 0 ? 1 : 0; word < record::kValueWords; ++word) {
      record::store_word(slot.words[word], word_of(run, index, i, word));
    }
    record::store_word(slot.words[record::kTagWord],
                       i == 0 ? ring::first_slot_tags(place.phase()) : record::tag_word_base(place.phase(), i));
  }
  first.words[0] = std::uint64_t{slots} << 16 | std::uint64_t{place.stamp()} << 32;
  writer.commit(first, slots);
}

int write(const char* name, std::uint64_t run, std::uint64_t rate) {
  ring::WriterOptions options;
  options.slot_count = kRingSlots;
  options.lossless = ring::Patience{.stuck_ns = 3'600'000'000'000, .on_event = {}, .keep_waiting = {}};
  Result<ring::Writer> made = ring::Writer::create(name, program_of_records(), options);
  if (!made) return std::fprintf(stderr, "%s\n", made.message().c_str()), 1;
  constexpr std::uint64_t kBatch = 20;
  for (std::uint64_t index = 0;;) {
    // A batch is far shorter than the ring: what a reader that leaves meanwhile has not read is still in it.
    if (!made.value().wait_for_readers(1)) return 1;
    for (std::uint64_t i = 0; i < kBatch; ++i) write_one(made.value(), run, index++);
    made.value().beat(os::monotonic_clock_ns());
    if (rate != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(1'000'000'000 * kBatch / rate));
  }
}

int fill(const char* name, std::uint64_t slots) {
  Result<ring::Writer> made =
      ring::Writer::create(name, program_of_records(), {.slot_count = std::bit_ceil(slots + kRingSlots)});
  if (!made) return std::fprintf(stderr, "%s\n", made.message().c_str()), 1;
  const std::uint64_t begin = made.value().head();
  for (std::uint64_t index = 0; made.value().head() - begin < slots;) write_one(made.value(), 1, index++);
  fmt::print("{} {} {}\n", made.value().head() - begin, made.value().records(), made.value().epoch());
  return 0;
}

int books(const char* name, std::uint32_t rows, std::uint64_t changes) {
  testing::MarketTables tables(name, rows);
  for (std::uint32_t row = 1; row <= rows; ++row) tables.add(fmt::format("I {}/{}", row, row % 7));
  std::mt19937_64 random(rows);
  for (std::uint64_t i = 0; i < changes; ++i) {
    tables.bid(1 + static_cast<std::uint32_t>(random() % rows), static_cast<std::int64_t>(random() % 1'000'000));
  }
  fmt::print("done\n");
  std::fflush(stdout);
  for (;;) {
    tables.beat(os::wall_clock_ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int count(const char* name) {
  const Result<ring::Reader> ring = ring::Reader::open(name);
  if (!ring) return std::fprintf(stderr, "%s\n", ring.message().c_str()), 1;
  fmt::print("{} {}\n", ring.value().published(), ring.value().epoch());
  return 0;
}

int message() {
  relay::Head head;
  head.epoch = 1;
  head.first = 64;
  head.end = 65;
  head.count = 1;
  head.channel = 3;
  std::vector<std::byte> bytes(head.bytes());
  relay::encode_head(head, bytes);
  fmt::print("{} {} ", relay::id_of(head), relay::topic_of(head));
  for (const std::byte one : bytes) fmt::print("{:02x}", std::to_integer<unsigned>(one));
  fmt::print("\n");
  return 0;
}

/// Compares.
class Check final : public relay::StreamSink, public record::RecordSink {
 public:
  Result<relay::StreamSink::Place> begin_ring(const relay::Head& head, std::span<const std::byte> image) override {
    end_line("open");
    const std::vector<std::byte> wanted = image::write(program_of_records());
    if (!std::equal(image.begin(), image.end(), wanted.begin(), wanted.end())) {
      return Failure{"the image is another one"};
    }
    epoch_ = head.epoch;
    next_ = head.records;
    records_ = 0;
    return relay::StreamSink::Place{this, kLong};
  }
  void end_ring(relay::Ending ending) override {
    end_line(ending == relay::Ending::Died ? "died" : ending == relay::Ending::Finished ? "finished" : "damaged");
  }
  record::RecordSink::Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    slots_.front() = first;
    const std::uint64_t run = first.words[1];
    const std::uint64_t index = first.words[3];
    bool is_same = slots == slots_of(index) && index == next_;
    for (std::size_t i = 0; i < slots; ++i) {
      for (std::size_t word = i == 0 ? 1 : 0; word < record::kValueWords; ++word) {
        is_same = is_same && slots_[i].words[word] == word_of(run, index, i, word);
      }
    }
    if (!is_same) ++wrong_;
    next_ = index + 1;
    run_ = run;
    ++records_;
  }
  void end_line(const char* how) {
    if (epoch_ != 0) {
      fmt::print("{} {} {} {}\n", epoch_, run_, records_, how);
      std::fflush(stdout);
      ++rings_;
    }
    epoch_ = 0;
  }
  [[nodiscard]] std::uint64_t wrong() const noexcept { return wrong_; }
  [[nodiscard]] std::uint64_t rings() const noexcept { return rings_; }

 private:
  std::array<record::Slot, kLong> slots_{};
  std::uint64_t epoch_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t rings_ = 0;  ///< That have ended.
};

Result<std::unique_ptr<relay::Stream>> stream_at(const char* address) {
  if (relay::is_kafka_address(address)) {
    Result<relay::KafkaAddress> parsed = relay::parse_kafka_address(address);
    if (!parsed) return parsed.failure();
    return relay::make_kafka_stream({std::move(parsed).value(), {}});
  }
  const Result<relay::NatsAddress> parsed = relay::parse_nats_address(address);
  if (!parsed) return parsed.failure();
  relay::NatsAccess access;
  access.address = parsed.value();
  return relay::make_nats_stream(access);
}

/// `rings`: 0: those that the stream has now.
int check(const char* address, std::uint64_t rings) {
  const Result<std::unique_ptr<relay::Stream>> stream = stream_at(address);
  if (!stream) return std::fprintf(stderr, "%s\n", stream.message().c_str()), 77;
  Check sink;
  relay::Follower follower(
      *stream.value(), sink,
      {.start = {relay::Stream::Start::From::Oldest}, .is_patient = rings != 0, .follows = rings != 0},
      [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  for (relay::Follower::State state = {};
       state != relay::Follower::State::Done && (rings == 0 || sink.rings() < rings);) {
    state = follower.step(os::monotonic_clock_ns(), 100);
    if (state == relay::Follower::State::Failed) {
      return std::fprintf(stderr, "%s\n", follower.problem().message.c_str()), 1;
    }
  }
  const relay::FollowerCounts& counts = follower.counts();
  fmt::print("lost {} unknown {} repeated {} damaged {} wrong {}\n", counts.lost, counts.unknown_losses,
             counts.repeated, counts.damaged, sink.wrong());
  return counts.is_complete() && sink.wrong() == 0 ? 0 : 1;
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  const std::vector<std::string> given(arguments, arguments + count_of_arguments);
  if (given.size() == 5 && given[1] == "write") {
    return write(given[2].c_str(), std::strtoull(given[3].c_str(), nullptr, 10),
                 std::strtoull(given[4].c_str(), nullptr, 10));
  }
  if (given.size() == 4 && given[1] == "fill") {
    return fill(given[2].c_str(), std::strtoull(given[3].c_str(), nullptr, 10));
  }
  if (given.size() == 5 && given[1] == "books") {
    return books(given[2].c_str(), static_cast<std::uint32_t>(std::strtoul(given[3].c_str(), nullptr, 10)),
                 std::strtoull(given[4].c_str(), nullptr, 10));
  }
  if (given.size() == 2 && given[1] == "message") return message();
  if (given.size() == 3 && given[1] == "count") return count(given[2].c_str());
  if ((given.size() == 3 || given.size() == 4) && given[1] == "check") {
    return check(given[2].c_str(), given.size() == 4 ? std::strtoull(given[3].c_str(), nullptr, 10) : 0);
  }
  std::fprintf(stderr,
               "relay_probe write RING RUN RATE | fill RING SLOTS | books RING ROWS CHANGES | count RING | check "
               "ADDRESS [RINGS]\n");
  return 2;
}
