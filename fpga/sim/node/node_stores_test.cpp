/// What a port stores to its page of the message unit: limits of rings, parts of messages, and nothing else.
#include <Vrtl_node_stores.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"
#include "htax_packet.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPorts = 8;
constexpr std::uint64_t kPartAt = 2048;  // in a page; a bit below it is the class
constexpr std::uint64_t kClassBit = 1024;
constexpr std::uint64_t kLimits = 4;  // of a port

class NodeStores : public ::testing::Test {
 protected:
  struct Limit {
    std::uint64_t index = 0;
    std::uint32_t limit = 0;
  };
  struct Part {
    bool is_first = false;
    bool is_last = false;
    std::uint64_t vpid = 0;
    bool is_high = false;
    std::uint64_t data = 0;
  };

  NodeStores() { reset(); }
  void reset() {
    bench_->valid_i = bench_->limit_ready_i = bench_->part_ready_i = 0;
    bench_.reset();
    EXPECT_EQ(bench_->bad_o, 0);
    packet_.clear();
    limits_.clear();
    parts_.clear();
    bad_ = expected_bad_ = 0;
    was_offered_ = false;
  }
  /// The next packet, and what has to become of it.
  void make() {
    htax::Header header{.channel = htax::kPosted, .length = 1 + random_.below(8), .origin = 7, .tag = 31};
    const bool is_part = random_.chance(50);
    const std::uint64_t vpid = random_.chance(90) ? random_.below(kPorts) : kPorts + random_.below(2 * kPorts);
    const bool is_high = random_.chance(50);
    std::uint64_t at = is_part ? kPartAt + (is_high ? kClassBit : 0) + random_.below(kClassBit / 8) * 8
                               : 8 * random_.below(random_.chance(80) ? kLimits : kPartAt / 8);
    if (!is_part && random_.chance(70)) header.length = 1 + random_.below(kLimits);
    bool is_whole = vpid < kPorts;
    // One of the things that are wrong, now and then.
    switch (random_.below(20)) {
      case 0: header.error = true; break;
      case 1: header.length = 0; break;
      case 2: at += 1 + random_.below(7); break;
      case 3:
        header.length = 1;
        header.origin = random_.below(8);
        header.tag = random_.below(32);
        break;
      default: break;
    }
    if (header.length > 1) {
      // Masks are of single words.
      header.origin = random_.below(16);
      header.tag = random_.below(32);
    }
    header.address = (random_.bits() & 0xFFFF'F000'0000) | vpid << 12U | at;
    const bool is_masked = header.length == 1 && (header.origin % 8 != 7 || header.tag != 31);
    is_whole = is_whole && !header.error && header.length != 0 && at % 8 == 0 && !is_masked;
    const htax::Packet packet = htax::make(random_, header);
    packet_.assign(packet.begin(), packet.end());
    if (is_whole && is_part) {
      for (std::size_t i = 1; i < packet.size(); ++i) {
        parts_.push_back({i == 1, i + 1 == packet.size(), vpid, is_high, packet[i]});
      }
    } else if (is_whole && at / 8 + header.length <= kLimits) {
      for (std::size_t i = 1; i < packet.size(); ++i) {
        const std::uint64_t word = at / 8 + i - 1;
        limits_.push_back({word / 2 << 4U | vpid << 1U | word % 2, static_cast<std::uint32_t>(packet[i])});
      }
    } else {
      ++expected_bad_;
    }
  }
  void cycle(std::uint32_t stalls) {
    if (packet_.empty() && !random_.chance(stalls)) {
      ASSERT_TRUE(limits_.empty()) << "a limit was left out";
      ASSERT_TRUE(parts_.empty()) << "words of a part were left out";
      make();
    }
    was_offered_ = !packet_.empty() && (was_offered_ || !random_.chance(stalls));
    bench_->valid_i = was_offered_;
    bench_->phit_i = was_offered_ ? packet_.front() : random_.bits();
    bench_->last_i = was_offered_ ? packet_.size() == 1 : random_.chance(50);
    bench_->limit_ready_i = !random_.chance(stalls);
    bench_->part_ready_i = !random_.chance(stalls);
    bench_.settle();
    if (bench_->limit_valid_o != 0) {
      ASSERT_FALSE(limits_.empty()) << "a limit of no store";
      ASSERT_EQ(bench_->limit_index_o, limits_.front().index);
      ASSERT_EQ(bench_->limit_o, limits_.front().limit);
      ASSERT_EQ(bench_->ready_o, bench_->limit_ready_i);
      if (bench_->limit_ready_i != 0) {
        limits_.pop_front();
        ++taken_limits_;
      }
    } else if (bench_->part_valid_o != 0) {
      ASSERT_FALSE(parts_.empty()) << "a part of no store";
      const Part& part = parts_.front();
      ASSERT_EQ(bench_->part_first_o != 0, part.is_first);
      ASSERT_EQ(bench_->part_last_o != 0, part.is_last);
      ASSERT_EQ(bench_->part_vpid_o, part.vpid);
      ASSERT_EQ(bench_->part_class_o != 0, part.is_high);
      ASSERT_EQ(bench_->part_data_o, part.data);
      ASSERT_EQ(bench_->ready_o, bench_->part_ready_i);
      if (bench_->part_ready_i != 0) {
        parts_.pop_front();
        ++taken_words_;
      }
    } else if (was_offered_) {
      ASSERT_NE(bench_->ready_o, 0) << "a header, or what is left out";
    }
    ASSERT_FALSE(bench_->limit_valid_o && bench_->part_valid_o);
    if (was_offered_ && bench_->ready_o) {
      packet_.pop_front();
      was_offered_ = false;
    }
    bench_.step();
    bad_ += bench_->bad_o;
    ASSERT_LE(bad_, expected_bad_);
  }

  Bench<Vrtl_node_stores> bench_{11};
  Random random_{12};
  std::deque<std::uint64_t> packet_;  ///< Phits of the packet that comes.
  std::deque<Limit> limits_;          ///< That have to come of it,
  std::deque<Part> parts_;            ///< or words of parts.
  std::uint64_t bad_ = 0;
  std::uint64_t expected_bad_ = 0;
  std::uint64_t taken_limits_ = 0;
  std::uint64_t taken_words_ = 0;
  bool was_offered_ = false;
};

TEST_F(NodeStores, become_limits_and_parts_of_their_port_or_are_left_out) {
  std::uint64_t all_bad = 0;
  for (int phase = 0; phase < 80; ++phase) {
    const auto stalls = static_cast<std::uint32_t>(random_.below(4) * 25);
    for (int i = 0; i < 1'000; ++i) {
      cycle(stalls);
      if (HasFatalFailure()) return;
    }
    if (random_.chance(40)) {
      reset();
      continue;
    }
    // To the end of the packet that comes: each that was bad is counted once.
    while (!packet_.empty()) {
      cycle(stalls);
      if (HasFatalFailure()) return;
    }
    ASSERT_EQ(bad_, expected_bad_);
    all_bad += bad_;
    bad_ = expected_bad_ = 0;
  }
  EXPECT_GT(taken_limits_, 2'000U);
  EXPECT_GT(taken_words_, 5'000U);
  EXPECT_GT(all_bad, 500U);
}

}  // namespace
}  // namespace stopbit::sim
