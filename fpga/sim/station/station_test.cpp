#include <Vstopbit_station.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"

// Frames past the station, of which it keeps what concerns it, while a host reads what is kept and sends frames of its
// own. Either side of each port stalls; resets come in the middle of frames.

namespace stopbit::sim {
namespace {

using Frame = std::vector<std::uint8_t>;

constexpr std::size_t kBeat = 64;
constexpr std::size_t kKeptWords = 64;
constexpr std::size_t kSendBytes = 2'048;
constexpr std::uint64_t kMac = 0x02AABBCCDDEE;
constexpr std::uint32_t kAddress = 0x0A010203;

void put(Frame& frame, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) frame[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}

Frame noise(Random& random, std::size_t bytes) {
  Frame frame(bytes);
  for (std::uint8_t& byte : frame) byte = static_cast<std::uint8_t>(random.bits());
  return frame;
}

std::size_t beats_of(const Frame& frame) {
  return (frame.size() + kBeat - 1) / kBeat;
}

/// A frame, and whether the host is to get it if it is good.
struct Passing {
  Frame bytes;
  bool wanted = false;
  bool bad = false;
};

/// Every field that decides is right, or one of them is not.
Passing make_passing(Random& random) {
  Passing made;
  std::size_t length = random.chance(80) ? 60 + random.below(80) : 60 + random.below(1'500);
  if (random.chance(2)) length = kBeat * (kKeptWords + random.below(3)) - random.below(3);
  made.bytes = noise(random, length);
  Frame& frame = made.bytes;
  const std::uint64_t to = random.below(3);
  put(frame, 0, to == 0 ? kMac : to == 1 ? 0x01005E000001 : 0xFFFFFFFFFFFF, 6);
  made.wanted = true;
  const std::uint64_t wrong = random.below(8);  // of which 0 to 3 change nothing
  if (random.chance(50)) {
    put(frame, 12, 0x0800, 2);
    const std::size_t header = random.chance(50) ? 20 : 24;
    put(frame, 14, 0x40 | header / 4, 1);
    put(frame, 23, 2, 1);
    put(frame, 14 + header, 0x11, 1);
    if (wrong == 4) put(frame, 14 + header, 0x16, 1);
    if (wrong == 5) put(frame, 23, 17, 1);
    if (wrong == 6) put(frame, 14, 0x47, 1);
    if (wrong == 7) put(frame, 12, 0x8100, 2);
  } else {
    put(frame, 12, 0x0806, 2);
    put(frame, 20, 1, 2);
    put(frame, 38, kAddress, 4);
    if (wrong == 4) put(frame, 20, 2, 2);
    if (wrong == 5) put(frame, 38, kAddress ^ std::uint64_t{1} << random.below(32), 4);
    if (wrong == 6) put(frame, 12, 0x0807, 2);
    if (wrong == 7) put(frame, 0, kMac ^ std::uint64_t{2} << random.below(39), 6);
    if (wrong == 7) frame[0] &= 0xFE;
  }
  if (wrong >= 4) made.wanted = false;
  made.bad = random.chance(10);
  return made;
}

class StationBench {
 public:
  explicit StationBench(std::uint64_t seed) : random(seed), bench(seed) {
    bench->on_i = 1;
    bench->mac_i = kMac;
    bench->address_i = kAddress;
    bench->moves_i = 0;
    bench->kept_take_i = 0;
    bench->word_valid_i = 0;
    bench->send_valid_i = 0;
    bench->tx_ready_i = 0;
    bench.reset();
  }

  Random random;
  Bench<Vstopbit_station> bench;
  std::uint32_t gap = 0;        ///< Percent of the cycles without a beat from the network,
  std::uint32_t lag = 0;        ///< in which the host reads nothing,
  std::uint32_t mac_stall = 0;  ///< and in which the MAC takes nothing.
  bool reads = true;
  bool mac_is_ready = true;

  std::vector<Frame> heard;  ///< By the host.
  std::vector<Frame> left;   ///< For the network.
  std::uint64_t kept = 0;
  std::uint64_t lost = 0;
  std::uint64_t sent = 0;

  /// A cycle. @returns whether something that the host has written was refused.
  bool cycle() {
    bench->kept_take_i = reads && !random.chance(lag);
    bench->tx_ready_i = mac_is_ready && !random.chance(mac_stall);
    bench.settle();
    kept += bench->heard_o;
    lost += bench->lost_o;
    sent += bench->sent_o;
    const bool refused = bench->refused_o;
    if (bench->kept_valid_o && bench->kept_take_i) {
      for (std::size_t i = 0; i < bench->kept_bytes_o; ++i) {
        listening_.push_back(static_cast<std::uint8_t>(bits_at(bench->kept_data_o, static_cast<unsigned>(8 * i), 8)));
      }
      EXPECT_TRUE(bench->kept_last_o || bench->kept_bytes_o == kBeat);
      if (bench->kept_last_o) heard.push_back(std::exchange(listening_, {}));
    }
    look_at_beat();
    bench.step();
    return refused;
  }

  void pass(const Frame& frame, bool bad, std::size_t beats = ~std::size_t{0}) {
    for (std::size_t at = 0; at < frame.size() && beats != 0; at += kBeat, --beats) {
      while (random.chance(gap)) cycle();
      const std::size_t count = std::min(kBeat, frame.size() - at);
      BitWriter data(bench->data_i);
      for (std::size_t i = 0; i < kBeat; ++i) data.put(i < count ? frame[at + i] : 0, 8);
      bench->keep_i = count == kBeat ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      bench->last_i = at + kBeat >= frame.size();
      bench->bad_i = bench->last_i ? bad : random.chance(50);
      bench->moves_i = 1;
      cycle();
      bench->moves_i = 0;
      bench->last_i = random.chance(50);
    }
  }

  bool write(std::uint32_t word) {
    bench->word_valid_i = 1;
    bench->word_i = word;
    const bool refused = cycle();
    bench->word_valid_i = 0;
    return refused;
  }
  bool send(std::size_t bytes) {
    bench->send_valid_i = 1;
    bench->send_bytes_i = static_cast<std::uint16_t>(bytes);
    const bool refused = cycle();
    bench->send_valid_i = 0;
    return refused;
  }
  void write(const Frame& frame) {
    for (std::size_t at = 0; at < frame.size(); at += 4) {
      std::uint32_t word = 0;
      for (std::size_t i = 0; i < 4 && at + i < frame.size(); ++i) word |= std::uint32_t{frame[at + i]} << 8 * i;
      EXPECT_FALSE(write(word));
    }
  }
  bool is_sending() {
    bench.settle();
    return bench->sending_o;
  }

  void rest(std::size_t cycles) {
    for (std::size_t i = 0; i < cycles; ++i) cycle();
  }
  void reset() {
    bench->moves_i = 0;
    bench.reset();
    listening_.clear();
    leaving_.clear();
    waiting_.reset();
  }

 private:
  struct Beat {
    Frame bytes;
    bool last = false;
    bool operator==(const Beat&) const = default;
  };

  void look_at_beat() {
    if (!bench->tx_valid_o) {
      EXPECT_FALSE(waiting_) << "a beat was withdrawn before it was taken";
      EXPECT_TRUE(leaving_.empty()) << "a frame has a gap";
      return;
    }
    Beat beat{.bytes = {}, .last = bench->tx_last_o != 0};
    for (std::size_t i = 0; i < kBeat && (bench->tx_keep_o >> i & 1) != 0; ++i) {
      beat.bytes.push_back(static_cast<std::uint8_t>(bits_at(bench->tx_data_o, static_cast<unsigned>(8 * i), 8)));
    }
    EXPECT_TRUE(!waiting_ || beat == *waiting_) << "a beat changes before it is taken";
    waiting_.reset();
    if (!bench->tx_ready_i) {
      waiting_ = beat;
      return;
    }
    leaving_.insert(leaving_.end(), beat.bytes.begin(), beat.bytes.end());
    if (beat.last) left.push_back(std::exchange(leaving_, {}));
  }

  Frame listening_;
  Frame leaving_;
  std::optional<Beat> waiting_;
};

TEST(Station, keeps_what_concerns_the_card_and_nothing_else) {
  for (const std::uint32_t gap : {0U, 40U}) {
    StationBench bench(5 + gap);
    bench.gap = gap;
    std::vector<Frame> expected;
    for (int i = 0; i < 4'000; ++i) {
      const Passing passing = make_passing(bench.random);
      const bool fits = beats_of(passing.bytes) <= kKeptWords;
      if (passing.wanted && !passing.bad && fits) expected.push_back(passing.bytes);
      bench.pass(passing.bytes, passing.bad);
      bench.rest(fits ? 0 : 200);
      // The host reads a word a cycle, and so does the network: but a frame is shown only once it is whole.
      if (bench.random.chance(20)) bench.rest(80);
    }
    bench.rest(200);
    // Those that found no room are among the long ones.
    EXPECT_EQ(bench.kept, bench.heard.size());
    EXPECT_GT(bench.lost, 0U);
    EXPECT_GT(bench.heard.size(), 1'000U);
    std::size_t at = 0;
    std::size_t missing = 0;
    for (const Frame& frame : bench.heard) {
      while (at < expected.size() && expected[at] != frame) ++at, ++missing;
      ASSERT_LT(at, expected.size()) << "a frame that is not to be kept, or out of order";
      ++at;
    }
    EXPECT_LE(missing + expected.size() - at, bench.lost);
  }
}

TEST(Station, a_host_that_never_reads_finds_what_there_was_room_for_and_the_rest_counted) {
  StationBench bench(11);
  bench.reads = false;
  std::vector<Frame> expected;
  std::size_t used = 0;
  std::uint64_t lost = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Passing passing = make_passing(bench.random);
    if (passing.wanted && used + beats_of(passing.bytes) > kKeptWords) {
      ++lost;
    } else if (passing.wanted && !passing.bad) {
      used += beats_of(passing.bytes);
      expected.push_back(passing.bytes);
    }
    bench.pass(passing.bytes, passing.bad);
  }
  bench.rest(10);
  EXPECT_EQ(bench.kept, expected.size());
  EXPECT_EQ(bench.lost, lost);
  EXPECT_GT(lost, 500U);
  bench.reads = true;
  bench.rest(200);
  EXPECT_EQ(bench.heard, expected);
}

TEST(Station, keeps_nothing_while_the_host_does_not_listen_or_has_no_address) {
  StationBench bench(12);
  bench.bench->on_i = 0;
  for (int i = 0; i < 200; ++i) bench.pass(make_passing(bench.random).bytes, false);
  bench.bench->on_i = 1;
  bench.bench->address_i = 0;
  Frame request(60);
  put(request, 0, 0xFFFFFFFFFFFF, 6);
  put(request, 12, 0x0806, 2);
  put(request, 20, 1, 2);
  bench.pass(request, false);
  bench.rest(20);
  EXPECT_EQ(bench.kept + bench.lost, 0U);
  EXPECT_TRUE(bench.heard.empty());
}

TEST(Station, sends_frames_of_every_length_whole_to_a_mac_that_stalls) {
  StationBench bench(13);
  for (std::size_t length = 1; length <= kSendBytes; length += length < 300 ? 1 : 97) {
    bench.mac_stall = static_cast<std::uint32_t>(bench.random.below(3) * 45);
    const Frame frame = noise(bench.random, length);
    bench.write(frame);
    if (bench.random.chance(30)) bench.rest(5);
    ASSERT_FALSE(bench.send(length));
    for (int i = 0; bench.is_sending() && i < 2'000; ++i) bench.cycle();
    ASSERT_FALSE(bench.left.empty());
    ASSERT_EQ(bench.left.back(), frame) << length;
  }
  const Frame longest = noise(bench.random, kSendBytes);
  bench.write(longest);
  EXPECT_FALSE(bench.send(kSendBytes));
  bench.mac_stall = 0;
  bench.rest(40);
  EXPECT_EQ(bench.left.back(), longest);
  EXPECT_EQ(bench.sent, bench.left.size());
}

TEST(Station, refuses_what_cannot_be_a_frame_and_sends_the_next_one) {
  StationBench bench(14);
  const Frame frame = noise(bench.random, 62);
  const auto good_one_leaves = [&] {
    const std::size_t before = bench.left.size();
    bench.write(frame);
    EXPECT_FALSE(bench.send(62));
    bench.rest(10);
    ASSERT_EQ(bench.left.size(), before + 1);
    EXPECT_EQ(bench.left.back(), frame);
  };
  EXPECT_TRUE(bench.send(0));
  EXPECT_TRUE(bench.send(1)) << "nothing was written";
  good_one_leaves();
  bench.write(frame);
  EXPECT_TRUE(bench.send(65)) << "more than was written";
  good_one_leaves();
  bench.write(noise(bench.random, kSendBytes));
  EXPECT_TRUE(bench.write(1)) << "no room";
  EXPECT_TRUE(bench.send(64)) << "a part of what was written";
  good_one_leaves();
  bench.write(frame);
  EXPECT_TRUE(bench.send(0xFFF));
  good_one_leaves();
}

TEST(Station, a_mac_that_is_never_ready_makes_only_the_host_wait) {
  StationBench bench(15);
  bench.mac_is_ready = false;
  const Frame first = noise(bench.random, 90);
  bench.write(first);
  EXPECT_FALSE(bench.send(90));
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(bench.write(static_cast<std::uint32_t>(i)));
    EXPECT_TRUE(bench.send(4));
  }
  std::vector<Frame> expected;
  for (int i = 0; i < 300; ++i) {
    const Passing passing = make_passing(bench.random);
    if (beats_of(passing.bytes) > 30) continue;
    if (passing.wanted && !passing.bad) expected.push_back(passing.bytes);
    bench.pass(passing.bytes, passing.bad);
    bench.rest(30);
  }
  EXPECT_EQ(bench.heard, expected);
  EXPECT_TRUE(bench.left.empty());
  bench.mac_is_ready = true;
  bench.rest(10);
  EXPECT_EQ(bench.left, std::vector<Frame>{first}) << "nothing of what was refused";
}

TEST(Station, both_directions_go_on_beside_each_other_with_stalls_and_random_commands) {
  StationBench bench(16);
  bench.gap = 30;
  bench.lag = 60;
  bench.mac_stall = 60;
  std::vector<Frame> expected_left;
  std::vector<Frame> expected_heard;
  std::uint64_t refused = 0;
  Frame written;
  bool spoilt = false;
  for (int i = 0; i < 6'000; ++i) {
    const bool was_sending = bench.is_sending();
    if (bench.random.chance(85)) {
      const auto word = static_cast<std::uint32_t>(bench.random.bits());
      const bool is_refused = bench.write(word);
      ASSERT_EQ(is_refused, was_sending || written.size() == kSendBytes);
      spoilt = spoilt || is_refused;
      if (!is_refused) {
        for (int shift = 0; shift < 32; shift += 8) written.push_back(static_cast<std::uint8_t>(word >> shift));
      }
    } else {
      const std::size_t bytes = bench.random.chance(70)
                                    ? written.size() - bench.random.below(std::min<std::size_t>(4, written.size() + 1))
                                    : bench.random.below(kSendBytes * 2);
      const bool is_refused = bench.send(bytes);
      ASSERT_EQ(is_refused, was_sending || spoilt || bytes == 0 || bytes > written.size());
      if (!is_refused) {
        expected_left.emplace_back(written.begin(), written.begin() + static_cast<std::ptrdiff_t>(bytes));
      } else {
        ++refused;
      }
      written.clear();
      spoilt = false;
    }
    if (bench.random.chance(20)) {
      const Passing passing = make_passing(bench.random);
      if (beats_of(passing.bytes) > 20) continue;
      if (passing.wanted && !passing.bad) expected_heard.push_back(passing.bytes);
      bench.pass(passing.bytes, passing.bad);
    }
  }
  bench.rest(500);
  EXPECT_EQ(bench.heard, expected_heard);
  EXPECT_EQ(bench.left, expected_left);
  EXPECT_GT(refused, 100U);
  EXPECT_GT(bench.left.size(), 100U);
  EXPECT_EQ(bench.lost, 0U);
}

TEST(Station, a_reset_in_the_middle_of_frames_leaves_nothing_of_them) {
  StationBench bench(17);
  for (int i = 0; i < 300; ++i) {
    // A part of a frame from the network, of one that is sent, and words of one that is not.
    Passing passing = make_passing(bench.random);
    while (!passing.wanted || beats_of(passing.bytes) < 2 || beats_of(passing.bytes) > 20)
      passing = make_passing(bench.random);
    bench.reads = bench.random.chance(50);
    if (bench.random.chance(50)) {
      bench.mac_is_ready = false;
      bench.write(noise(bench.random, 300));
      EXPECT_FALSE(bench.send(300));
      bench.mac_is_ready = true;
      bench.rest(bench.random.below(3));
    } else {
      bench.write(noise(bench.random, 40));
    }
    if (bench.random.chance(50)) bench.pass(passing.bytes, false);
    bench.pass(passing.bytes, false, 1 + bench.random.below(beats_of(passing.bytes) - 1));
    bench.rest(bench.random.below(3));
    bench.reset();
    bench.heard.clear();
    bench.left.clear();
    bench.reads = true;
    bench.rest(20);
    ASSERT_TRUE(bench.heard.empty());
    ASSERT_TRUE(bench.left.empty());
    ASSERT_FALSE(bench.is_sending());
    bench.pass(passing.bytes, false);
    const Frame frame = noise(bench.random, 61);
    bench.write(frame);
    ASSERT_FALSE(bench.send(61));
    bench.rest(60);
    ASSERT_EQ(bench.heard, std::vector<Frame>{passing.bytes});
    ASSERT_EQ(bench.left, std::vector<Frame>{frame});
  }
}

}  // namespace
}  // namespace stopbit::sim
