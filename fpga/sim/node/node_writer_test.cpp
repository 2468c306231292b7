/// The units' stream of writes: which packets and events become of it, and what is dropped.
#include <Vrtl_node_writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "htax_packet.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPorts = 8;
constexpr std::uint64_t kLines = 64;  // of a ring
constexpr std::uint64_t kBusy = 2;    // a port
constexpr std::size_t kLineWords = 8;
constexpr std::size_t kNoticeWords = 5;
constexpr std::uint64_t kHtaxAddresses = std::uint64_t{1} << 48U;

class NodeWriter : public ::testing::Test {
 protected:
  struct Write {
    bool is_notice = false;
    bool is_last = false;
    std::uint64_t address = 0;
    std::uint8_t strobe = 0xFF;
    std::uint64_t data = 0;
  };
  /// What becomes of words that belong together: a packet, an event, both, or neither.
  struct Entry {
    htax::Packet packet;
    std::optional<std::uint64_t> event;  ///< Port, and number above it.
  };
  /// A ring of notifications.
  struct Ring {
    bool is_open = false;
    std::uint64_t page = 0;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
  };

  NodeWriter() { reset(); }
  void reset() {
    bench_->set_valid_i = bench_->read_valid_i = bench_->valid_i = bench_->ready_i = bench_->event_ready_i = 0;
    bench_.reset();
    to_write_.clear();
    entries_.clear();
    for (Ring& ring : rings_) ring.is_open = false;
    at_ = 0;
    set_.reset();
    dropped_ = lost_ = expected_dropped_ = expected_lost_ = taken_ = 0;
    was_offered_ = false;
  }

  /// Data of some words that follow each other.
  void write_data() {
    std::uint64_t address = random_.bits() % (kHtaxAddresses / 8 - kLineWords * 4) * 8;
    if (random_.chance(10)) address |= (1 + random_.below(15)) << 48U;
    const std::size_t words = 1 + random_.below(20);
    const bool is_partial = words == 1 && random_.chance(50);
    Entry entry;
    for (std::size_t i = 0; i < words; ++i, address += 8) {
      const auto strobe = static_cast<std::uint8_t>(is_partial ? random_.bits() : 0xFF);
      to_write_.push_back({false, i + 1 == words, address, strobe, random_.bits()});
      if (entry.packet.empty()) entry.packet.push_back(address);
      entry.packet.push_back(to_write_.back().data);
      if (i + 1 != words && address / 8 % kLineWords != kLineWords - 1) continue;
      const std::uint64_t begin = entry.packet[0];
      entry.packet[0] = posted(begin, entry.packet.size() - 1, entry.packet.size() == 2 ? strobe : 0xFF);
      if (begin >= kHtaxAddresses) {
        entry.packet.clear();
        ++expected_lost_;
      }
      entries_.push_back(std::move(entry));
      entry = {};
    }
  }
  void write_notice() {
    // Half of them for one port, whose ring is full now and then.
    const std::uint64_t vpid = random_.chance(50)   ? kBusy
                               : random_.chance(80) ? random_.below(kPorts)
                                                    : random_.below(kPorts * 2);
    const std::uint64_t event = random_.chance(40) ? random_.below(64) : 0;
    const bool tells = random_.chance(80);
    Entry entry;
    if (tells && vpid < kPorts && rings_[vpid].is_open && rings_[vpid].written - rings_[vpid].read < kLines) {
      Ring& ring = rings_[vpid];
      entry.packet.push_back(posted(ring.page << 12U | ring.written % kLines << 6U, kLineWords, 0xFF));
      ++ring.written;
    } else if (tells) {
      ++expected_dropped_;
    }
    for (std::size_t i = 0; i < kNoticeWords; ++i) {
      to_write_.push_back(
          {true, i + 1 == kNoticeWords, vpid | event << 16U | std::uint64_t{tells} << 22U, 0xFF, random_.bits()});
      if (!entry.packet.empty()) entry.packet.push_back(to_write_.back().data);
    }
    if (!entry.packet.empty()) {
      entry.packet.resize(kLineWords);
      entry.packet.push_back(rings_[vpid].written);
    }
    if (event != 0) entry.event = vpid | event << 16U;
    entries_.push_back(std::move(entry));
  }
  static std::uint64_t posted(std::uint64_t address, std::size_t words, std::uint8_t mask) {
    return htax::to_phit({.channel = htax::kPosted,
                          .length = words,
                          .origin = mask >> 5U & std::size_t{7},
                          .tag = mask & std::size_t{31},
                          .address = address % kHtaxAddresses});
  }

  /// Settings and counts of what was read change nothing that is on its way: only what comes later.
  void change_rings() {
    const std::uint64_t vpid = random_.chance(50) ? kBusy : random_.below(kPorts);
    if (random_.chance(rings_[vpid].is_open ? 5 : 60)) {
      rings_[vpid] = {random_.chance(80), random_.bits() % (std::uint64_t{1} << 36U), 0, 0};
      set_ = vpid;
    } else {
      Ring& ring = rings_[vpid];
      const std::uint64_t count = std::min<std::uint64_t>(ring.written - ring.read, random_.below(32));
      ring.read += count;
      bench_->read_valid_i = 1;
      bench_->read_vpid_i = static_cast<std::uint16_t>(vpid);
      bench_->read_count_i = static_cast<std::uint8_t>(count);
    }
  }
  void cycle(std::uint32_t stalls, bool takes_more) {
    bench_->read_valid_i = 0;
    bench_->read_vpid_i = static_cast<std::uint16_t>(random_.bits());
    bench_->read_count_i = static_cast<std::uint8_t>(random_.below(32));
    // A word of a port that the node does not have.
    if (random_.chance(10)) {
      bench_->read_valid_i = 1;
      bench_->read_vpid_i = static_cast<std::uint16_t>(kPorts + random_.below(100));
    }
    if (entries_.empty() && !set_) {
      if (random_.chance(50)) change_rings();
      if (takes_more && !set_ && random_.chance(70)) {
        for (std::uint64_t i = 1 + random_.below(40); i > 0; --i) {
          if (random_.chance(60)) {
            write_notice();
          } else {
            write_data();
          }
        }
      }
    }
    bench_->set_valid_i = set_.has_value();
    if (set_) {
      bench_->set_port_i = static_cast<std::uint8_t>(*set_);
      bench_->set_open_i = rings_[*set_].is_open;
      bench_->set_ring_i = rings_[*set_].page;
    }
    was_offered_ = !to_write_.empty() && !set_ && (was_offered_ || !random_.chance(stalls));
    bench_->valid_i = was_offered_;
    const Write write = was_offered_ ? to_write_.front() : Write{random_.chance(50), random_.chance(50), 0, 0, 0};
    BitWriter out(bench_->write_i);
    out.put(write.data, 64);
    out.put(write.strobe, 8);
    out.put(write.address, 52);
    out.put(write.is_last, 1);
    out.put(write.is_notice, 1);
    bench_->ready_i = !random_.chance(stalls);
    bench_->event_ready_i = !random_.chance(stalls);
    bench_.settle();
    look();
    if (HasFatalFailure()) return;
    if (was_offered_ && bench_->ready_o) {
      to_write_.pop_front();
      was_offered_ = false;
    }
    if (set_) {
      ASSERT_EQ(bench_->set_ready_o, !bench_->read_valid_i);
      if (bench_->set_ready_o != 0) set_.reset();
    }
    bench_.step();
    dropped_ += bench_->dropped_o;
    lost_ += bench_->lost_o;
  }
  /// Outputs come in the order of entries: a packet, then the event; then the entry is handled, at once.
  void look() {
    taken_ += bench_->taken_o;
    ASSERT_TRUE(taken_ == 0 || !entries_.empty());
    bool is_over = false;
    if (bench_->valid_o != 0) {
      ASSERT_FALSE(entries_.empty());
      const htax::Packet& packet = entries_.front().packet;
      ASSERT_LT(at_, packet.size());
      ASSERT_EQ(bench_->phit_o, packet[at_]) << "phit " << at_ << " of " << packet.size();
      ASSERT_EQ(at_ + 1 == packet.size(), bench_->last_o != 0 && at_ != 0) << "phit " << at_;
      ASSERT_EQ(bench_->event_valid_o, 0);
      at_ += bench_->ready_i;
      is_over = at_ == packet.size() && !entries_.front().event;
    }
    if (bench_->event_valid_o != 0) {
      ASSERT_FALSE(entries_.empty());
      const Entry& entry = entries_.front();
      ASSERT_TRUE(entry.event) << "an event of none";
      ASSERT_EQ(at_, entry.packet.size()) << "an event before what it is about";
      ASSERT_EQ(bench_->event_vpid_o | std::uint64_t{bench_->event_number_o} << 16U, *entry.event);
      is_over = bench_->event_ready_i != 0;
      events_ += is_over ? 1 : 0;
    }
    if (bench_->handled_o == 0) {
      ASSERT_FALSE(is_over) << "what has left is not said to be handled";
      return;
    }
    ASSERT_FALSE(entries_.empty());
    ASSERT_TRUE(is_over || (entries_.front().packet.empty() && !entries_.front().event)) << "handled too early";
    ASSERT_GT(taken_, 0U) << "handled before it was taken";
    --taken_;
    packets_ += entries_.front().packet.empty() ? 0 : 1;
    entries_.pop_front();
    at_ = 0;
  }

  Bench<Vrtl_node_writer> bench_{9};
  Random random_{10};
  std::deque<Write> to_write_;
  std::deque<Entry> entries_;  ///< That were not handled.
  std::array<Ring, kPorts> rings_;
  std::optional<std::uint64_t> set_;  ///< The port whose ring is being set.
  std::size_t at_ = 0;                ///< Phits of the first entry's packet that have left.
  std::uint64_t taken_ = 0;           ///< Entries that were taken and not handled.
  std::uint64_t dropped_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t expected_dropped_ = 0;
  std::uint64_t expected_lost_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t events_ = 0;
  bool was_offered_ = false;
};

TEST_F(NodeWriter, makes_packets_and_events_of_words_in_their_order) {
  std::uint64_t all_dropped = 0;
  std::uint64_t all_lost = 0;
  for (int phase = 0; phase < 60; ++phase) {
    const auto stalls = static_cast<std::uint32_t>(random_.below(4) * 25);
    for (int i = 0; i < 2'000; ++i) {
      cycle(stalls, true);
      if (HasFatalFailure()) return;
    }
    if (random_.chance(50)) {
      reset();
      continue;
    }
    for (int i = 0; i < 40'000 && (!entries_.empty() || set_); ++i) {
      cycle(stalls, false);
      if (HasFatalFailure()) return;
    }
    for (int i = 0; i < 4; ++i) cycle(stalls, false);
    ASSERT_TRUE(entries_.empty()) << "not all was handled";
    ASSERT_TRUE(to_write_.empty());
    ASSERT_EQ(taken_, 0U);
    ASSERT_EQ(dropped_, expected_dropped_);
    ASSERT_EQ(lost_, expected_lost_);
    all_dropped += dropped_;
    all_lost += lost_;
  }
  EXPECT_GT(packets_, 5'000U);
  EXPECT_GT(events_, 1'000U);
  EXPECT_GT(all_dropped, 500U);
  EXPECT_GT(all_lost, 300U);
}

}  // namespace
}  // namespace stopbit::sim
