#pragma once

#include <Vrtl_remote.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "remote_fixture.hpp"

/// The card's part of remote rings in RTL: records in, packets out.
namespace stopbit::sim::remote {

inline constexpr std::size_t kSubscribers = 4;
inline constexpr std::size_t kDepth = 64;

/// A beat of the record stream.
struct Beat {
  record::Slot slot{};
  std::uint16_t index = 0;
  bool last = false;
  bool aborted = false;
};
/// As the decoder gives a record: slots 1 to n-1, then slot 0, without stamp and phase.
[[nodiscard]] inline std::vector<Beat> to_beats(std::span<const record::Slot> record) {
  std::vector<Beat> beats;
  for (std::size_t i = 1; i <= record.size(); ++i) {
    const std::size_t index = i % record.size();
    beats.push_back({record[index], static_cast<std::uint16_t>(index), index == 0, false});
    beats.back().slot.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
    if (index == 0) beats.back().slot.words[0] &= 0xFFFF'FFFF;
  }
  return beats;
}

class Card {
 public:
  explicit Card(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->node_i = kCardNode;
    bench_->time_i = kTime;
    bench_->generation_i = kGeneration;
    bench_->start_i = bench_->slot_valid_i = bench_->set_valid_i = bench_->tell_valid_i = bench_->unit_valid_i = 0;
    bench_->come_valid_i = bench_->come_bad_i = bench_->send_ready_i = bench_->send_room_i = 0;
    bench_->tell_how_i = bench_->tell_ends_i = bench_->status_index_i = 0;
    reset();
  }
  void reset() {
    beats.clear();
    to_come.clear();
    unit_packets.clear();
    sending_ = {};
    unit_ = coming_ = {};
    word_waits_ = false;
    bench_->slot_valid_i = bench_->come_valid_i = bench_->unit_valid_i = 0;
    bench_.reset();
  }
  /// A ring begins.
  void start(unsigned slots_log2, std::uint32_t max_slots) {
    bench_->slots_log2_i = static_cast<std::uint8_t>(slots_log2);
    bench_->max_slots_i = static_cast<std::uint16_t>(max_slots);
    bench_->start_i = 1;
    cycle();
    bench_->start_i = 0;
    cycle();
  }
  /// Not inlined: GCC 12 thinks that an absent channel were read.
  [[gnu::noinline]] void set_filters(std::span<const device::Filter> filters) {
    BitWriter writer(bench_->filters_i);
    for (const device::Filter& filter : filters) {
      writer.put(filter.value, 64);
      writer.put(filter.mask, 64);
      writer.put(filter.channel.value_or(0), 16);
      writer.put(filter.template_index.value_or(0), 16);
      writer.put(1, 1);
      writer.put(filter.channel ? 0 : 1, 1);
      writer.put(filter.template_index ? 0 : 1, 6);
      writer.put(filter.word, 8);
      writer.put(filter.rings, 8);
      writer.put(0, 8);  // the kernel puts these in the place of the rings
    }
    cycle();
    cycle();
  }
  /// Returns where it begins.
  stopbit::remote::RingPosition set(std::size_t index, const SubscriberEntry& entry) {
    bench_->set_index_i = static_cast<std::uint8_t>(index);
    BitWriter writer(bench_->set_i);
    writer.put(entry.life, 32);
    writer.put(entry.domain, 16);
    writer.put(entry.port, 16);
    writer.put(entry.layout.slot_bytes, 21);
    writer.put(entry.layout.slots, 17);
    writer.put(entry.window.capability, 64);
    writer.put(entry.window.id, 16);
    writer.put(entry.event, 6);
    writer.put(entry.vpid, 16);
    writer.put(entry.node, 16);
    writer.put(entry.open, 1);
    bench_->set_valid_i = 1;
    for (const std::uint64_t end = now() + 100'000;; cycle()) {
      bench_.settle();
      if (bench_->set_ready_o != 0) break;
      if (now() > end) throw std::runtime_error("a subscriber is not taken");
    }
    const stopbit::remote::RingPosition begun{bits_at(bench_->begun_o, 0, 64), bits_at(bench_->begun_o, 64, 64)};
    cycle();
    bench_->set_valid_i = 0;
    return begun;
  }
  /// Whether it was sent.
  bool tell(std::size_t index, bool ends = false, std::uint8_t how = 0) {
    bench_->tell_index_i = static_cast<std::uint8_t>(index);
    bench_->tell_ends_i = ends;
    bench_->tell_how_i = how;
    bench_->tell_valid_i = 1;
    bool told = false;
    for (const std::uint64_t end = now() + 100'000;; cycle()) {
      bench_.settle();
      told = bench_->told_o != 0;
      if (bench_->tell_ready_o != 0) break;
      if (now() > end) throw std::runtime_error("the request for a position or an end does not finish");
    }
    cycle();
    bench_->tell_valid_i = 0;
    return told;
  }
  [[nodiscard]] Progress progress(std::size_t index) {
    bench_->status_index_i = static_cast<std::uint8_t>(index);
    cycle();
    bench_.settle();
    // From the last member on: lost, slots, records, offset, index, sent, lost_from, begun.
    return {bits_at(bench_->status_o, 369, 64), bits_at(bench_->status_o, 241, 64), bits_at(bench_->status_o, 128, 64),
            bits_at(bench_->status_o, 64, 64), bits_at(bench_->status_o, 0, 64)};
  }
  [[nodiscard]] stopbit::remote::RingPosition position() {
    return {bits_at(bench_->position_o, 0, 64), bits_at(bench_->position_o, 64, 64)};
  }
  [[nodiscard]] unsigned open() { return bench_->open_o; }
  [[nodiscard]] unsigned losing() { return bench_->losing_o; }

  void push(std::span<const record::Slot> record) {
    for (const Beat& beat : to_beats(record)) beats.push_back(beat);
  }

  void cycle() {
    const auto goes = [&] { return !random.chance(stall_percent); };
    // Records: never refused.
    bench_->slot_valid_i = !beats.empty() && !random.chance(gap_percent);
    if (bench_->slot_valid_i != 0) {
      const Beat& beat = beats.front();
      BitWriter writer(bench_->slot_i);
      writer.put(beat.aborted, 1);
      writer.put(beat.last, 1);
      writer.put(beat.index, 16);
      for (const std::uint64_t word : beat.slot.words) writer.put(word, 64);
    }
    // What comes for the unit, and is taken.
    if (coming_.words.empty() && !to_come.empty()) {
      coming_ = to_come.front();
      to_come.pop_front();
      coming_at_ = 0;
    }
    bench_->come_valid_i = !coming_.words.empty() && goes();
    bench_->come_bad_i = 0;
    if (bench_->come_valid_i != 0) {
      const bool is_last = coming_at_ + 1 == coming_.words.size();
      put_word(bench_->come_word_i, coming_.words[coming_at_], coming_at_ == 0, is_last);
      bench_->come_bad_i = is_last && coming_.is_bad;
    }
    // The unit's own packets: begun where it saw room in the cycle before.
    if (unit_.words.empty() && !unit_packets.empty() &&
        (unit_saw_room_ >> (unit_packets.front().is_answer() ? 1U : 0U) & 1U) != 0) {
      unit_ = unit_packets.front();
      unit_packets.pop_front();
      unit_at_ = 0;
    }
    bench_->unit_valid_i = !unit_.words.empty();
    if (bench_->unit_valid_i != 0) {
      put_word(bench_->unit_word_i, unit_.words[unit_at_], unit_at_ == 0, unit_at_ + 1 == unit_.words.size());
    }
    bench_->send_room_i = static_cast<std::uint8_t>((room_[0] ? 1U : 0U) | (room_[1] ? 2U : 0U));
    bench_->send_ready_i = goes() && !is_stalled;
    bench_.settle();

    check_stream();
    if (bench_->slot_valid_i != 0) {
      beats.pop_front();
      quiet_ = 0;
    }
    if (bench_->come_valid_i != 0 && ++coming_at_ == coming_.words.size()) coming_ = {};
    const bool sends = bench_->send_valid_o != 0 && bench_->send_ready_i != 0;
    if (sends) take_word();
    if (bench_->unit_valid_i != 0 && bench_->unit_ready_o != 0 && ++unit_at_ == unit_.words.size()) unit_ = {};
    unit_saw_room_ = bench_->unit_room_o;
    quiet_ = bench_->set_ready_o != 0 && bench_->send_valid_o == 0 ? quiet_ + 1 : 0;
    malformed += bench_->malformed_o;
    overrun += bench_->overrun_o;
    surplus += bench_->surplus_o;
    stray += bench_->stray_o;
    bench_.step();
    // Room that is there stays until a packet of its class begins.
    for (std::size_t c = 0; c < 2; ++c) room_[c] = room_[c] || (!is_shut[c] && goes());
  }
  /// All that came was sent, as far as it can be.
  [[nodiscard]] bool is_idle() const {
    return beats.empty() && quiet_ > 8 && coming_.words.empty() && to_come.empty() && unit_packets.empty();
  }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }

  Random random;
  std::uint32_t stall_percent = 0;
  std::uint32_t gap_percent = 0;  ///< Of cycles without a slot of a record.
  bool is_stalled = false;        ///< The network takes nothing,
  std::array<bool, 2> is_shut{};  ///< or gives no more room for requests, or answers.
  std::deque<Beat> beats;
  std::deque<rma::Packet> to_come;
  std::deque<rma::Packet> unit_packets;  ///< Of the unit of the card's node.
  std::function<void(const rma::Packet&)> on_sent;
  std::uint64_t malformed = 0;
  std::uint64_t overrun = 0;
  std::uint64_t surplus = 0;
  std::uint64_t stray = 0;
  std::uint64_t packets = 0;
  std::uint64_t first_cycle = 0;  ///< Of the last packet.

 private:
  template <class Wide>
  static void put_word(Wide& wide, std::uint64_t data, bool is_first, bool is_last) {
    BitWriter writer(wide);
    writer.put(data, 64);
    writer.put(is_last, 1);
    writer.put(is_first, 1);
  }
  void check_stream() {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint32_t word = bench_->send_valid_o != 0 ? bench_->send_word_o[i] : 0;
      if (word_waits_ && (bench_->send_valid_o == 0 || word != last_word_[i])) {
        throw std::runtime_error("a word changes");
      }
      last_word_[i] = word;
    }
    word_waits_ = bench_->send_valid_o != 0 && bench_->send_ready_i == 0;
  }
  void take_word() {
    const std::uint64_t data = bits_at(bench_->send_word_o, 0, 64);
    const bool is_first = bits_at(bench_->send_word_o, 65, 1) != 0;
    if (is_first != sending_.words.empty()) throw std::runtime_error("a packet begins in another, or without a start");
    if (is_first) {
      const std::uint64_t at = Start::of(data).traffic_class;
      if (at > 1 || !room_[at]) throw std::runtime_error("a packet begins without room");
      room_[at] = false;
      first_cycle = now();
    }
    sending_.words.push_back(data);
    if (sending_.words.size() > kMaxPayload + 1) throw std::runtime_error("a packet is too long");
    if (bits_at(bench_->send_word_o, 64, 1) == 0) return;
    ++packets;
    if (on_sent) on_sent(sending_);
    sending_ = {};
  }

  Bench<Vrtl_remote> bench_;
  rma::Packet sending_;
  rma::Packet coming_;
  std::size_t coming_at_ = 0;
  rma::Packet unit_;
  std::size_t unit_at_ = 0;
  unsigned unit_saw_room_ = 0;
  std::array<bool, 2> room_{};
  std::array<std::uint32_t, 3> last_word_{};
  bool word_waits_ = false;
  std::uint64_t quiet_ = 0;
};

using Hardware = BasicHardware<Card>;

}  // namespace stopbit::sim::remote
