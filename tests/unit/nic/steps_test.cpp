#include "host/nic/transport/model/steps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/nic/budgets.hpp"

namespace stopbit::nic::steps_test {

std::uint64_t count(const Budget& budget, Step step) {
  return budget.counts[static_cast<std::size_t>(step)];
}

TEST(Steps, TransfersTakeWhatTheirSourcesMeasured) {
  const std::vector<Budget> budgets = run_budgets();
  ASSERT_EQ(budgets.size(), 9U);
  for (const Budget& budget : budgets) {
    EXPECT_LE(std::abs(budget.difference()), 0.05) << budget.name << ": " << budget.ours_ns() << " ns";
    EXPECT_EQ(count(budget, Step::Issue), 1U) << budget.name;
    EXPECT_EQ(count(budget, Step::Miss), 0U) << budget.name;
  }
}

TEST(Steps, UnitsCountWhatTheyDo) {
  for (const Budget& budget : run_budgets()) {
    const bool is_answered = budget.name == "get" || budget.name.starts_with("lock");
    EXPECT_EQ(count(budget, Step::Trip), is_answered ? 2U : 1U) << budget.name;
    const bool is_message = budget.name.ends_with("message");
    EXPECT_EQ(count(budget, Step::MessageCompleter), is_message ? 1U : 0U) << budget.name;
    EXPECT_EQ(count(budget, Step::Unit), is_message ? 0U : is_answered ? 3U : 2U) << budget.name;
    if (budget.name == "put") {
      EXPECT_EQ(count(budget, Step::Read), 1U);
      EXPECT_EQ(count(budget, Step::Write), 1U);
      EXPECT_EQ(count(budget, Step::Translate), 3U);  // once more than the source: before the first byte leaves
    }
  }
}

// Appendix A of the network virtual memory: a page in two units through memory, wire and memory.
TEST(Steps, TwoUnitsOfAPageTakeWhatTheSourceCalculates) {
  constexpr std::array<double, 3> kStages = {437, 160, 492};
  const auto split = [&](double offset) {
    const std::array<double, 2> pieces = {4096 - offset, offset};
    return pipeline_us(pieces, kStages);
  };
  EXPECT_NEAR(split(0), 43.29, 0.01);
  int best = 0;
  for (int offset = 0; offset <= 4096; ++offset) {
    if (split(offset) < split(best)) best = offset;
  }
  EXPECT_NEAR(split(best), 34.21, 0.01);
  EXPECT_NEAR(best, 2998, 2);
}

TEST(Steps, APipelineOfNothingTakesNoTime) {
  EXPECT_EQ(pipeline_us({}, std::array<double, 1>{100}), 0);
  EXPECT_EQ(pipeline_us(std::array<double, 1>{100}, {}), 0);
}

}  // namespace stopbit::nic::steps_test
