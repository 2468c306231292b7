#include <Vrtl_frame_decoder.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "datagrams.hpp"
#include "frame_port.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/packet.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::sim {
namespace {

namespace frames = net::testing;
using frames::be16;
using frames::ByteVector;
using frames::operator+;
using net::Verdict;

constexpr std::size_t kDepthBytes = 32 * 64;

// Verdicts that only hardware has, as in stopbit_front_pkg.
constexpr std::uint8_t kChecksumBad = 14;
constexpr std::uint8_t kFrameBad = 15;
constexpr std::uint8_t kFiltered = 16;
constexpr std::uint8_t kOverflow = 17;

/// A frame, and what has to become of it.
struct Frame {
  ByteVector bytes;
  bool bad = false;
  std::uint64_t arrival_ns = 0;
  std::uint8_t verdict = 0;
  SentDatagram datagram = {};  ///< If it is accepted.
};

bool is_vlan(std::uint16_t type) {
  return type == 0x8100 || type == 0x88A8 || type == 0x9100 || type == 0x9200;
}

bool has_three_tags(const ByteVector& frame) {
  for (const std::size_t at : {12U, 16U, 20U}) {
    if (frame.size() < at + 2 || !is_vlan(net::load_be<std::uint16_t>(&frame[at]))) return false;
  }
  return frame.size() >= 22;
}

bool checksum_right(const ByteVector& frame, std::size_t ip) {
  const std::size_t halves = 2 * (static_cast<std::size_t>(frame[ip]) & 0xF);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < halves; ++i) sum += net::load_be<std::uint16_t>(&frame[ip + 2 * i]);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

void mend_checksum(ByteVector& frame, std::size_t ip) {
  net::store_be<std::uint16_t>(&frame[ip + 10], 0);
  const std::size_t halves = 2 * (static_cast<std::size_t>(frame[ip]) & 0xF);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < halves; ++i) sum += net::load_be<std::uint16_t>(&frame[ip + 2 * i]);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  net::store_be(&frame[ip + 10], static_cast<std::uint16_t>(~sum & 0xFFFF));
}

class FrameDecoder : public ::testing::Test {
 protected:
  FrameDecoder() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->group_write_i = 0;
    bench_->check_header_i = 0;
    bench_->fcs_i = 0;
    bench_->drop_when_full_i = 0;
    bench_->cut_through_i = 0;
    bench_->time_quality_i = 0x5A;
    restart();
  }

  /// Entry 9 takes the group of tests/lib/frames.hpp from one sender, entry 40 the rest of it.
  void restart() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_.reset();
    groups_.clear();
    add_group(9, {.any_source = false,
                  .source_address = 0x0A010203,
                  .address = 0xE0001F01,
                  .port = 10001,
                  .channel = 3,
                  .line = 1});
    add_group(40, {.address = 0xE0001F01, .port = 10001, .channel = 4, .line = 2});
    add_group(63, {.address = 0xE0001F02, .port = 20002, .channel = 5, .line = 3});
    number_ = 0;
    feeder_.reset();
    collector_.reset();
  }

  void add_group(std::uint8_t index, const Group& group) {
    write_group(bench_, index, group);
    groups_.push_back(group);
  }

  /// What host/feed/packet says of the frame, with what only hardware does.
  Frame expect(ByteVector bytes, bool bad, std::uint64_t arrival_ns) {
    Frame frame{.bytes = std::move(bytes), .bad = bad, .arrival_ns = arrival_ns};
    ++number_;
    net::Datagram datagram;
    Verdict verdict = net::parse_frame(net::LinkType::Ethernet, frame.bytes, frame.bytes.size(), datagram);
    if (has_three_tags(frame.bytes)) verdict = Verdict::TooManyVlanTags;
    frame.verdict = static_cast<std::uint8_t>(verdict);
    if (bad) frame.verdict = kFrameBad;
    if (frame.verdict != 0) return frame;
    if (bench_->check_header_i) {
      std::size_t ip = 14;
      while (is_vlan(net::load_be<std::uint16_t>(&frame.bytes[ip - 2]))) ip += 4;
      if (!checksum_right(frame.bytes, ip)) {
        frame.verdict = kChecksumBad;
        return frame;
      }
    }
    for (const Group& group : groups_) {
      if (group.address != datagram.destination.address || group.port != datagram.destination.port) continue;
      if (!group.any_source && group.source_address != datagram.source.address) continue;
      frame.datagram = {{.arrival_ns = arrival_ns,
                         .number = number_,
                         .length_bytes = static_cast<std::uint32_t>(datagram.payload.size()),
                         .channel = group.channel,
                         .source = group.line,
                         .time_quality = 0x5A},
                        {datagram.payload.begin(), datagram.payload.end()}};
      return frame;
    }
    frame.verdict = kFiltered;
    return frame;
  }

  /// Sends the frames and compares what comes of each. With `may_lose`, accepted ones may also lack room.
  void run(const std::deque<Frame>& frames, std::uint32_t in_stall, std::uint32_t out_stall, bool may_lose = false) {
    Random random(in_stall * 101 + out_stall);
    Gate in(random, in_stall);
    Gate out(random, out_stall);
    std::size_t sent = 0;
    std::size_t judged = 0;
    std::deque<const SentDatagram*> expected;
    bool offered = false;
    std::size_t quiet = 0;
    lost_ = 0;
    while (judged < frames.size() || !expected.empty()) {
      if (!feeder_.busy() && sent < frames.size()) {
        feeder_.begin(frames[sent].bytes, frames[sent].bad, frames[sent].arrival_ns);
        ++sent;
      }
      if (!offered && feeder_.busy() && in.open()) {
        offered = true;
        feeder_.show(bench_, static_cast<std::uint8_t>(random.bits()));
      }
      bench_->valid_i = offered;
      bench_->ready_i = out.open();
      bench_.settle();
      ++quiet;
      if (offered && bench_->ready_o) {
        feeder_.advance();
        offered = false;
        quiet = 0;
      }
      if (bench_->verdict_valid_o) {
        ASSERT_LT(judged, frames.size());
        const Frame& frame = frames[judged];
        const std::uint8_t verdict = bench_->verdict_o;
        if (may_lose && frame.verdict == 0 && verdict == kOverflow) {
          ++lost_;
        } else {
          ASSERT_EQ(verdict, frame.verdict) << "frame " << judged << " of " << frame.bytes.size() << " bytes";
        }
        if (verdict == 0) expected.push_back(&frame.datagram);
        ++judged;
      }
      if (bench_->valid_o && bench_->ready_i) {
        const char* fault = nullptr;
        const bool whole = collector_.take(bench_->beat_o, bench_->datagram_o, fault);
        ASSERT_EQ(fault, nullptr) << fault;
        if (whole) {
          ASSERT_FALSE(expected.empty()) << "a datagram that was not accepted";
          ASSERT_EQ(collector_.datagram().info.number, expected.front()->info.number);
          ASSERT_TRUE(collector_.datagram() == *expected.front()) << "frame " << expected.front()->info.number;
          expected.pop_front();
        }
        quiet = 0;
      }
      bench_.step();
      ASSERT_LT(quiet, 20000U) << "stuck at frame " << judged;
    }
    bench_->valid_i = 0;
    bench_->ready_i = 0;
  }

  /// Cut-through: accepted frames give their datagrams; of others some bytes may leave, never all that are announced.
  void run_cut_through(const std::deque<Frame>& frames, std::uint32_t in_stall, std::uint32_t out_stall,
                       bool may_lose = false) {
    Random random(in_stall * 103 + out_stall);
    Gate in(random, in_stall);
    Gate out(random, out_stall);
    DatagramCollector collector;
    collector.allow_short();
    std::map<std::uint64_t, SentDatagram> came;
    std::vector<std::uint8_t> verdicts;
    const std::uint64_t first = number_ - frames.size() + 1;
    std::size_t sent = 0;
    bool offered = false;
    for (std::size_t quiet = 0; quiet < 1000; ++quiet) {
      if (!feeder_.busy() && sent < frames.size()) {
        feeder_.begin(frames[sent].bytes, frames[sent].bad, frames[sent].arrival_ns);
        ++sent;
      }
      if (!offered && feeder_.busy() && in.open()) {
        offered = true;
        feeder_.show(bench_, static_cast<std::uint8_t>(random.bits()));
      }
      bench_->valid_i = offered;
      bench_->ready_i = out.open();
      bench_.settle();
      if (offered && bench_->ready_o) {
        feeder_.advance();
        offered = false;
        quiet = 0;
      }
      if (bench_->verdict_valid_o) verdicts.push_back(bench_->verdict_o);
      if (bench_->valid_o && bench_->ready_i) {
        quiet = 0;
        const char* fault = nullptr;
        if (collector.take(bench_->beat_o, bench_->datagram_o, fault)) {
          const std::uint64_t number = collector.datagram().info.number;
          ASSERT_TRUE(came.empty() || came.rbegin()->first < number) << "out of order";
          came[number] = collector.datagram();
        }
        ASSERT_EQ(fault, nullptr) << fault;
      }
      bench_.step();
    }
    EXPECT_TRUE(bench_->idle_o);
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    ASSERT_EQ(verdicts.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const bool is_lost = may_lose && frames[i].verdict == 0 && verdicts[i] == kOverflow;
      lost_ += is_lost ? 1 : 0;
      if (!is_lost) {
        ASSERT_EQ(verdicts[i], frames[i].verdict) << "frame " << i;
      }
      const auto found = came.find(first + i);
      if (verdicts[i] == 0) {
        ASSERT_TRUE(found != came.end()) << "frame " << i;
        ASSERT_TRUE(found->second == frames[i].datagram) << "frame " << i;
      } else if (found != came.end()) {
        ASSERT_LT(found->second.bytes.size(), found->second.info.length_bytes) << "frame " << i;
        ++cut_;
      }
    }
  }

  /// A frame for us, mostly; with everything that may precede and follow the data.
  ByteVector random_frame(Random& random) {
    static constexpr std::size_t kPayloads[] = {0,  1,  5,  13, 14, 15, 16, 17,   18,
                                                21, 22, 23, 37, 38, 66, 86, 1000, 1472};
    std::size_t size = random.chance(60) ? kPayloads[random.below(std::size(kPayloads))] : random.below(300);
    const ByteVector options(4 * (random.chance(70) ? 0 : random.below(11)), std::byte{1});
    const std::size_t tags = random.chance(60) ? 0 : random.below(4);
    ByteVector payload(size);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.bits());
    ByteVector tag_bytes;
    for (std::size_t i = 0; i < tags; ++i) {
      static constexpr std::uint16_t kTypes[] = {0x8100, 0x88A8, 0x9100, 0x9200};
      tag_bytes = tag_bytes + be16(kTypes[random.below(4)]) + be16(random.below(4096));
    }
    ByteVector frame = frames::ethernet(frames::ipv4(frames::udp(payload), options), tag_bytes + be16(0x0800));
    const std::size_t ip = 14 + 4 * tags;
    if (random.chance(30)) frame[ip + 15] = std::byte{9};  // another sender
    if (random.chance(10)) frame[ip + 19] = std::byte{7};  // another group
    mend_checksum(frame, ip);
    frame.resize(frame.size() + (random.chance(50) ? 0 : random.below(70)), std::byte{0xEE});
    return frame;
  }

  std::deque<Frame> random_frames(Random& random, std::size_t count, std::uint32_t mutated_percent) {
    std::deque<Frame> result;
    for (std::size_t i = 0; i < count; ++i) {
      ByteVector bytes = random_frame(random);
      if (random.chance(mutated_percent)) {
        for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
          bytes[random.below(std::min<std::size_t>(bytes.size(), 70))] ^= static_cast<std::byte>(1U << random.below(8));
        }
        if (random.chance(40)) bytes.resize(1 + random.below(bytes.size()));
      }
      result.push_back(expect(std::move(bytes), random.chance(mutated_percent / 5), random.bits()));
    }
    return result;
  }

  Bench<Vrtl_frame_decoder> bench_{51};
  std::vector<Group> groups_;
  std::uint64_t number_ = 0;
  FrameFeeder feeder_;
  DatagramCollector collector_;
  std::size_t lost_ = 0;
  std::size_t cut_ = 0;
};

TEST_F(FrameDecoder, gives_the_datagrams_that_host_net_finds_at_every_stall_rate) {
  for (const std::uint32_t in : {0U, 40U, 90U}) {
    for (const std::uint32_t out : {0U, 40U, 90U}) {
      SCOPED_TRACE(testing::Message() << "stalls of input " << in << " %, of output " << out << " %");
      Random random(in + 3 * out);
      run(random_frames(random, 300, 0), in, out);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(FrameDecoder, judges_mutated_and_truncated_frames_as_host_net_does) {
  Random random(61);
  std::vector<std::size_t> seen(18, 0);
  for (int round = 0; round < 20; ++round) {
    bench_->check_header_i = round % 4 == 3;
    const auto batch = random_frames(random, 2000, 80);
    for (const Frame& frame : batch) ++seen[frame.verdict];
    run(batch, 0, round % 2 == 0 ? 0 : 30);
    if (HasFatalFailure()) return;
  }
  for (std::uint8_t verdict = 0; verdict < kOverflow; ++verdict) {
    if (verdict == static_cast<std::uint8_t>(Verdict::SnapCut)) continue;
    EXPECT_GT(seen[verdict], 0U) << "no frame of this test had verdict " << int{verdict};
  }
}

TEST_F(FrameDecoder, checks_the_sequence_behind_frames_of_every_length) {
  bench_->fcs_i = 1;
  const auto with_fcs = [](ByteVector bytes) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const std::byte byte : bytes) {
      crc ^= static_cast<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB8'8320U : 0);
    }
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(~crc >> shift & 0xFF));
    return bytes;
  };
  std::deque<Frame> batch;
  for (std::size_t size = 0; size < 200; ++size) {
    const ByteVector bytes = frames::ethernet(frames::ipv4(frames::udp(ByteVector(size, std::byte{0xA7}))));
    batch.push_back(expect(bytes, false, size));
    batch.back().bytes = with_fcs(bytes);
  }
  Random random(77);
  for (int i = 0; i < 3000; ++i) {
    ByteVector bytes = random_frame(random);
    if (random.chance(20)) bytes.resize(1 + random.below(bytes.size()));
    const bool is_bad = random.chance(30);
    const bool by_mac = random.chance(3);
    batch.push_back(expect(bytes, is_bad || by_mac, random.bits()));
    Frame& frame = batch.back();
    frame.bytes = with_fcs(bytes);
    frame.bad = by_mac;
    if (is_bad) frame.bytes[random.below(frame.bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
  }
  run(batch, 0, 0);
  run({}, 0, 0);
}

TEST_F(FrameDecoder, takes_headers_of_every_length_over_the_border_of_a_beat) {
  std::deque<Frame> batch;
  for (std::size_t tags = 0; tags <= 2; ++tags) {
    for (std::size_t options = 0; options <= 40; options += 4) {
      for (std::size_t size = 0; size <= 40; ++size) {
        ByteVector tag_bytes;
        for (std::size_t i = 0; i < tags; ++i) tag_bytes = tag_bytes + be16(0x8100) + be16(i);
        ByteVector payload(size);
        for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(size + i);
        batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(payload), ByteVector(options, std::byte{1})),
                                                tag_bytes + be16(0x0800)),
                               false, 1000 + batch.size()));
      }
    }
  }
  run(batch, 0, 0);
  run({}, 0, 0);
}

TEST_F(FrameDecoder, loses_whole_frames_and_says_so_when_there_is_no_room) {
  Random random(67);
  bench_->drop_when_full_i = 1;
  run(random_frames(random, 2000, 10), 0, 90, true);
  EXPECT_GT(lost_, 100U);
  EXPECT_LT(lost_, 2000U);
}

TEST_F(FrameDecoder, gives_up_a_frame_that_is_larger_than_the_memory_and_goes_on) {
  std::deque<Frame> batch;
  for (int i = 0; i < 5; ++i) {
    batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(3000)))), false, 1));
    ASSERT_GT(batch.back().bytes.size(), kDepthBytes);
    batch.back().verdict = kOverflow;
    batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(kDepthBytes - 42)))), false, 2));
    batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(21)))), false, 3));
  }
  run(batch, 0, 50);
}

TEST_F(FrameDecoder, starts_anew_after_a_reset_in_the_middle_of_a_frame) {
  Random random(71);
  for (int round = 0; round < 30; ++round) {
    const auto batch = random_frames(random, 20, 20);
    bench_->ready_i = random.chance(50);
    feeder_.begin(batch.front().bytes, false, 1);
    for (std::uint64_t cycles = 1 + random.below(12); cycles > 0; --cycles) {
      if (!feeder_.busy()) feeder_.begin(batch[1 + random.below(19)].bytes, false, 1);
      feeder_.show(bench_, 0);
      bench_->valid_i = 1;
      bench_.settle();
      if (bench_->ready_o) feeder_.advance();
      bench_.step();
    }
    restart();
    run(random_frames(random, 20, 20), 20, 20);
    if (HasFatalFailure()) return;
  }
}

TEST_F(FrameDecoder, cuts_through_and_ends_bad_frames_as_datagrams_that_are_too_short) {
  bench_->cut_through_i = 1;
  restart();
  for (const std::uint32_t in : {0U, 40U, 90U}) {
    for (const std::uint32_t out : {0U, 40U, 90U}) {
      SCOPED_TRACE(testing::Message() << "stalls of input " << in << " %, of output " << out << " %");
      Random random(in + 3 * out + 7);
      run_cut_through(random_frames(random, 300, 0), in, out);
      if (HasFatalFailure()) return;
      run_cut_through(random_frames(random, 1500, 60), in, out);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(cut_, 20U);
}

TEST_F(FrameDecoder, cuts_through_and_loses_frames_without_room_as_a_whole_or_from_a_beat_on) {
  bench_->cut_through_i = 1;
  bench_->drop_when_full_i = 1;
  restart();
  Random random(73);
  for (int round = 0; round < 4; ++round) {
    run_cut_through(random_frames(random, 1000, 20), 0, 90, true);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(lost_, 100U);
  EXPECT_GT(cut_, 10U);
}

TEST_F(FrameDecoder, cuts_through_frames_that_are_larger_than_its_memory) {
  bench_->cut_through_i = 1;
  restart();
  std::deque<Frame> batch;
  for (int i = 0; i < 5; ++i) {
    batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(9000)))), i == 3, 1));
    batch.push_back(expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(21)))), false, 3));
  }
  run_cut_through(batch, 0, 50);
  EXPECT_EQ(cut_, 1U);
}

TEST_F(FrameDecoder, shows_the_first_beat_some_cycles_after_the_last_of_the_frame_or_after_the_second_that_came) {
  const auto latency = [&](std::size_t size, std::size_t from_beat) {
    const Frame frame = expect(frames::ethernet(frames::ipv4(frames::udp(ByteVector(size)))), false, 1);
    feeder_.begin(frame.bytes, false, 1);
    std::size_t beats = 0;
    std::size_t cycles = 0;  // since beat `from_beat` was offered
    bench_.settle();
    while (!bench_->valid_o && cycles < 100) {
      bench_->valid_i = feeder_.busy();
      if (feeder_.busy()) {
        feeder_.show(bench_, 0);
        feeder_.advance();
        ++beats;
      }
      bench_.settle();
      EXPECT_TRUE(bench_->ready_o);
      cycles += beats >= from_beat || !feeder_.busy() ? 1 : 0;
      bench_.step();
      bench_.settle();
    }
    for (std::size_t i = 0; i < 100; ++i) {
      bench_->ready_i = 1;
      bench_->valid_i = feeder_.busy();
      if (feeder_.busy()) {
        feeder_.show(bench_, 0);
        feeder_.advance();
      }
      bench_.step();
    }
    bench_->ready_i = 0;
    return cycles;
  };
  constexpr std::size_t kLast = 1000;
  for (const std::size_t size : {5U, 21U, 22U}) EXPECT_EQ(latency(size, kLast), 4U) << size << " bytes";
  for (const std::size_t size : {66U, 1000U}) EXPECT_EQ(latency(size, kLast), 6U) << size << " bytes";
  bench_->cut_through_i = 1;
  restart();
  for (const std::size_t size : {5U, 21U, 22U}) EXPECT_EQ(latency(size, 1), 4U) << size << " bytes";
  for (const std::size_t size : {66U, 1000U}) EXPECT_EQ(latency(size, 2), 3U) << size << " bytes";
}

}  // namespace
}  // namespace stopbit::sim
