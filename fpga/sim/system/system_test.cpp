#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "host/device/firmware/device.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/device/sim/feed.hpp"
#include "host/device/sim/sim_card.hpp"
#include "microcode/image/image.hpp"
#include "tests/lib/card_leaf.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

// Captures through the kernel as a card would decode them: the leaf of the run, the Verilated kernel,
// records read from a ring in host memory; each slot compared with what the interpreter writes.

namespace stopbit::device {
namespace {

const std::size_t kDatagrams = by_form<std::size_t>(40, 2'000);  // of each workload
constexpr std::uint64_t kBatch = 64;                             // whole records between two looks at the clock

std::string feed_path() {
  return "./card_system_feed_" + std::to_string(::getpid());
}

/// Stamp and phase are the ring's; everything else of a slot is the engine's.
record::Slot without_place(const record::Slot& slot, bool is_first) {
  record::Slot plain = slot;
  if (is_first) plain.words[0] &= 0xFFFF'FFFF;
  plain.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
  return plain;
}

/// Where two records differ; empty if nowhere.
std::string difference(std::span<const record::Slot> got, std::span<const record::Slot> expected) {
  if (got.size() != expected.size()) {
    return fmt::format("{} slots instead of {}", got.size(), expected.size());
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const record::Slot x = without_place(got[i], i == 0);
    const record::Slot y = without_place(expected[i], i == 0);
    for (std::size_t word = 0; word < record::kSlotWords; ++word) {
      if (x.words[word] == y.words[word]) continue;
      return fmt::format("slot {} of {}, word {}: {:016x} instead of {:016x}", i, got.size(), word, x.words[word],
                         y.words[word]);
    }
  }
  return {};
}

/// What the kernel knows of a datagram: no sequence number, no epoch.
PacketInfo as_the_kernel_knows(const PacketInfo& info, std::uint64_t number) {
  PacketInfo known;
  known.arrival_ns = info.arrival_ns;
  known.number = number;
  known.data_offset = info.data_offset;
  known.channel = info.channel;
  known.source = record::SourceLine::Replay;
  known.time_quality = record::TimeQuality::Synthetic;
  return known;
}

Status load(Kernel& kernel, const std::vector<firmware::Word>& words) {
  std::vector<LoadWord> load;
  load.reserve(words.size());
  for (const firmware::Word& word : words) load.push_back({word.address, word.data});
  return kernel.load(0, load);
}

/// Datagrams [begin, end), which have the same preamble's length, through an open card.
void run(Kernel& kernel, DeviceRing& ring, sim::Feed& feed, const bench::Workload& work, Engine& engine,
         std::size_t count) {
  cases::RecordingSink expected(work.program);
  for (std::size_t i = 0; i < count; ++i) {
    (void)engine.decode(work.datagram(i), as_the_kernel_knows(work.datagrams[i].info, i + 1), expected);
  }
  ASSERT_TRUE(expected.problems().empty()) << expected.problems().front();
  ASSERT_TRUE(kernel.receive(true).ok());

  std::thread sender([&] {
    for (std::size_t i = 0; i < count; ++i) {
      const PacketInfo& info = work.datagrams[i].info;
      if (!feed.send(work.datagram(i), info.channel, info.arrival_ns)) break;
    }
  });
  std::size_t got = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (got < expected.records().size() && std::chrono::steady_clock::now() < end) {
    const ring::Poll poll = ring.poll();
    if (poll == ring::Poll::Nothing) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      continue;
    }
    ASSERT_EQ(poll, ring::Poll::Record) << ring.problem();
    const std::string problem = difference(ring.record(), expected.records()[got]);
    if (!problem.empty()) {
      ADD_FAILURE() << "record " << got << " of " << expected.records().size() << ": " << problem;
      break;
    }
    if (++got % kBatch == 0) end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  }
  EXPECT_EQ(got, expected.records().size());
  // After a failure no reader goes on: then the kernel has to drop what comes.
  if (::testing::Test::HasFailure()) {
    EXPECT_TRUE(kernel.receive(false).ok() && ring.stop().ok());
  }
  sender.join();
  const Counters counters = kernel.counters().value();
  EXPECT_EQ(counters.datagrams, count);
  EXPECT_EQ(counters.datagrams_decoded, count);
  EXPECT_EQ(counters.records, got);
  EXPECT_EQ(kernel.take_errors().value(), 0U);
  const RingCounters of_ring = ring.counters().value();
  EXPECT_EQ(of_ring.dropped + of_ring.malformed + of_ring.timeouts, 0U);
  std::printf("%s: %zu datagrams, %zu records\n", work.name.c_str(), count, got);
}

class System : public ::testing::TestWithParam<const char*> {};

TEST_P(System, captures_give_the_records_of_the_interpreter) {
  // The other leaf runs both.
  if (!is_long_form() && stopbit::testing::leaf_of_run() == Leaf::Vfio && GetParam() == std::string("0")) {
    GTEST_SKIP() << "without stalls in the long form only";
  }
  ::setenv("STOPBIT_SIM_STALL", GetParam(), 1);
  const auto sim = SimCard::prepare(stopbit::testing::leaf_of_run(), feed_path());
  ASSERT_TRUE(sim.ok()) << sim.message();
  int ran = 0;
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    SCOPED_TRACE(source.name);
    auto made = source.make();
    ASSERT_TRUE(made.ok()) << made.message();
    const bench::Workload& work = *made.value();
    const std::vector<std::string> obstacles = firmware::obstacles(work.program, work.options);
    if (!obstacles.empty()) {
      std::printf("%s: the hardware cannot run it: %s\n", source.name.c_str(), obstacles.front().c_str());
      continue;
    }
    const std::size_t count = std::min(kDatagrams, work.datagrams.size());
    std::set<std::uint32_t> preambles;
    for (std::size_t i = 0; i < count; ++i) preambles.insert(work.datagrams[i].info.data_offset);
    if (preambles.size() != 1) {
      std::printf("%s: its preambles differ in length\n", source.name.c_str());
      continue;
    }

    Result<std::unique_ptr<Device>> device = sim.value()->opener()();
    ASSERT_TRUE(device.ok()) << device.message();
    Result<Kernel> kernel = Kernel::open(*device.value());
    ASSERT_TRUE(kernel.ok()) << kernel.message();
    EXPECT_EQ(kernel.value().capabilities(), firmware::kCapabilities);
    const Result<std::vector<firmware::Word>> words = firmware::device_words(work.program, work.options);
    ASSERT_TRUE(words.ok()) << words.message();
    Status loaded = load(kernel.value(), words.value());
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    loaded = load(kernel.value(), firmware::channel_words(work.program, work.options, 0));
    ASSERT_TRUE(loaded.ok()) << loaded.message();

    const std::vector<std::byte> image = image::write(work.program);
    const std::uint64_t slots =
        std::max<std::uint64_t>(1024, 8 * std::bit_ceil(std::uint64_t{work.program.max_record_slots}));
    auto ring = DeviceRing::start(*device.value(), work.program, image,
                                  {.index = 0,
                                   .slot_count = slots,
                                   .mode = RingMode::Stall,
                                   .image_generation = 0,
                                   .segment_slots = 200,
                                   .timeout_cycles = 0});
    ASSERT_TRUE(ring.ok()) << ring.message();
    ASSERT_TRUE(kernel.value().set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
    ASSERT_TRUE(kernel.value()
                    .describe_input(static_cast<std::uint8_t>(record::SourceLine::Replay),
                                    static_cast<std::uint8_t>(record::TimeQuality::Synthetic),
                                    static_cast<std::uint16_t>(*preambles.begin()))
                    .ok());
    Result<sim::Feed> feed = sim::Feed::connect(feed_path());
    ASSERT_TRUE(feed.ok()) << feed.message();
    const std::unique_ptr<Engine> engine = make_interpreter(work.program, work.options);
    run(kernel.value(), *ring.value(), feed.value(), work, *engine, count);
    if (HasFailure()) return;
    EXPECT_TRUE(ring.value()->stop().ok());
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

INSTANTIATE_TEST_SUITE_P(stalls, System, ::testing::Values("0", "50"));

}  // namespace
}  // namespace stopbit::device
