#include <Vrtl_htax.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "htax_packet.hpp"

// Three units and the host: what each has to get, in which order, beside what the ports show.

namespace stopbit::sim::htax {
namespace {

constexpr std::size_t kUnits = 3;
constexpr std::size_t kChannels = 4;
constexpr std::size_t kIntervals = 8;
constexpr std::size_t kRefuser = 3;
constexpr std::size_t kFirstUnit = 4;
constexpr std::size_t kPorts = kFirstUnit + kUnits;
struct Interval {
  bool enable = false;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t target = 0;
  std::size_t channels = 0;
};

/// Packets that one port has for others, and the one that it sends.
struct Sender {
  std::array<std::deque<std::pair<std::size_t, Packet>>, kChannels> queues;  ///< Target and phits.
  std::optional<std::size_t> target;                                         ///< It asks for.
  Packet sending;
  std::size_t at = 0;
};

class Htax : public ::testing::Test {
 protected:
  Htax() {
    for (std::size_t u = 0; u < kUnits; ++u) {
      intervals_[u] = {
          .enable = true, .first = base(u), .last = base(u) + 0xFFFF, .target = kFirstUnit + u, .channels = 0b0011};
    }
    intervals_[3] = {.enable = true, .first = base(3), .last = base(3) + 0xFFFF, .target = kFirstUnit, .channels = 1};
    begin();
  }
  static std::uint64_t base(std::size_t unit) { return (unit + 1) << 20; }

  void begin() {
    bench_->host_valid_i = 0;
    bench_->host_ready_i = 0;
    bench_->request_i = 0;
    bench_->room_i = 0xFFF;
    BitWriter writer(bench_->intervals_i);
    for (const Interval& interval : intervals_) {
      writer.put(interval.channels, 4);
      writer.put(interval.target, 4);
      writer.put(interval.last, 48);
      writer.put(interval.first, 48);
      writer.put(interval.enable, 1);
    }
    bench_.reset();
    for (int i = 0; i < 40; ++i) bench_.step();  // until the pool of tags is full
    units_ = {};
    host_ = {};
    open_ = {};
    host_open_ = {};
    host_at_ = {};
    is_offered_ = {};
    expected_.clear();
    tags_.clear();
    counts_ = {};
  }

  // ---- what is sent, and what has to come of it

  void from_unit(std::size_t unit, std::size_t target, const Packet& packet) {
    const Header header = from_phit(packet[0]);
    units_[unit].queues[header.channel].emplace_back(target, packet);
    if (target >= kPorts) return;
    if (target == kRefuser) return refuse(packet, kFirstUnit + unit);
    expect(kFirstUnit + unit, target, header.channel, packet);
  }
  void from_host(const Packet& packet) {
    Header header = from_phit(packet[0]);
    host_[header.channel].push_back(packet);
    if (header.channel == kResponse) return;  // see answer()
    for (const Interval& interval : intervals_) {
      if (!interval.enable || header.address < interval.first || header.address > interval.last) continue;
      if ((interval.channels >> header.channel & 1) == 0) break;
      return expect(header.channel, interval.target, header.channel, packet);
    }
    refuse(packet, header.channel);
  }
  /// The host answers a request that a unit has sent it.
  void answer(Random& random, std::size_t tag) {
    const auto [unit, unit_tag] = tags_.at(tag);
    tags_.erase(tag);
    Header header = {.channel = kResponse, .length = random.below(9), .origin = 9, .tag = tag, .address = next_++};
    Packet packet = make(random, header);
    host_[kResponse].push_back(packet);
    header.tag = unit_tag;
    packet[0] = to_phit(header);
    expect(kResponse, unit, kResponse, packet);
  }

  /// One cycle. Percentages of time in which a side does nothing.
  void cycle(Random& random, std::uint32_t host_in, std::uint32_t host_out, std::uint32_t no_room) {
    if (random.chance(10) || no_room == 0) {
      std::uint32_t room = 0;
      for (std::size_t i = 0; i < kUnits * kChannels; ++i) room |= random.chance(no_room) ? 0U : 1U << i;
      bench_->room_i = static_cast<std::uint16_t>(room & room_);
    }
    bench_.settle();
    send_of_units();
    std::uint32_t offers = 0;
    std::uint32_t takes = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      takes |= random.chance(host_out) ? 0U : takes_ & 1U << c;
      if (host_[c].empty()) continue;
      is_offered_[c] = is_offered_[c] || !random.chance(host_in);
      if (is_offered_[c]) offers |= 1U << c;
      put64(bench_->host_phit_i, c, host_[c].front()[host_at_[c]]);
    }
    bench_->host_valid_i = static_cast<std::uint8_t>(offers);
    bench_->host_ready_i = static_cast<std::uint8_t>(takes);
    bench_.settle();
    look();
    for (std::size_t c = 0; c < 3; ++c) {
      if ((offers & bench_->host_ready_o & 1U << c) == 0) continue;
      is_offered_[c] = false;
      if (++host_at_[c] < host_[c].front().size()) continue;
      host_[c].pop_front();
      host_at_[c] = 0;
    }
    bench_.step();
  }

  void drain(Random& random) {
    room_ = 0xFFF;
    std::uint64_t before = 0;
    for (int quiet = 0; quiet < 500 && !HasFatalFailure(); ++quiet) {
      cycle(random, 0, 0, 0);
      while (!tags_.empty()) answer(random, tags_.begin()->first);
      if (counts_.phits != before) quiet = 0;
      before = counts_.phits;
    }
    for (const auto& [key, packets] : expected_) {
      EXPECT_TRUE(packets.empty()) << packets.size() << " packets of port " << std::get<0>(key)
                                   << " did not reach port " << std::get<1>(key) << " on channel " << std::get<2>(key);
    }
  }

  Packet random_of_unit(Random& random, std::size_t unit, std::size_t channel) {
    return make(random, {.channel = channel,
                         .length = random.chance(40) ? random.below(2) : random.below(16),
                         .origin = kFirstUnit + unit,
                         .tag = random.below(32),
                         .address = next_++});
  }
  Packet random_of_host(Random& random, std::size_t channel) {
    return make(random, {.channel = channel,
                         .length = random.below(9),
                         .origin = kResponse,
                         .tag = random.below(32),
                         .address = base(random.below(6)) + next_++ % 0x10000});
  }

  struct Counts {
    std::uint64_t phits = 0;
    std::uint64_t strayed = 0;
    std::uint64_t unasked = 0;
    std::uint64_t refused = 0;
    std::uint64_t answered = 0;
    std::size_t most_tags = 0;
  };
  Bench<Vrtl_htax> bench_{17};
  std::array<Interval, kIntervals> intervals_{};
  std::array<Sender, kUnits> units_;
  std::array<std::deque<Packet>, 3> host_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::deque<Packet>> expected_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> tags_;  ///< Of the host: port and tag of the unit.
  Counts counts_;
  std::uint32_t room_ = 0xFFF;  ///< Of all units' channels, what may be.
  std::uint32_t takes_ = 7;     ///< Channels that the host takes.
  std::uint64_t next_ = 1;
  std::vector<std::pair<std::size_t, std::uint64_t>> headers_;  ///< Port and cycle in which one came.

 private:
  template <class Wide>
  static void put64(Wide& wide, std::size_t index, std::uint64_t value) {
    wide[2 * index] = static_cast<std::uint32_t>(value);
    wide[2 * index + 1] = static_cast<std::uint32_t>(value >> 32);
  }

  void expect(std::size_t from, std::size_t to, std::size_t channel, const Packet& packet) {
    expected_[{from, to, channel}].push_back(packet);
  }
  void refuse(const Packet& packet, std::size_t from) {
    const Header asked = from_phit(packet[0]);
    if (asked.channel != kNonposted) return;
    // Requests of several ports may pass each other on their way to the refuser: each port's answers keep their order.
    const std::size_t to = from < 3 ? std::size_t{kResponse} : from;
    expect(kRefuser, to, kResponse,
           {to_phit({.error = true, .channel = kResponse, .origin = asked.origin, .tag = asked.tag})});
  }

  void send_of_units() {
    for (std::size_t u = 0; u < kUnits; ++u) {
      Sender& unit = units_[u];
      const std::size_t granted = bench_->grant_o >> kChannels * u & 0xF;
      if (granted != 0) {
        ASSERT_TRUE(unit.sending.empty()) << "granted within a packet";
        const auto channel = static_cast<std::size_t>(__builtin_ctzll(granted));
        ASSERT_EQ(granted, std::size_t{1} << channel);
        ASSERT_FALSE(unit.queues[channel].empty());
        ASSERT_EQ(unit.queues[channel].front().first, unit.target) << "granted what was not asked for";
        unit.sending = unit.queues[channel].front().second;
        unit.at = 0;
        unit.queues[channel].pop_front();
        unit.target.reset();
      }
      if (!unit.target) {
        for (std::size_t c = 0; c < kChannels && !unit.target; ++c) {
          const std::size_t channel = (c + turn_) % kChannels;
          if (!unit.queues[channel].empty()) unit.target = unit.queues[channel].front().first;
        }
        ++turn_;
      }
      std::uint32_t requests = 0;
      for (std::size_t c = 0; c < kChannels && unit.target; ++c) {
        if (!unit.queues[c].empty() && unit.queues[c].front().first == *unit.target) requests |= 1U << c;
      }
      bench_->request_i =
          static_cast<std::uint16_t>((bench_->request_i & ~(0xFU << kChannels * u)) | requests << kChannels * u);
      bench_->target_i = static_cast<std::uint16_t>((bench_->target_i & ~(0xFU << 4 * u)) |
                                                    static_cast<std::uint32_t>(unit.target.value_or(0)) << 4 * u);
      if (unit.sending.empty()) continue;
      put64(bench_->phit_i, u, unit.sending[unit.at]);
      if (++unit.at == unit.sending.size()) unit.sending.clear();
    }
  }

  void look() {
    counts_.strayed += static_cast<std::uint64_t>(__builtin_popcount(bench_->strayed_o));
    counts_.unasked += bench_->unasked_o;
    counts_.refused += bench_->refused_o;
    counts_.answered += bench_->answered_o;
    for (std::size_t u = 0; u < kUnits; ++u) {
      if ((bench_->valid_o >> u & 1) == 0) continue;
      Packet& packet = open_[u];
      const std::size_t channel = bench_->channel_o >> 2 * u & 3;
      ASSERT_EQ((bench_->first_o >> u & 1) != 0, packet.empty());
      if (packet.empty()) headers_.emplace_back(kFirstUnit + u, bench_.cycles());
      packet.push_back(bits_at(bench_->phit_o, static_cast<unsigned>(64 * u), 64));
      ++counts_.phits;
      const Header header = from_phit(packet[0]);
      ASSERT_EQ((bench_->last_o >> u & 1) != 0, packet.size() == header.length + 1);
      if (packet.size() <= header.length) continue;
      ASSERT_EQ(channel, header.channel);
      ASSERT_TRUE(came(kFirstUnit + u, packet)) << "unit " << u << " got what nobody has sent";
      packet.clear();
    }
    for (std::size_t c = 0; c < 3; ++c) {
      if ((bench_->host_valid_o >> c & 1) == 0 || (bench_->host_ready_i >> c & 1) == 0) continue;
      Packet& packet = host_open_[c];
      packet.push_back(bits_at(bench_->host_phit_o, static_cast<unsigned>(64 * c), 64));
      ++counts_.phits;
      Header header = from_phit(packet[0]);
      if (packet.size() <= header.length) continue;
      if (c == kNonposted) {
        const std::size_t tag = header.tag;
        ASSERT_FALSE(tags_.contains(tag)) << "tag " << tag << " is in use";
        ASSERT_TRUE(came_with_another_tag(packet, header)) << "the host got a request that nobody has sent";
        tags_[tag] = {header.origin, header.tag};
        counts_.most_tags = std::max(counts_.most_tags, tags_.size());
      } else {
        ASSERT_TRUE(came(c, packet)) << "the host got on channel " << c << " what nobody has sent";
      }
      packet.clear();
    }
  }

  /// Takes the packet from the first ones of those who send to this port.
  bool came(std::size_t to, const Packet& packet) {
    const std::size_t channel = from_phit(packet[0]).channel;
    for (std::size_t from = 0; from < kPorts; ++from) {
      auto found = expected_.find({from, to, channel});
      if (found == expected_.end() || found->second.empty() || found->second.front() != packet) continue;
      found->second.pop_front();
      return true;
    }
    return false;
  }
  /// Afterwards `header` has the unit's tag.
  bool came_with_another_tag(Packet packet, Header& header) {
    for (header.tag = 0; header.tag < 32; ++header.tag) {
      packet[0] = to_phit(header);
      if (came(kNonposted, packet)) return true;
    }
    return false;
  }

  std::array<std::size_t, 3> host_at_{};
  std::array<bool, 3> is_offered_{};
  std::array<Packet, kUnits> open_;
  std::array<Packet, 3> host_open_;
  std::size_t turn_ = 0;
};

TEST_F(Htax, brings_all_packets_of_units_and_host_in_the_order_of_their_channel) {
  std::uint64_t phits = 0;
  for (std::uint64_t round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    begin();
    Random random(round + 1);
    static constexpr std::uint32_t kStalls[] = {0, 40, 90};
    std::uint64_t strayed = 0;
    std::uint64_t refused = 0;
    std::uint64_t answered = 0;
    for (int i = 0; i < 12'000 && !HasFatalFailure(); ++i) {
      if (i < 9'000 && random.chance(20)) {
        const std::size_t unit = random.below(kUnits);
        const std::size_t channel = random.below(kChannels);
        std::size_t target = random.chance(50) ? kFirstUnit + random.below(kUnits) : std::min<std::size_t>(channel, 2);
        if (channel == kTranslation) target = kFirstUnit + random.below(kUnits);
        if (random.chance(5)) target = kRefuser;
        if (random.chance(5)) target = kPorts + random.below(16 - kPorts);
        strayed += target >= kPorts ? 1 : 0;
        refused += target == kRefuser ? 1 : 0;
        answered += target == kRefuser && channel == kNonposted ? 1 : 0;
        if (units_[unit].queues[channel].size() < 20) {
          from_unit(unit, target, random_of_unit(random, unit, channel));
        } else {
          strayed -= target >= kPorts ? 1 : 0;
          refused -= target == kRefuser ? 1 : 0;
          answered -= target == kRefuser && channel == kNonposted ? 1 : 0;
        }
      }
      const std::size_t channel = random.below(2);
      if (i < 9'000 && random.chance(10) && host_[channel].size() < 20) {
        const Packet packet = random_of_host(random, channel);
        const std::uint64_t address = from_phit(packet[0]).address;
        const bool is_taken = address < base(3) || (address < base(4) && channel == kPosted);
        refused += is_taken ? 0 : 1;
        answered += !is_taken && channel == kNonposted ? 1 : 0;
        from_host(packet);
      }
      if (!tags_.empty() && random.chance(15)) {
        auto chosen = tags_.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(tags_.size())));
        answer(random, chosen->first);
      }
      cycle(random, kStalls[round % 3], kStalls[round / 3 % 3], kStalls[(round + round / 3) % 3]);
    }
    drain(random);
    EXPECT_EQ(counts_.strayed, strayed);
    EXPECT_EQ(counts_.refused, refused);
    EXPECT_EQ(counts_.answered, answered);
    EXPECT_EQ(counts_.unasked, 0U);
    phits += counts_.phits;
    if (HasFailure()) return;
  }
  EXPECT_GT(phits, 60'000U);
}

TEST_F(Htax, sends_packets_of_two_phits_without_a_gap) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    from_unit(0, kFirstUnit + 1, make(random, {.channel = kPosted, .length = 1, .address = next_++}));
  }
  for (int i = 0; i < 10; ++i) cycle(random, 0, 0, 0);
  const std::uint64_t before = counts_.phits;
  for (int i = 0; i < 150; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(counts_.phits - before, 150U);
  drain(random);
}

TEST_F(Htax, shares_an_output_between_inputs_and_channels) {
  Random random(4);
  std::array<std::array<int, kChannels>, 2> sent{};
  for (int i = 0; i < 400; ++i) {
    for (std::size_t unit = 0; unit < 2; ++unit) {
      from_unit(unit, kFirstUnit + 2, make(random, {.channel = kPosted, .length = 3, .address = next_++}));
      from_unit(unit, kFirstUnit + 2, make(random, {.channel = kTranslation, .length = 3, .address = next_++}));
    }
  }
  for (int i = 0; i < 1'600; ++i) cycle(random, 0, 0, 0);
  for (std::size_t unit = 0; unit < 2; ++unit) {
    for (const std::size_t channel : {kPosted, kTranslation}) {
      sent[unit][channel] = 400 - static_cast<int>(units_[unit].queues[channel].size());
      EXPECT_NEAR(sent[unit][channel], 100, 3) << "unit " << unit << ", channel " << channel;
    }
  }
  drain(random);
}

TEST_F(Htax, a_channel_without_room_holds_up_no_other) {
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    from_unit(0, kFirstUnit + 1, make(random, {.channel = kPosted, .length = 2, .address = next_++}));
    from_unit(0, kFirstUnit + 1, make(random, {.channel = kResponse, .length = 2, .address = next_++}));
    from_host(make(random, {.channel = kNonposted, .length = 0, .origin = 2, .address = base(1)}));
    from_host(make(random, {.channel = kPosted, .length = 1, .origin = 2, .address = base(1)}));
  }
  room_ = 0xFFF & ~(1U << (kChannels * 1 + kPosted));
  for (int i = 0; i < 3'000; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ((expected_[{4, 5, kPosted}].size()), 50U);
  EXPECT_EQ((expected_[{4, 5, kResponse}].size()), 0U);
  EXPECT_EQ((expected_[{kNonposted, 5, kNonposted}].size()), 0U);
  EXPECT_EQ((expected_[{kPosted, 5, kPosted}].size()), 50U);
  drain(random);
}

TEST_F(Htax, requests_wait_for_a_tag_and_nothing_else_does) {
  Random random(6);
  for (int i = 0; i < 60; ++i) {
    from_unit(0, kNonposted, random_of_unit(random, 0, kNonposted));
    from_unit(1, kPosted, random_of_unit(random, 1, kPosted));
  }
  for (int i = 0; i < 3'000; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(tags_.size(), 32U);
  EXPECT_EQ((expected_[{4, kNonposted, kNonposted}].size()), 28U);
  EXPECT_EQ((expected_[{5, kPosted, kPosted}].size()), 0U);
  answer(random, 7);
  for (int i = 0; i < 200; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(tags_.size(), 32U);
  EXPECT_TRUE(tags_.contains(7)) << "the one that was given back";
  drain(random);
  EXPECT_EQ(counts_.most_tags, 32U);
}

TEST_F(Htax, a_request_to_the_host_does_not_pass_the_writes_of_its_unit) {
  Random random(9);
  const auto run = [&](int cycles) {
    for (int i = 0; i < cycles; ++i) cycle(random, 0, 0, 0);
  };
  takes_ = 0b110;
  for (int i = 0; i < 3; ++i) from_unit(1, kPosted, random_of_unit(random, 1, kPosted));
  run(60);
  from_unit(0, kPosted, make(random, {.channel = kPosted, .length = 8, .address = next_++}));
  run(60);
  for (int i = 0; i < 2; ++i) from_unit(0, kNonposted, random_of_unit(random, 0, kNonposted));
  run(60);
  EXPECT_EQ((expected_[{4, kNonposted, kNonposted}].size()), 2U);
  // Writes that come later are not waited for, however many there are.
  std::size_t open = 0;
  takes_ = 0b111;
  for (int i = 0; i < 400 && tags_.size() < 2; ++i) {
    if (expected_[{6, kPosted, kPosted}].size() < 20) from_unit(2, kPosted, random_of_unit(random, 2, kPosted));
    run(1);
    if (tags_.empty()) continue;
    open += expected_[{6, kPosted, kPosted}].size();
    EXPECT_TRUE((expected_[{4, kPosted, kPosted}].empty()));
  }
  EXPECT_EQ(tags_.size(), 2U);
  EXPECT_GT(open, 0U);
  drain(random);
}

TEST_F(Htax, an_interval_has_its_first_and_its_last_byte) {
  Random random(21);
  for (const std::uint64_t address : {base(1) - 1, base(1), base(1) + 0xFFFF, base(1) + 0x10000}) {
    from_host(make(random, {.channel = kPosted, .length = 1, .origin = 2, .address = address}));
  }
  drain(random);
  EXPECT_EQ(counts_.refused, 2U);
}

TEST_F(Htax, requests_that_no_unit_takes_wait_for_the_way_back) {
  Random random(22);
  room_ = 0xFFF & ~(1U << kResponse);  // of the first unit
  for (int i = 0; i < 300; ++i) from_unit(0, kRefuser, random_of_unit(random, 0, kNonposted));
  for (int i = 0; i < 100; ++i) from_unit(1, kRefuser, random_of_unit(random, 1, kPosted));
  for (int i = 0; i < 6'000; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(counts_.answered, 0U);
  EXPECT_GE(counts_.refused, 100U + 64) << "writes do not wait";
  EXPECT_LT(counts_.refused, 100U + 129) << "requests do";
  drain(random);
  EXPECT_EQ(counts_.answered, 300U);
}

TEST_F(Htax, a_response_that_nobody_asked_for_changes_nothing) {
  Random random(7);
  for (int i = 0; i < 10; ++i) {
    host_[kResponse].push_back(make(random, {.channel = kResponse, .length = 3, .tag = random.below(32)}));
  }
  for (int i = 0; i < 300; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(counts_.unasked, 10U);
  EXPECT_EQ(counts_.refused, 10U);
  // All tags are there.
  for (int i = 0; i < 64; ++i) from_unit(2, kNonposted, random_of_unit(random, 2, kNonposted));
  for (int i = 0; i < 2'000; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(tags_.size(), 32U);
  drain(random);
}

TEST_F(Htax, takes_the_cycles_of_its_page) {
  Random random(8);
  // Unit to unit: the request is there in the first cycle.
  from_unit(0, kFirstUnit + 1, make(random, {.channel = kPosted, .length = 0, .address = 1}));
  headers_.clear();
  std::uint64_t begin = bench_.cycles();
  for (int i = 0; i < 20; ++i) cycle(random, 0, 0, 0);
  ASSERT_EQ(headers_.size(), 1U);
  EXPECT_EQ(headers_[0].second - begin, 2U);
  // Host to unit: from the header at the bridge.
  from_host(make(random, {.channel = kPosted, .length = 0, .origin = 2, .address = base(1)}));
  headers_.clear();
  begin = bench_.cycles();
  for (int i = 0; i < 20; ++i) cycle(random, 0, 0, 0);
  ASSERT_EQ(headers_.size(), 1U);
  EXPECT_EQ(headers_[0].second - begin, 5U);
  // A packet of the host after the other, without a gap.
  for (int i = 0; i < 60; ++i) {
    from_host(make(random, {.channel = kPosted, .length = 1, .origin = 2, .address = base(1)}));
  }
  for (int i = 0; i < 20; ++i) cycle(random, 0, 0, 0);
  const std::uint64_t before = counts_.phits;
  for (int i = 0; i < 80; ++i) cycle(random, 0, 0, 0);
  EXPECT_EQ(counts_.phits - before, 80U);
  drain(random);
}

TEST_F(Htax, begins_anew_after_a_reset_in_the_middle) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    begin();
    Random random(round + 30);
    for (int i = 0; i < 30; ++i) {
      from_unit(i % 3U, kNonposted, random_of_unit(random, i % 3U, kNonposted));
      from_host(random_of_host(random, kPosted));
    }
    const std::uint64_t cycles = random.below(200);
    for (std::uint64_t c = 0; c < cycles; ++c) cycle(random, 20, 20, 20);
    begin();
    for (int i = 0; i < 40; ++i) from_unit(0, kNonposted, random_of_unit(random, 0, kNonposted));
    drain(random);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim::htax
