#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "host/ports/pcap/pcap_source.hpp"
#include "host/replay/columns/event_columns.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::replay::allocation_test {

using attack::allocations;

/// An engine that remembers how many allocations there were at its first and its last datagram.
class WatchedEngine final : public Engine {
 public:
  explicit WatchedEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}
  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override {
    if (datagrams_++ == 0) at_first_ = allocations();
    const Outcome outcome = inner_->decode(datagram, info, sink);
    at_last_ = allocations();
    return outcome;
  }
  void reset(std::uint16_t channel) noexcept override { inner_->reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { inner_->invalidate(channel); }

  [[nodiscard]] std::size_t datagrams() const { return datagrams_; }
  [[nodiscard]] std::size_t between() const { return at_last_ - at_first_; }

 private:
  std::unique_ptr<Engine> inner_;
  std::size_t datagrams_ = 0;
  std::size_t at_first_ = 0;
  std::size_t at_last_ = 0;
};

void expect_no_allocation(EngineKind kind, const std::string& templates, const std::string& capture,
                          const char* framing) {
  const Program program = testing::compile(stopbit::testing::file_text(templates));
  Options options;
  options.framing = testing::framing(framing);
  options.on_progress = [](const Progress&) {};
  options.progress_interval_ns = 0;
  record::BufferSink sink(program.max_record_slots, [](std::span<const record::Slot>) {});
  MadeEngine made = make_engine(program, engine_options(options), kind);
  ASSERT_EQ(made.kind, kind) << made.why_not_native;
  WatchedEngine engine(std::move(made.engine));
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  for (int i = 0; i < 2; ++i) sources.push_back(std::move(ingest::open_capture(capture)).value());
  const Summary summary = Replay(program, engine, sink, options).run(sources);
  EXPECT_EQ(summary.error_count(), 0U);
  EXPECT_GT(engine.datagrams(), 1U);
  EXPECT_EQ(engine.between(), 0U) << "allocations between the first and the last of " << engine.datagrams()
                                  << " datagrams";
}

TEST(Allocation, is_counted_at_all) {
  const std::uint64_t before = allocations();
  void* volatile kept = new int;  // volatile, or the compiler leaves both out
  delete static_cast<int*>(kept);
  kept = std::malloc(100);
  std::free(kept);
  EXPECT_GE(allocations(), before + 2);
}

TEST(Allocation, does_not_happen_for_a_market_event_of_columns_after_the_first) {
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = std::move(ColumnFolder::open(scratch.path("columns"), false).value());
  EventColumns columns(*folder);
  const market::Event event = market::Event::of({.kind = market::Kind::Trade, .price = 1});
  columns.add(event);
  const std::uint64_t before = allocations();
  for (int i = 0; i < 100'000; ++i) columns.add(event);
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(folder->bytes_written(), 1'000'000U);
  EXPECT_TRUE(columns.finish(true, "[]", 0));
}

class AllocationOf : public ::testing::TestWithParam<EngineKind> {};

TEST_P(AllocationOf, does_not_happen_while_the_sample_is_replayed) {
  const std::string folder = STOPBIT_SAMPLE_FOLDER;
  expect_no_allocation(GetParam(), folder + "/templates.xml", folder + "/capture.pcap.gz", "cme");
}

TEST_P(AllocationOf, does_not_happen_while_real_captures_are_replayed) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  for (const auto& [name, framing] : {std::pair("cme-mdp-2012", "cme"), std::pair("moex-asts-trades-2019", "moex"),
                                      std::pair("eurex-rdi-2016", "t7"), std::pair("complex30000", "none")}) {
    const std::string folder = std::string(corpus) + "/" + name;
    expect_no_allocation(GetParam(), folder + "/templates.xml", folder + "/capture.pcap", framing);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllocationOf, ::testing::ValuesIn(cases::engine_kinds()),
                         [](const auto& test) { return std::string(engine_name(test.param)); });

}  // namespace stopbit::replay::allocation_test
