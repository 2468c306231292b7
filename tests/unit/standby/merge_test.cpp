// Two appliances on the same feeds, one of which dies, stops, restarts or loses: the merged stream is that of one.

#include "host/standby/merge.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "host/standby/same_record.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::standby::merge_test {

using record::EventKind;
using record::HeaderView;
using record::Slot;
using Record = std::vector<Slot>;

struct Header {
  std::uint16_t channel = 1;
  std::uint16_t epoch = 0;
  std::uint32_t number = 0;
  std::uint16_t message = 0;
  bool is_last = true;
  bool is_recovered = false;
  std::uint64_t arrival_ns = 0;
};

Record message(const Header& header, std::uint64_t value, std::size_t slots = 1) {
  Record out(slots, Slot{});
  const unsigned flags =
      (header.is_last ? record::kFlagLastOfPacket : 0U) | (header.is_recovered ? record::kFlagRecovered : 0U);
  out[0].words[0] = 7 | slots << 16 | std::uint64_t{header.number * 13U} << 32;
  out[0].words[1] = header.arrival_ns;
  out[0].words[2] = header.number | std::uint64_t{header.channel} << 32 | std::uint64_t{flags} << 56;
  out[0].words[3] = std::uint64_t{header.message} << 16 | std::uint64_t{header.epoch} << 32;
  out[0].words[4] = value;
  for (std::size_t i = 1; i < slots; ++i) out[i].words[0] = value * i;
  return out;
}
Record event(const Header& header, EventKind kind, std::uint64_t first = 0, std::uint64_t count = 0) {
  Record out = message(header, static_cast<std::uint64_t>(kind));
  out[0].words[0] = (out[0].words[0] & ~std::uint64_t{0xFFFF}) | record::kEventIndex;
  out[0].words[5] = first;
  out[0].words[6] = count;
  return out;
}

/// Writes down what comes: "5 6.1 gap(7+2) r8", with the message after a point and r for recovered.
class Story final : public Output {
 public:
  void record(std::span<const Slot> record, Side from) noexcept override {
    const HeaderView header(record[0]);
    const record::EventView of(record[0]);
    std::string text;
    if (header.is_event()) {
      text = of.kind() == EventKind::Gap
                 ? "gap(" + std::to_string(of.first_missing()) + "+" + std::to_string(of.missing()) + ")"
             : of.kind() == EventKind::Reset ? "reset"
                                             : "event";
    } else {
      if ((header.flags() & record::kFlagRecovered) != 0) text = "r";
      text += std::to_string(header.sequence());
      if (header.message_index() != 0) text += "." + std::to_string(header.message_index());
    }
    told += (told.empty() ? "" : " ") + text;
    last_from = from;
  }
  std::string take() { return std::exchange(told, {}); }
  std::string told;
  Side last_from = Side::First;
};

struct Bench {
  Story story;
  Merge merge;
  std::uint64_t now_ns = 0;
  explicit Bench(const MergeOptions& options = {}) : merge(options, story) {}

  void give(Side side, const Record& record) { merge.take(side, record, now_ns); }
  /// Numbers of a run whose content is the number.
  std::string give(Side side, std::uint16_t epoch, std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t n : numbers) give(side, message({.epoch = epoch, .number = n}, n));
    return story.take();
  }
  std::string gap(Side side, std::uint16_t epoch, std::uint32_t first, std::uint32_t count) {
    give(side, event({.epoch = epoch, .number = first}, EventKind::Gap, first, count));
    return story.take();
  }
  std::string pass(std::uint64_t ns) {
    merge.tick(now_ns += ns);
    return story.take();
  }
};
constexpr Side kA = Side::First;
constexpr Side kB = Side::Second;

TEST(Standby, goes_on_where_the_other_one_ends) {
  Bench bench;
  EXPECT_EQ(bench.give(kA, 3, {1, 2, 3}), "1 2 3");
  EXPECT_EQ(bench.give(kB, 8, {1, 2, 3, 4, 5}), "");
  EXPECT_EQ(bench.merge.waiting(), 2U) << "what A has brought is not kept";
  EXPECT_EQ(bench.give(kA, 3, {4}), "4");
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "5");
  EXPECT_EQ(bench.give(kB, 8, {6}), "6");
  EXPECT_EQ(bench.give(kA, 3, {5, 6}), "") << "it goes on late";
  bench.merge.switch_over();
  EXPECT_EQ(bench.give(kA, 3, {7}), "7");
  EXPECT_EQ(bench.merge.counts().unsure, 0U);
}

TEST(Standby, takes_over_from_one_that_falls_silent) {
  Bench bench({.patience_ns = 100});
  (void)bench.give(kA, 3, {1, 2});
  (void)bench.give(kB, 8, {1, 2, 3});
  EXPECT_EQ(bench.pass(50), "");
  EXPECT_EQ(bench.pass(60), "3");
  EXPECT_EQ(bench.merge.active(), kB);
  EXPECT_EQ(bench.pass(1'000), "") << "a feed that is silent";
  EXPECT_EQ(bench.merge.active(), kB);
}

TEST(Standby, does_not_cut_a_packet) {
  Bench bench;
  const auto part = [](std::uint16_t epoch, std::uint16_t index, bool is_last) {
    return message({.epoch = epoch, .number = 5, .message = index, .is_last = is_last}, 50U + index, 1U + index);
  };
  bench.give(kA, part(0, 0, false));
  bench.give(kA, part(0, 1, false));
  for (std::uint16_t index = 0; index < 3; ++index) bench.give(kB, part(4, index, index == 2));
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "5 5.1 5.2");
}

TEST(Standby, fills_a_gap_of_the_other_one_once) {
  Bench bench;
  (void)bench.give(kA, 0, {1, 2});
  (void)bench.give(kB, 7, {1, 2, 3, 4, 5});
  EXPECT_EQ(bench.gap(kA, 0, 3, 2), "gap(3+2) r3 r4");
  EXPECT_EQ(bench.give(kA, 0, {5}), "5");
  bench.give(kA, message({.epoch = 0, .number = 4, .is_recovered = true}, 4));  // by a replay
  EXPECT_EQ(bench.story.take(), "");
  // The copy comes after the gap was told; and one that neither has stays missing.
  EXPECT_EQ(bench.gap(kA, 0, 6, 2), "gap(6+2)");
  EXPECT_EQ(bench.give(kA, 0, {8}), "8");
  EXPECT_EQ(bench.give(kB, 7, {6}), "r6");
  EXPECT_EQ(bench.gap(kB, 7, 7, 1), "");
  EXPECT_EQ(bench.give(kB, 7, {8, 9}), "");
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "9");
}

TEST(Standby, tells_of_a_gap_what_is_new) {
  Bench bench;
  (void)bench.give(kA, 0, {1, 2, 3, 4});
  (void)bench.give(kB, 7, {1, 2});
  (void)bench.gap(kB, 7, 3, 4);
  (void)bench.give(kB, 7, {7});
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "gap(5+2) 7");
}

TEST(Standby, tells_a_reset_once_whoever_sees_it_first) {
  for (const bool a_is_first : {true, false}) {
    Bench bench;
    (void)bench.give(kA, 0, {1, 2, 3});
    (void)bench.give(kB, 7, {1, 2, 3});
    const Record of_a = event({.epoch = 1, .number = 1}, EventKind::Reset);
    const Record of_b = event({.epoch = 8, .number = 1}, EventKind::Reset);
    std::string told;
    if (a_is_first) {
      bench.give(kA, of_a);
      bench.give(kB, of_b);
      bench.merge.switch_over();
    } else {
      bench.give(kB, of_b);
      (void)bench.give(kB, 8, {1});
      bench.merge.switch_over();
      bench.give(kA, of_a);
    }
    told = bench.story.take() + "|";
    told += bench.give(kB, 8, {1, 2}) + "|";
    told += bench.give(kA, 1, {1, 2, 3});
    EXPECT_EQ(told, a_is_first ? "reset|1 2|" : "reset 1|2|");
    bench.merge.switch_over();
    EXPECT_EQ(bench.story.take(), "3");
  }
}

TEST(Standby, forgets_the_epochs_of_a_process_that_has_ended) {
  Bench bench;
  (void)bench.give(kA, 0, {1, 2, 3});
  (void)bench.give(kB, 0, {1, 2, 3});
  bench.merge.switch_over();
  bench.merge.restarted(kA);
  (void)bench.give(kB, 0, {4, 5});
  // Its epoch 0 is the same run by chance; its epoch 1 is another one.
  EXPECT_EQ(bench.give(kA, 0, {5, 6}), "");
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "6");
  EXPECT_EQ(bench.merge.counts().unsure, 0U);
}

TEST(Standby, knows_a_run_that_the_other_has_not_seen_by_its_time) {
  Bench bench;
  for (std::uint32_t n = 100; n < 110; ++n) {
    bench.give(kA, message({.epoch = 0, .number = n, .arrival_ns = 1'000'000'000ULL * n}, n));
  }
  (void)bench.story.take();
  // It was started after the exchange had begun anew.
  bench.give(kB, message({.epoch = 0, .number = 5, .arrival_ns = 1'000'000'000ULL * 200}, 5));
  bench.merge.switch_over();
  EXPECT_EQ(bench.story.take(), "5");
}

TEST(Standby, says_what_found_no_room) {
  Bench bench({.slots = 16});
  (void)bench.give(kA, 0, {1});
  (void)bench.give(kB, 7, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_GT(bench.merge.counts().dropped, 0U);
  const Record long_one = message({.epoch = 7, .number = 13}, 13, 40);
  bench.give(kB, long_one);
  EXPECT_EQ(bench.merge.waiting(), 0U) << "longer than the room";
}

TEST(SameRecord, leaves_out_what_two_appliances_say_differently) {
  const Record left = message({.epoch = 1, .number = 5, .arrival_ns = 10}, 77, 2);
  Record right = message({.epoch = 9, .number = 5, .is_recovered = true, .arrival_ns = 20}, 77, 2);
  right[0].words[0] ^= std::uint64_t{0xABCD} << 32;
  right[0].words[3] |= 3;                            // generation
  right[0].words[3] |= std::uint64_t{0x0302} << 48;  // source and quality
  right[1].words[7] ^= std::uint64_t{1} << 63;       // phase
  EXPECT_TRUE(is_same(left, right));
  EXPECT_EQ(hash_of(left), hash_of(right));
  for (std::size_t slot = 0; slot < 2; ++slot) {
    for (std::size_t word = 0; word < 8; ++word) {
      Record other = left;
      other[slot].words[word] ^= word == 3 ? std::uint64_t{1} << 16 : 1;
      const bool is_masked = slot == 0 && word == 1;
      EXPECT_EQ(is_same(left, other), is_masked) << slot << ' ' << word;
      EXPECT_EQ(hash_of(left) == hash_of(other), is_masked) << slot << ' ' << word;
    }
  }
}

// A day of two appliances.

struct Truth {
  std::uint16_t channel = 0;
  std::uint64_t run = 0;
  std::uint32_t number = 0;
  std::uint16_t messages = 0;
};
using Name = std::tuple<std::uint16_t, std::uint64_t, std::uint32_t, std::uint16_t>;  // channel, run, number, message

std::uint64_t value_of(const Truth& packet, std::uint16_t index) {
  return (packet.run << 48) + (std::uint64_t{packet.channel} << 40) + (std::uint64_t{packet.number} << 8) + index;
}

/// An appliance: what it publishes of the packets that it sees.
class Machine {
 public:
  Machine(cases::Random& random, unsigned loss_percent) : random_(random), loss_(loss_percent) {}

  void see(const Truth& packet, std::uint64_t now_ns) {
    OfChannel& channel = channels_[packet.channel];
    if (is_dead) return;
    if (!channel.run || *channel.run != packet.run) {
      const bool is_first = !channel.run;
      channel.epoch = is_first ? 0 : static_cast<std::uint16_t>(channel.epoch + 1);
      channel.run = packet.run;
      // One that has seen the run before it knows that it was reset.
      if (!is_first) put(event(header(channel, packet, now_ns), EventKind::Reset));
      channel.next = packet.number;
      channel.lost.clear();
    }
    if (random_.chance(loss_)) return;
    if (packet.number != channel.next) {
      Header of = header(channel, packet, now_ns);
      of.number = channel.next;
      put(event(of, EventKind::Gap, channel.next, packet.number - channel.next));
      for (std::uint32_t n = channel.next; n != packet.number; ++n) channel.lost.push_back(n);
    }
    channel.next = packet.number + 1;
    publish(channel, packet, now_ns, false);
    if (!channel.lost.empty() && random_.chance(10)) {  // a replay brings it
      Truth late = packet;
      late.number = channel.lost.front();
      late.messages = static_cast<std::uint16_t>(1 + late.number % 3);
      channel.lost.pop_front();
      publish(channel, late, now_ns, true);
    }
    if (random_.chance(2)) put(event(header(channel, packet, now_ns), EventKind::DecodeError));
  }
  void restart() {
    is_dead = false;
    channels_.clear();
  }
  std::deque<std::pair<std::uint64_t, Record>> out;  ///< With the time at which a reader may see it.
  std::set<Name> published;
  bool is_dead = false;
  std::uint64_t delay_ns = 0;

 private:
  struct OfChannel {
    std::optional<std::uint64_t> run;
    std::uint16_t epoch = 0;
    std::uint32_t next = 0;
    std::deque<std::uint32_t> lost;
  };
  static Header header(const OfChannel& channel, const Truth& packet, std::uint64_t now_ns) {
    return {.channel = packet.channel, .epoch = channel.epoch, .number = packet.number, .arrival_ns = now_ns};
  }
  void publish(OfChannel& channel, const Truth& packet, std::uint64_t now_ns, bool is_recovered) {
    for (std::uint16_t i = 0; i < packet.messages; ++i) {
      Header of = header(channel, packet, now_ns);
      of.message = i;
      of.is_last = i + 1 == packet.messages;
      of.is_recovered = is_recovered;
      put(message(of, value_of(packet, i), 1U + packet.number % 3));
      published.insert({packet.channel, packet.run, packet.number, i});
    }
  }
  void put(Record record) { out.emplace_back(0, std::move(record)); }

  cases::Random& random_;
  unsigned loss_;
  std::map<std::uint16_t, OfChannel> channels_;
};

/// What the merged stream says, by channel and run: no message twice, numbers rise but for those that come late.
class Check final : public Output {
 public:
  void record(std::span<const Slot> record, Side /*from*/) noexcept override {
    const HeaderView header(record[0]);
    OfChannel& channel = channels_[header.channel()];
    if (header.is_event()) {
      const record::EventView of(record[0]);
      if (of.kind() == EventKind::Reset) channel.has_high = false;
      if (of.kind() != EventKind::Gap) return;
      if (channel.has_high && static_cast<std::int32_t>(header.sequence() - channel.number) <= 0)
        complain("a gap below what came");
      channel.number = static_cast<std::uint32_t>(of.first_missing() + of.missing() - 1);
      channel.index = 0xFFFF;
      channel.has_high = true;
      return;
    }
    const std::uint64_t run = record[0].words[4] >> 48;
    const Name name{header.channel(), run, header.sequence(), header.message_index()};
    if (!seen.insert(name).second) complain("a message twice");
    if (run != channel.run) {
      if (run < channel.run) complain("a run that has ended");
      channel = {.run = run};
    }
    if ((header.flags() & record::kFlagRecovered) != 0) return;
    const bool is_after = !channel.has_high || static_cast<std::int32_t>(header.sequence() - channel.number) > 0 ||
                          (header.sequence() == channel.number && header.message_index() > channel.index);
    if (!is_after) complain("a number that goes back: " + std::to_string(header.sequence()));
    channel.number = header.sequence();
    channel.index = header.message_index();
    channel.has_high = true;
  }
  std::set<Name> seen;
  std::string wrong;

 private:
  struct OfChannel {
    std::uint64_t run = 0;
    std::uint32_t number = 0;
    std::uint32_t index = 0;
    bool has_high = false;
  };
  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
  std::map<std::uint16_t, OfChannel> channels_;
};

std::string play(std::uint64_t seed) {
  constexpr std::uint64_t kMs = 1'000'000;
  cases::Random random(seed);
  Check check;
  Merge merge({.slots = 65'536, .patience_ns = 100 * kMs}, check);
  const unsigned loss = static_cast<unsigned>(random.below(3) * 4);
  std::array<Machine, 2> machines = {Machine(random, loss), Machine(random, loss)};
  std::array<std::uint64_t, 2> stopped_until{};
  std::array<std::uint64_t, 2> dead_until{};
  std::array<bool, 2> was_read_out{};
  std::map<std::uint16_t, Truth> feeds;
  for (std::uint16_t c = 0; c < 1 + random.below(4); ++c) feeds[c] = {.channel = c, .run = 1, .number = 1};
  std::uint64_t now = 1'000'000 * kMs;
  const auto deliver = [&](bool is_last) {
    for (const std::size_t i : {0U, 1U}) {
      Machine& machine = machines[i];
      if (!is_last && stopped_until[i] > now) continue;
      // A reader takes some of what there is.
      for (std::uint64_t n = is_last ? 1U << 20 : random.below(12); n > 0 && !machine.out.empty(); --n) {
        merge.take(static_cast<Side>(i), machine.out.front().second, now);
        machine.out.pop_front();
      }
      if (machine.is_dead && machine.out.empty() && !was_read_out[i]) {
        was_read_out[i] = true;  // its ring was read to the end
        if (merge.active() == static_cast<Side>(i)) merge.switch_over();
      }
    }
    merge.tick(now);
  };
  for (int step = 0; step < 4'000; ++step) {
    now += kMs;
    Truth& feed = feeds[static_cast<std::uint16_t>(random.below(feeds.size()))];
    if (random.below(1'500) == 0) {
      now += 1'500 * kMs;  // the exchange begins anew, and all that was sent has been read
      deliver(true);
      ++feed.run;
      feed.number = static_cast<std::uint32_t>(1 + random.below(3));
    }
    feed.messages = static_cast<std::uint16_t>(1 + feed.number % 3);
    for (Machine& machine : machines) machine.see(feed, now);
    ++feed.number;
    // One of them at most is not well.
    const bool are_well =
        std::all_of(machines.begin(), machines.end(), [](const Machine& one) { return !one.is_dead; }) &&
        stopped_until[0] < now && stopped_until[1] < now && machines[0].out.size() < 20 && machines[1].out.size() < 20;
    const std::size_t i = random.below(2);
    if (are_well && random.below(60) == 0) {
      if (random.below(2) == 0) {
        stopped_until[i] = now + random.below(1'000) * kMs;
      } else {
        machines[i].is_dead = true;
        was_read_out[i] = false;
        dead_until[i] = now + random.below(500) * kMs;
      }
    }
    for (const std::size_t m : {0U, 1U}) {
      if (!machines[m].is_dead || dead_until[m] > now || !was_read_out[m]) continue;
      machines[m].restart();
      merge.restarted(static_cast<Side>(m));
    }
    deliver(false);
  }
  now += 10'000 * kMs;
  deliver(true);
  now += 10'000 * kMs;
  merge.tick(now);
  merge.switch_over();
  if (!check.wrong.empty()) return check.wrong;
  for (const Machine& machine : machines) {
    for (const Name& name : machine.published) {
      if (!check.seen.contains(name)) {
        return "channel " + std::to_string(std::get<0>(name)) + ", run " + std::to_string(std::get<1>(name)) +
               ", number " + std::to_string(std::get<2>(name)) + " was published, and did not come";
      }
    }
  }
  if (merge.counts().dropped != 0) return "no room";
  return "";
}

TEST(Standby, neither_loses_nor_repeats_whichever_dies_stops_or_restarts) {
  const std::uint64_t seeds = std::getenv("STOPBIT_LONG") != nullptr ? 5'000 : 100;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) ASSERT_EQ(play(seed), "") << "seed " << seed;
}

TEST(Standby, bears_any_records) {
  class Nothing final : public Output {
    void record(std::span<const Slot> /*record*/, Side /*from*/) noexcept override {}
  };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    cases::Random random(seed);
    Nothing nothing;
    Merge merge({.slots = 64 + random.below(200), .patience_ns = 50}, nothing);
    std::uint64_t now = 0;
    for (int i = 0; i < 3'000; ++i) {
      Record any(1 + random.below(4), Slot{});
      for (Slot& slot : any) {
        for (std::uint64_t& word : slot.words) word = random.below(3) == 0 ? random.bits() : random.below(8);
      }
      if (random.below(2) == 0) any[0].words[0] = (any[0].words[0] & ~std::uint64_t{0xFFFF}) | record::kEventIndex;
      any[0].words[2] &= ~(std::uint64_t{0xFFF0} << 32);
      merge.take(static_cast<Side>(random.below(2)), any, now += random.below(20));
      if (random.below(10) == 0) merge.tick(now);
      if (random.below(100) == 0) merge.restarted(static_cast<Side>(random.below(2)));
      if (random.below(100) == 0) merge.switch_over();
    }
    merge.switch_over();
    EXPECT_EQ(merge.waiting(), 0U);
  }
}

}  // namespace stopbit::standby::merge_test
