// Every behaviour that the memory model of C++ allows to a reader of a small ring whose writer waits for no reader.
//
// The writer loads nothing, so its stores are the same in every run, and are made first; loads then choose among all
// messages, old and new, which is the same as all interleavings. Readers store nothing (the machine would notice that a
// word has two threads), so any number of them behave as one does. What a reader can do next depends on its position
// and its views only: states that were seen before are not explored again.

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>

#include "tests/lib/model_check/choices.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/unit/ring/model/view_machine.hpp"

namespace stopbit::ring::model::lossy_test {

struct Scenario {
  const char* name;
  Geometry geometry;
  /// Slots of each record, and of one that is begun and given up before it.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> records;
};

std::vector<std::pair<std::uint32_t, std::uint32_t>> repeat(
    std::size_t times, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& records) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), records.begin(), records.end());
  return all;
}

const Scenario kScenarios[] = {
    {"records of one slot, more than three laps of 4",
     {.slot_count = 4, .max_record_slots = 1, .claim_step = 1, .marks = 3},
     repeat(14, {{1, 0}})},
    {"records of one and two slots with padding, more than three laps of 4",
     {.slot_count = 4, .max_record_slots = 2, .claim_step = 0, .marks = 3},
     {{2, 0}, {1, 2}, {1, 0}, {2, 0}, {1, 0}, {1, 2}, {2, 0}, {1, 0}, {2, 0}}},
    {"records of up to two slots, laps of 8",
     {.slot_count = 8, .max_record_slots = 2, .claim_step = 1, .marks = 4},
     repeat(3, {{2, 0}, {1, 2}, {2, 0}, {1, 0}, {2, 0}})},
};

struct Findings {
  std::string violation;
  std::uint64_t states = 0;
  std::uint64_t runs = 0;
  std::set<std::uint64_t> delivered;  ///< Records, by index, that some reader got.
  std::uint64_t losses = 0;
};

struct State {
  Mark at;
  View now;
  View acquired;
};

class Explorer {
 public:
  Explorer(const Scenario& scenario, const Mutation& mutation) : scenario_(scenario), machine_(mutation) {
    machine_.choose = [this](Step, std::size_t word, std::size_t oldest) {
      return oldest + choices_.choose(machine_.messages(word) - oldest);
    };
    Machine::current = &machine_;
    machine_.run_as(0);
    Segment& segment = machine_.segment();
    WriterCore<ModelMemory> writer(segment.header, segment.slots, scenario.geometry);
    machine_.publish();
    for (const auto& [slots, abandoned] : scenario.records) {
      write_record(writer, truth_, slots, abandoned, WriterCore<ModelMemory>::Ungated());
    }
    machine_.run_as(1);
    start_ = machine_.thread(1);
  }

  Findings explore() {
    attach();
    for (State state; machine_.violation().empty() && search_.next(state);) expand(state);
    findings_.states = search_.visited();
    findings_.violation = machine_.violation();
    return findings_;
  }

 private:
  void add(const Mark& at) {
    State state;
    std::memset(static_cast<void*>(&state), 0, sizeof(state));
    state.at = at;
    state.now = machine_.thread(1).now;
    state.acquired = machine_.thread(1).acquired;
    for (std::size_t thread = 0; thread < kMaxThreads; ++thread) {  // clocks only serve the check of races
      state.now[kMaxWords + thread] = state.acquired[kMaxWords + thread] = 0;
    }
    search_.add(std::as_bytes(std::span(&state, 1)), state);
  }

  /// A reader comes at any time.
  void attach() {
    const Segment& segment = machine_.segment();
    for (const bool newest : {false, true}) {
      choices_ = {};
      do {
        machine_.thread(1) = start_;
        const ReaderCore<ModelMemory> reader(segment.header, segment.slots, scenario_.geometry);
        const Mark mark = newest ? reader.find_newest() : reader.find_start(0, scenario_.geometry.claim_step);
        ++findings_.runs;
        if (mark.number > kMarkChanges) add(mark);
        if (mark.number == 0) machine_.fail("a reader finds no start");
      } while (choices_.next());
    }
  }

  void expand(const State& state) {
    const Segment& segment = machine_.segment();
    const Geometry& geometry = scenario_.geometry;
    choices_ = {};
    do {
      machine_.thread(1).now = state.now;
      machine_.thread(1).acquired = state.acquired;
      ReaderCore<ModelMemory> reader(segment.header, segment.slots, geometry);
      reader.begin_at(state.at);
      record::Slot copy[kRingSlots] = {};
      std::uint64_t slots = 0;
      const Poll poll = reader.poll(copy, slots);
      ++findings_.runs;
      const std::uint64_t index = reader.next_record() - 1;
      std::string problem;
      switch (poll) {
        case Poll::Nothing: continue;  // its next poll can do what this one could have done
        case Poll::Damaged: problem = "a sound ring looks damaged"; break;
        case Poll::Record:
          problem = truth_.problem_of(geometry, reader.position() - slots, index, copy, slots);
          findings_.delivered.insert(index);
          break;
        case Poll::Lost:
          // Where it goes on, a record begins, and its count of earlier records is right.
          if (reader.next_record() >= truth_.records.size() ||
              truth_.records[reader.next_record()].number < reader.position() ||
              (reader.next_record() > 0 && truth_.records[index].number >= reader.position())) {
            problem = "a loss is counted wrongly";
          }
          if (reader.lost().records != reader.next_record() - state.at.records ||
              !is_between(reader.position() - state.at.number - reader.lost().number, state.at.number)) {
            problem = "a loss is not what lies between";
          }
          ++findings_.losses;
          break;
      }
      if (!problem.empty()) return machine_.fail(problem);
      add({reader.position(), reader.next_record()});
    } while (choices_.next());
  }

  /// Padding may have been read before the loss showed.
  [[nodiscard]] bool is_between(std::uint64_t read, std::uint64_t number) const {
    const std::uint64_t rest = scenario_.geometry.rest(number);
    return read == 0 || (read == rest && rest < scenario_.geometry.max_record_slots);
  }

  const Scenario& scenario_;
  Machine machine_;
  model_check::Choices choices_;
  Truth truth_;
  Memory::Thread start_;
  model_check::Search<State> search_;
  Findings findings_;
};

TEST(RingModel, a_lossy_reader_gets_whole_records_and_counts_its_losses_in_every_execution) {
  for (const Scenario& scenario : kScenarios) {
    const Findings findings = Explorer(scenario, {}).explore();
    EXPECT_EQ(findings.violation, "") << scenario.name;
    EXPECT_EQ(findings.delivered.size(), scenario.records.size()) << scenario.name << ": some record is never got";
    EXPECT_GT(findings.losses, 0U) << scenario.name;
    std::printf("%s: %llu states, %llu executions of poll\n", scenario.name,
                static_cast<unsigned long long>(findings.states), static_cast<unsigned long long>(findings.runs));
  }
}

/// Whether some scenario shows that the protocol needs this.
std::string noticed(const Mutation& mutation) {
  for (const Scenario& scenario : kScenarios) {
    const Findings findings = Explorer(scenario, mutation).explore();
    if (!findings.violation.empty()) return findings.violation;
    if (findings.delivered.size() != scenario.records.size()) return "some record is never got";
  }
  return {};
}

bool is_lossless_only(Step step) {
  return step == Step::ReadCursor || step == Step::WriteCursor;
}

TEST(RingModel, every_order_of_the_lossy_protocol_is_needed) {
  for (std::size_t i = 0; i < kSteps; ++i) {
    const auto step = static_cast<Step>(i);
    if (order_of(step) == Order::Relaxed || is_lossless_only(step)) continue;
    const std::string found = noticed({.kind = Mutation::Kind::Weaken, .step = step});
    EXPECT_NE(found, "") << "step " << i;
    std::printf("step %zu made relaxed: %s\n", i, found.c_str());
  }
}

TEST(RingModel, every_store_and_fence_of_the_lossy_protocol_is_needed) {
  for (const Step step : {Step::FirstSlot, Step::Commit, Step::MarkEnd, Step::MarkFence, Step::MarkRecords,
                          Step::MarkNumber, Step::Claim, Step::ClaimFence, Step::OvertakenFence, Step::FindFence}) {
    const std::string found = noticed({.kind = Mutation::Kind::Drop, .step = step});
    EXPECT_NE(found, "") << "step " << static_cast<int>(step);
  }
}

}  // namespace stopbit::ring::model::lossy_test
