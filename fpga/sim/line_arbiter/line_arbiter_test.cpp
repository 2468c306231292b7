#include <Vstopbit_line_arbiter.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "datagram_stage.hpp"
#include "datagrams.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint32_t kWindow = 64;

struct Rule {
  bool enable = true;
  bool carousel = false;
  std::uint32_t window = kWindow;
};

struct Gap {
  std::uint16_t channel = 0;
  std::uint16_t sender_epoch = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const Gap&) const = default;
};

/// The expected output for datagrams: written from the text of the module, with a set of numbers instead of a window.
class Model {
 public:
  explicit Model(std::map<std::uint16_t, Rule> rules) : rules_(std::move(rules)) {}

  /// Whether the datagram passes.
  bool take(const DatagramInfo& info) {
    const auto rule = rules_.find(info.channel);
    if (rule == rules_.end() || !rule->second.enable || info.data_offset > info.length_bytes) return true;
    Channel& channel = channels_[info.channel];
    const std::uint32_t number = info.sequence_number;
    const std::uint32_t behind_by = channel.highest - number;
    const bool known = channel.begun && behind_by < rule->second.window && channel.passed.contains(number);
    if (!channel.begun || channel.epoch != info.sender_epoch || (rule->second.carousel && number == 1 && !known)) {
      channel = {.begun = true, .epoch = info.sender_epoch, .highest = number, .passed = {number}};
      ++passed;
      return true;
    }
    const std::uint32_t ahead_by = number - channel.highest;
    if (ahead_by != 0 && ahead_by < 0x8000'0000) {
      if (ahead_by > 1) gaps.push_back({info.channel, info.sender_epoch, channel.highest + 1, ahead_by - 1});
      if (ahead_by >= kWindow) channel.passed.clear();
      channel.highest = number;
      channel.passed.insert(number);
      ++passed;
      return true;
    }
    ++(known ? duplicates : late);
    return false;
  }

  std::size_t passed = 0;
  std::size_t duplicates = 0;
  std::size_t late = 0;
  std::vector<Gap> gaps;

 private:
  struct Channel {
    bool begun = false;
    std::uint16_t epoch = 0;
    std::uint32_t highest = 0;
    std::set<std::uint32_t> passed;
  };
  std::map<std::uint16_t, Rule> rules_;
  std::map<std::uint16_t, Channel> channels_;
};

/// Channel 0: two lines. 1: a carousel. 2: like 0, at the end of the numbers. 5: not arbitrated. 7: a small window.
const std::map<std::uint16_t, Rule> kRules = {
    {0, {}}, {1, {.carousel = true}}, {2, {}}, {5, {.enable = false}}, {7, {.window = 4}}};

class LineArbiter : public ::testing::Test {
 protected:
  LineArbiter() { restart(); }

  void restart() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->gap_ready_i = 0;
    bench_->write_i = 0;
    bench_.reset();
    for (const auto& [channel, rule] : kRules) {
      bench_->write_i = 1;
      bench_->write_channel_i = static_cast<std::uint8_t>(channel);
      bench_->write_rule_i = static_cast<std::uint8_t>(static_cast<unsigned>(rule.enable) << 7 |
                                                       static_cast<unsigned>(rule.carousel) << 6 | (rule.window - 1));
      bench_.step();
    }
    bench_->write_i = 0;
    model_ = Model(kRules);
  }

  void run(Random& random, const std::vector<SentDatagram>& datagrams, std::uint32_t in_stall,
           std::uint32_t out_stall) {
    std::vector<SentDatagram> expected;
    const Model was = model_;
    for (const SentDatagram& datagram : datagrams) {
      if (model_.take(datagram.info)) expected.push_back(datagram);
    }
    Model seen({});
    Gate gate(random, out_stall);
    const auto look = [&] {
      bench_->gap_ready_i = gate.open();
      bench_.settle();
      seen.passed += bench_->passed_o;
      seen.duplicates += bench_->duplicate_o;
      seen.late += bench_->late_o;
      EXPECT_LE(bench_->passed_o + bench_->duplicate_o + bench_->late_o, 1);
      if (bench_->gap_valid_o && bench_->gap_ready_i) {
        seen.gaps.push_back({static_cast<std::uint16_t>(bits_at(bench_->gap_o, 80, 16)),
                             static_cast<std::uint16_t>(bits_at(bench_->gap_o, 64, 16)),
                             static_cast<std::uint32_t>(bits_at(bench_->gap_o, 32, 32)),
                             static_cast<std::uint32_t>(bits_at(bench_->gap_o, 0, 32))});
      }
    };
    const auto result = stage_through(bench_, random, datagrams, in_stall, out_stall, look);
    ASSERT_EQ(result.size(), expected.size());
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_TRUE(result[i] == expected[i]) << "datagram " << i;
    EXPECT_EQ(seen.passed, model_.passed - was.passed);
    EXPECT_EQ(seen.duplicates, model_.duplicates - was.duplicates);
    EXPECT_EQ(seen.late, model_.late - was.late);
    EXPECT_TRUE(seen.gaps == std::vector<Gap>(model_.gaps.begin() + static_cast<std::ptrdiff_t>(was.gaps.size()),
                                              model_.gaps.end()));
  }

  static SentDatagram datagram(std::uint16_t channel, std::uint32_t sequence_number, std::size_t size = 20,
                               std::uint16_t epoch = 0) {
    return {{.sequence_number = sequence_number,
             .length_bytes = static_cast<std::uint32_t>(size),
             .data_offset = 4,
             .channel = channel,
             .sender_epoch = epoch},
            std::vector<std::byte>(size, static_cast<std::byte>(sequence_number))};
  }

  /// Two lines, each with losses of its own, one after another by some datagrams.
  std::vector<SentDatagram> two_lines(Random& random, std::size_t count) {
    std::vector<SentDatagram> result;
    for (std::size_t i = 0; i < count; ++i) {
      static constexpr std::uint16_t kChannels[] = {0, 1, 2, 5, 7, 9};
      const std::uint16_t channel = kChannels[random.below(std::size(kChannels))];
      Lines& lines = lines_[channel];
      if (lines.next == 0 && channel == 2) lines.next = 0xFFFF'FF00;
      if (random.chance(50)) ++lines.next;
      if (random.below(60) == 0) lines.next += static_cast<std::uint32_t>(random.below(200));
      if (random.below(400) == 0) ++lines.epoch;
      if (channel == 1 && random.below(150) == 0) lines.next = 1;
      const auto lag = static_cast<std::uint32_t>(random.chance(90) ? random.below(6) : random.below(130));
      SentDatagram sent =
          datagram(channel, lines.next - lag, random.chance(60) ? 4 + random.below(12) : random.below(90), lines.epoch);
      if (random.below(50) == 0) sent.info.data_offset = static_cast<std::uint16_t>(sent.bytes.size() + 1);
      if (sent.info.data_offset == 4 && sent.bytes.size() < 4) sent.info.data_offset = 0;
      sent.info.number = i;
      result.push_back(sent);
    }
    return result;
  }

  struct Lines {
    std::uint32_t next = 0;
    std::uint16_t epoch = 0;
  };
  Bench<Vstopbit_line_arbiter> bench_{83};
  Model model_{kRules};
  std::map<std::uint16_t, Lines> lines_;
};

TEST_F(LineArbiter, is_its_model_for_two_lossy_lines_at_every_stall_rate) {
  for (const std::uint32_t in : {0U, 40U, 90U}) {
    for (const std::uint32_t out : {0U, 40U, 90U}) {
      SCOPED_TRACE(testing::Message() << "stalls of input " << in << " %, of output " << out << " %");
      Random random(in + 3 * out + 1);
      run(random, two_lines(random, 4000), in, out);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(model_.gaps.size(), 100U);
  EXPECT_GT(model_.duplicates, 1000U);
  EXPECT_GT(model_.late, 100U);
}

TEST_F(LineArbiter, passes_each_number_once_and_accounts_for_all) {
  Random random(89);
  std::vector<SentDatagram> sent;
  for (std::uint32_t number = 1000; number < 1100; ++number) {
    if (number % 10 != 3) sent.push_back(datagram(0, number));
    if (number % 7 != 5) sent.push_back(datagram(0, number));
  }
  run(random, sent, 0, 0);
  std::size_t lost = 0;
  for (const Gap& gap : model_.gaps) lost += gap.count;
  EXPECT_EQ(model_.passed + lost, 100U);
  EXPECT_EQ(model_.passed + model_.duplicates + model_.late, sent.size());
}

TEST_F(LineArbiter, tells_duplicates_from_late_numbers_behind_a_jump_of_any_length) {
  std::vector<SentDatagram> sent;
  std::uint16_t epoch = 0;
  for (std::uint32_t jump = 1; jump <= 2 * kWindow + 2; ++jump) {
    ++epoch;
    for (std::uint32_t number = 1000; number < 1000 + kWindow; number += 1 + jump % 2) {
      sent.push_back(datagram(0, number, 20, epoch));
    }
    const std::uint32_t highest = sent.back().info.sequence_number + jump;
    sent.push_back(datagram(0, highest, 20, epoch));
    for (std::uint32_t back = 0; back < kWindow + 3; ++back) sent.push_back(datagram(0, highest - back, 20, epoch));
  }
  Random random(91);
  run(random, sent, 0, 0);
  EXPECT_GT(model_.duplicates, 1000U);
  EXPECT_GT(model_.late, 1000U);
}

TEST_F(LineArbiter, decides_in_one_cycle_and_takes_one_beat_datagrams_of_a_channel_back_to_back) {
  bench_->ready_i = 1;
  bench_->gap_ready_i = 1;
  for (std::uint32_t number = 1; number <= 50; ++number) {
    const SentDatagram sent = datagram(0, number, 16);
    DatagramFeeder feeder;
    for (int copy = 0; copy < 2; ++copy) {
      feeder.begin(sent);
      feeder.show(bench_->beat_i, bench_->datagram_i, 0);
      bench_->valid_i = 1;
      bench_.settle();
      ASSERT_TRUE(bench_->ready_o);
      bench_.step();
      ASSERT_EQ(bench_->valid_o != 0, copy == 0) << "number " << number;
      if (copy == 0) {
        ASSERT_EQ(info_of(bench_->datagram_o).sequence_number, number);
      }
    }
  }
}

TEST_F(LineArbiter, begins_anew_after_a_reset_in_the_middle) {
  Random random(97);
  for (int round = 0; round < 30; ++round) {
    const auto sent = two_lines(random, 5);
    DatagramFeeder feeder;
    bench_->ready_i = random.chance(50);
    std::size_t next = 0;
    for (std::uint64_t cycles = 1 + random.below(30); cycles > 0; --cycles) {
      if (!feeder.busy()) feeder.begin(sent[next++ % 5]);
      feeder.show(bench_->beat_i, bench_->datagram_i, 0);
      bench_->valid_i = 1;
      bench_.settle();
      if (bench_->ready_o) feeder.advance();
      bench_.step();
    }
    restart();
    run(random, two_lines(random, 100), 20, 20);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
