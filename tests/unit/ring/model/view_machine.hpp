#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/protocol.hpp"
#include "tests/lib/model_check/view_memory.hpp"

/// Three threads at the words of a ring, in the memory of tests/lib/model_check, for programs in which every word is
/// stored by one thread only, as in a ring. Loads that see stores of their own future cannot happen where readers store
/// nothing, and are checked as a race between the two threads where they do (Machine::store).
namespace stopbit::ring::model {

constexpr std::size_t kMaxWords = 92;
constexpr std::size_t kMaxThreads = 3;  ///< Thread 0 is the writer.
constexpr std::size_t kRingSlots = 8;   ///< At most.

/// What threads share. The words of slots that are looked at are 0, 1 and 7: the others are treated by the same lines
/// of code as word 1.
struct Segment {
  Header header;
  record::Slot slots[kRingSlots];
  Cursor cursors[kMaxThreads - 1];
};

using Memory = model_check::ViewMemory<std::uint64_t, std::uint16_t, kMaxWords, kMaxThreads>;
using View = Memory::View;

/// A change to the protocol that must not go unnoticed.
struct Mutation {
  enum class Kind : std::uint8_t { None, Weaken, Drop };
  Kind kind = Kind::None;
  Step step{};
};

class Machine {
 public:
  explicit Machine(const Mutation& mutation) : mutation_(mutation) { std::memset(&words_, 0, sizeof(words_)); }

  /// Picks one of the messages of a word, of those from `oldest` on: its number. kAgain: other threads have run
  /// meanwhile, and there may be more.
  std::function<std::size_t(Step step, std::size_t word, std::size_t oldest)> choose;
  static constexpr std::size_t kAgain = ~std::size_t{0};

  Segment& segment() { return words_; }
  Memory::Thread& thread(std::size_t index) { return memory_.thread(index); }
  void run_as(std::size_t thread) { running_ = thread; }
  [[nodiscard]] std::size_t running() const { return running_; }

  /// Everything that was stored up to now is known to all: the segment gets its name.
  void publish() {
    for (std::size_t thread = 0; thread < kMaxThreads; ++thread) {
      for (std::size_t word = 0; word < count_; ++word) {
        memory_.thread(thread).now[word] = static_cast<std::uint16_t>(messages(word) - 1);
      }
    }
  }

  [[nodiscard]] std::size_t messages(std::size_t word) const { return memory_.messages(word).size(); }
  /// From now on the running thread sees a newer message than it last saw, which there is.
  void see_newer(std::size_t word) { ++memory_.thread(running_).now[word]; }
  [[nodiscard]] std::size_t last_seen(std::size_t word) const { return memory_.thread(running_).now[word]; }
  /// The word that an address stands for.
  std::size_t word_of(const std::uint64_t& address) {
    const auto offset = reinterpret_cast<const char*>(&address) - reinterpret_cast<const char*>(&words_);
    int& index = index_.at(static_cast<std::size_t>(offset) / sizeof(std::uint64_t));
    if (index < 0) {
      if (count_ == kMaxWords) {
        fail("more words than the machine has");
        return 0;
      }
      index = static_cast<int>(count_++);
      memory_.begin(static_cast<std::size_t>(index));
    }
    return static_cast<std::size_t>(index);
  }

  std::uint64_t load(Step step, const std::uint64_t& address) {
    if (is_unwatched(address)) return 0;
    const std::size_t word = word_of(address);
    if (is_lossless && step == Step::OvertakenClaim) return memory_.messages(word).back().value;
    const std::size_t self = running_;
    std::size_t picked = kAgain;
    while (picked == kAgain) picked = choose(step, word, memory_.thread(self).now[word]);
    const std::uint64_t value = memory_.load(self, word, picked, order(step) == Order::Acquire);
    check_length();
    // Tag words are polled, and may be written meanwhile.
    if (is_slot(address) && step == Step::Words) last_read_[word][self] = memory_.clock(self, self);
    return value;
  }

  void store(Step step, std::uint64_t& address, std::uint64_t value) {
    if (mutation_.kind == Mutation::Kind::Drop && mutation_.step == step) return;
    store(order(step), address, value);
  }

  void store(Order order, std::uint64_t& address, std::uint64_t value) {
    if (is_unwatched(address)) return;
    const std::size_t word = word_of(address);
    if (is_slot(address) && is_lossless) {
      for (std::size_t reader = 1; reader < kMaxThreads; ++reader) {
        if (last_read_[word][reader] > memory_.clock(reader, running_)) fail("a slot is written over while it is read");
      }
    }
    memory_.store(running_, word, value, order == Order::Release);
    check_length();
  }

  void fence(Step step) {
    if (mutation_.kind == Mutation::Kind::Drop && mutation_.step == step) return;
    memory_.fence(running_, order(step) == Order::Acquire, order(step) == Order::Release);
    check_length();
  }

  void fail(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  [[nodiscard]] const std::string& violation() const { return violation_; }

  /// No reader may be overtaken: a slot must not be written over before who read it has said so, and a reader that
  /// loads the claim gets the largest one (and learns nothing else from it).
  bool is_lossless = false;

  static inline Machine* current = nullptr;

 private:
  [[nodiscard]] Order order(Step step) const {
    return mutation_.kind == Mutation::Kind::Weaken && mutation_.step == step ? Order::Relaxed : order_of(step);
  }
  void check_length() {
    if (memory_.is_worn_out()) fail("the run is too long for the machine");
  }
  bool is_slot(const std::uint64_t& address) const {
    const auto* at = reinterpret_cast<const char*>(&address);
    return at >= reinterpret_cast<const char*>(words_.slots) && at < reinterpret_cast<const char*>(words_.cursors);
  }
  bool is_unwatched(const std::uint64_t& address) const {
    if (!is_slot(address)) return false;
    const auto* at = reinterpret_cast<const char*>(&address);
    const auto word =
        static_cast<std::size_t>(at - reinterpret_cast<const char*>(words_.slots)) / 8 % record::kSlotWords;
    return word > 1 && word < record::kTagWord;
  }

  Mutation mutation_;
  Segment words_;
  std::array<int, sizeof(Segment) / 8> index_ = [] {
    std::array<int, sizeof(Segment) / 8> none;
    none.fill(-1);
    return none;
  }();
  Memory memory_;
  std::size_t count_ = 0;  ///< Words that were accessed.
  /// When each thread last loaded the word.
  std::array<std::array<std::uint16_t, kMaxThreads>, kMaxWords> last_read_{};
  std::size_t running_ = 0;
  std::string violation_;
};

/// The memory that protocol.hpp is given: the machine that runs.
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
    Machine::current->fence(step);
  }
};

/// What the writer writes: the truth that readers are measured by.
struct Truth {
  struct Record {
    std::uint64_t number;
    std::uint32_t slots;
  };
  std::vector<Record> records;

  /// Of a word 1.
  static std::uint64_t value(std::uint64_t number, std::uint64_t slot) { return number << 8 | slot; }
  /// Word 0 of a slot after the first: the first word of a record that would begin there a lap later.
  static std::uint64_t bait(const Geometry& geometry, std::uint64_t number) {
    return std::uint64_t{1} << 16 | (number + geometry.slot_count) << 32;
  }

  /// The fault of a record that a reader was given; empty if it has none.
  [[nodiscard]] std::string problem_of(const Geometry& geometry, std::uint64_t number, std::uint64_t index,
                                       const record::Slot* copy, std::uint64_t slots) const {
    if (index >= records.size() || records[index].number != number) return "a record has the wrong number";
    if (records[index].slots != slots) return "a record has the wrong length";
    const bool phase = phase_of(number, geometry.slot_count);
    for (std::uint64_t i = 0; i < slots; ++i) {
      const std::uint64_t tags = i == 0 ? first_slot_tags(phase) : record::tag_word_base(phase, i);
      const std::uint64_t word0 = i == 0 ? slots << 16 | number << 32 : bait(geometry, number + i);
      const bool is_whole =
          copy[i].words[record::kTagWord] == tags && copy[i].words[1] == value(number, i) && copy[i].words[0] == word0;
      if (!is_whole) return "a record is torn";
    }
    return {};
  }
};

/// Writes a record as an engine does: the slots after the first in their places, then the commit. `abandoned` slots of
/// another record were begun there before.
template <class Gate>
void write_record(WriterCore<ModelMemory>& writer, Truth& truth, std::uint32_t slots, std::uint32_t abandoned,
                  const Gate& gate) {
  Machine& machine = *Machine::current;
  const Geometry& geometry = writer.geometry();
  if (!writer.has_room()) writer.make_room(gate);
  const std::uint64_t number = writer.number();
  const bool phase = phase_of(number, geometry.slot_count);
  const auto fill = [&](std::uint32_t end, std::uint64_t of) {
    for (std::uint32_t i = 1; i < end; ++i) {
      record::Slot& slot = writer.slot(number + i);
      machine.store(Order::Relaxed, slot.words[record::kTagWord], record::tag_word_base(phase, i));
      machine.store(Order::Relaxed, slot.words[0], Truth::bait(geometry, number + i));
      machine.store(Order::Relaxed, slot.words[1], Truth::value(of, i));
    }
  };
  fill(abandoned, number + 1000);
  fill(slots, number);
  record::Slot first{};
  first.words[0] = std::uint64_t{slots} << 16 | (number & 0xFFFF'FFFF) << 32;
  first.words[1] = Truth::value(number, 0);
  first.words[record::kTagWord] = first_slot_tags(phase);
  truth.records.push_back({number, slots});
  writer.commit(first, slots);
}

}  // namespace stopbit::ring::model
