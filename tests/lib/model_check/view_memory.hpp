#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace stopbit::model_check {

/// Of each word the oldest message that may still be loaded, and of each thread how far it is known to have run.
template <class View>
void join(View& view, const View& other) {
  for (std::size_t i = 0; i < view.size(); ++i) view[i] = std::max(view[i], other[i]);
}

/// A memory with the model of C++: relaxed, acquire, release, fences, and C++20's release sequences.
///
/// It is a list of messages per word: every value the word ever had. A thread has a view. A load takes any message that
/// the view allows, old ones too, so stores and loads of other words may seem to happen in any order that the memory
/// orders do not forbid. An acquire load of a release store takes over the view that the storing thread had. This is
/// the operational form of RC11 without SC ("promise-free"). Stores take their place in the order in which they are
/// run. What it leaves out, loads that see stores of their own future, the user checks as a race.
template <class Value, class Number, std::size_t kWords, std::size_t kThreads>
class ViewMemory {
 public:
  using View = std::array<Number, kWords + kThreads>;
  struct Message {
    Value value{};
    View view{};
  };
  struct Thread {
    View now{};       ///< What it has seen.
    View acquired{};  ///< What it will have seen at its next acquire fence.
    View released{};  ///< What its relaxed stores pass on: what it had seen at its last release fence.
  };

  /// Gives the word its first value, which every thread knows.
  void begin(std::size_t word, Value value = {}) { words_[word].assign(1, {value, {}}); }
  [[nodiscard]] const std::vector<Message>& messages(std::size_t word) const { return words_[word]; }
  [[nodiscard]] Thread& thread(std::size_t index) { return threads_[index]; }
  [[nodiscard]] const Thread& thread(std::size_t index) const { return threads_[index]; }
  /// How far the thread has run, as `of` knows it.
  [[nodiscard]] Number clock(std::size_t thread, std::size_t of) const { return threads_[of].now[kWords + thread]; }
  /// A thread has run further than a Number can say.
  [[nodiscard]] bool is_worn_out() const { return is_worn_out_; }

  /// Loads message `picked`, from thread(self).now[word] on.
  Value load(std::size_t self, std::size_t word, std::size_t picked, bool acquires) {
    Thread& me = threads_[self];
    const Message& message = words_[word][picked];
    me.now[word] = static_cast<Number>(picked);
    join(me.acquired, message.view);
    if (acquires) join(me.now, message.view);
    tick(self);
    return message.value;
  }
  void store(std::size_t self, std::size_t word, Value value, bool releases) {
    tick(self);
    const Thread& me = threads_[self];
    append(self, word, value, releases ? me.now : me.released);
  }
  /// The store of a relaxed exchange, after the load of the newest message: it goes on with the release sequence.
  void exchange(std::size_t self, std::size_t word, Value value) {
    append(self, word, value, View(words_[word].back().view));
  }
  void fence(std::size_t self, bool acquires, bool releases) {
    Thread& me = threads_[self];
    tick(self);
    if (acquires) join(me.now, me.acquired);
    if (releases) me.released = me.now;
  }

 private:
  void append(std::size_t self, std::size_t word, Value value, View view) {
    Thread& me = threads_[self];
    me.now[word] = static_cast<Number>(words_[word].size());
    view[word] = me.now[word];
    words_[word].push_back({value, view});
  }
  void tick(std::size_t self) {
    Number& clock = threads_[self].now[kWords + self];
    ++clock;
    is_worn_out_ = is_worn_out_ || clock == std::numeric_limits<Number>::max();
  }

  std::array<std::vector<Message>, kWords> words_;
  std::array<Thread, kThreads> threads_{};
  bool is_worn_out_ = false;
};

}  // namespace stopbit::model_check
