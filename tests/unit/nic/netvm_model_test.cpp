#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/nic/netvm/paged_memory.hpp"
#include "tests/lib/model_check/interleavings.hpp"

namespace stopbit::nic::netvm_model_test {

using model_check::Exploration;
using model_check::explore_orders;
using model_check::kCanSwitchStacks;
using model_check::Machine;

// The protocol, under every order of its steps.

using Words = std::array<std::uint64_t, 64>;

/// The memory of an x86 processor: stores wait in a buffer, but for those that say they must not. Weak: those, too.
class ModelWords {
 public:
  ModelWords(Machine& machine, const Words& initial, bool is_weak)
      : machine_(machine), initial_(initial), is_weak_(is_weak) {}
  std::uint64_t load(std::size_t word) { return machine_.load(word) ^ initial_[word]; }
  void publish(std::size_t word, std::uint64_t value) { machine_.store(word, value ^ initial_[word]); }
  void store(std::size_t word, std::uint64_t value) {
    if (is_weak_) {
      publish(word, value);
    } else {
      (void)machine_.exchange(word, value ^ initial_[word]);
    }
  }

 private:
  Machine& machine_;
  const Words& initial_;
  bool is_weak_;
};

constexpr std::size_t kData = 40;  // bytes of the frame
constexpr std::size_t kDone = 48;

/// One frame with page 7 in it, clean.
struct OneFrame {
  PageTableLayout layout{1};
  Words initial{};
  OneFrame() {
    initial[layout.page(0)] = 8;
    initial[layout.slot(0, 0)] = 1;
    initial[layout.host_dirty(0)] = 1;
    initial[kData] = 5;
  }
};

struct Eviction {
  std::set<std::string> outcomes;
  Exploration result;
};

/// The interface writes to page 7 while the pager evicts it and puts page 9 in its place.
Eviction evict_under_a_writer(bool is_weak) {
  struct Seen {
    bool is_held = false;
    bool was_written = false;
    bool was_evicted = false;
    std::uint64_t file = 5;
    int ended = 0;
  };
  const OneFrame start;
  const PageTableLayout& layout = start.layout;
  Eviction eviction;
  eviction.result = explore_orders([&] {
    auto seen = std::make_shared<Seen>();
    const auto end = [&eviction, seen](Machine& machine) {
      if (++seen->ended != 2) return;
      eviction.outcomes.insert(std::string(seen->was_written ? "written" : "missed") +
                               (seen->was_evicted ? ", evicted" : ", stayed"));
      if (seen->was_written && seen->was_evicted && seen->file != 100) machine.fail("a change is lost");
    };
    const Machine::Thread interface = [&, seen, end](Machine& machine) {
      ModelWords words(machine, start.initial, is_weak);
      std::uint64_t restarts = 0;
      if (const auto frame = lock_page(words, layout, 7, restarts)) {
        seen->is_held = true;
        words.publish(kData, 100);
        seen->is_held = false;
        unlock_page_dirty(words, layout, *frame);
        seen->was_written = true;
      }
      end(machine);
    };
    const Machine::Thread pager = [&, seen, end](Machine& machine) {
      ModelWords words(machine, start.initial, is_weak);
      if (unmap_page(words, layout, 0)) {
        if (seen->is_held) machine.fail("both have the page");
        seen->was_evicted = true;
        if (take_dirty(words, layout, 0)) seen->file = words.load(kData);
        words.publish(kData, 55);
        map_page(words, layout, 0, 9);
        if (words.load(kData) != 55) machine.fail("written to another's page");
      }
      end(machine);
    };
    return std::vector<Machine::Thread>{interface, pager};
  });
  return eviction;
}

TEST(PageProtocol, never_gives_a_page_to_both_in_any_order_of_steps) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  const Eviction eviction = evict_under_a_writer(false);
  EXPECT_EQ(eviction.result.failure, "");
  EXPECT_EQ(eviction.outcomes,
            (std::set<std::string>{"written, evicted", "written, stayed", "missed, evicted", "missed, stayed"}));
  EXPECT_GT(eviction.result.orders, 1'000U);
  std::printf("%llu orders\n", static_cast<unsigned long long>(eviction.result.orders));
}

TEST(PageProtocol, needs_its_stores_in_sequence) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  EXPECT_NE(evict_under_a_writer(true).result.failure, "");
}

/// The interface changes a page, which was changed already, while the pager writes it back; then once more.
Exploration write_back_under_a_writer(bool is_weak) {
  OneFrame start;
  start.initial[start.layout.nic_dirty(0)] = 1;
  const PageTableLayout& layout = start.layout;
  return explore_orders([&] {
    const Machine::Thread interface = [&](Machine& machine) {
      ModelWords words(machine, start.initial, is_weak);
      std::uint64_t restarts = 0;
      const auto frame = lock_page(words, layout, 7, restarts);
      if (!frame) return machine.fail("nobody took it away");
      words.publish(kData, 100);
      unlock_page_dirty(words, layout, *frame);
      (void)machine.exchange(kDone, 1);
      machine.wake(kDone);
    };
    const Machine::Thread pager = [&](Machine& machine) {
      ModelWords words(machine, start.initial, is_weak);
      std::uint64_t file = 0;
      if (!take_dirty(words, layout, 0)) return machine.fail("the first change is lost");
      file = words.load(kData);
      (void)machine.wait(kDone, 0, 0);
      if (take_dirty(words, layout, 0)) file = words.load(kData);
      if (file != 100) machine.fail("a change is lost");
    };
    return std::vector<Machine::Thread>{interface, pager};
  });
}

TEST(PageProtocol, loses_no_change_while_a_page_is_written_back) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  const Exploration result = write_back_under_a_writer(false);
  EXPECT_EQ(result.failure, "");
  std::printf("%llu orders\n", static_cast<unsigned long long>(result.orders));
  EXPECT_EQ(write_back_under_a_writer(true).failure, "a change is lost");
}

TEST(PageProtocol, finds_a_page_or_misses_it_while_its_row_changes_but_never_another) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  const PageTableLayout layout{2};
  std::vector<std::uint64_t> pages;  // three of one row
  for (std::uint64_t page = 1; pages.size() < 3; ++page) {
    if (layout.row_of(page) == 0) pages.push_back(page);
  }
  Words initial{};
  for (std::size_t frame = 0; frame < 2; ++frame) {
    initial[layout.page(frame)] = pages[frame] + 1;
    initial[layout.slot(0, frame)] = frame + 1;
    initial[layout.host_dirty(frame)] = 1;
  }
  initial[layout.page(0)] = 0;  // unmapped already
  std::set<std::string> outcomes;
  const Exploration result = explore_orders([&] {
    const Machine::Thread interface = [&](Machine& machine) {
      ModelWords words(machine, initial, false);
      std::uint64_t restarts = 0;
      const auto frame = lock_page(words, layout, pages[1], restarts);
      if (frame && *frame != 1) machine.fail("another's page");
      outcomes.insert(frame ? "found" : "missed");
    };
    const Machine::Thread pager = [&](Machine& machine) {
      ModelWords words(machine, initial, false);
      std::uint8_t count = 2;
      leave_row(words, layout, 0, count, 0);
      map_page(words, layout, 0, pages[2]);
      (void)enter_row(words, layout, 0, count, 0, 0);
    };
    return std::vector<Machine::Thread>{interface, pager};
  });
  EXPECT_EQ(result.failure, "");
  EXPECT_TRUE(outcomes.contains("found"));
}

}  // namespace stopbit::nic::netvm_model_test
