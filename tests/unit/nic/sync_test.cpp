#include "host/nic/sync/sync.hpp"

#include <gtest/gtest.h>

#include "tests/nic/models/sync_model.hpp"

namespace stopbit::nic::sync_test {

using sync_model::explore;
using sync_model::Fault;
using sync_model::Findings;
using sync_model::Scenario;
using sync_model::wander;

template <class Core>
void expect_sound(const char* name, const Scenario& scenario) {
  const Findings result = explore<Core>(scenario);
  EXPECT_EQ(result.failure, "") << name;
  EXPECT_GT(result.ends, 0U) << name;
  std::printf("%s: %llu states, %llu ends\n", name, static_cast<unsigned long long>(result.states),
              static_cast<unsigned long long>(result.ends));
}

Scenario lock_of(std::vector<std::string> scripts, unsigned deaths = 0, unsigned hastes = 0) {
  return {std::move(scripts), 0, false, deaths, hastes};
}
Scenario semaphore_of(std::uint16_t count, std::vector<std::string> scripts, unsigned deaths = 0, unsigned hastes = 0) {
  return {std::move(scripts), count, true, deaths, hastes};
}

Scenario queue_of(std::vector<std::string> scripts, unsigned deaths = 0, unsigned hastes = 0) {
  return {std::move(scripts), 0, false, deaths, hastes};
}

TEST(SyncModel, a_lock_is_held_by_one_and_passes_in_order) {
  expect_sound<LockCore>("lock, 2 members, 3 rounds", lock_of({"ararar", "ararar"}));
  expect_sound<LockCore>("lock, 3 members, 2 rounds", lock_of({"arar", "arar", "arar"}));
  expect_sound<LockCore>("lock, 3 members, hasty looks", lock_of({"ar", "ar", "arar"}, 0, 2));
}

TEST(SyncModel, a_lock_of_a_dead_member_passes_on_and_nobody_else_loses_it) {
  expect_sound<LockCore>("lock, 2 members, 1 dies", lock_of({"arar", "arar"}, 1, 2));
  expect_sound<LockCore>("lock, 3 members, 1 dies", lock_of({"ar", "ar", "ar"}, 1, 1));
  expect_sound<LockCore>("lock, 3 members, 2 die", lock_of({"ar", "ar", "ar"}, 2, 0));
}

TEST(SyncModel, a_semaphore_loses_no_count) {
  expect_sound<QueueCore>("semaphore, 2 wait twice, 1 signals", semaphore_of(0, {"ww", "ww", "ssss"}));
  expect_sound<QueueCore>("semaphore of 1, 3 members, 2 rounds", semaphore_of(1, {"wsws", "wsws", "wsws"}));
  expect_sound<QueueCore>("semaphore, hasty looks", semaphore_of(0, {"ww", "w", "sss"}, 0, 2));
}

TEST(SyncModel, a_semaphore_goes_on_after_a_death) {
  expect_sound<QueueCore>("semaphore, 3 members, 1 dies", semaphore_of(0, {"w", "w", "sss"}, 1, 1));
  expect_sound<QueueCore>("semaphore of 1, 3 members, 1 dies", semaphore_of(1, {"ws", "ws", "ws"}, 1, 0));
}

TEST(SyncModel, a_wait_queue_wakes_one_for_each_signal_and_keeps_none_for_later) {
  expect_sound<QueueCore>("queue, 2 wait, 1 signals three times", queue_of({"w", "w", "sss"}));
  expect_sound<QueueCore>("queue, 2 wait twice, 1 signals four times", queue_of({"ww", "ww", "ssss"}));
  expect_sound<QueueCore>("queue, hasty looks", queue_of({"w", "w", "ss"}, 0, 3));
  expect_sound<QueueCore>("queue, 1 dies", queue_of({"w", "w", "ss"}, 1, 1));
}

Scenario with(Scenario scenario, unsigned losses, unsigned leaves) {
  scenario.losses = losses;
  scenario.leaves = leaves;
  return scenario;
}

TEST(SyncModel, a_lock_bears_members_that_leave_before_their_turn) {
  expect_sound<LockCore>("lock, 2 members, 2 leave", with(lock_of({"arar", "arar"}, 0, 1), 0, 2));
  expect_sound<LockCore>("lock, 3 members, 1 leaves", with(lock_of({"ar", "ar", "ar"}, 0, 1), 0, 1));
  expect_sound<LockCore>("lock, 3 members, 1 leaves, 1 dies", with(lock_of({"ar", "ar", "ar"}, 1, 0), 0, 1));
}

TEST(SyncModel, a_lock_bears_lost_answers) {
  expect_sound<LockCore>("lock, 2 members, 2 answers lost", with(lock_of({"arar", "arar"}, 0, 1), 2, 0));
  expect_sound<LockCore>("lock, 3 members, 1 answer lost", with(lock_of({"ar", "ar", "ar"}, 0, 1), 1, 0));
  expect_sound<LockCore>("lock, 2 members, 1 answer lost, 1 dies", with(lock_of({"arar", "ar"}, 1, 1), 1, 0));
  expect_sound<LockCore>("lock, 2 members, 1 answer lost, 1 leaves", with(lock_of({"arar", "arar"}, 0, 1), 1, 1));
}

TEST(SyncModel, a_queue_bears_members_that_leave_and_lost_answers) {
  expect_sound<QueueCore>("queue, 1 leaves", with(queue_of({"w", "w", "ss"}, 0, 1), 0, 1));
  expect_sound<QueueCore>("queue, 1 answer lost", with(queue_of({"w", "w", "ss"}, 0, 1), 1, 0));
  expect_sound<QueueCore>("semaphore, 1 answer lost", with(semaphore_of(1, {"ws", "ws", "ws"}, 0, 0), 1, 0));
}

// The faults that the model must find.

TEST(SyncModel, finds_the_wake_up_that_the_rules_as_printed_leave_over) {
  EXPECT_NE(explore<QueueCore>(queue_of({"w", "w", "ssss"}), Fault::RulesAsPrinted).failure, "");
  EXPECT_NE(explore<QueueCore>(semaphore_of(0, {"ww", "ww", "ssss"}), Fault::RulesAsPrinted).failure, "");
}

TEST(SyncModel, needs_the_words_to_be_cleared_before_a_member_queues_again) {
  EXPECT_NE(explore<QueueCore>(semaphore_of(1, {"wsws", "wsws", "wsws"}), Fault::NoPrologue).failure, "");
  EXPECT_NE(explore<LockCore>(lock_of({"arar", "arar", "arar"}), Fault::NoPrologue).failure, "");
}

TEST(SyncModel, needs_the_word_of_a_grant_before_its_event) {
  EXPECT_NE(explore<QueueCore>(semaphore_of(0, {"ww", "w", "sss"}), Fault::EventBeforeWord).failure, "");
}

TEST(SyncModel, needs_grants_to_say_which_attempt_they_are_for) {
  EXPECT_EQ(explore<LockCore>(lock_of({"arar", "arar"}, 0, 1), Fault::AnyGrant).failure, "two hold the lock");
}

TEST(SyncModel, needs_a_holder_that_is_out_of_reach_to_be_left_alone) {
  EXPECT_EQ(explore<LockCore>(lock_of({"ar", "ar"}, 0, 2), Fault::HastyDeath).failure, "two hold the lock");
}

TEST(SyncModel, needs_who_left_to_be_passed_over) {
  EXPECT_NE(explore<LockCore>(with(lock_of({"ar", "ar", "ar"}, 0, 1), 0, 1), Fault::OldNext).failure, "");
}

TEST(SyncModel, keeps_its_promises_in_random_schedules) {
  const Findings lock = wander<LockCore>(lock_of({"ararar", "ararar", "ararar"}, 1, 3), 1, 2'000);
  EXPECT_EQ(lock.failure, "");
  const Findings left = wander<LockCore>(with(lock_of({"ararar", "ararar", "ararar"}, 0, 3), 2, 2), 3, 2'000);
  EXPECT_EQ(left.failure, "");
  const Findings semaphore = wander<QueueCore>(semaphore_of(1, {"wswsws", "wswsws", "wwsss"}, 0, 3), 2, 2'000);
  EXPECT_EQ(semaphore.failure, "");
}

}  // namespace stopbit::nic::sync_test
