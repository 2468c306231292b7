// The synchroniser allocates when it is made only, whatever its inputs.

#include <gtest/gtest.h>

#include "host/market/sync/synchroniser.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::market::sync_allocation_test {

struct Counter final : SyncSink {
  void apply(const Event&) noexcept override { ++applied; }
  void load(std::uint32_t, std::uint64_t) noexcept override { ++loaded; }
  bool audit(std::uint32_t, std::uint64_t) noexcept override { return ++audited % 2 == 0; }
  void refresh(std::uint32_t, Cause, std::uint64_t) noexcept override { ++refreshed; }
  void restarted() noexcept override {}
  void forgotten(Cause) noexcept override {}
  void state(std::uint32_t, const Mark&) noexcept override { ++states; }
  void state_of(std::uint32_t, const Mark&) noexcept override { ++states; }
  void healed(std::uint32_t, Basis, std::uint64_t, const Mark&) noexcept override { ++states; }
  void ask(std::uint64_t, std::uint64_t) noexcept override { ++asked; }
  void lost(std::uint32_t, std::uint64_t) noexcept override { ++dropped; }
  void overdue(std::uint64_t) noexcept override {}

  std::uint64_t applied = 0, loaded = 0, audited = 0, refreshed = 0, states = 0, asked = 0, dropped = 0;
};

void play(const SyncOptions& options) {
  Counter counter;
  Synchroniser machine(options, counter);
  cases::Random random(1);
  std::uint64_t number = 0;
  std::uint64_t place = 0;
  std::uint64_t numbers[9] = {};
  const std::uint64_t before = attack::allocations();
  for (std::uint64_t step = 0; step < 50'000; ++step) {
    machine.tick(step);
    const auto row = static_cast<std::uint32_t>(1 + random.below(8));
    const std::uint64_t of_entry = numbers[row] += 1 + (random.below(20) == 0 ? random.below(3) : 0);
    const bool is_late = random.below(10) == 0;
    number += is_late ? 0 : 1 + (random.below(20) == 0 ? random.below(3) : 0);
    machine.begin(is_late ? number - random.below(std::min<std::uint64_t>(number, 8) + 1) : number);
    if (options.scope == ScopeOf::Product) (void)machine.product(1 + row % 2, number);
    const Event event = Event::of({.instrument = row, .kind = Kind::New, .price = 1});
    if (machine.entry(row, is_late ? of_entry - 1 : of_entry, event)) counter.apply(event);
    machine.end();
    if (random.below(4) == 0) {
      const std::uint64_t at = options.scope == ScopeOf::Instrument ? of_entry : number;
      if (machine.part({.row = row,
                        .place = ++place,
                        .number = at,
                        .message = number,
                        .sent_ns = 1,
                        .is_first = true,
                        .is_last = true})) {
        machine.part_end();
      }
    }
    if (random.below(500) == 0) machine.distrust(row, Cause::Contradiction);
    if (random.below(5'000) == 0) {
      machine.reset(1);
      number = 0;
      std::fill(std::begin(numbers), std::end(numbers), 0);
    }
  }
  EXPECT_EQ(attack::allocations(), before);
  EXPECT_GT(counter.applied, 1'000U);
  EXPECT_GT(counter.loaded, 100U);
  EXPECT_GT(counter.states, 100U);
  EXPECT_GT(counter.asked, 100U);
  EXPECT_GT(counter.dropped, 10U);
}

TEST(Synchroniser, allocates_nothing_after_the_start) {
  for (const ScopeOf scope : {ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel}) {
    for (const bool refreshes : {false, true}) {
      SyncOptions options;
      options.scope = scope;
      options.refresh = refreshes;
      options.policy = refreshes ? Policy::Pessimistic : Policy::Optimistic;
      options.instruments = 8;
      options.products = 2;
      options.queued = 16;
      options.queued_each = 4;
      options.holes = 8;
      options.holes_each = 4;
      options.repeat_ns = 10;
      options.give_up_ns = 100;
      play(options);
    }
  }
}

}  // namespace stopbit::market::sync_allocation_test
