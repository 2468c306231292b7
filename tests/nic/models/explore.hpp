#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/nic/models/state_set.hpp"

namespace stopbit::nic {

/// Goes to every state of a model that can be reached from the one it is in, and lets each come to its end, until
/// something fails. A model gives and takes its state as bytes (`save`, `load`), has `actions()` in a state, of which
/// `apply(i)` takes one (false: it cannot happen now), `close()` for what must come at last, and says its `failure()`.
/// @returns the number of states.
template <class Model>
std::uint64_t explore_states(Model& model) {
  StateSet seen;
  std::vector<std::byte> state;
  std::vector<std::byte> next;
  model.save(state);
  seen.insert(state);
  std::vector<std::vector<std::byte>> stack{state};
  std::uint64_t states = 0;
  while (!stack.empty() && model.failure().empty()) {
    state = std::move(stack.back());
    stack.pop_back();
    ++states;
    model.load(state);
    const std::size_t actions = model.actions();
    for (std::size_t action = 0; action < actions && model.failure().empty(); ++action) {
      model.load(state);
      if (!model.apply(action)) continue;
      model.save(next);
      if (seen.insert(next)) stack.push_back(next);
    }
    if (!model.failure().empty()) break;
    model.load(state);
    model.close();
  }
  return states;
}

}  // namespace stopbit::nic
