#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "decoder/record/layout.hpp"
#include "fpga/sim/cosim/core.hpp"

/// The two streams of a model that is or has decode cores: datagrams in, slots of records out.
namespace stopbit::sim {

constexpr std::size_t kBeatBytes = 16;

/// Puts a beat of the datagram to the model's inputs, of the first `length` bytes; bytes past the end are junk.
template <class Model>
void offer_beat(Model& model, const Datagram& datagram, std::size_t length, std::size_t beat, Random& random) {
  const std::size_t begin = beat * kBeatBytes;
  const std::size_t count = std::min(kBeatBytes, length - begin);
  const PacketInfo& info = datagram.info;
  BitWriter header(model.datagram_i);
  header.put(datagram.bytes.size() > length ? 1 : 0, 1);
  header.put(static_cast<std::uint8_t>(info.time_quality), 8);
  header.put(static_cast<std::uint8_t>(info.source), 8);
  header.put(info.sender_epoch, 16);
  header.put(info.channel, 16);
  header.put(std::min<std::uint32_t>(info.data_offset, 0xFFFF), 16);
  header.put(length, 17);
  header.put(info.sequence, 32);
  header.put(info.number, 64);
  header.put(info.arrival_ns, 64);
  BitWriter out(model.beat_i);
  out.put(begin + count == length ? 1 : 0, 1);
  out.put(count, 5);
  for (std::size_t i = 0; i < kBeatBytes; ++i) {
    out.put(i < count ? std::to_integer<std::uint8_t>(datagram.bytes[begin + i]) : random.bits() & 0xFF, 8);
  }
}

/// Joins slots to records. Throws std::runtime_error where the stream breaks its rules.
class RecordReader {
 public:
  explicit RecordReader(std::uint32_t max_slots) : max_slots_(max_slots) {}

  /// stopbit_slot_t.
  template <class Slot>
  void take(const Slot& slot) {
    constexpr unsigned kAbortedBit = 0;
    constexpr unsigned kLastBit = 1;
    constexpr unsigned kIndexBit = 2;
    constexpr unsigned kDataBit = 18;
    if (bits_at(slot, kAbortedBit, 1) != 0) {
      if (open_.empty()) throw std::runtime_error("nothing was there to be taken back");
      open_.clear();
      return;
    }
    record::Slot data;
    for (unsigned word = 0; word < record::kSlotWords; ++word)
      data.words[word] = bits_at(slot, kDataBit + 64 * word, 64);
    const std::uint64_t index = bits_at(slot, kIndexBit, 16);
    if (open_.empty()) open_.emplace_back();
    if (bits_at(slot, kLastBit, 1) == 0) {
      if (index != open_.size()) throw std::runtime_error(fmt::format("slot {} where {} is due", index, open_.size()));
      open_.push_back(data);
      if (open_.size() > max_slots_) throw std::runtime_error("a record has more slots than it may");
      return;
    }
    open_[0] = data;
    if (index != 0 || (data.words[0] >> 16 & 0xFFFF) != open_.size()) {
      throw std::runtime_error(
          fmt::format("slot 0 counts {} slots, {} came", data.words[0] >> 16 & 0xFFFF, open_.size()));
    }
    records_.push_back(std::move(open_));
    open_.clear();
  }
  [[nodiscard]] std::size_t count() const { return records_.size(); }
  /// No record may be open.
  [[nodiscard]] std::vector<Record> finish() {
    if (!open_.empty()) throw std::runtime_error("a record was begun and not completed");
    return std::move(records_);
  }

 private:
  std::uint32_t max_slots_;
  Record open_;
  std::vector<Record> records_;
};

}  // namespace stopbit::sim
