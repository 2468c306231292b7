#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/model_check/state_set.hpp"

namespace stopbit::model_check {

/// What became of an exploration, or of random runs.
struct Findings {
  std::uint64_t states = 0;  ///< Of random runs: steps or schedules, as the model says.
  std::uint64_t ends = 0;    ///< States in which nothing was under way any more, where a model counts them.
  std::uint64_t steps = 0;   ///< Where a model counts them apart from states.
  std::uint64_t work = 0;    ///< What the model did: packets, messages, touches. Zero shows a model that does nothing.
  std::string failure;       ///< Empty: all is well.
};

/// The states that are still to be visited. Each is met once, whatever path leads to it.
template <class State>
class Search {
 public:
  /// Returns false if a state with this key was added before. The key must tell it from all others.
  bool add(std::span<const std::byte> key, const State& state) {
    if (!seen_.insert(key)) return false;
    open_.push_back(state);
    return true;
  }
  /// Moves the next state to visit to `state`; the newest comes first. Returns false if there is none.
  [[nodiscard]] bool next(State& state) {
    if (open_.empty()) return false;
    state = std::move(open_.back());
    open_.pop_back();
    ++visited_;
    return true;
  }
  [[nodiscard]] std::uint64_t visited() const { return visited_; }

 private:
  StateSet seen_;
  std::vector<State> open_;
  std::uint64_t visited_ = 0;
};

/// Visits every state of a model that can be reached from the one it is in, and lets each come to its end, until
/// something fails. A model writes and reads its state as bytes (`save`, `load`), has `actions()` in a state, of which
/// `apply(i)` takes one (false: it cannot happen now), `close()` for what must come at last, and says its `failure()`.
template <class Model>
Findings explore_states(Model& model) {
  Search<std::vector<std::byte>> search;
  std::vector<std::byte> state;
  std::vector<std::byte> next;
  model.save(state);
  search.add(state, state);
  while (model.failure().empty() && search.next(state)) {
    model.load(state);
    const std::size_t actions = model.actions();
    for (std::size_t action = 0; action < actions && model.failure().empty(); ++action) {
      model.load(state);
      if (!model.apply(action)) continue;
      model.save(next);
      search.add(next, next);
    }
    if (!model.failure().empty()) break;
    model.load(state);
    model.close();
  }
  Findings findings;
  findings.states = search.visited();
  findings.failure = model.failure();
  return findings;
}

}  // namespace stopbit::model_check
