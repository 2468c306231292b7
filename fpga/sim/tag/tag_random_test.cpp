#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "host/nic/tag/matcher.hpp"
#include "host/nic/tag/tags.hpp"
#include "tag_fixture.hpp"
#include "tests/lib/form.hpp"

// The unit beside the class that it has to agree with, command by command: host/nic/tag/matcher.hpp.

namespace stopbit::sim::tag {
namespace {

using nic::PostResult;
using nic::Stamped;

bool is_same(const TagHeader& a, const TagHeader& b) {
  return a.channel == b.channel && a.template_id == b.template_id && a.value == b.value;
}
bool is_same(const TagReceive& a, const TagReceive& b) {
  return is_same(a.wanted, b.wanted) && a.mask == b.mask && a.is_persistent == b.is_persistent && a.id == b.id;
}
bool is_same(const TagRecord& a, const TagRecord& b) {
  return is_same(a.header, b.header) && a.id == b.id;
}
template <class What>
bool is_same(const std::optional<What>& a, const std::optional<What>& b) {
  return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
}

struct Matches final : public nic::TagSink {
  void matched(const TagReceive& receive, const TagRecord& record) override { all.emplace_back(receive, record); }
  std::vector<std::pair<TagReceive, TagRecord>> all;
};

struct Profile {
  const char* name;
  std::size_t receives;
  std::size_t records;
  std::uint64_t values;   ///< Different ones: the fewer, the more matches.
  std::uint64_t masks;    ///< Different ones: more than 8 do not fit.
  unsigned post_percent;  ///< Of commands; the others are records and the rest.
  bool collides;          ///< All tags are in one chain.
  std::uint32_t stall_percent;
};

constexpr Profile kProfiles[] = {
    {"few", 8, 8, 6, 4, 50, false, 30},
    {"masks", 60, 40, 30, 12, 55, false, 0},
    {"one chain", 200, 200, 150, 3, 50, true, 10},
    {"whole", kEntries, kEntries, 4000, 8, 52, false, 0},
    {"records", 300, kEntries, 900, 8, 30, false, 20},
};

class LockStep {
 public:
  LockStep(const Profile& profile, std::uint64_t seed)
      : profile_(profile),
        driver_(std::make_shared<Unit>(seed)),
        unit_(driver_),
        oracle_({profile.receives, profile.records}) {
    driver_->limit(profile.receives, profile.records);
    driver_->stall_percent = profile.stall_percent;
  }

  void step() {
    const std::uint64_t kind = random().below(100);
    if (kind < profile_.post_percent) {
      post();
    } else if (kind < 88) {
      arrive();
    } else if (kind < 92) {
      const TagHeader header = any_header();
      ASSERT_TRUE(is_same(unit_.take_receive(header), oracle_.take_receive(header)));
    } else if (kind < 96) {
      const TagReceive receive = any_receive();
      if (random().chance(50)) {
        ASSERT_TRUE(is_same(unit_.find_record(receive), oracle_.find_record(receive)));
      } else {
        ASSERT_TRUE(is_same(unit_.take_record(receive), oracle_.take_record(receive)));
      }
    } else if (kind < 99 || !random().chance(4)) {
      // Of those that were posted lately, most of which have been served.
      const std::uint64_t id = next_id_ - std::min(next_id_, random().below(2 * profile_.receives) + 1);
      ASSERT_EQ(unit_.cancel(id), oracle_.cancel(id)) << id;
    } else {
      to_and_fro();
    }
    ASSERT_EQ(unit_.receives(), oracle_.receives());
    ASSERT_EQ(unit_.unexpected(), oracle_.unexpected());
  }

  [[nodiscard]] std::uint64_t matched() const { return matched_; }
  [[nodiscard]] std::uint64_t full() const { return full_; }

 private:
  Random& random() { return driver_->random; }

  TagHeader any_header() {
    const std::uint64_t value = random().below(profile_.values);
    if (profile_.collides) return {0, 0, colliding(value)};
    return {static_cast<std::uint32_t>(value % 3), static_cast<std::uint32_t>(random().below(2) << 31U), value << 40U};
  }
  TagMask any_mask() {
    const std::uint64_t number = random().below(profile_.masks);
    if (profile_.collides) return {number == 1 ? 0 : ~0U, number == 2 ? 0 : ~0U, ~std::uint64_t{0}};
    if (number == 1) return {0, ~0U, ~std::uint64_t{0}};
    if (number == 2) return {~0U, 0, ~std::uint64_t{0}};
    return {~0U, ~0U, ~std::uint64_t{0} << (number == 0 ? 0 : 38 + number)};
  }
  TagReceive any_receive() {
    TagReceive receive{any_header(), any_mask(), random().below(60) == 0, next_id_++};
    if (random().below(400) == 0) receive.mask = {0, 0, 0};  // takes anything
    return receive;
  }

  void post() {
    const TagReceive receive = any_receive();
    Matches here;
    Matches there;
    const PostResult result = oracle_.post(receive, ++stamp_, there);
    ASSERT_EQ(unit_.post(receive, stamp_, here), result);
    ASSERT_EQ(here.all.size(), there.all.size());
    for (std::size_t i = 0; i < here.all.size(); ++i) ASSERT_TRUE(is_same(here.all[i].second, there.all[i].second));
    matched_ += here.all.size();
    full_ += result == PostResult::Full ? 1 : 0;
  }
  void arrive() {
    const TagRecord record{any_header(), next_id_++};
    const auto expected = oracle_.arrive(record, ++stamp_);
    const auto arrival = unit_.arrive(record, stamp_);
    ASSERT_TRUE(is_same(arrival.receive, expected.receive)) << record.id;
    ASSERT_EQ(arrival.is_full, expected.is_full);
    matched_ += arrival.receive ? 1 : 0;
    full_ += arrival.is_full ? 1 : 0;
  }
  /// Everything to software, and what of it fits into a half back.
  void to_and_fro() {
    std::vector<Stamped<TagReceive>> receives;
    std::vector<Stamped<TagReceive>> expected_receives;
    std::vector<Stamped<TagRecord>> records;
    std::vector<Stamped<TagRecord>> expected_records;
    unit_.dump(receives, records);
    oracle_.dump(expected_receives, expected_records);
    ASSERT_EQ(receives.size(), expected_receives.size());
    ASSERT_EQ(records.size(), expected_records.size());
    ASSERT_EQ(unit_.receives() + unit_.unexpected(), 0U);
    std::uint64_t old = 0;
    for (std::size_t i = 0; i < receives.size(); ++i) {
      ASSERT_TRUE(is_same(receives[i].what, expected_receives[i].what));
      ASSERT_TRUE(i == 0 || receives[i].stamp > old) << "stamps differ";
      old = receives[i].stamp;
      if (i >= profile_.receives / 2) continue;
      unit_.store(receives[i].what, receives[i].stamp);
      oracle_.store(receives[i].what, ++stamp_);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      ASSERT_TRUE(is_same(records[i].what, expected_records[i].what));
      if (i >= profile_.records / 2) continue;
      unit_.store(records[i].what, 0);
      oracle_.store(records[i].what, ++stamp_);
    }
  }

  const Profile& profile_;
  std::shared_ptr<Unit> driver_;
  HardwareUnit<Vstopbit_tag_unit> unit_;
  nic::TagMatcher oracle_;
  std::uint64_t stamp_ = 0;
  std::uint64_t next_id_ = 1;
  std::uint64_t matched_ = 0;
  std::uint64_t full_ = 0;
};

TEST(TagRandom, agrees_with_the_class_command_by_command) {
  std::uint64_t full = 0;
  for (const Profile& profile : kProfiles) {
    SCOPED_TRACE(profile.name);
    LockStep both(profile, seed());
    const std::uint64_t steps = by_form<std::uint64_t>(1'000, 3'000, 1'000'000 / std::size(kProfiles));
    for (std::uint64_t i = 0; i < steps; ++i) {
      both.step();
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "step " << i;
        return;
      }
    }
    EXPECT_GT(both.matched(), steps / 10);
    full += both.full();
  }
  EXPECT_GT(full, 0U);
}

/// With software that takes over: the same results as with the class as the unit.
TEST(TagRandom, overflows_to_software_and_comes_back_as_the_class_does) {
  nic::TagOptions options;
  options.unit = {24, 24};
  Matches here;
  Matches there;
  const auto driver = std::make_shared<Unit>(seed());
  driver->limit(options.unit.receives, options.unit.unexpected);
  nic::Tags tags(options, here, std::make_unique<HardwareUnit<Vstopbit_tag_unit>>(driver));
  nic::Tags expected(options, there);
  Random& random = driver->random;
  const std::uint64_t steps = by_form<std::uint64_t>(2'000, 8'000, 200'000);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const TagHeader header{static_cast<std::uint32_t>(random.below(2)), 0, random.below(30)};
    const auto cancel = [&](std::uint64_t id) { EXPECT_EQ(tags.cancel(id), expected.cancel(id)); };
    const auto post = [&](const TagReceive& receive) { EXPECT_EQ(tags.post(receive), expected.post(receive)); };
    if (i % 200 == 199) {  // quiet for a while, so that the unit has room again
      for (std::uint64_t id = i - 199; id < i; ++id) cancel(id);
      post({{}, {0, 0, 0}, true, i});
      cancel(i);
    } else if (random.chance(i / 200 % 2 == 0 ? 65 : 35)) {  // receives, and in the next quarter records
      const TagMask mask{random.chance(10) ? 0 : ~0U, ~0U, ~random.below(i / 400 % 4 == 0 ? 9 : 3)};
      post({header, mask, random.below(100) == 0, i});
    } else {
      tags.arrive({header, i});
      expected.arrive({header, i});
    }
    if (random.chance(4)) cancel(i - random.below(std::min<std::uint64_t>(i + 1, 60)));
    ASSERT_EQ(tags.is_in_software(), expected.is_in_software());
    ASSERT_EQ(tags.receives(), expected.receives());
    ASSERT_EQ(tags.unexpected(), expected.unexpected());
    ASSERT_EQ(here.all.size(), there.all.size()) << i;
    if (!here.all.empty()) {
      ASSERT_TRUE(is_same(here.all.back().first, there.all.back().first));
      ASSERT_TRUE(is_same(here.all.back().second, there.all.back().second));
    }
  }
  EXPECT_GT(expected.counters().handed_to_software, steps / 1000);
  EXPECT_GT(expected.counters().handed_back, steps / 1000);
  EXPECT_EQ(tags.counters().handed_back, expected.counters().handed_back);
}

}  // namespace
}  // namespace stopbit::sim::tag
