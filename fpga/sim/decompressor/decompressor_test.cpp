#include <Vstopbit_decompressor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kBeat = 16;
constexpr std::size_t kWindow = 10;  ///< The longest entity.
constexpr std::size_t kRingBeats = 2;

/// window_t.
constexpr unsigned kSecondByteIsZero = 0;
constexpr unsigned kByteIsZero = 1;
constexpr unsigned kWhole = 2;
constexpr unsigned kSecondIsZero = 3;
constexpr unsigned kIsZero = 4;
constexpr unsigned kSecondLength = 5;
constexpr unsigned kLength = 9;
constexpr unsigned kAvailable = 13;
constexpr unsigned kSecondBytes = 18;
constexpr unsigned kBytes = 98;

/// take_t.
constexpr unsigned kTwo = 5;
constexpr unsigned kOne = 6;

using Bytes = std::vector<std::uint8_t>;

struct BeatOf {
  std::size_t datagram = 0;
  std::size_t number = 0;
};

/// Bytes whose stop bits are as frequent as `stop_percent` says; of some entities all bits are 0.
Bytes random_bytes(Random& random, std::size_t length, std::uint32_t stop_percent) {
  Bytes bytes(length);
  for (auto& byte : bytes) {
    byte = random.chance(50) ? 0 : static_cast<std::uint8_t>(random.bits() & 0x7F);
    if (random.chance(stop_percent)) byte |= 0x80;
  }
  return bytes;
}

/// Sends datagrams, takes them at the window in random steps and checks what is shown in every cycle.
class Traffic {
 public:
  Traffic(std::uint64_t seed, std::uint32_t in_stall, std::uint32_t out_stall)
      : random_(seed), bench_(seed), in_(random_, in_stall), out_(random_, out_stall) {
    bench_->valid_i = 0;
    bench_->take_i = 0;
    bench_->release_i = 0;
    bench_.reset();
  }

  void run(const std::vector<Bytes>& datagrams, std::uint32_t give_up_percent) {
    begin(datagrams);
    std::uint64_t quiet = 0;
    while ((shown_ < datagrams.size() || sending_ < datagrams.size()) && quiet < 2'000 &&
           !::testing::Test::HasFailure()) {
      const std::size_t before = shown_ + position_ + accepted_total_;
      cycle(give_up_percent);
      quiet = before == shown_ + position_ + accepted_total_ ? quiet + 1 : 0;
    }
    ASSERT_EQ(shown_, datagrams.size()) << "stuck";
    bench_->valid_i = 0;
    bench_.settle();
    EXPECT_FALSE(bench_->active_o);
  }

  /// Some cycles, then a reset: nothing of it may be seen later.
  void interrupt(const std::vector<Bytes>& datagrams, int cycles) {
    begin(datagrams);
    for (int i = 0; i < cycles && shown_ < datagrams.size(); ++i) cycle(10);
    bench_->valid_i = 0;
    bench_->take_i = 0;
    bench_->release_i = 0;
    bench_.reset();
  }

 private:
  void begin(const std::vector<Bytes>& datagrams) {
    datagrams_ = &datagrams;
    accepted_.assign(datagrams.size(), 0);
    complete_.assign(datagrams.size(), false);
    offsets_.clear();
    for (std::size_t i = 0; i < datagrams.size(); ++i) offsets_.push_back(random_.chance(50) ? 0 : random_.below(20));
    sending_ = shown_ = beat_ = accepted_total_ = 0;
    position_ = begin_of(0);
    offered_ = false;
    shows_ = false;
    ring_.clear();
    held_.reset();
  }

  /// Where the window of a datagram begins: after a short preamble.
  std::size_t begin_of(std::size_t i) const {
    if (i >= offsets_.size() || offsets_[i] >= kBeat || offsets_[i] > (*datagrams_)[i].size()) return 0;
    return offsets_[i];
  }

  void cycle(std::uint32_t give_up_percent) {
    if (!offered_ && sending_ < datagrams_->size() && in_.open()) offer();
    bench_->valid_i = offered_;
    bench_->take_i = 0;
    bench_->release_i = 0;
    bench_.settle();
    // What has arrived is shown a cycle later, and nothing after the window has moved in a way that was not foreseen.
    const bool was_active = bench_->active_o != 0;
    moves_ = false;
    settled_ = position_;
    if (was_active) take(give_up_percent);
    if (!moves_) settled_ = position_;
    shows_ = was_active && !moves_;
    arrived_ = shown_ < datagrams_->size() ? accepted_[shown_] : 0;
    is_whole_ = shown_ < datagrams_->size() && complete_[shown_];
    bench_.settle();
    EXPECT_EQ(bench_->ready_o != 0, !held_) << where();
    const bool is_full = ring_.size() == kRingBeats;
    // Two datagrams have headers in it.
    const bool is_closed = is_full && ring_.front().datagram != ring_.back().datagram && held_ && held_->number == 0;
    const bool leaves = leave();
    if (held_ && (!is_full || (leaves && !is_closed))) {
      enter(*std::exchange(held_, {}));
    } else if (offered_ && bench_->ready_o) {
      const BeatOf beat = {.datagram = sending_, .number = beat_};
      if (is_full) {
        held_ = beat;
      } else {
        enter(beat);
      }
      ++accepted_total_;
      offered_ = false;
      ++beat_;
      if (is_last(beat)) {
        ++sending_;
        beat_ = 0;
      }
    }
    bench_.step();
  }

  bool is_last(const BeatOf& beat) const { return (beat.number + 1) * kBeat >= (*datagrams_)[beat.datagram].size(); }

  void enter(const BeatOf& beat) {
    ring_.push_back(beat);
    accepted_[beat.datagram] = std::min((*datagrams_)[beat.datagram].size(), (beat.number + 1) * kBeat);
    complete_[beat.datagram] = is_last(beat);
  }

  /// Beats leave the ring: all of a datagram that is over, else the first one after the window has moved past it, a
  /// cycle later if that was not foreseen.
  bool leave() {
    const std::size_t before = ring_.size();
    while (!ring_.empty() && ring_.front().datagram < shown_) ring_.pop_front();
    if (before == ring_.size() && before > 0 && !is_last(ring_.front()) &&
        settled_ >= (ring_.front().number + 1) * kBeat) {
      ring_.pop_front();
    }
    return before != ring_.size();
  }

  void offer() {
    const Bytes& bytes = (*datagrams_)[sending_];
    const std::size_t begin = beat_ * kBeat;
    const std::size_t count = std::min(kBeat, bytes.size() - begin);
    BitWriter header(bench_->datagram_i);
    header.put(0, 49);  // the bytes after the offset
    header.put(offsets_[sending_], 16);
    header.put(bytes.size(), 17);
    header.put(0, 32);
    header.put(1'000 + sending_, 64);
    BitWriter beat(bench_->beat_i);
    beat.put(begin + count == bytes.size() ? 1 : 0, 1);
    beat.put(count, 5);
    for (std::size_t i = 0; i < kBeat; ++i) beat.put(i < count ? bytes[begin + i] : random_.bits() & 0xFF, 8);
    offered_ = true;
  }

  void take(std::uint32_t give_up_percent) {
    ASSERT_LT(shown_, datagrams_->size()) << "a datagram that was not sent";
    const Bytes& bytes = (*datagrams_)[shown_];
    EXPECT_EQ(bits_at(bench_->datagram_o, 114, 64), 1'000 + shown_);
    const auto shows = [&](unsigned at, unsigned width) { return bits_at(bench_->window_o, at, width); };
    const std::size_t available = shows_ ? std::min(2 * kWindow, arrived_ - position_) : 0;
    ASSERT_EQ(shows(kAvailable, 5), available) << where();
    EXPECT_EQ(shows(kWhole, 1) != 0, shows_ && is_whole_) << where();
    const std::size_t length = length_at(position_, available);
    for (std::size_t i = 0; i < std::min(kWindow, available); ++i) {
      EXPECT_EQ(shows(kBytes + static_cast<unsigned>(8 * i), 8), bytes[position_ + i]) << where();
    }
    if (available > 0) {
      EXPECT_EQ(shows(kByteIsZero, 1) != 0, (bytes[position_] & 0x7F) == 0) << where();
    }
    if (available > 1) {
      EXPECT_EQ(shows(kSecondByteIsZero, 1) != 0, (bytes[position_ + 1] & 0x7F) == 0) << where();
    }
    EXPECT_EQ(shows(kLength, 4), length) << where();
    if (length != 0) {
      EXPECT_EQ(shows(kIsZero, 1) != 0, is_zero(position_, length)) << where();
    }
    std::size_t second = 0;
    if (length != 0) {
      second = length_at(position_ + length, available - length);
      for (std::size_t i = 0; i < second; ++i) {
        EXPECT_EQ(shows(kSecondBytes + static_cast<unsigned>(8 * i), 8), bytes[position_ + length + i]) << where();
      }
    }
    EXPECT_EQ(shows(kSecondLength, 4), second) << where();
    if (second != 0) {
      EXPECT_EQ(shows(kSecondIsZero, 1) != 0, is_zero(position_ + length, second)) << where();
    }
    if (!out_.open()) return;
    const bool is_over = shows_ && is_whole_ && position_ == bytes.size();
    if (is_over || random_.chance(give_up_percent)) {
      bench_->release_i = 1;
      // The bytes taken with it make no difference.
      move(random_.below(available + 1), 0);
      position_ = begin_of(++shown_);
      // The next one's first beat may wait already.
      moves_ = shown_ >= datagrams_->size() || (accepted_[shown_] == 0 && !complete_[shown_]);
      return;
    }
    std::size_t count = random_.below(available + 1);
    unsigned entities = 0;
    if (random_.chance(70) && length != 0) {
      entities = second != 0 && random_.chance(60) ? 2 : 1;
      count = entities == 2 ? length + second : length;
    }
    move(count, entities);
    moves_ = count != 0 && entities == 0;
    position_ += count;
  }

  void move(std::size_t count, unsigned entities) {
    bench_->take_i = static_cast<std::uint8_t>(count | (entities == 2 ? 1U << kTwo : entities << kOne));
  }

  /// Bytes of the entity that begins at a place, if it is not too long and ends within the window.
  std::size_t length_at(std::size_t at, std::size_t available) const {
    for (std::size_t i = 0; i < std::min(kWindow, available); ++i) {
      if (((*datagrams_)[shown_][at + i] & 0x80) != 0) return i + 1;
    }
    return 0;
  }

  /// All of an entity's bits are, but for its stop bit.
  bool is_zero(std::size_t at, std::size_t length) const {
    const auto begin = (*datagrams_)[shown_].begin() + static_cast<std::ptrdiff_t>(at);
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(length),
                       [](std::uint8_t byte) { return (byte & 0x7F) == 0; });
  }

  std::string where() const { return "datagram " + std::to_string(shown_) + ", byte " + std::to_string(position_); }

  Random random_;
  Bench<Vstopbit_decompressor> bench_;
  Gate in_;
  Gate out_;
  const std::vector<Bytes>* datagrams_ = nullptr;
  std::vector<std::size_t> offsets_;   ///< Of the first message, by datagram.
  std::vector<std::size_t> accepted_;  ///< Bytes, by datagram, that the ring has had.
  std::vector<bool> complete_;
  std::size_t sending_ = 0;
  std::size_t beat_ = 0;
  std::size_t shown_ = 0;
  std::size_t position_ = 0;
  std::size_t settled_ = 0;  ///< Position without a move of this cycle that was not foreseen.
  std::size_t accepted_total_ = 0;
  std::deque<BeatOf> ring_;
  std::optional<BeatOf> held_;  ///< That came while the ring was full.
  bool offered_ = false;
  bool moves_ = false;       ///< To where nothing is shown in the next cycle.
  bool shows_ = false;       ///< Something, in this cycle, if it has arrived.
  std::size_t arrived_ = 0;  ///< Bytes of the datagram that is shown, a cycle ago.
  bool is_whole_ = false;
};

std::vector<Bytes> random_datagrams(Random& random, std::size_t count) {
  constexpr std::size_t kLengths[] = {0, 1, 9, 10, 11, 15, 16, 17, 26, 31, 32, 33, 47, 48, 49, 64, 1'472};
  std::vector<Bytes> datagrams;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = random.chance(50) ? kLengths[random.below(std::size(kLengths))] : random.below(200);
    datagrams.push_back(random_bytes(random, length, static_cast<std::uint32_t>(random.below(101))));
  }
  return datagrams;
}

TEST(Decompressor, shows_every_byte_and_the_end_of_every_entity) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Traffic traffic(seed, static_cast<std::uint32_t>(seed % 4 * 30), static_cast<std::uint32_t>(seed / 4 % 4 * 30));
    traffic.run(random_datagrams(random, 80), 0);
    if (HasFatalFailure() || HasFailure()) return;
  }
}

TEST(Decompressor, a_datagram_that_is_given_up_leaves_the_next_whole) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Traffic traffic(seed, static_cast<std::uint32_t>(seed % 4 * 30), static_cast<std::uint32_t>(seed / 4 % 4 * 30));
    traffic.run(random_datagrams(random, 200), 15);
    if (HasFatalFailure() || HasFailure()) return;
  }
}

TEST(Decompressor, a_reset_forgets_what_was_inside) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Traffic traffic(seed, 20, 40);
    for (int round = 0; round < 5; ++round) {
      traffic.interrupt(random_datagrams(random, 20), static_cast<int>(random.below(60)));
      traffic.run(random_datagrams(random, 20), 5);
      if (HasFatalFailure() || HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
