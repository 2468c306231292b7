// What engines ask of the kernel: nothing while they decode; never memory that is writable and executable.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/ring/writer.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/attack/captures.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/random.hpp"
#include "tests/system/kernel/filter.hpp"
#include "tests/system/kernel/memory_map.hpp"

namespace stopbit::kernel {
namespace {

using attack::Bytes;
using attack::Captured;

constexpr std::size_t kDatagrams = 100'000;  ///< For each engine and sink, over all captures.
constexpr std::size_t kKept = 4'000;         ///< Different ones of a capture.

constexpr int kAllDecoded = 0;
constexpr int kTooFew = 1;
constexpr int kAllocated = 2;

/// Good datagrams, and some with a bit turned: errors too must not ask the kernel for anything.
std::vector<Bytes> with_errors(std::vector<Bytes> datagrams) {
  cases::Random random(1);
  datagrams.resize(std::min(datagrams.size(), kKept));
  for (std::size_t i = 0; i < datagrams.size(); i += 5) {
    if (!datagrams[i].empty()) random.pick(datagrams[i]) ^= std::byte{1} << random.below(8);
  }
  return datagrams;
}

class KernelOf : public testing::TestWithParam<EngineKind> {
 protected:
  /// Decodes in a child that may not ask the kernel for anything. The first lap is the start-up.
  static void expect_quiet(const Captured& captured, std::size_t count, record::RecordSink& sink) {
    const std::vector<Bytes> datagrams = with_errors(captured.datagrams);
    const MadeEngine made = make_engine(captured.feed.program, attack::engine_options(captured.feed), GetParam());
    ASSERT_EQ(made.kind, GetParam()) << made.why_not_native;
    const auto lap = [&] {
      std::uint64_t messages = 0;
      for (const Bytes& datagram : datagrams) messages += made.engine->decode(datagram, {.number = 1}, sink).messages;
      made.engine->reset(0);
      return messages;
    };
    const int status = status_of_child([&] {
      std::uint64_t messages = lap();
      forbid_system_calls();
      const std::uint64_t allocations = attack::allocations();
      std::size_t decoded = 0;
      for (; decoded < count; decoded += datagrams.size()) messages += lap();
      if (attack::allocations() != allocations) return kAllocated;
      return messages > decoded / 2 ? kAllDecoded : kTooFew;
    });
    EXPECT_FALSE(WIFSIGNALED(status)) << captured.feed.name << ": ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), kAllDecoded) << captured.feed.name;
  }
};

TEST(Kernel, ends_a_child_that_asks_it_for_something) {
  const int status = status_of_child([] {
    forbid_system_calls();
    (void)syscall(SYS_getpid);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST_P(KernelOf, is_not_asked_for_anything_while_datagrams_are_decoded_to_memory) {
  const std::vector<Captured> all = attack::captures();
  for (const Captured& captured : all) {
    record::BufferSink sink(captured.feed.program.max_record_slots, [](std::span<const record::Slot>) {});
    expect_quiet(captured, kDatagrams / all.size() + 1, sink);
  }
}

TEST_P(KernelOf, is_not_asked_for_anything_while_datagrams_are_decoded_to_a_ring) {
  const std::vector<Captured> all = attack::captures();
  for (const Captured& captured : all) {
    const std::string name = "kernel-test-" + std::to_string(getpid());
    Result<ring::Writer> writer = ring::Writer::create(name, captured.feed.program);
    ASSERT_TRUE(writer) << writer.message();
    const std::string path = writer.value().path();
    expect_quiet(captured, kDatagrams / all.size() + 1, writer.value());
    unlink(path.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelOf, testing::ValuesIn(cases::engine_kinds()),
                         [](const auto& test) { return std::string(engine_name(test.param)); });

std::set<std::uint64_t> executable_places() {
  std::set<std::uint64_t> places;
  for (const MapLine& line : memory_map()) {
    if (line.executes()) places.insert(line.begin);
  }
  return places;
}

bool native_runs() {
  const auto& kinds = cases::engine_kinds();
  return std::find(kinds.begin(), kinds.end(), EngineKind::Native) != kinds.end();
}

TEST(NativeMemory, is_never_writable_and_executable_while_engines_are_made) {
  if (!native_runs()) GTEST_SKIP() << "native code does not run here";
  std::atomic<bool> done = false;
  std::string found;
  std::uint64_t looks = 0;
  std::thread watcher([&] {
    while (!done.load()) {
      ++looks;
      for (const MapLine& line : memory_map()) {
        if (line.writes() && line.executes()) found = line.rights + " " + line.name;
      }
    }
  });
  const attack::Feeds feeds = attack::fixed_feeds();
  constexpr std::uint64_t kLooks = 200;
  for (std::size_t made = 0; made < 500 || looks < kLooks; ++made) {
    for (const auto& feed : feeds) {
      ASSERT_EQ(make_engine(feed->program, {}, EngineKind::Native).kind, EngineKind::Native);
    }
  }
  done = true;
  watcher.join();
  EXPECT_EQ(found, "");
}

TEST(NativeMemory, stands_between_guard_pages_and_goes_with_its_engine) {
  if (!native_runs()) GTEST_SKIP() << "native code does not run here";
  const auto feed = attack::sample_feed();
  const std::set<std::uint64_t> before = executable_places();
  {
    const MadeEngine made = make_engine(feed->program, {}, EngineKind::Native);
    const std::vector<MapLine> map = memory_map();
    std::size_t places = 0;
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!map[i].executes() || before.contains(map[i].begin)) continue;
      ++places;
      EXPECT_FALSE(map[i].writes());
      ASSERT_TRUE(i > 0 && i + 1 < map.size());
      EXPECT_TRUE(map[i - 1].is_guard() && map[i - 1].end == map[i].begin) << map[i - 1].rights;
      EXPECT_TRUE(map[i + 1].is_guard() && map[i + 1].begin == map[i].end) << map[i + 1].rights;
    }
    EXPECT_GE(places, 1U) << "the code is somewhere";
  }
  EXPECT_EQ(executable_places(), before);
}

TEST(NativeMemory, if_it_cannot_be_had_the_quick_engine_runs_and_says_why) {
  const auto feed = attack::sample_feed();
  const int status = status_of_child([&] {
    forbid_executable_memory();
    const MadeEngine made = make_engine(feed->program, {}, EngineKind::Native);
    if (made.kind != EngineKind::Quick || made.engine == nullptr) return 1;
    return made.why_not_native.empty() ? 2 : 0;
  });
  ASSERT_FALSE(WIFSIGNALED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace stopbit::kernel
