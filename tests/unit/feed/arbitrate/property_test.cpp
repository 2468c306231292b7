#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "host/lab/impair/impairer.hpp"
#include "tests/unit/feed/arbitrate/fixture.hpp"

/// Random streams on random bad lines, arbitrated by the arbiter and by one that is written to be obvious.
namespace stopbit::arbitrate::property_test {

/// The same rules with sets and lists of everything that ever came. One run of numbers that never wrap.
class Reference {
 public:
  explicit Reference(const Options& options) : options_(options) {}

  void offer(const Packet& packet, std::uint64_t now_ns, Sink& sink) {
    close(now_ns, sink);
    const std::uint64_t number = packet.preamble.sequence;
    if (!running_) {
      running_ = true;
      gathering_ = options_.ordered;
      first_ = next_ = number;
      NewRun run;
      run.sequence = number;
      sink.epoch(run);
    }
    top_ = std::max(top_, number);
    if (gathering_ && number < next_ && next_ - number <= options_.window_packets) first_ = next_ = number;
    if (!seen_[number].insert(packet.preamble.chunk).second) {
      ++packets.duplicate;
      return;
    }
    if (number < next_) {
      ++packets.late;
      return;
    }
    held_.push_back({packet, now_ns});
    if (!options_.ordered && whole(number)) {
      give_up(number, sink);
      deliver(number, sink);
    }
    if (options_.ordered && !gathering_) drain(sink);
  }

  void finish(Sink& sink) {
    while (!held_.empty()) close_oldest(sink);
    if (gathering_) close_oldest(sink);
  }

  Packets packets;
  std::uint64_t lost = 0;
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  struct Held {
    Packet packet;
    std::uint64_t since_ns;
  };

  bool whole(std::uint64_t number) {
    for (const Held& held : held_) {
      if (held.packet.preamble.sequence == number) return seen_[number].size() == held.packet.preamble.chunks;
    }
    return false;
  }

  void deliver(std::uint64_t number, Sink& sink) {
    std::map<std::uint16_t, Packet> chunks;
    for (const Held& held : held_) {
      if (held.packet.preamble.sequence == number) chunks[held.packet.preamble.chunk] = held.packet;
    }
    std::erase_if(held_, [&](const Held& held) { return held.packet.preamble.sequence == number; });
    for (const auto& [chunk, packet] : chunks) {
      ++packets.delivered;
      sink.deliver(packet, 0);
    }
    next_ = number + 1;
  }

  void drain(Sink& sink) {
    while (whole(next_)) deliver(next_, sink);
  }

  /// Everything that is not there from next_ on, up to `end` or the first that is whole.
  void give_up(std::uint64_t end, Sink& sink) {
    const std::uint64_t first = next_;
    while (next_ < end && !whole(next_)) {
      packets.incomplete +=
          std::erase_if(held_, [&](const Held& held) { return held.packet.preamble.sequence == next_; });
      ++next_;
    }
    if (first == next_) return;
    lost += next_ - first;
    Gap gap;
    gap.first = first;
    gap.count = next_ - first;
    sink.gap(gap);
  }

  void close_oldest(Sink& sink) {
    if (gathering_) {
      gathering_ = false;
    } else {
      give_up(held_.front().packet.preamble.sequence + 1, sink);
    }
    drain(sink);
  }

  void close(std::uint64_t now_ns, Sink& sink) {
    while (!held_.empty() && (held_.front().since_ns + options_.window_ns <= now_ns ||
                              (held_.size() >= options_.window_packets && held_.back().since_ns < now_ns))) {
      close_oldest(sink);
    }
  }

  Options options_;
  bool running_ = false;
  bool gathering_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t top_ = 0;
  std::map<std::uint64_t, std::set<std::uint16_t>> seen_;
  std::vector<Held> held_;  ///< By arrival.
};

double one_of(impair::Random& random, std::initializer_list<double> values) {
  return *(values.begin() + random.below(values.size()));
}

void compare(std::uint64_t seed) {
  impair::Random random(seed);
  Options options;
  options.ordered = random.happens(0.6);
  options.chunks = random.happens(0.5);
  options.window_packets = 1 + static_cast<std::uint32_t>(random.below(random.happens(0.5) ? 6 : 40));
  options.window_ns = 1 + random.below(random.happens(0.5) ? 300 : 5'000);
  options.history = 4'096;
  impair::Options network;
  network.seed = random.next();
  network.both = {one_of(random, {0, 0.02}), 1};
  for (impair::LineOptions& line : network.line) {
    line = {.loss = {one_of(random, {0, 0.05, 0.3}), one_of(random, {1, 10})},
            .duplicate = one_of(random, {0, 0.1, 0.5}),
            .reorder = one_of(random, {0, 0.05, 0.3}),
            .reorder_depth = 1 + static_cast<std::uint32_t>(random.below(30)),
            .delay_ns = random.below(3) * 170};
  }
  impair::Impairer impairer(network);

  Arbiter arbiter(options);
  Reference reference(options);
  testing::Story story;
  testing::Story expected;
  std::vector<net::Preamble> sent;
  std::uint64_t now_ns = 1'000'000;
  const auto receive = [&](std::uint64_t until_ns) {
    while (const impair::Copy* copy = impairer.pop(until_ns)) {
      Packet packet;
      packet.preamble = sent[copy->packet];
      packet.line = static_cast<Line>(copy->line);
      packet.payload = copy->bytes;
      packet.t_ns = copy->time_ns;
      arbiter.tick(copy->time_ns, story);
      arbiter.offer(packet, story);
      packet.payload = {};
      reference.offer(packet, copy->time_ns, expected);
      ASSERT_TRUE(arbiter.account().balanced());
      ASSERT_EQ(arbiter.account().packets.held, reference.held());
    }
  };
  std::uint64_t number = 1'000;
  for (int i = 0; i < 150; ++i, ++number) {
    const auto chunks = static_cast<std::uint16_t>(options.chunks && random.happens(0.4) ? 1 + random.below(5) : 1);
    for (std::uint16_t chunk = 1; chunk <= chunks; ++chunk) {
      now_ns += random.below(200);
      receive(now_ns);
      net::Preamble preamble;
      preamble.sequence = number;
      preamble.chunk = chunk;
      preamble.chunks = chunks;
      sent.push_back(preamble);
      impairer.push({}, now_ns);
    }
  }
  impairer.flush(now_ns);
  receive(impair::kNever);
  arbiter.finish(story);
  reference.finish(expected);
  EXPECT_EQ(story.take(), expected.take());
  const Packets packets = arbiter.account().packets;
  EXPECT_EQ(packets.delivered, reference.packets.delivered);
  EXPECT_EQ(packets.duplicate, reference.packets.duplicate);
  EXPECT_EQ(packets.late, reference.packets.late);
  EXPECT_EQ(packets.incomplete, reference.packets.incomplete);
  EXPECT_EQ(arbiter.account().numbers.lost, reference.lost);
}

TEST(ArbiterProperty, agrees_with_an_obvious_one_on_random_streams) {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    compare(seed);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace stopbit::arbitrate::property_test
