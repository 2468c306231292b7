#include "host/nic/tag/tags.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace stopbit::nic::tags_test {

using Match = std::pair<std::uint64_t, std::uint64_t>;  // receive, record

class Collector final : public TagSink {
 public:
  void matched(const TagReceive& receive, const TagRecord& record) override {
    found.emplace_back(receive.id, record.id);
  }
  std::vector<Match> found;
};

/// A reference model, as short as possible and without limits.
struct Naive {
  void post(const TagReceive& receive) {
    for (auto record = records.begin(); record != records.end();) {
      if (!matches(receive, record->header)) {
        ++record;
        continue;
      }
      found.emplace_back(receive.id, record->id);
      record = records.erase(record);
      if (!receive.is_persistent) return;
    }
    receives.push_back(receive);
  }
  void arrive(const TagRecord& record) {
    for (auto receive = receives.begin(); receive != receives.end(); ++receive) {
      if (!matches(*receive, record.header)) continue;
      found.emplace_back(receive->id, record.id);
      if (!receive->is_persistent) receives.erase(receive);
      return;
    }
    if (stores) records.push_back(record);
  }
  std::optional<std::uint64_t> look(const TagReceive& receive, bool takes) {
    for (auto record = records.begin(); record != records.end(); ++record) {
      if (!matches(receive, record->header)) continue;
      const std::uint64_t id = record->id;
      if (takes) records.erase(record);
      return id;
    }
    return std::nullopt;
  }
  std::optional<std::uint64_t> serve(const TagHeader& header) {
    for (auto receive = receives.begin(); receive != receives.end(); ++receive) {
      if (!matches(*receive, header)) continue;
      const std::uint64_t id = receive->id;
      if (!receive->is_persistent) receives.erase(receive);
      return id;
    }
    return std::nullopt;
  }
  bool cancel(std::uint64_t id) {
    return std::erase_if(receives, [id](const TagReceive& receive) { return receive.id == id; }) != 0;
  }
  std::deque<TagReceive> receives;
  std::deque<TagRecord> records;
  std::vector<Match> found;
  bool stores = true;
};

std::uint64_t record_count(std::uint64_t otherwise) {
  const char* const text = std::getenv("STOPBIT_RECORDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Load {
  std::uint64_t records = 0;
  TagOptions options;
  unsigned masks = 6;      ///< Kinds of masks in use.
  unsigned values = 40;    ///< Different values of each field: the fewer, the more matches.
  unsigned receives = 40;  ///< Greatest number at once.
};

TagCounters compare(const Load& run, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Collector collector;
  Tags tags(run.options, collector);
  Naive naive;
  naive.stores = run.options.stores_unexpected;
  std::uint64_t next_receive = 1;
  std::vector<std::uint64_t> posted;
  const auto any_header = [&] {
    return TagHeader{static_cast<std::uint32_t>(random() % 3), static_cast<std::uint32_t>(random() % 4),
                     random() % run.values};
  };
  for (std::uint64_t i = 0; i < run.records; ++i) {
    if (naive.receives.size() < run.receives && random() % 3 == 0) {
      TagReceive receive;
      receive.wanted = any_header();
      const std::uint64_t kind = random() % run.masks;
      if ((kind & 1U) != 0) receive.mask.channel = 0;
      if ((kind & 2U) != 0) receive.mask.template_id = 0;
      if (kind >= 4) receive.mask.value = ~(kind - 4);
      receive.is_persistent = random() % 50 == 0;
      receive.id = next_receive++;
      const std::size_t before = naive.receives.size();
      naive.post(receive);
      const PostResult result = tags.post(receive);
      EXPECT_EQ(result, naive.receives.size() > before ? PostResult::Posted : PostResult::Served);
      posted.push_back(receive.id);
    }
    // Persistent ones must go now and then, or they take all.
    if (random() % 40 == 0 && !posted.empty()) {
      const std::uint64_t id = posted[random() % posted.size()];
      EXPECT_EQ(tags.cancel(id), naive.cancel(id));
      posted.clear();
      for (const TagReceive& receive : naive.receives) posted.push_back(receive.id);
    }
    if (random() % 4 == 0) {
      TagReceive look;
      look.wanted = any_header();
      if (random() % 2 == 0) look.mask.channel = 0;
      if (random() % 2 == 0) look.mask.value = 0;
      const bool takes = random() % 3 == 0;
      const std::optional<TagRecord> found = takes ? tags.claim(look) : tags.peek(look);
      EXPECT_EQ(found ? std::optional(found->id) : std::nullopt, naive.look(look, takes));
    }
    if (random() % 4 == 0) {
      const TagHeader header = any_header();
      const std::optional<TagReceive> served = tags.serve(header);
      EXPECT_EQ(served ? std::optional(served->id) : std::nullopt, naive.serve(header));
    }
    const TagRecord record{any_header(), i};
    naive.arrive(record);
    tags.arrive(record);
    if (i % 200 == 199) {  // quiet for a while, so that the unit has room again
      for (const TagReceive& receive : std::deque<TagReceive>(naive.receives)) {
        EXPECT_EQ(tags.cancel(receive.id), naive.cancel(receive.id));
      }
    }
    if (naive.records.size() > 300 || i % 200 == 199) {  // a receive for everything takes what has piled up
      TagReceive all;
      all.mask = {0, 0, 0};
      all.is_persistent = true;
      all.id = next_receive++;
      naive.post(all);
      EXPECT_EQ(tags.post(all), PostResult::Posted);
      EXPECT_EQ(tags.cancel(all.id), naive.cancel(all.id));
    }
    EXPECT_EQ(tags.receives(), naive.receives.size());
    EXPECT_EQ(tags.unexpected(), naive.records.size());
    if (collector.found != naive.found || testing::Test::HasFailure()) {
      ADD_FAILURE() << "after record " << i << ", seed " << seed;
      break;
    }
    collector.found.clear();
    naive.found.clear();
  }
  return tags.counters();
}

TEST(Tags, agree_with_a_naive_matcher_while_there_is_room) {
  Load run;
  run.records = record_count(200'000);
  run.options.unit = {64, 512};
  const TagCounters counters = compare(run, 1);
  EXPECT_EQ(counters.handed_to_software, 0U);
  EXPECT_GT(counters.matched, run.records / 10);
  EXPECT_GT(counters.unexpected, run.records / 10);
}

TEST(Tags, agree_with_a_naive_matcher_when_the_unit_overflows_and_is_filled_again) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Load run;
    run.records = record_count(40'000);
    run.options.unit = {16, 24};
    const TagCounters counters = compare(run, seed);
    EXPECT_GT(counters.handed_to_software, 20U);
    EXPECT_GT(counters.handed_back, 20U);
    EXPECT_EQ(counters.dropped, 0U);
  }
}

TEST(Tags, agree_with_a_naive_matcher_with_more_masks_than_the_unit_knows) {
  Load run;
  run.records = record_count(40'000);
  run.options.unit = {64, 512};
  run.masks = 14;
  const TagCounters counters = compare(run, 5);
  EXPECT_GT(counters.handed_to_software, 0U);
}

TEST(Tags, count_unexpected_records_where_they_are_not_stored) {
  Load run;
  run.records = record_count(40'000);
  run.options.unit = {64, 0};
  run.options.stores_unexpected = false;
  const TagCounters counters = compare(run, 7);
  EXPECT_EQ(counters.dropped, counters.unexpected);
  EXPECT_GT(counters.dropped, 0U);
}

TEST(Tags, refuse_and_drop_when_software_is_full_too_and_forget_nothing) {
  Collector collector;
  TagOptions options;
  options.unit = {2, 2};
  options.software_receives = 4;
  options.software_unexpected = 4;
  Tags tags(options, collector);
  for (std::uint64_t id = 1; id <= 6; ++id) {
    EXPECT_EQ(tags.post({{1, 1, 1}, {}, false, id}), id <= 4 ? PostResult::Posted : PostResult::Full);
  }
  for (std::uint64_t id = 1; id <= 6; ++id) tags.arrive({{2, 2, 2}, id});
  EXPECT_EQ(tags.counters().dropped, 2U);
  for (std::uint64_t id = 7; id <= 11; ++id) tags.arrive({{1, 1, 1}, id});
  EXPECT_EQ(collector.found, (std::vector<Match>{{1, 7}, {2, 8}, {3, 9}, {4, 10}}));
  EXPECT_EQ(tags.post({{2, 2, 2}, {}, true, 12}), PostResult::Posted);
  EXPECT_EQ(collector.found.size(), 8U);
  EXPECT_EQ(collector.found.back(), (Match{12, 4}));
  EXPECT_FALSE(tags.is_in_software());
}

}  // namespace stopbit::nic::tags_test
