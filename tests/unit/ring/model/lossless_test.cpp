// Every execution that the memory model of C++ allows to the writer of a small lossless ring and its two readers.
//
// All three load what another stores, so they take turns, each on a stack of its own. Stores happen at once: they only
// add to what others may load. The writer's load of a cursor takes one of the messages present, or waits for one
// that is yet to come (a branch of its own, given up if none comes). A reader's load of a tag word takes the newest:
// an old one only makes it look again, and one that comes later would be the next lap's, which has to wait for this
// reader; that it does is what is checked. Words of a record: any message that the reader may see. So each combination
// of loads and the stores they see is met once, up to looks in vain.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lib/model_check/choices.hpp"
#include "tests/lib/model_check/fibers.hpp"
#include "tests/unit/ring/model/view_machine.hpp"

namespace stopbit::ring::model::lossless_test {

using model_check::Choices;
using model_check::kCanSwitchStacks;

struct Scenario {
  const char* name;
  Geometry geometry;
  std::vector<std::uint32_t> records;  ///< Slots of each.
};

const Scenario kScenarios[] = {
    {"records of one slot, two laps of 4",
     {.slot_count = 4, .max_record_slots = 1, .claim_step = 1, .marks = 2},
     {1, 1, 1, 1, 1, 1, 1}},
    {"records of one and two slots with padding, two laps of 4",
     {.slot_count = 4, .max_record_slots = 2, .claim_step = 0, .marks = 2},
     {2, 1, 2, 2, 1}},
};

struct Findings {
  std::string violation;
  std::uint64_t executions = 0;
  std::uint64_t given_up = 0;  ///< Waited for what did not come: met in another execution.
};

/// One execution, along the choices that it is given.
class Run {
 public:
  Run(const Scenario& scenario, const Mutation& mutation, Choices& choices)
      : scenario_(scenario), machine_(mutation), choices_(choices) {
    Machine::current = &machine_;
    machine_.is_lossless = true;
    machine_.choose = [this](Step step, std::size_t word, std::size_t oldest) { return choose(step, word, oldest); };
    Segment& segment = machine_.segment();
    machine_.run_as(0);
    writer_ = WriterCore<ModelMemory>(segment.header, segment.slots, scenario.geometry);
    for (std::size_t reader = 1; reader < kMaxThreads; ++reader) {
      machine_.run_as(reader);
      store_position<ModelMemory>(segment.cursors[reader - 1], scenario.geometry.slot_count);
    }
    machine_.publish();
  }

  /// False if it was given up.
  bool go() {
    fibers_.add([this] { write(); });
    while (fibers_.size() < kMaxThreads) fibers_.add([this] { read(); });
    while (machine_.violation().empty() && !is_given_up_) {
      std::size_t next = 0;
      while (next < kMaxThreads && !can_run(next)) ++next;
      if (next == kMaxThreads) break;
      threads_[next].is_waiting = false;
      machine_.run_as(next);
      fibers_.resume(next);
    }
    if (!machine_.violation().empty()) return true;
    if (is_given_up_) return false;
    bool all_done = true;
    bool all_stuck = true;
    for (std::size_t i = 0; i < kMaxThreads; ++i) {
      all_done = all_done && fibers_.is_done(i);
      all_stuck = all_stuck && (fibers_.is_done(i) || threads_[i].is_stuck);
    }
    if (!all_done && all_stuck) machine_.fail("nobody moves any more");
    return all_done || all_stuck;
  }

  [[nodiscard]] const std::string& violation() const { return machine_.violation(); }

 private:
  struct Thread {
    bool is_waiting = false;  ///< For a message of `word` after the first `messages`,
    bool is_stuck = false;    ///< because there is nothing else to do; else because this branch says so.
    std::size_t word = 0;
    std::size_t messages = 0;
  };

  [[nodiscard]] bool can_run(std::size_t index) const {
    const Thread& thread = threads_[index];
    return !fibers_.is_done(index) && (!thread.is_waiting || machine_.messages(thread.word) > thread.messages);
  }

  void wait(std::size_t word, bool is_stuck) {
    Thread& me = threads_[fibers_.current()];
    me.is_waiting = true;
    me.is_stuck = is_stuck;
    me.word = word;
    me.messages = machine_.messages(word);
    fibers_.pause();
    me.is_stuck = false;
  }

  std::size_t choose(Step step, std::size_t word, std::size_t oldest) {
    const std::size_t self = fibers_.current();
    Thread& me = threads_[self];
    // A waiting thread takes one of those that came.
    const bool has_waited = me.word == word && me.messages > oldest;
    const std::size_t first = has_waited ? me.messages : oldest;
    const std::size_t count = machine_.messages(word) - first;
    if (self != 0) return step == Step::Tags ? first + count - 1 : first + choices_.choose(count);
    bool may_come = false;
    for (std::size_t i = 0; i < kMaxThreads; ++i) may_come = may_come || (i != self && !fibers_.is_done(i));
    const std::size_t choice = choices_.choose(count + (may_come ? 1 : 0));
    if (choice < count) {
      me.messages = 0;
      return first + choice;
    }
    wait(word, false);
    return Machine::kAgain;
  }

  /// Waits for a newer message than the last one this thread has seen. A message already present could have been taken.
  void await_newer(const std::uint64_t& address) {
    const std::size_t word = machine_.word_of(address);
    if (machine_.last_seen(word) + 1 < machine_.messages(word)) is_given_up_ = true;
    wait(word, true);
    threads_[fibers_.current()].messages = 0;
    machine_.see_newer(word);
  }

  void write() {
    const Segment& segment = machine_.segment();
    const std::uint64_t slot_count = scenario_.geometry.slot_count;
    const auto gate = [&](std::uint64_t need, std::uint64_t want) {
      for (;;) {
        std::uint64_t least = ~std::uint64_t{0};
        const Cursor* slowest = nullptr;
        for (const Cursor& cursor : segment.cursors) {
          const std::uint64_t position = load_position<ModelMemory>(cursor);
          if (position < least) {
            least = position;
            slowest = &cursor;
          }
        }
        const std::uint64_t granted = claimable(want, least, slot_count);
        if (granted >= need) return granted;
        await_newer(slowest->position);
      }
    };
    for (const std::uint32_t slots : scenario_.records) write_record(writer_, truth_, slots, 0, gate);
  }

  void read() {
    Segment& segment = machine_.segment();
    const std::size_t self = fibers_.current();
    Cursor& cursor = segment.cursors[self - 1];
    ReaderCore<ModelMemory> reader(segment.header, segment.slots, scenario_.geometry);
    reader.begin_at({.number = scenario_.geometry.slot_count, .records = 0});
    while (reader.next_record() < scenario_.records.size() && machine_.violation().empty()) {
      const std::uint64_t before = reader.position();
      record::Slot copy[kRingSlots] = {};
      std::uint64_t slots = 0;
      const Poll poll = reader.poll(copy, slots);
      if (reader.position() != before) store_position<ModelMemory>(cursor, reader.position());
      if (poll == Poll::Record) {
        const std::string problem =
            truth_.problem_of(scenario_.geometry, reader.position() - slots, reader.next_record() - 1, copy, slots);
        if (!problem.empty()) machine_.fail(problem);
      } else if (poll == Poll::Nothing) {
        const std::uint64_t place = scenario_.geometry.place(reader.position());
        await_newer(segment.slots[place].words[record::kTagWord]);
      } else {
        machine_.fail(poll == Poll::Lost ? "a reader with a seat is overtaken" : "a sound ring looks damaged");
      }
      if (self != fibers_.current()) machine_.fail("the explorer mixes up its threads");
    }
  }

  const Scenario& scenario_;
  Machine machine_;
  Choices& choices_;
  WriterCore<ModelMemory> writer_;
  Truth truth_;
  Thread threads_[kMaxThreads];
  model_check::Fibers fibers_{64 * 1024};
  bool is_given_up_ = false;
};

Findings explore(const Scenario& scenario, const Mutation& mutation) {
  Findings findings;
  Choices choices;
  do {
    Run run(scenario, mutation, choices);
    ++(run.go() ? findings.executions : findings.given_up);
    findings.violation = run.violation();
  } while (findings.violation.empty() && choices.next());
  return findings;
}

TEST(LosslessRingModel, two_readers_get_every_record_in_every_execution) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  for (const Scenario& scenario : kScenarios) {
    const Findings findings = explore(scenario, {});
    EXPECT_EQ(findings.violation, "") << scenario.name;
    EXPECT_GT(findings.executions, 100U);
    std::printf("%s: %llu executions, %llu given up\n", scenario.name,
                static_cast<unsigned long long>(findings.executions),
                static_cast<unsigned long long>(findings.given_up));
  }
}

TEST(LosslessRingModel, the_orders_of_cursors_are_needed) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  for (const Step step : {Step::ReadCursor, Step::WriteCursor}) {
    for (const Mutation::Kind kind : {Mutation::Kind::Weaken, Mutation::Kind::Drop}) {
      if (kind == Mutation::Kind::Drop && step == Step::ReadCursor) continue;  // a load is not left out
      EXPECT_NE(explore(kScenarios[0], {.kind = kind, .step = step}).violation, "") << static_cast<int>(step);
    }
  }
}

}  // namespace stopbit::ring::model::lossless_test
