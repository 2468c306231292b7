// Workloads that are generated: what their READMEs say of them. Captures are tested where they are read.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "tests/lib/workloads/ab/ab.hpp"
#include "tests/lib/workloads/shuffled/shuffled.hpp"
#include "tests/lib/workloads/workload.hpp"
#include "tests/lib/workloads/worst/worst.hpp"

namespace stopbit::bench {
namespace {

std::vector<WorkloadSource> generated() {
  std::vector<WorkloadSource> sources = worst_sources();
  sources.push_back({"ab", make_ab});
  sources.push_back({"shuffled", make_shuffled});
  sources.push_back({"repeated", make_repeated});
  return sources;
}

TEST(Workloads, every_engine_finds_the_lines_they_were_made_of) {
  for (const WorkloadSource& source : generated()) {
    auto work = source.make();
    ASSERT_TRUE(work) << source.name << ": " << work.message();
    Report report;
    EXPECT_FALSE(make_subjects(*work.value(), report).empty()) << source.name;
    EXPECT_FALSE(report.has_problems()) << source.name;
  }
}

TEST(Workloads, an_engine_with_a_wrong_answer_is_not_timed) {
  auto work = make_repeated();
  ASSERT_TRUE(work);
  std::string& lines = *work.value()->expected_json;
  lines[lines.rfind(':') + 1] = lines[lines.rfind(':') + 1] == '7' ? '8' : '7';
  Report report;
  EXPECT_TRUE(make_subjects(*work.value(), report).empty());
  EXPECT_TRUE(report.has_problems());
}

TEST(Workloads, are_the_same_bytes_every_time) {
  EXPECT_EQ(make_ab().value()->bytes, make_ab().value()->bytes);
  EXPECT_EQ(make_repeated().value()->bytes, make_repeated().value()->bytes);
}

TEST(Workloads, ab_has_two_lines_that_lose_repeat_and_overtake) {
  const auto work = make_ab();
  ASSERT_TRUE(work);
  struct Line {
    std::map<std::uint32_t, int> arrivals;
    std::uint32_t highest = 0;
    int late = 0;
  };
  Line lines[2];
  std::uint64_t last_ns = 0;
  for (const Workload::Datagram& datagram : work.value()->datagrams) {
    ASSERT_LT(datagram.info.channel, 2);
    Line& line = lines[datagram.info.channel];
    ++line.arrivals[datagram.info.sequence];
    if (datagram.info.sequence < line.highest) ++line.late;
    line.highest = std::max(line.highest, datagram.info.sequence);
    EXPECT_GE(datagram.info.arrival_ns, last_ns);
    last_ns = datagram.info.arrival_ns;
  }
  constexpr std::size_t kSent = 12'000;
  for (const Line& line : lines) {
    EXPECT_LT(line.arrivals.size(), kSent - 20);
    EXPECT_GT(line.arrivals.size(), kSent - 100);
    EXPECT_GT(line.late, 10);
    EXPECT_TRUE(std::any_of(line.arrivals.begin(), line.arrivals.end(), [](const auto& it) { return it.second == 2; }));
  }
  // What one line has lost, the other has, as a rule.
  std::set<std::uint32_t> seen;
  for (const Line& line : lines) {
    for (const auto& [sequence, count] : line.arrivals) seen.insert(sequence);
  }
  EXPECT_GT(seen.size(), kSent - 10);
}

TEST(Workloads, repeated_has_few_messages_and_shuffled_none_twice) {
  const auto distinct = [](const Workload& work) {
    std::set<std::vector<std::byte>> all;
    for (std::size_t i = 0; i < work.datagrams.size(); ++i) {
      const auto bytes = work.datagram(i);
      all.emplace(bytes.begin(), bytes.end());
    }
    return all.size();
  };
  const auto shuffled = make_shuffled();
  const auto repeated = make_repeated();
  EXPECT_EQ(distinct(*shuffled.value()), shuffled.value()->datagrams.size());
  EXPECT_EQ(distinct(*repeated.value()), 32U);
  EXPECT_EQ(repeated.value()->datagrams.size(), shuffled.value()->datagrams.size());
  const auto ratio =
      static_cast<double>(repeated.value()->bytes.size()) / static_cast<double>(shuffled.value()->bytes.size());
  EXPECT_NEAR(ratio, 1, 0.05);
}

}  // namespace
}  // namespace stopbit::bench
