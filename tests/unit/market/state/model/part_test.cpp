// Every execution that the memory model of C++ allows to a reader of a row: of one part, and of two parts that belong
// together, while the writer changes them, and where it dies after any of its stores.
//
// The writer loads nothing, so its stores are made first; loads then choose among all messages, old and new, which is
// the same as all interleavings. Readers store nothing, so one stands for any number of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/market/state/protocol.hpp"
#include "tests/lib/model_check/choices.hpp"
#include "tests/lib/model_check/view_memory.hpp"

namespace stopbit::market::state::model {

constexpr std::size_t kPartWords = 3;  ///< A version and two words; more are treated by the same lines of code.
constexpr std::size_t kDay = kPartWords;
using Memory = model_check::ViewMemory<std::uint64_t, std::uint16_t, 2 * kPartWords, 2>;

struct Mutation {
  enum class Kind : std::uint8_t { None, Weaken, Drop };
  Kind kind = Kind::None;
  Step step{};
};

class Machine {
 public:
  explicit Machine(const Mutation& mutation) : mutation_(mutation) {
    for (std::size_t word = 0; word < words_.size(); ++word) memory_.begin(word);
    current = this;
  }

  std::uint64_t* book() { return words_.data(); }
  std::uint64_t* day() { return words_.data() + kDay; }

  std::uint64_t load(Step step, const std::uint64_t& address) {
    const std::size_t word = word_of(address);
    const std::size_t oldest = memory_.thread(1).now[word];
    const std::size_t picked = oldest + choices.choose(memory_.messages(word).size() - oldest);
    return memory_.load(1, word, picked, order(step) == Order::Acquire);
  }
  void store(Step step, std::uint64_t& address, std::uint64_t value) {
    if (is_dropped(step) || stores_left == 0) return;
    --stores_left;
    memory_.store(0, word_of(address), value, order(step) == Order::Release);
  }
  void fence(Step step, std::size_t thread) {
    if (!is_dropped(step)) memory_.fence(thread, order(step) == Order::Acquire, order(step) == Order::Release);
  }
  void begin_reader() { memory_.thread(1) = {}; }

  model_check::Choices choices;
  std::size_t stores_left = ~std::size_t{0};  ///< Then the writer is dead.
  static inline Machine* current = nullptr;

 private:
  [[nodiscard]] bool is_dropped(Step step) const {
    return mutation_.kind == Mutation::Kind::Drop && mutation_.step == step;
  }
  [[nodiscard]] Order order(Step step) const {
    return mutation_.kind == Mutation::Kind::Weaken && mutation_.step == step ? Order::Relaxed : order_of(step);
  }
  std::size_t word_of(const std::uint64_t& address) const { return static_cast<std::size_t>(&address - words_.data()); }

  Mutation mutation_;
  std::array<std::uint64_t, 2 * kPartWords> words_{};  ///< Only their addresses count.
  Memory memory_;
};

struct ModelMemory {
  template <Step step>
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return Machine::current->load(step, word);
  }
  template <Step step>
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    Machine::current->store(step, word, value);
  }
  template <Step step>
  static void fence() noexcept {
    Machine::current->fence(step, step == Step::BeginFence ? 0 : 1);
  }
};

struct Findings {
  std::string violation;
  std::uint64_t executions = 0;
  std::uint64_t reads = 0;              ///< Executions in which the reader got something.
  std::uint64_t unfinished = 0;         ///< In which it did not.
  std::array<std::uint64_t, 4> seen{};  ///< By number of the state it got.
};

/// Numbers of the states are in their words; 0 is the state before the first change.
constexpr std::uint64_t kChanges = 3;

/// The writer of table.cpp: the day, where it changes (every other time), and then the book.
void write_all(Machine& machine) {
  std::uint32_t day = 0;
  for (std::uint64_t change = 1; change <= kChanges; ++change) {
    const std::uint64_t words[] = {change, change};
    if (change % 2 == 1) {
      day += 2;
      write_part<ModelMemory>(machine.day(), day, 0, words, 2);
    }
    write_part<ModelMemory>(machine.book(), static_cast<std::uint32_t>(2 * change), day, words, 2);
  }
}
/// The state of the day that belongs to a state of the book.
std::uint64_t day_of(std::uint64_t book) {
  return book == 0 || book % 2 == 1 ? book : book - 1;
}

Findings explore(const Mutation& mutation, std::size_t stores, bool reads_both) {
  Findings findings;
  Machine machine(mutation);
  machine.stores_left = stores;
  write_all(machine);
  do {
    machine.begin_reader();
    ++findings.executions;
    std::uint64_t book[2] = {};
    std::uint64_t day[2] = {};
    std::uint64_t version = 0;
    const bool is_read = reads_both ? read_both<ModelMemory>(machine.book(), book, 2, machine.day(), day, 2)
                                    : read_part<ModelMemory>(machine.book(), version, book, 2);
    if (!is_read) {
      ++findings.unfinished;
      continue;
    }
    ++findings.reads;
    if (book[0] != book[1]) {
      findings.violation = "a mixture of two states of the book";
    } else if (reads_both && day[0] != day[1]) {
      findings.violation = "a mixture of two states of the day";
    } else if (reads_both && day[0] != day_of(book[0])) {
      findings.violation = "a book with the day of another";
    } else {
      ++findings.seen[book[0]];
    }
  } while (findings.violation.empty() && machine.choices.next());
  return findings;
}

constexpr std::size_t kPartStores = 4;  ///< Odd version, two words, even version.
constexpr std::size_t kAllStores = kPartStores * (kChanges + (kChanges + 1) / 2);

TEST(StateModel, a_reader_gets_whole_parts_in_every_execution) {
  for (const bool reads_both : {false, true}) {
    const Findings findings = explore({}, kAllStores, reads_both);
    EXPECT_EQ(findings.violation, "");
    EXPECT_GT(findings.unfinished, 0U);
    for (std::size_t state = 0; state <= kChanges; ++state) {
      EXPECT_GT(findings.seen[state], 0U) << "state " << state << " is never seen";
    }
    std::printf("%s: %llu executions, %llu with an answer\n", reads_both ? "book and day" : "book",
                static_cast<unsigned long long>(findings.executions), static_cast<unsigned long long>(findings.reads));
  }
}

TEST(StateModel, a_writer_that_dies_after_any_store_leaves_no_mixture) {
  for (std::size_t stores = 0; stores < kAllStores; ++stores) {
    for (const bool reads_both : {false, true}) {
      EXPECT_EQ(explore({}, stores, reads_both).violation, "") << "after " << stores << " stores";
    }
  }
}

TEST(StateModel, every_order_store_and_fence_is_needed) {
  const auto is_noticed = [](const Mutation& mutation) {
    const Findings alone = explore(mutation, ~std::size_t{0}, false);
    const Findings both = explore(mutation, ~std::size_t{0}, true);
    const bool is_blind =
        std::any_of(both.seen.begin(), both.seen.end(), [](std::uint64_t count) { return count == 0; });
    return !alone.violation.empty() || !both.violation.empty() || is_blind;
  };
  EXPECT_FALSE(is_noticed({}));
  for (std::size_t i = 0; i < kSteps; ++i) {
    const auto step = static_cast<Step>(i);
    if (order_of(step) != Order::Relaxed) {
      EXPECT_TRUE(is_noticed({Mutation::Kind::Weaken, step})) << "step " << i << " weakened";
    }
    const bool is_fence_or_store = step != Step::First && step != Step::Load && step != Step::Again;
    if (!is_fence_or_store) continue;
    EXPECT_TRUE(is_noticed({Mutation::Kind::Drop, step})) << "step " << i << " left out";
  }
}

}  // namespace stopbit::market::state::model
