#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bits.hpp"

namespace stopbit::sim {

/// A frame on its way over 64-byte beats, to ports valid_i, data_i, keep_i, last_i, bad_i and arrival_ns_i.
class FrameFeeder {
 public:
  void begin(std::span<const std::byte> frame, bool bad, std::uint64_t arrival_ns) {
    frame_ = frame;
    bad_ = bad;
    arrival_ns_ = arrival_ns;
    at_ = 0;
    busy_ = true;
  }
  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] bool at_first() const { return at_ == 0; }
  [[nodiscard]] bool at_last() const { return at_ + 64 >= frame_.size(); }

  /// Bytes of `data_i` after the frame's are `filler`.
  template <class Bench>
  void show(Bench& bench, std::uint8_t filler) const {
    const std::size_t count = std::min<std::size_t>(64, frame_.size() - at_);
    BitWriter data(bench->data_i);
    for (std::size_t i = 0; i < 64; ++i) {
      data.put(i < count ? static_cast<std::uint8_t>(frame_[at_ + i]) : filler, 8);
    }
    bench->keep_i = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    bench->last_i = at_last();
    bench->bad_i = at_last() && bad_;
    bench->arrival_ns_i = at_first() ? arrival_ns_ : ~arrival_ns_;
  }
  /// The beat was accepted.
  void advance() {
    at_ += 64;
    busy_ = at_ < frame_.size();
  }
  void reset() { busy_ = false; }

 private:
  std::span<const std::byte> frame_;
  std::size_t at_ = 0;
  std::uint64_t arrival_ns_ = 0;
  bool bad_ = false;
  bool busy_ = false;
};

/// stopbit_front_pkg::group_t.
struct Group {
  bool valid = true;
  bool any_source = true;
  std::uint32_t source_address = 0;
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  std::uint16_t channel = 0;
  std::uint8_t line = 0;
};

/// Writes an entry of the table, in one cycle.
template <class Bench>
void write_group(Bench& bench, std::uint8_t index, const Group& group) {
  BitWriter writer(bench->group_i);
  writer.put(group.line, 8);
  writer.put(group.channel, 16);
  writer.put(group.port, 16);
  writer.put(group.address, 32);
  writer.put(group.source_address, 32);
  writer.put(group.any_source, 1);
  writer.put(group.valid, 1);
  bench->group_index_i = index;
  bench->group_write_i = 1;
  bench.step();
  bench->group_write_i = 0;
}

}  // namespace stopbit::sim
