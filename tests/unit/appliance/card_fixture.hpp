#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/views.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/hollow_card.hpp"
#include "tests/lib/one_card.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::test {

/// So long after a look at the card's registers the next one is due,
inline constexpr std::uint64_t kLooked = 200'000'000;
/// and so long after counters were published they are again.
inline constexpr std::uint64_t kPublished = 2'000'000;

/// An appliance with a card whose records and registers are the test's.
class CardFeedTest : public ::testing::Test {
 protected:
  explicit CardFeedTest(const std::string& more_channel = "",
                        const std::function<void(appliance::Settings&)>& change = {})
      : one("mode = \"fast\"\n" + more_channel,
            "engine = \"xrt\"\n[card]\nxclbin = \"x\"\ningress = \"port\"\nclock = \"mac\"\n"
            "[recorder]\nfolder = \"packets\"\nqueue = \"4MiB\"\n",
            change, appliance::Topology(), [this](const device::CardOptions&) -> Result<std::unique_ptr<device::Card>> {
              auto made = std::make_unique<OneCard>(hollow);
              card = made.get();
              return std::unique_ptr<device::Card>(std::move(made));
            }) {}
  void SetUp() override { ASSERT_TRUE(one.made) << one.problem; }
  void TearDown() override {
    hollow.answer = {};  // what they use ends with the test, the appliance after it
    hollow.wrote = {};
  }

  /// What the card makes of a datagram with a tick.
  cases::Record made_of(std::uint32_t sequence) {
    cases::RecordingSink sink(program);
    (void)engine->decode(
        tick(sequence, sequence * 10),
        {.arrival_ns = 77, .sequence = sequence, .data_offset = 5, .channel = 7, .source = record::SourceLine::LineA},
        sink);
    return sink.records().at(0);
  }
  void publish(std::uint32_t sequence) { hollow.publish(made_of(sequence)); }
  /// A record of no channel of the card.
  void publish_fault() {
    cases::Record record = made_of(1);
    record[0].words[2] ^= std::uint64_t{1} << 40;
    hollow.publish(record);
  }
  void host_hears(std::uint32_t from, std::uint32_t to) {
    for (; from <= to; ++from) one.give(0, tick(from, from * 10));
    one.work();
  }
  std::vector<std::uint32_t> sequences() {
    std::vector<std::uint32_t> all;
    for (const OneChannel::Seen& seen : one.seen()) {
      EXPECT_FALSE(seen.is_event) << static_cast<int>(seen.kind);
      all.push_back(seen.sequence);
    }
    return all;
  }
  std::uint64_t count(const char* family) {
    one.now += kPublished;
    one.work();
    return one.counts().sum(family);
  }

  Program program = bench::compile_text("ticks", std::string(kTickTemplates)).value();
  std::unique_ptr<Engine> engine = make_interpreter(program, {.channels = 8});
  HollowCard hollow;
  OneCard* card = nullptr;
  OneChannel one;
};

}  // namespace stopbit::test
