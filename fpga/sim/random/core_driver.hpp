#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "decoder/record/layout.hpp"
#include "fpga/sim/cosim/core.hpp"
#include "host/device/firmware/device.hpp"

/// What a decode core must not do, whatever firmware and datagrams it gets.
namespace stopbit::sim {

/// Something that must never happen.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Puts the slots that leave a core (stopbit_slot_t) together to records, and throws Broken if they do not make any:
/// slots out of order, a count that is not theirs, tags that no record has, something taken back that is not there.
class RecordCollector {
 public:
  explicit RecordCollector(std::size_t max_slots) : max_slots_(max_slots) {}

  template <class Wide>
  void take(const Wide& beat) {
    record::Slot slot;
    for (unsigned word = 0; word < record::kSlotWords; ++word) slot.words[word] = bits_at(beat, 18 + 64 * word, 64);
    const std::uint64_t index = bits_at(beat, 2, 16);
    const bool is_last = bits_at(beat, 1, 1) != 0;
    if (bits_at(beat, 0, 1) != 0) {
      if (open_.empty()) throw Broken("nothing was there to be taken back");
      open_.clear();
      return;
    }
    if (open_.empty()) open_.emplace_back();
    check(slot, is_last, index);
    if (!is_last) {
      open_.push_back(slot);
      if (open_.size() > max_slots_) throw Broken(fmt::format("a record of more than {} slots", max_slots_));
      return;
    }
    open_[0] = slot;
    records.push_back(std::move(open_));
    open_.clear();
  }
  [[nodiscard]] bool is_open() const { return !open_.empty(); }

  std::vector<Record> records;

 private:
  void check(const record::Slot& slot, bool is_last, std::uint64_t index) const {
    const std::uint64_t tags = slot.words[record::kTagWord];
    const std::uint64_t due = is_last ? 0 : open_.size();
    if (index != due) throw Broken(fmt::format("slot {} where {} is due", index, due));
    if (tags >> 56 != (due & 0x7F)) throw Broken(fmt::format("slot {} says that it is {}", due, tags >> 56));
    const bool is_event = is_last && (slot.words[0] & 0xFFFF) == record::kEventIndex;
    for (unsigned word = 0; word < record::kValueWords; ++word) {
      const std::uint64_t tag = tags >> 8 * word & 0xFF;
      bool is_right = tag <= record::kMaxValueTag || (tag == record::kStringTag && !is_last) ||
                      (tag == record::kReferenceTag && !is_last && word == 0);
      if (is_last && word < record::kHeaderWords) is_right = tag == record::kHeaderTag + word;
      if (is_event && word >= record::kHeaderWords) is_right = tag == record::kEventTag;
      if (!is_right) throw Broken(fmt::format("tag {} at word {} of slot {}", tag, word, due));
      if (tag == 0 && slot.words[word] != 0) throw Broken(fmt::format("a word without tag, {} of slot {}", word, due));
    }
    if (!is_last) return;
    const std::uint64_t count = slot.words[0] >> 16 & 0xFFFF;
    if (count != open_.size()) throw Broken(fmt::format("slot 0 counts {} slots, {} came", count, open_.size()));
    if (is_event && count != 1) throw Broken(fmt::format("an event of {} slots", count));
  }

  std::size_t max_slots_;
  Record open_;
};

/// Words of firmware into a model with `load_i`, one a cycle.
template <class Model>
void load(Bench<Model>& bench, std::span<const firmware::Word> words, unsigned bank) {
  for (const firmware::Word& word : words) {
    bench->load_i = word.data | std::uint64_t{word.address} << 32 | std::uint64_t{bank} << 52 | std::uint64_t{1} << 53;
    bench.step();
  }
  bench->load_i = 0;
}

}  // namespace stopbit::sim
