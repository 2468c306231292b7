#pragma once

#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bits.hpp"

/// stopbit_pkg's streams between the parts: stopbit_datagram_t and stopbit_beat_t.
namespace stopbit::sim {

/// stopbit_datagram_t.
struct DatagramInfo {
  std::uint64_t arrival_ns = 0;
  std::uint64_t number = 0;
  std::uint32_t sequence_number = 0;
  std::uint32_t length_bytes = 0;
  std::uint16_t data_offset = 0;
  std::uint16_t channel = 0;
  std::uint16_t sender_epoch = 0;
  std::uint8_t source = 0;
  std::uint8_t time_quality = 0;
  bool cut = false;
  bool operator==(const DatagramInfo&) const = default;
};

inline void put_info(VlWide<8>& to, const DatagramInfo& info) {
  BitWriter writer(to);
  writer.put(info.cut, 1);
  writer.put(info.time_quality, 8);
  writer.put(info.source, 8);
  writer.put(info.sender_epoch, 16);
  writer.put(info.channel, 16);
  writer.put(info.data_offset, 16);
  writer.put(info.length_bytes, 17);
  writer.put(info.sequence_number, 32);
  writer.put(info.number, 64);
  writer.put(info.arrival_ns, 64);
}

inline DatagramInfo info_of(const VlWide<8>& from) {
  return {.arrival_ns = bits_at(from, 178, 64),
          .number = bits_at(from, 114, 64),
          .sequence_number = static_cast<std::uint32_t>(bits_at(from, 82, 32)),
          .length_bytes = static_cast<std::uint32_t>(bits_at(from, 65, 17)),
          .data_offset = static_cast<std::uint16_t>(bits_at(from, 49, 16)),
          .channel = static_cast<std::uint16_t>(bits_at(from, 33, 16)),
          .sender_epoch = static_cast<std::uint16_t>(bits_at(from, 17, 16)),
          .source = static_cast<std::uint8_t>(bits_at(from, 9, 8)),
          .time_quality = static_cast<std::uint8_t>(bits_at(from, 1, 8)),
          .cut = bits_at(from, 0, 1) != 0};
}

/// A datagram as the stream carries it. Bytes that a preamble announces but that were not sent are missing.
struct SentDatagram {
  DatagramInfo info;
  std::vector<std::byte> bytes;
  bool operator==(const SentDatagram&) const = default;
};

/// Puts together the beats that leave a model with ports valid_o, ready_i, beat_o and datagram_o, and checks their
/// rules: the header stays, only the last beat is not full, the bytes are as many as the header says.
class DatagramCollector {
 public:
  /// A beat that is accepted in this cycle. True: the datagram is whole. `fault` says what is against the rules.
  bool take(const VlWide<5>& beat, const VlWide<8>& header, const char*& fault) {
    const bool last = bits_at(beat, 0, 1) != 0;
    const auto count = static_cast<std::size_t>(bits_at(beat, 1, 5));
    const DatagramInfo info = info_of(header);
    if (begun_ && !(info == open_.info)) fault = "the header changes inside a datagram";
    if (!begun_) open_ = {info, {}};
    begun_ = true;
    if (count > 16 || (!last && count != 16)) fault = "a beat that is not the last is not full";
    if (count == 0 && !open_.bytes.empty() && !may_be_short_)
      fault = "a beat without bytes ends a datagram that has some";
    for (std::size_t i = 0; i < count; ++i) {
      open_.bytes.push_back(static_cast<std::byte>(bits_at(beat, 6 + 8 * static_cast<unsigned>(i), 8)));
    }
    if (!last) return false;
    if (open_.bytes.size() != info.length_bytes && !(may_be_short_ && open_.bytes.size() < info.length_bytes)) {
      fault = "the header says another length";
    }
    begun_ = false;
    return true;
  }
  /// The one completed last.
  [[nodiscard]] const SentDatagram& datagram() const { return open_; }
  void reset() { begun_ = false; }
  /// A datagram may end before its length.
  void allow_short() { may_be_short_ = true; }

 private:
  SentDatagram open_;
  bool begun_ = false;
  bool may_be_short_ = false;
};

/// Gives a datagram's beats to ports valid_i, beat_i and datagram_i.
class DatagramFeeder {
 public:
  void begin(const SentDatagram& datagram) {
    datagram_ = &datagram;
    at_ = 0;
  }
  [[nodiscard]] bool busy() const { return datagram_ != nullptr; }

  /// Sets the ports to the present beat; what is behind its bytes is `filler`.
  void show(VlWide<5>& beat, VlWide<8>& header, std::uint8_t filler) const {
    const std::size_t count = std::min<std::size_t>(16, datagram_->bytes.size() - at_);
    BitWriter writer(beat);
    writer.put(at_ + count == datagram_->bytes.size(), 1);
    writer.put(count, 5);
    for (std::size_t i = 0; i < 16; ++i) {
      writer.put(i < count ? static_cast<std::uint8_t>(datagram_->bytes[at_ + i]) : filler, 8);
    }
    put_info(header, datagram_->info);
  }
  /// The beat was accepted.
  void advance() {
    at_ += 16;
    if (at_ >= datagram_->bytes.size()) datagram_ = nullptr;
  }
  void reset() { datagram_ = nullptr; }

 private:
  const SentDatagram* datagram_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace stopbit::sim
