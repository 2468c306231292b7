#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Vrtl_ring_writer.h"
#include "axi_memory.hpp"
#include "bench.hpp"
#include "host/ring/header.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "host/ring/reader.hpp"

// The ring writer beside host/ring's own: the same records into two memories, which have to be the same afterwards,
// byte for byte; and host/ring's reader looks on while the hardware writes.

namespace stopbit::sim {
namespace {

using Model = Vrtl_ring_writer;

constexpr std::size_t kRings = 3;
constexpr std::uint32_t kLossy = 1;
constexpr std::uint32_t kStall = 2;
constexpr std::uint32_t kDrop = 3;

/// What the writer shall do, in one piece.
struct Step {
  std::size_t ring = 0;
  std::vector<record::Slot> slots;  // slot 0 first
  bool aborted = false;             // after slots 1 to n-1
};

/// Sets `width` bits of a packed port, from bit `at`.
template <class Port>
void set_bits(Port& port, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint32_t mask = 1U << ((at + i) % 32);
    std::uint32_t& word = port[(at + i) / 32];
    word = (value >> i & 1) != 0 ? word | mask : word & ~mask;
  }
}
template <class Port>
std::uint64_t get_bits(const Port& port, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{port[(at + i) / 32] >> ((at + i) % 32) & 1} << i;
  return value;
}

// ring_setup_t and ring_status_t of stopbit_ring_pkg, from the last member.
constexpr std::size_t kCredit = 0;
constexpr std::size_t kCreditTimeout = 64;
constexpr std::size_t kMode = 96;
constexpr std::size_t kMaxSlots = 98;
constexpr std::size_t kSlotsLog2 = 114;
constexpr std::size_t kSegments = 119;
constexpr std::size_t kDescriptors = 151;
constexpr std::size_t kHeaderAddress = 215;
constexpr std::size_t kSetupBits = 279;
constexpr std::size_t kStalled = 0;
constexpr std::size_t kMalformed = 64;
constexpr std::size_t kTimeouts = 96;
constexpr std::size_t kWithdrawn = 128;
constexpr std::size_t kDropped = 192;
constexpr std::size_t kRecords = 256;
constexpr std::size_t kClaim = 320;
constexpr std::size_t kNumber = 384;
constexpr std::size_t kStarved = 448;
constexpr std::size_t kRunning = 449;
constexpr std::size_t kStatusBits = 450;

/// A ring's memory: one piece for the processor, scattered segments for the device.
class RingMemory {
 public:
  RingMemory(Random& random, AxiMemory& memory, std::uint64_t base, std::uint64_t slot_count, std::uint32_t max_slots)
      : base_(base), slot_count_(slot_count), max_slots_(max_slots), path_(::testing::TempDir() + "rtl_ring_XXXXXX") {
    program_.max_record_slots = max_slots;
    const ring::SegmentPlan plan = ring::plan_segment(0, slot_count);
    bytes_ = plan.segment_bytes;
    const int file = ::mkstemp(path_.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes_)), 0);
    data_ = static_cast<std::byte*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
    ring::write_header(data_, program_, {}, slot_count, 1, ring::Mode::Lossy);

    memory.map(base, data_, ring::kPageBytes);
    cut(random);
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      memory.map(descriptors_[2 * i], slot_bytes(begins_[i]), lengths_[i] * record::kSlotBytes);
    }
    descriptors_.resize((descriptors_.size() + 7) / 8 * 8);
    memory.map(list(), reinterpret_cast<std::byte*>(descriptors_.data()), descriptors_.size() * 8);
  }
  ~RingMemory() {
    ::munmap(data_, bytes_);
    ::unlink(path_.c_str());
  }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  void clear() {
    std::memset(data_, 0, bytes_);
    ring::write_header(data_, program_, {}, slot_count_, 1, ring::Mode::Lossy);
  }

  [[nodiscard]] std::uint64_t header_address() const { return base_; }
  [[nodiscard]] std::uint64_t list() const { return base_ + (1ULL << 32); }
  [[nodiscard]] std::size_t segments() const { return lengths_.size(); }
  [[nodiscard]] std::uint64_t slot_count() const { return slot_count_; }
  [[nodiscard]] std::uint32_t max_slots() const { return max_slots_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] ring::Header& header() const { return *reinterpret_cast<ring::Header*>(data_); }
  [[nodiscard]] const record::Slot* slots() const { return reinterpret_cast<const record::Slot*>(slot_bytes(0)); }
  [[nodiscard]] std::vector<std::uint64_t>& descriptors() { return descriptors_; }
  [[nodiscard]] ring::Geometry geometry() const {
    return {.slot_count = slot_count_, .max_record_slots = max_slots_, .claim_step = ring::claim_step(slot_count_)};
  }

 private:
  [[nodiscard]] std::byte* slot_bytes(std::uint64_t slot) const {
    return data_ + ring::plan_segment(0, slot_count_).slots_offset + slot * record::kSlotBytes;
  }

  /// Segments of any length, nowhere near each other, at any multiple of 64.
  void cut(Random& random) {
    for (std::uint64_t at = 0; at < slot_count_;) {
      const std::uint64_t most = slot_count_ - at;
      const std::uint64_t length =
          random.chance(30) ? 1 + random.below(most) : 1 + random.below(std::min(most, std::uint64_t{9}));
      begins_.push_back(at);
      lengths_.push_back(length);
      const std::uint64_t place =
          base_ + (2ULL << 32) + ((lengths_.size() * 7919 % 1009) << 24) + random.below(64) * 64;
      descriptors_.push_back(place);
      descriptors_.push_back(length);
      at += length;
    }
  }

  Program program_;
  std::uint64_t base_;
  std::uint64_t slot_count_;
  std::uint32_t max_slots_;
  std::string path_;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> lengths_;
  std::vector<std::uint64_t> descriptors_;
};

class RingWriterBench {
 public:
  RingWriterBench(std::uint64_t seed, std::uint32_t in_stall, std::uint32_t memory_stall)
      : random_(seed), bench_(seed), memory_(random_, memory_stall), in_(random_, in_stall) {
    bench_->timeout_i = 0;
    bench_->waits_i = 0;
    bench_->start_i = 0;
    bench_->stop_i = 0;
    bench_->valid_i = 0;
    bench_->awready_i = 0;
    bench_->wready_i = 0;
    bench_->bvalid_i = 0;
    bench_->arready_i = 0;
    bench_->rvalid_i = 0;
    bench_.reset();
  }

  Random& random() { return random_; }
  AxiMemory& memory() { return memory_; }
  Bench<Model>& bench() { return bench_; }

  RingMemory& add_ring(std::size_t ring, std::uint64_t slot_count, std::uint32_t max_slots) {
    rings_.at(ring) = std::make_unique<RingMemory>(random_, memory_, (ring + 1) << 44, slot_count, max_slots);
    return *rings_[ring];
  }
  RingMemory& ring(std::size_t ring) { return *rings_.at(ring); }

  void set(std::size_t ring, std::size_t field, std::size_t width, std::uint64_t value) {
    set_bits(bench_->setup_i, ring * kSetupBits + field, width, value);
  }
  std::uint64_t status(std::size_t ring, std::size_t field, std::size_t width = 64) {
    return get_bits(bench_->status_o, ring * kStatusBits + field, width);
  }

  void set_up(std::size_t ring, std::uint32_t mode) {
    const RingMemory& memory = *rings_.at(ring);
    set(ring, kHeaderAddress, 64, memory.header_address());
    set(ring, kDescriptors, 64, memory.list());
    set(ring, kSegments, 32, memory.segments());
    set(ring, kSlotsLog2, 5, static_cast<std::uint64_t>(__builtin_ctzll(memory.slot_count())));
    set(ring, kMaxSlots, 16, memory.max_slots());
    set(ring, kMode, 2, mode);
    set(ring, kCredit, 64, 2 * memory.slot_count());
  }
  /// False if the writer refused.
  bool start(std::size_t ring) {
    bench_->start_i = static_cast<std::uint8_t>(1U << ring);
    bench_->valid_i = 0;
    cycle_pins();
    const bool refused = (bench_->refused_o >> ring & 1) != 0;
    finish_cycle();
    bench_->start_i = 0;
    return !refused;
  }
  void stop(std::size_t ring) {
    bench_->stop_i = static_cast<std::uint8_t>(1U << ring);
    cycle();
    bench_->stop_i = 0;
  }

  /// Done in each cycle, besides the model.
  void each_cycle(std::function<void()> hook) { hook_ = std::move(hook); }

  /// One cycle; whether a beat is offered does not change.
  void cycle() {
    cycle_pins();
    finish_cycle();
  }

  /// Sends a beat; false if it is not taken within `patience` cycles.
  bool send(std::size_t ring, const record::Slot& slot, std::size_t index, bool last, bool aborted,
            std::uint64_t patience = 200'000) {
    while (!in_.open()) cycle();
    bench_->valid_i = 1;
    bench_->ring_i = static_cast<std::uint8_t>(ring);
    std::memcpy(bench_->data_i.data(), &slot, sizeof(slot));
    bench_->index_i = static_cast<std::uint16_t>(index);
    bench_->last_i = last;
    bench_->abort_i = aborted;
    bool taken = false;
    for (std::uint64_t i = 0; i < patience && !taken; ++i) {
      cycle_pins();
      taken = bench_->ready_o;
      finish_cycle();
    }
    bench_->valid_i = 0;
    return taken;
  }

  bool send(const Step& step) {
    for (std::size_t i = 1; i < step.slots.size(); ++i) {
      if (!send(step.ring, step.slots[i], i, false, false)) return false;
    }
    return step.aborted ? send(step.ring, {}, 0, false, true) : send(step.ring, step.slots[0], 0, true, false);
  }

  /// Until nothing is on its way.
  bool drain(std::uint64_t patience = 200'000) {
    for (std::uint64_t i = 0; i < patience; ++i) {
      cycle();
      if (bench_->idle_o && memory_.idle()) return true;
    }
    return false;
  }

  std::uint32_t broken() const { return broken_; }
  std::uint64_t starved() const { return starved_; }
  std::uint64_t write_errors() const { return write_errors_; }

 private:
  void cycle_pins() {
    const AxiMemory::Slave& slave = memory_.prepare();
    bench_->awready_i = slave.awready;
    bench_->wready_i = slave.wready;
    bench_->bvalid_i = slave.bvalid;
    bench_->bresp_i = slave.bresp;
    bench_->arready_i = slave.arready;
    bench_->rvalid_i = slave.rvalid;
    bench_->rresp_i = slave.rresp;
    std::memcpy(bench_->rdata_i.data(), slave.rdata.data(), sizeof(slave.rdata));
    bench_.settle();
  }

  void finish_cycle() {
    AxiMemory::Master master;
    master.awvalid = bench_->awvalid_o;
    master.awaddr = bench_->awaddr_o;
    master.awlen = bench_->awlen_o;
    master.wvalid = bench_->wvalid_o;
    std::memcpy(master.wdata.data(), bench_->wdata_o.data(), sizeof(master.wdata));
    master.wstrb = bench_->wstrb_o;
    master.wlast = bench_->wlast_o;
    master.bready = bench_->bready_o;
    master.arvalid = bench_->arvalid_o;
    master.araddr = bench_->araddr_o;
    master.rready = bench_->rready_o;
    broken_ |= bench_->broken_o;
    starved_ += bench_->starved_o != 0 ? 1 : 0;
    write_errors_ += bench_->write_error_o;
    memory_.clock(master);
    bench_.step();
    if (hook_) hook_();
  }

  Random random_;
  Bench<Model> bench_;
  AxiMemory memory_;
  Gate in_;
  std::array<std::unique_ptr<RingMemory>, kRings> rings_;
  std::function<void()> hook_;
  std::uint32_t broken_ = 0;
  std::uint64_t starved_ = 0;
  std::uint64_t write_errors_ = 0;
};

/// A record as the packer sends it: without stamp and phase. Word 1 of slot 0 is its number.
std::vector<record::Slot> make_record(Random& random, std::size_t slots, std::uint64_t number) {
  std::vector<record::Slot> record(slots);
  for (std::size_t i = 0; i < slots; ++i) {
    for (std::size_t word = 0; word < record::kTagWord; ++word) record[i].words[word] = random.bits();
    record[i].words[record::kTagWord] = random.bits() >> 8 | record::tag_word_base(false, i);
  }
  record[0].words[0] = random.below(1000) | slots << 16;
  record[0].words[1] = number;
  record[0].words[record::kTagWord] = ring::first_slot_tags(false) | (random.bits() & 0x00FF'FFFF'0000'0000);
  return record;
}

/// The event record that tells of `count` lost records, of which `last` was the last.
std::vector<record::Slot> lost_event(const record::Slot& last, std::uint64_t count) {
  record::Slot event{};
  event.words[0] = record::kEventIndex | 1U << 16;
  event.words[1] = last.words[1];
  event.words[2] = last.words[2] & 0xFFFF'FFFF'FFFF;
  event.words[3] = last.words[3];
  event.words[4] = static_cast<std::uint64_t>(record::EventKind::Lost) | 0x00FF'FFFF'FFFF'0000;
  event.words[6] = count;
  event.words[record::kTagWord] = ring::first_slot_tags(false) | 0x00FC'FCFC'0000'0000;
  return {event};
}

/// host/ring's writer on plain memory, doing the same.
class Expected {
 public:
  explicit Expected(const RingMemory& like)
      : header_(std::make_unique<ring::Header>()),
        slots_(like.slot_count()),
        core_(*header_, slots_.data(), like.geometry()) {}

  void apply(const Step& step) {
    if (!core_.has_room()) core_.make_room(ring::WriterCore<ring::SharedMemory>::Ungated());
    const std::uint64_t number = core_.number();
    const std::uint64_t phase = ring::phase_of(number, slots_.size()) ? 1ULL << 63 : 0;
    for (std::size_t i = 1; i < step.slots.size(); ++i) {
      record::Slot& slot = core_.slot(number + i);
      slot = step.slots[i];
      slot.words[record::kTagWord] |= phase;
    }
    if (step.aborted) return;
    record::Slot first = step.slots[0];
    first.words[0] |= number << 32;
    first.words[record::kTagWord] |= phase;
    core_.commit(first, static_cast<std::uint32_t>(step.slots.size()));
  }

  [[nodiscard]] const std::vector<record::Slot>& slots() const { return slots_; }

  void expect_same(const RingMemory& memory) const {
    const ring::Header& header = memory.header();
    EXPECT_EQ(header.head, header_->head);
    EXPECT_EQ(header.records, header_->records);
    EXPECT_EQ(header.claim, header_->claim);
    for (std::size_t i = 0; i < ring::kMarks; ++i) {
      EXPECT_EQ(header.marks[i].number, header_->marks[i].number) << "mark " << i;
      EXPECT_EQ(header.marks[i].records, header_->marks[i].records) << "mark " << i;
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      ASSERT_EQ(std::memcmp(&memory.slots()[i], &slots_[i], sizeof(record::Slot)), 0) << "slot " << i;
    }
  }

 private:
  std::unique_ptr<ring::Header> header_;
  std::vector<record::Slot> slots_;
  ring::WriterCore<ring::SharedMemory> core_;
};

/// host/ring's reader beside the hardware: every record is whole, in order, and what is lost is counted exactly.
class Watcher {
 public:
  explicit Watcher(const RingMemory& memory) : reader_(ring::Reader::open(memory.path())) {
    EXPECT_TRUE(reader_.ok()) << (reader_.ok() ? "" : reader_.message());
  }

  void look(const std::vector<std::vector<record::Slot>>& published) {
    if (!reader_.ok()) return;
    ring::Reader& reader = reader_.value();
    switch (reader.poll()) {
      case ring::Poll::Nothing: return;
      case ring::Poll::Damaged: FAIL() << "the reader finds the ring damaged";
      case ring::Poll::Lost: return;
      case ring::Poll::Record: break;
    }
    const std::uint64_t index = reader.record_index();
    ASSERT_LT(index, published.size());
    const std::vector<record::Slot>& sent = published[index];
    ASSERT_EQ(reader.record().size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      for (std::size_t word = i == 0 ? 1 : 0; word < record::kTagWord; ++word) {
        ASSERT_EQ(reader.record()[i].words[word], sent[i].words[word]) << "record " << index << " slot " << i;
      }
    }
  }

  const ring::Reader& reader() const { return reader_.value(); }

 private:
  Result<ring::Reader> reader_;
};

struct Traffic {
  std::uint64_t slot_count;
  std::uint32_t max_slots;
  std::uint32_t in_stall;
  std::uint32_t memory_stall;
};

class RingWriterTraffic : public ::testing::TestWithParam<Traffic> {};

TEST_P(RingWriterTraffic, writes_what_the_software_writes_and_readers_see_only_whole_records) {
  const auto [slot_count, max_slots, in_stall, memory_stall] = GetParam();
  RingWriterBench bench(slot_count * 1000 + max_slots * 100 + in_stall + memory_stall, in_stall, memory_stall);
  Random& random = bench.random();
  std::array<std::optional<Expected>, kRings> expected;
  std::array<std::vector<std::vector<record::Slot>>, kRings> published;
  for (std::size_t r = 0; r < kRings; ++r) {
    expected[r].emplace(bench.add_ring(r, slot_count << r, max_slots));
    bench.set_up(r, kLossy);
    ASSERT_TRUE(bench.start(r));
  }
  ASSERT_TRUE(bench.drain());
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (std::size_t r = 0; r < kRings; ++r) watchers.push_back(std::make_unique<Watcher>(bench.ring(r)));
  std::uint64_t looks = 0;
  bench.each_cycle([&] {
    // The first ring's reader keeps up, the others are overtaken.
    for (std::size_t r = 0; r < kRings; ++r) {
      if (++looks % (r == 0 ? 2 : 400) == 0) watchers[r]->look(published[r]);
    }
  });

  const std::size_t steps = 600 + slot_count / 2;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < steps && !HasFatalFailure(); ++i) {
    Step step;
    step.ring = random.below(kRings);
    const std::uint64_t kind = random.below(10);
    const std::size_t slots = kind < 3 ? 1 : kind < 5 ? max_slots : 1 + random.below(max_slots);
    step.slots = make_record(random, slots, ++number);
    step.aborted = random.chance(10);
    if (!step.aborted) published[step.ring].push_back(step.slots);
    ASSERT_TRUE(bench.send(step)) << "stuck at record " << i;
    expected[step.ring]->apply(step);
    if (random.chance(2)) {
      for (std::uint64_t idle = random.below(300); idle > 0; --idle) bench.cycle();
    }
  }
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.memory().problem(), "");
  EXPECT_EQ(bench.broken(), 0U);
  for (std::size_t r = 0; r < kRings; ++r) {
    SCOPED_TRACE("ring " + std::to_string(r));
    expected[r]->expect_same(bench.ring(r));
    EXPECT_EQ(bench.status(r, kRecords), published[r].size());
    EXPECT_EQ(bench.status(r, kDropped), 0U);
    while (watchers[r]->reader().next_record() < published[r].size() && !HasFatalFailure()) {
      watchers[r]->look(published[r]);
    }
    const ring::Reader& reader = watchers[r]->reader();
    EXPECT_EQ(reader.first_record() + reader.delivered() + reader.total_lost_records(), published[r].size());
  }
}

INSTANTIATE_TEST_SUITE_P(sizes_and_stalls, RingWriterTraffic,
                         ::testing::Values(Traffic{16, 2, 0, 0}, Traffic{16, 1, 20, 50}, Traffic{32, 4, 50, 20},
                                           Traffic{64, 8, 0, 90}, Traffic{64, 3, 90, 0}, Traffic{128, 16, 30, 30},
                                           Traffic{1024, 128, 0, 60}, Traffic{4096, 40, 0, 0}));

TEST(RingWriter, takes_a_slot_a_cycle) {
  RingWriterBench bench(1, 0, 0);
  bench.add_ring(0, 4096, 64);
  bench.set_up(0, kLossy);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  const std::uint64_t begin = bench.bench().cycles();
  Step step;
  step.slots = make_record(bench.random(), 64, 1);
  ASSERT_TRUE(bench.send(step));
  // One for the record; one for each segment whose descriptor was not there yet would be more.
  EXPECT_LE(bench.bench().cycles() - begin, 64U + 1U + 40U);
  EXPECT_GE(bench.bench().cycles() - begin, 64U + 1U);
  EXPECT_EQ(bench.status(0, kRecords), 1U);
}

TEST(RingWriter, a_record_of_one_slot_is_written_four_cycles_after_it_comes) {
  RingWriterBench bench(2, 0, 0);
  bench.add_ring(0, 4096, 64);
  bench.set_up(0, kLossy);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  for (int i = 0; i < 200; ++i) bench.cycle();
  const std::uint64_t before = bench.memory().beats();
  const std::uint64_t begin = bench.bench().cycles();
  std::uint64_t taken = 0;  // cycle in which the W beat was taken
  bench.each_cycle([&] {
    if (taken == 0 && bench.memory().beats() > before) taken = bench.bench().cycles() - 1;
  });
  ASSERT_TRUE(bench.send({0, make_record(bench.random(), 1, 1), false}));
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(taken - begin, 4U);
}

TEST(RingWriter, joins_slots_to_bursts_while_addresses_wait) {
  RingWriterBench bench(7, 0, 70);
  bench.add_ring(0, 1024, 64);
  bench.set_up(0, kLossy);
  ASSERT_TRUE(bench.start(0));
  for (int i = 0; i < 100; ++i) {
    Step step;
    step.slots = make_record(bench.random(), 64, 1);
    ASSERT_TRUE(bench.send(step));
  }
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.memory().problem(), "");
  EXPECT_LT(bench.memory().bursts(), bench.memory().beats());
}

TEST(RingWriter, waits_for_credit_and_then_loses_nothing) {
  RingWriterBench bench(11, 0, 30);
  bench.add_ring(0, 64, 8);
  bench.set_up(0, kStall);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  std::vector<std::vector<record::Slot>> published;
  Watcher watcher(bench.ring(0));
  std::uint64_t cycles = 0;
  bench.each_cycle([&] {
    if (++cycles % 40 != 0) return;
    watcher.look(published);
    bench.set(0, kCredit, 64, watcher.reader().position() + 64);
  });
  for (std::uint64_t i = 0; i < 500; ++i) {
    Step step;
    step.slots = make_record(bench.random(), 1 + bench.random().below(8), i);
    published.push_back(step.slots);
    ASSERT_TRUE(bench.send(step));
  }
  ASSERT_TRUE(bench.drain());
  while (watcher.reader().next_record() < published.size() && !HasFatalFailure()) watcher.look(published);
  EXPECT_EQ(watcher.reader().delivered(), 500U);
  EXPECT_EQ(watcher.reader().total_lost(), 0U);
  EXPECT_EQ(bench.status(0, kDropped), 0U);
  EXPECT_GT(bench.status(0, kStalled), 0U);
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, drops_and_counts_without_credit_and_goes_on_with_it) {
  RingWriterBench bench(12, 0, 10);
  bench.add_ring(0, 64, 8);
  bench.set_up(0, kDrop);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  const auto send = [&](int records) {
    for (int i = 0; i < records; ++i) {
      Step step;
      step.slots = make_record(bench.random(), 1 + bench.random().below(8), 1);
      ASSERT_TRUE(bench.send(step));
    }
    ASSERT_TRUE(bench.drain());
  };
  send(100);
  const std::uint64_t first = bench.status(0, kRecords);
  EXPECT_LT(first, 64U);
  EXPECT_LE(bench.status(0, kNumber), 128U);
  EXPECT_EQ(bench.status(0, kDropped), 100U - first);
  EXPECT_LE(bench.ring(0).header().claim, 128U);
  bench.set(0, kCredit, 64, 1000);
  EXPECT_EQ(bench.status(0, kRecords), first);
  send(10);
  // One more tells of those that are lost.
  EXPECT_EQ(bench.status(0, kRecords), first + 11);
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, tells_readers_how_many_records_were_lost_as_soon_as_there_is_room) {
  RingWriterBench bench(19, 0, 10);
  Expected expected(bench.add_ring(0, 64, 8));
  bench.set_up(0, kDrop);
  bench.set(0, kCredit, 64, 64 + 40);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  std::uint64_t kept = 0;
  Step step;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const std::uint64_t before = bench.status(0, kRecords);
    step.slots = make_record(bench.random(), 1 + bench.random().below(8), i);
    ASSERT_TRUE(bench.send(step));
    ASSERT_TRUE(bench.drain());
    if (bench.status(0, kRecords) == before) continue;
    ++kept;
    expected.apply(step);
  }
  ASSERT_GT(kept, 3U);
  ASSERT_LT(kept, 20U);
  // Without another record: the last one that was lost is in the event.
  bench.set(0, kCredit, 64, 64 + 64);
  ASSERT_TRUE(bench.drain());
  expected.apply({0, lost_event(step.slots[0], 30 - kept), false});
  EXPECT_EQ(bench.status(0, kRecords), kept + 1);
  step.slots = make_record(bench.random(), 3, 99);
  ASSERT_TRUE(bench.send(step));
  expected.apply(step);
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.status(0, kRecords), kept + 2);
  for (std::size_t i = 0; i < 64; ++i) {
    const record::Slot& got = bench.ring(0).slots()[i];
    ASSERT_EQ(std::memcmp(&got, &expected.slots()[i], sizeof(record::Slot)), 0) << "slot " << i;
  }
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, drops_for_a_host_that_gives_no_credit_for_too_long_until_it_does) {
  RingWriterBench bench(20, 0, 10);
  bench.add_ring(0, 64, 8);
  bench.add_ring(1, 64, 8);
  bench.set_up(0, kStall);
  bench.set_up(1, kLossy);
  constexpr std::uint64_t kPatience = 500;
  bench.set(0, kCreditTimeout, 32, kPatience);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.start(1));
  ASSERT_TRUE(bench.drain());
  const auto send = [&](std::size_t ring, int records) {
    for (int i = 0; i < records; ++i) {
      Step step;
      step.ring = ring;
      step.slots = make_record(bench.random(), 8, 1);
      ASSERT_TRUE(bench.send(step));
    }
    ASSERT_TRUE(bench.drain());
  };
  const std::uint64_t begin = bench.bench().cycles();
  send(0, 40);
  // One record waits; later ones do not.
  EXPECT_LT(bench.bench().cycles() - begin, kPatience + 40U * 80U);
  EXPECT_EQ(bench.starved(), 1U);
  EXPECT_EQ(bench.status(0, kStarved, 1), 1U);
  const std::uint64_t records = bench.status(0, kRecords);
  EXPECT_EQ(records + bench.status(0, kDropped), 40U);
  EXPECT_EQ(bench.status(0, kStalled), kPatience);
  send(1, 20);
  EXPECT_EQ(bench.status(1, kRecords), 20U);
  bench.set(0, kCredit, 64, 1000);
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.status(0, kStarved, 1), 0U);
  EXPECT_EQ(bench.status(0, kRecords), records + 1) << "the event";
  send(0, 10);
  EXPECT_EQ(bench.status(0, kRecords), records + 11);
  EXPECT_EQ(bench.starved(), 1U);
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, says_which_rings_have_room_and_lets_one_starve_for_which_a_record_waits_elsewhere) {
  RingWriterBench bench(21, 0, 10);
  bench.add_ring(0, 64, 8);
  bench.add_ring(1, 64, 8);
  bench.set_up(0, kStall);
  bench.set_up(1, kDrop);
  constexpr std::uint64_t kPatience = 300;
  bench.set(0, kCreditTimeout, 32, kPatience);
  bench.set(0, kCredit, 64, 64 + 5 * 8 - 1);
  bench.set(1, kCredit, 64, 64);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.start(1));
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.bench()->room_o & 3U, 2U) << "mode drop never waits";
  bench.set(0, kCredit, 64, 64 + 5 * 8);
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.bench()->room_o & 3U, 3U);
  // With room nothing starves, however long it takes.
  bench.bench()->waits_i = 1;
  for (std::uint64_t i = 0; i < 2 * kPatience; ++i) bench.cycle();
  EXPECT_EQ(bench.starved(), 0U);
  EXPECT_EQ(bench.status(0, kStalled), 0U);
  bench.bench()->waits_i = 0;
  // Room for three records of eight slots, of which the end of the ring and a notice may take some: none of them waits.
  for (int i = 0; i < 3; ++i) {
    Step step;
    step.slots = make_record(bench.random(), 8, 1);
    ASSERT_TRUE(bench.send(step));
  }
  EXPECT_EQ(bench.status(0, kStalled), 0U);
  bench.cycle();
  bench.cycle();
  EXPECT_EQ(bench.bench()->room_o & 1U, 0U);
  bench.bench()->waits_i = 1;
  for (std::uint64_t i = 0; i < kPatience - 5; ++i) bench.cycle();
  EXPECT_EQ(bench.starved(), 0U);
  for (int i = 0; i < 20; ++i) bench.cycle();
  EXPECT_EQ(bench.starved(), 1U);
  EXPECT_EQ(bench.status(0, kStarved, 1), 1U);
  EXPECT_NEAR(static_cast<double>(bench.status(0, kStalled)), kPatience, 2);
  EXPECT_EQ(bench.bench()->room_o & 1U, 1U) << "what comes is dropped";
  bench.set(0, kCredit, 64, 1000);
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.status(0, kStarved, 1), 0U);
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, withdraws_a_record_whose_slots_do_not_come) {
  RingWriterBench bench(13, 0, 20);
  Expected expected(bench.add_ring(0, 64, 8));
  bench.set_up(0, kLossy);
  bench.bench()->timeout_i = 100;
  ASSERT_TRUE(bench.start(0));
  Step late;
  late.slots = make_record(bench.random(), 5, 1);
  late.aborted = true;
  for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(bench.send(0, late.slots[i], i, false, false));
  for (int i = 0; i < 500; ++i) bench.cycle();
  EXPECT_EQ(bench.status(0, kTimeouts, 32), 1U);
  EXPECT_EQ(bench.status(0, kWithdrawn), 1U);
  // The rest comes too late, and is nothing.
  ASSERT_TRUE(bench.send(0, late.slots[4], 4, false, false));
  ASSERT_TRUE(bench.send(0, late.slots[0], 0, true, false));
  const record::Slot late_first = late.slots[0];
  late.slots.pop_back();
  expected.apply(late);
  expected.apply({0, lost_event(late_first, 1), false});
  Step good;
  good.slots = make_record(bench.random(), 3, 2);
  ASSERT_TRUE(bench.send(good));
  expected.apply(good);
  ASSERT_TRUE(bench.drain());
  expected.expect_same(bench.ring(0));
  EXPECT_EQ(bench.status(0, kRecords), 2U);
}

TEST(RingWriter, withdraws_records_whose_slots_contradict_each_other) {
  RingWriterBench bench(14, 0, 20);
  bench.add_ring(0, 64, 8);
  bench.set_up(0, kLossy);
  ASSERT_TRUE(bench.start(0));
  const auto send = [&](std::vector<std::size_t> indices, std::uint64_t total) {
    for (const std::size_t index : indices) ASSERT_TRUE(bench.send(0, {}, index, false, false));
    record::Slot first{};
    first.words[0] = total << 16;
    ASSERT_TRUE(bench.send(0, first, 0, true, false));
    ASSERT_TRUE(bench.drain());
  };
  send({1, 2}, 4);
  send({1, 3}, 3);
  send({2}, 2);
  send({0, 1}, 3);
  send({1, 2, 3, 4, 5, 6, 7, 8}, 9);  // longer than the longest
  send({}, 0);
  EXPECT_EQ(bench.status(0, kMalformed, 32), 6U);
  EXPECT_EQ(bench.status(0, kWithdrawn), 6U);
  EXPECT_EQ(bench.status(0, kRecords), 6U) << "each is told of";
  // The rest of such a record may be withdrawn, too.
  ASSERT_TRUE(bench.send(0, {}, 2, false, false));
  ASSERT_TRUE(bench.send(0, {}, 0, false, true));
  EXPECT_EQ(bench.status(0, kMalformed, 32), 7U);
  send({1, 2, 3, 4, 5, 6, 7}, 8);
  send({}, 1);
  EXPECT_EQ(bench.status(0, kRecords), 8U);
  EXPECT_EQ(bench.ring(0).header().head, 64U + 15U);
  EXPECT_EQ(bench.memory().problem(), "");
}

TEST(RingWriter, refuses_a_ring_that_makes_no_sense) {
  RingWriterBench bench(15, 0, 0);
  bench.add_ring(0, 64, 8);
  const auto refused = [&](std::size_t field, std::size_t width, std::uint64_t value) {
    bench.set_up(0, kLossy);
    bench.set(0, field, width, value);
    return !bench.start(0) && bench.status(0, kRunning, 1) == 0;
  };
  EXPECT_TRUE(refused(kMaxSlots, 16, 9));
  EXPECT_TRUE(refused(kMaxSlots, 16, 0));
  EXPECT_TRUE(refused(kSlotsLog2, 5, 3));
  EXPECT_TRUE(refused(kSlotsLog2, 5, 29));
  EXPECT_TRUE(refused(kSegments, 32, 0));
  EXPECT_TRUE(refused(kHeaderAddress, 64, 0x1800));
  EXPECT_TRUE(refused(kDescriptors, 64, 0x1020));
  EXPECT_TRUE(refused(kMode, 2, 0));
  bench.set_up(0, kLossy);
  EXPECT_TRUE(bench.start(0));
  EXPECT_FALSE(bench.start(0)) << "while it runs";
}

TEST(RingWriter, ends_a_ring_whose_segments_make_no_sense) {
  enum class Fault { Empty, Reserved, Unaligned, Unmapped, TooFewSlots, TooManySlots };
  for (const Fault fault :
       {Fault::Empty, Fault::Reserved, Fault::Unaligned, Fault::Unmapped, Fault::TooFewSlots, Fault::TooManySlots}) {
    SCOPED_TRACE(static_cast<int>(fault));
    RingWriterBench bench(16, 0, 20);
    RingMemory& ring = bench.add_ring(0, 64, 1);  // never padded, so every slot's turn comes
    std::vector<std::uint64_t>& list = ring.descriptors();
    bench.set_up(0, kLossy);
    const std::size_t last = 2 * (ring.segments() - 1);
    switch (fault) {
      case Fault::Empty: list[last + 1] = 0; break;
      case Fault::Reserved: list[last + 1] |= 1ULL << 40; break;
      case Fault::Unaligned: list[last] += 8; break;
      case Fault::Unmapped: bench.memory().unmap(ring.list()); break;
      case Fault::TooFewSlots: bench.set(0, kSegments, 32, ring.segments() - 1); break;
      case Fault::TooManySlots: list[last + 1] += 1; break;
    }
    ASSERT_TRUE(bench.start(0));
    for (int i = 0; i < 130; ++i) ASSERT_TRUE(bench.send({0, make_record(bench.random(), 1, 1), false}));
    ASSERT_TRUE(bench.drain());
    EXPECT_EQ(bench.broken(), 1U);
    EXPECT_EQ(bench.status(0, kRunning, 1), 0U);
    EXPECT_GT(bench.status(0, kDropped), 0U);
    EXPECT_EQ(bench.memory().problem(), "");
  }
}

TEST(RingWriter, counts_writes_that_memory_refuses) {
  RingWriterBench bench(17, 0, 0);
  bench.add_ring(0, 64, 8);
  bench.set_up(0, kLossy);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.write_errors(), 0U);
  bench.memory().fail(100);
  Step step;
  step.slots = make_record(bench.random(), 1, 1);
  ASSERT_TRUE(bench.send(step));
  ASSERT_TRUE(bench.drain());
  EXPECT_GT(bench.write_errors(), 0U);
}

TEST(RingWriter, drops_records_for_rings_that_do_not_run) {
  RingWriterBench bench(18, 0, 20);
  bench.add_ring(0, 64, 8);
  bench.add_ring(1, 64, 8);
  bench.set_up(0, kLossy);
  bench.set_up(1, kStall);
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.start(1));
  Step step;
  step.ring = 1;
  step.slots = make_record(bench.random(), 4, 1);
  ASSERT_TRUE(bench.send(step));
  bench.stop(1);
  ASSERT_TRUE(bench.send(step));
  EXPECT_EQ(bench.status(1, kRecords), 1U);
  EXPECT_EQ(bench.status(1, kDropped), 1U);
  step.ring = 0;
  ASSERT_TRUE(bench.send(step));
  EXPECT_EQ(bench.status(0, kRecords), 1U);
  // In the middle of a record, too.
  ASSERT_TRUE(bench.send(0, step.slots[1], 1, false, false));
  bench.stop(0);
  ASSERT_TRUE(bench.send(0, step.slots[2], 2, false, false));
  ASSERT_TRUE(bench.send(0, step.slots[0], 0, true, false));
  EXPECT_EQ(bench.status(0, kWithdrawn), 1U);
  ASSERT_TRUE(bench.drain());
  bench.ring(0).clear();
  ASSERT_TRUE(bench.start(0));
  ASSERT_TRUE(bench.send({0, make_record(bench.random(), 2, 1), false}));
  ASSERT_TRUE(bench.drain());
  EXPECT_EQ(bench.ring(0).header().records, 1U);
  EXPECT_EQ(bench.memory().problem(), "");
}

/// What the writer began for a ring before it was stopped is written to its end; a start meanwhile would take its
/// claim.
TEST(RingWriter, refuses_a_start_while_it_still_writes_for_the_ring) {
  constexpr std::uint64_t kCount = 128;
  constexpr std::uint32_t kMost = 8;
  unsigned refused = 0;
  unsigned taken = 0;
  for (unsigned delay = 0; delay < 12; ++delay) {
    RingWriterBench bench(60 + delay, 0, 0);
    bench.add_ring(0, kCount, kMost);
    bench.set_up(0, kLossy);
    bench.set(0, kSlotsLog2, 5, 6);  // half of it, first
    ASSERT_TRUE(bench.start(0));
    for (unsigned i = 0; i < delay; ++i) bench.cycle();
    bench.stop(0);
    bench.set_up(0, kLossy);
    const bool starts = bench.start(0);
    ++(starts ? taken : refused);
    ASSERT_TRUE(bench.drain());
    if (!starts) {
      ASSERT_TRUE(bench.start(0));
      ASSERT_TRUE(bench.drain());
    }
    EXPECT_EQ(bench.status(0, kClaim), kCount + kMost + kCount / 64) << "stopped after " << delay << " cycles";
    EXPECT_EQ(bench.memory().problem(), "");
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(taken, 0U);
}

TEST(RingWriter, begins_anew_after_a_reset_in_the_middle_of_a_record) {
  for (std::uint64_t seed = 30; seed < 50; ++seed) {
    RingWriterBench bench(seed, 0, 40);
    bench.add_ring(0, 64, 8);
    bench.set_up(0, kLossy);
    ASSERT_TRUE(bench.start(0));
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(bench.send({0, make_record(bench.random(), 1 + bench.random().below(8), 1), false}));
    const std::vector<record::Slot> half = make_record(bench.random(), 8, 1);
    for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(bench.send(0, half[i], i, false, false));
    bench.bench().reset();
    bench.memory().reset();
    bench.ring(0).clear();
    Expected expected(bench.ring(0));
    ASSERT_TRUE(bench.start(0));
    for (int i = 0; i < 40; ++i) {
      const Step step{0, make_record(bench.random(), 1 + bench.random().below(8), 1), false};
      ASSERT_TRUE(bench.send(step));
      expected.apply(step);
    }
    ASSERT_TRUE(bench.drain());
    expected.expect_same(bench.ring(0));
    EXPECT_EQ(bench.memory().problem(), "");
  }
}

}  // namespace
}  // namespace stopbit::sim
