#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "link_wire.hpp"
#include "start_cell.hpp"

/// A network port with what is around it: a unit, a neighbour that keeps to its credits, and models of both halves.
namespace stopbit::sim {

inline constexpr std::size_t kSlotCells = 8;
inline constexpr std::size_t kMostSlots = kMaxPayload / kSlotCells;
inline constexpr std::size_t kRoom = 128;
inline constexpr std::size_t kReserve = 4;
inline constexpr std::size_t kPool = kRoom - kChannels * kReserve;
inline constexpr std::uint32_t kAllChannels = (1U << kChannels) - 1;
inline constexpr std::uint64_t kBad = std::uint64_t{1} << 63;  ///< of an end cell

/// A packet as a unit has it.
struct Packet {
  std::uint64_t start = 0;
  std::vector<std::uint64_t> payload;
  bool is_bad = false;
  bool operator==(const Packet&) const = default;
};
inline void PrintTo(const Packet& packet, std::ostream* out) {
  *out << std::hex << packet.start << std::dec << " with " << packet.payload.size() << (packet.is_bad ? ", bad" : "");
}
inline std::size_t slots_of(std::size_t cells) {
  return std::max<std::size_t>(1, (cells + kSlotCells - 1) / kSlotCells);
}

struct Word {
  std::uint64_t data = 0;
  bool is_first = false;
  bool is_last = false;
  bool is_bad = false;
};
inline std::vector<Word> words_of(const Packet& packet) {
  std::vector<Word> words;
  words.reserve(packet.payload.size() + 1);
  words.push_back({packet.start, true, false, false});
  for (const std::uint64_t data : packet.payload) words.push_back({data, false, false, false});
  words.back().is_last = true;
  words.back().is_bad = packet.is_bad;
  return words;
}
inline std::vector<Cell> cells_of(const Packet& packet) {
  std::vector<Cell> cells;
  cells.reserve(packet.payload.size() + 2);
  cells.push_back({Cell::Start, packet.start});
  for (const std::uint64_t data : packet.payload) cells.push_back({Cell::Payload, data});
  cells.push_back({Cell::End, packet.is_bad ? kBad : 0});
  return cells;
}

/// Slots of a store, by channel, as the page says: a reserve each, and a pool.
class Slots {
 public:
  [[nodiscard]] std::size_t used(std::size_t channel) const { return used_[channel]; }
  [[nodiscard]] std::size_t used() const {
    std::size_t sum = 0;
    for (const std::size_t used : used_) sum += used;
    return sum;
  }
  [[nodiscard]] std::size_t left(std::size_t channel) const {
    std::size_t pool = kPool;
    for (const std::size_t used : used_) pool -= used > kReserve ? used - kReserve : 0;
    return pool + (used_[channel] < kReserve ? kReserve - used_[channel] : 0);
  }
  [[nodiscard]] bool may_begin(std::size_t channel) const { return left(channel) >= kMostSlots; }
  void use(std::size_t channel) {
    EXPECT_GT(left(channel), 0U) << "channel " << channel << " has no slot";
    ++used_[channel];
  }
  void free(std::size_t channel) {
    ASSERT_GT(used_[channel], 0U) << "channel " << channel << " has used none";
    --used_[channel];
  }

 private:
  std::array<std::size_t, kChannels> used_{};
};

struct Counts {
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
  std::uint64_t broken = 0;
  std::uint64_t excess = 0;
  std::uint64_t stray = 0;
  std::uint64_t cut = 0;
  std::uint64_t overrun = 0;
  std::uint64_t malformed = 0;
  std::uint64_t dropped = 0;
  bool operator==(const Counts&) const = default;
};
inline void PrintTo(const Counts& c, std::ostream* out) {
  *out << "sent " << c.sent << ", refused " << c.refused << ", broken " << c.broken << ", excess " << c.excess
       << ", stray " << c.stray << ", cut " << c.cut << ", overrun " << c.overrun << ", malformed " << c.malformed
       << ", dropped " << c.dropped;
}

/// A port and its unit: words of packets in, packets out. What is on the network side is the bench's.
template <class Model>
class Unit {
 public:
  Unit(Random& random, std::uint64_t seed) : random_(random), bench_(seed) {
    set_stalls(0, 0);
    reset();
  }

  Bench<Model>& bench() { return bench_; }
  Model& model() { return *bench_.operator->(); }

  void reset() {
    model().last_node_i = 0xFFFF;
    model().last_unit_i = 7;
    model().channels_i = kAllChannels;
    model().cut_through_i = 0;
    model().patience_i = 0;
    model().debug_write_i = 0;
    model().debug_address_i = 0;
    model().debug_data_i = 0;
    model().send_valid_i = 0;
    model().accepts_i = kAllChannels;
    model().come_ready_i = 0;
    model().ready_i = 1;
    model().may_begin_i = kAllChannels;
    model().freed_i = 0;
    model().freed_channel_i = 0;
    model().valid_i = 0;
    words_.clear();
    came_.clear();
    coming_.reset();
    offers_ = false;
    counts = {};
    bench_.reset();
  }
  void set_stalls(std::uint32_t send, std::uint32_t read) {
    send_.emplace(random_, send);
    read_.emplace(random_, read);
  }
  void stop_reading(bool stops) { reads_ = !stops; }

  void send(const Packet& packet) {
    for (const Word& word : words_of(packet)) words_.push_back(word);
  }
  void send(const Word& word) { words_.push_back(word); }
  [[nodiscard]] std::size_t waiting() const { return words_.size(); }
  [[nodiscard]] std::deque<Packet>& came() { return came_; }
  [[nodiscard]] std::uint64_t cycles() const { return bench_.cycles(); }

  /// Before the model settles.
  void offer() {
    if (!offers_ && !words_.empty() && send_->open()) offers_ = true;
    model().send_valid_i = offers_;
    if (!offers_) {  // what is not valid means nothing
      model().send_data_i = random_.bits();
      model().send_first_i = random_.chance(50);
      model().send_last_i = random_.chance(50);
    }
    if (offers_) {
      model().send_data_i = words_.front().data;
      model().send_first_i = words_.front().is_first;
      model().send_last_i = words_.front().is_last;
      model().send_bad_i = words_.front().is_bad;
    }
    model().come_ready_i = reads_ && read_->open();
  }
  /// After it has settled.
  void look() {
    const Model& m = model();
    if (m.send_valid_i && m.send_ready_o) {
      words_.pop_front();
      offers_ = false;
    }
    if (m.come_valid_o && m.come_ready_i) take();
    counts.sent += m.sent_o;
    counts.refused += m.refused_o;
    counts.broken += m.broken_o;
    counts.excess += m.excess_o;
    counts.stray += m.stray_o;
    counts.cut += m.cut_o;
    counts.overrun += m.overrun_o;
    counts.malformed += m.malformed_o;
    counts.dropped += m.dropped_o;
  }

  Counts counts;
  std::vector<std::uint64_t> slots_taken;  ///< When the last word of each was.
  std::uint64_t last_came = 0;
  std::uint64_t first_came = 0;  ///< When a first word was taken last.

 private:
  void take() {
    const Model& m = model();
    EXPECT_EQ(m.come_first_o != 0, !coming_.has_value()) << "a packet in another one, or a word without a packet";
    if (m.come_first_o) {
      coming_ = Packet{m.come_data_o, {}, false};
      first_came = cycles();
    } else if (coming_) {
      coming_->payload.push_back(m.come_data_o);
    }
    if (!coming_) return;
    const std::size_t cells = coming_->payload.size();
    if (m.come_last_o || (cells > 0 && cells % kSlotCells == 0)) slots_taken.push_back(cycles());
    EXPECT_EQ(m.come_channel_o, Start::of(coming_->start).channel());
    if (!m.come_last_o) {
      EXPECT_FALSE(m.come_bad_o) << "only with the last word";
      return;
    }
    last_came = cycles();
    coming_->is_bad = m.come_bad_o != 0;
    came_.push_back(*coming_);
    coming_.reset();
  }

  Random& random_;
  Bench<Model> bench_;
  std::optional<Gate> send_;
  std::optional<Gate> read_;
  bool reads_ = true;
  bool offers_ = false;
  std::deque<Word> words_;
  std::deque<Packet> came_;
  std::optional<Packet> coming_;
};

/// Packets of any content.
class Packets {
 public:
  explicit Packets(Random& random) : random_(random) {}
  Start start() {
    return {.vpid = random_.bits() & 0x3FF,
            .node = random_.bits() & 0xFFFF,
            .unit = random_.bits() & 7,
            .traffic_class = random_.below(kClasses),
            .vc = random_.below(kVcs),
            .marker = random_.bits() & 0x3FFF};
  }
  Packet packet(const Start& start, std::size_t cells) {
    Packet packet{start.data(), {}, false};
    for (std::size_t i = 0; i < cells; ++i) packet.payload.push_back(random_.bits());
    return packet;
  }
  Packet packet(std::size_t channel, std::size_t cells) {
    Start start = this->start();
    start.traffic_class = channel / kVcs;
    start.vc = channel % kVcs;
    return packet(start, cells);
  }
  Packet any() { return packet(start(), random_.below(kMaxPayload + 1)); }

 private:
  Random& random_;
};

}  // namespace stopbit::sim
