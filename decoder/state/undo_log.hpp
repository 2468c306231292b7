#pragma once

#include <cstdint>
#include <vector>

#include "decoder/state/dictionary.hpp"

namespace stopbit::state {

/// Takes a dictionary back to where a message began. Entries are saved before their first change; work is in proportion
/// to the entries that changed. Allocates when it is made, never later.
class UndoLog {
 public:
  explicit UndoLog(const Program& program) : saved_(program), saved_in_(program.slots.size()) {
    order_.reserve(program.slots.size());
  }

  void begin(const Dictionary& dictionary) noexcept {
    ++round_;
    order_.clear();
    generation_ = dictionary.generation();
  }
  void save(const Dictionary& dictionary, std::uint16_t slot) noexcept {
    if (saved_in_[slot] == round_) return;
    saved_in_[slot] = round_;
    order_.push_back(slot);
    saved_.copy_entry(slot, dictionary);
  }
  void roll_back(Dictionary& dictionary) const noexcept {
    for (const std::uint16_t slot : order_) dictionary.copy_entry(slot, saved_);
    dictionary.set_generation(generation_);
  }

 private:
  Dictionary saved_;
  std::vector<std::uint64_t> saved_in_;  ///< By slot: the round in which it was saved last.
  std::vector<std::uint16_t> order_;
  std::uint64_t round_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace stopbit::state
