#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "host/appliance/card_feed.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/appliance/card_fixture.hpp"

// A card that fails and comes back at any moment, again and again, beside an appliance that has no card: with lines
// that lose nothing both publish the same records; with lines that lose some, each number has its records or is part of
// one gap.

namespace stopbit::test {
namespace {

namespace reg = device::registers;

/// What a subscriber of the ring sees of a message: sequence, value, run.
using Message = std::tuple<std::uint32_t, std::uint64_t, unsigned>;

class CardSeam : public CardFeedTest {
 protected:
  struct Rates {
    unsigned host_loss = 0;  ///< Per cent of the packets of each line on its way to the ports.
    unsigned card_loss = 0;  ///< Of both lines, on the way to the card.
    std::uint32_t begin = 1;
  };

  /// `map`, `map_of_software`: lines of their channels.
  explicit CardSeam(const std::string& map = "", const std::string& map_of_software = "")
      : CardFeedTest(map), software("mode = \"fast\"\n" + map_of_software, "engine = \"interp\"\n") {}

  void run(std::uint64_t seed, const Rates& rates) {
    random_ = cases::Random(seed);
    rates_ = rates;
    next_ = rates.begin;
    for (int step = 0; step < 1'500; ++step) {
      take_step();
      if (HasFatalFailure()) return;
    }
    settle();
  }

  void take_step() {
    one.now += 1 + random_.below(2'000);
    software.now = one.now;
    const std::uint64_t dice = random_.below(1'000);
    if (dice < 350) {
      send();
    } else if (dice < 600) {
      hear(0, 1 + random_.below(4));
    } else if (dice < 750) {
      hear(1, 1 + random_.below(4));
    } else if (dice < 970) {
      card_works(1 + random_.below(5));
    } else if (is_alive_) {
      kill();
    } else {
      revive();
    }
    one.work();
    software.work();
    if (one.made->take_card_failure().empty()) return;
    ++failures;
  }

  /// A datagram with up to three messages on both lines. A card does not say that one has none, so a first or last one
  /// has some.
  void send(bool may_be_empty = true) {
    const std::uint64_t messages = may_be_empty && !sent_.empty() ? random_.below(4) : 1;
    std::vector<std::byte> bytes = tick(next_, static_cast<std::uint32_t>(random_.below(100'000)));
    if (messages == 0) bytes.resize(5);
    for (std::uint64_t more = 1; more < messages; ++more) {
      bytes.insert(bytes.end(), {std::byte{0xC0}, std::byte{0x81}, static_cast<std::byte>(0x80 + random_.below(128))});
    }
    const bool is_first = sent_.empty();
    const std::size_t at = sent_.size();
    sent_.push_back({next_++, messages, std::move(bytes)});
    for (auto& line : on_line_) {
      if (is_first || !random_.chance(rates_.host_loss)) line.push_back(at);
    }
    if (is_first || !random_.chance(rates_.card_loss)) to_card_.push_back(at);
  }
  void hear(std::size_t line, std::uint64_t most) {
    for (; most != 0 && !on_line_[line].empty(); --most) {
      const std::vector<std::byte>& bytes = sent_[on_line_[line].front()].bytes;
      on_line_[line].pop_front();
      one.give(line, bytes);
      software.give(line, bytes);
    }
  }
  void hear_all() {
    for (const std::size_t line : {0, 1}) hear(line, ~std::uint64_t{0});
    one.work();
    software.work();
  }

  /// The card takes what has come; `most_records`: it ends in the middle of a datagram.
  void card_works(std::uint64_t most, std::uint64_t most_records = ~std::uint64_t{0}) {
    for (; most != 0 && !to_card_.empty(); --most) {
      const Sent& sent = sent_[to_card_.front()];
      to_card_.pop_front();
      if (!is_alive_) continue;
      hollow.set(reg::kDatagramsDecoded, ++decoded_);
      if (card_last_ && sent.number - *card_last_ > 1) publish_gap(*card_last_ + 1, sent.number - *card_last_ - 1);
      card_last_ = sent.number;
      cases::RecordingSink sink(program);
      (void)engine->decode(sent.bytes,
                           {.arrival_ns = one.now,
                            .sequence = sent.number,
                            .data_offset = 5,
                            .channel = 7,
                            .source = record::SourceLine::LineA},
                           sink);
      ASSERT_EQ(sink.records().size(), sent.messages);
      for (const cases::Record& record : sink.records()) {
        if (most_records-- == 0) return;
        hollow.publish(record);
        if (random_.chance(20)) one.work();
      }
    }
  }
  void publish_gap(std::uint32_t first, std::uint64_t count) {
    record::Slot slot{};
    slot.words[0] = record::kEventIndex | 1U << 16;
    slot.words[1] = one.now;
    slot.words[2] = first | std::uint64_t{7} << 32;
    slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Gap);
    slot.words[5] = first;
    slot.words[6] = count;
    hollow.publish({&slot, 1});
  }

  /// In one of the ways in which a card fails, maybe in the middle of a datagram.
  void kill() {
    if (random_.chance(50)) card_works(1 + random_.below(3), random_.below(3));
    is_alive_ = false;
    if (random_.chance(50)) {
      for (std::uint64_t i = 0; i < appliance::CardFeed::kMostFaults; ++i) publish_fault();
      return;
    }
    hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };  // off the bus
    for (std::uint64_t more = random_.below(5); more != 0; --more) send();
    hear_all();  // before time passes in which they would have come
    one.now += kLooked;
    software.now = one.now;
    one.work();
    for (std::uint64_t more = random_.below(5); more != 0; --more) publish_fault();  // it still writes to its ring
  }
  /// It works again, and has kept some of what came before it was set up; now and then it fails at once.
  void revive() {
    hear_all();
    hollow.answer = {};
    for (int second = 0; second < 1'000; ++second) {
      one.now += 1'000'000'000;
      software.now = one.now;
      is_alive_ = one.made->tend_card(one.now).is_back;
      if (is_alive_) break;
    }
    ASSERT_TRUE(is_alive_);
    ++returns;
    card_last_.reset();
    to_card_.clear();
    const std::size_t kept = std::min<std::size_t>(random_.below(6), sent_.size());
    for (std::size_t at = sent_.size() - kept; at < sent_.size(); ++at) to_card_.push_back(at);
    if (random_.chance(20)) kill();
  }

  /// Everything arrives, the card comes back, and has the channel in the end.
  void settle() {
    if (!is_alive_) {
      hear_all();
      (void)one.made->take_card_failure();
      revive();
    }
    for (int i = 0; i < 20; ++i) {
      if (!is_alive_) {
        one.work();
        revive();
      }
      send(i == 0);
      hear_all();
      card_works(~std::uint64_t{0});
      one.now += 20'000'000;
      software.now = one.now;
      one.work();
      software.work();
    }
    one.now += kLooked;  // a record that waits for what the ports have lost
    one.work();
    one.now += kPublished;
    software.now = one.now;
    one.work();
    software.work();
  }

  static std::vector<Message> messages(const std::vector<OneChannel::Seen>& seen) {
    std::vector<Message> all;
    for (const OneChannel::Seen& one : seen) {
      EXPECT_FALSE(one.is_event) << static_cast<int>(one.kind) << " at " << one.sequence;
      all.emplace_back(one.sequence, one.value, one.epoch);
    }
    return all;
  }
  static std::uint64_t counted(OneChannel& of, const char* family) { return of.counts().sum(family); }
  std::uint32_t last() const { return next_ - 1; }

  struct Sent {
    std::uint32_t number;
    std::uint64_t messages;
    std::vector<std::byte> bytes;
  };
  OneChannel software;
  cases::Random random_{0};
  Rates rates_;
  std::uint32_t next_ = 0;
  std::vector<Sent> sent_;
  std::array<std::deque<std::size_t>, 2> on_line_;
  std::deque<std::size_t> to_card_;
  std::optional<std::uint32_t> card_last_;
  std::uint64_t decoded_ = 0;
  bool is_alive_ = true;
  std::uint64_t failures = 0;
  std::uint64_t returns = 0;
};

class LosslessSeam : public CardSeam, public ::testing::WithParamInterface<int> {};

TEST_P(LosslessSeam, has_the_records_and_the_numbers_of_software) {
  // Half of the runs pass the end of the numbers.
  run(static_cast<std::uint64_t>(GetParam()), {.begin = GetParam() % 2 == 0 ? 1U : ~0U - 200});
  EXPECT_GT(returns, 5U);
  const std::vector<Message> ours = messages(one.seen());
  const std::vector<Message> theirs = messages(software.seen());
  const auto differs = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  ASSERT_TRUE(differs.first == ours.end() && differs.second == theirs.end())
      << "at " << differs.first - ours.begin() << " of " << ours.size() << " and " << theirs.size() << ": "
      << (differs.first != ours.end() ? std::get<0>(*differs.first) : 0) << " for "
      << (differs.second != theirs.end() ? std::get<0>(*differs.second) : 0);
  for (const char* const family : {"numbers_lost", "numbers_delivered", "numbers_expected", "next_sequence"}) {
    EXPECT_EQ(counted(one, family), counted(software, family)) << family;
  }
  EXPECT_EQ(counted(one, "card_channels"), 1U) << "it has the channel again";
  one.expect_balanced();
  software.expect_balanced();
  EXPECT_LE(hollow.memory_in_use(), 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, LosslessSeam, ::testing::Range(1, by_form(4, 13, 501)));

struct MapFolders {
  testing::Scratch folder;
  testing::Scratch folder_of_software;
};
class SeamWithBooks : protected MapFolders, public CardSeam, public ::testing::WithParamInterface<int> {
 protected:
  SeamWithBooks() : CardSeam(map_of_ticks(folder), map_of_ticks(folder_of_software)) {}
  /// Of every event what does not depend on which copy came first.
  static std::vector<std::vector<std::uint64_t>> events(const testing::Scratch& folder) {
    std::vector<std::vector<std::uint64_t>> all;
    auto opened = ring::Reader::open(folder.path("events"), ring::Start::Oldest);
    EXPECT_TRUE(opened) << opened.message();
    if (!opened) return all;
    ring::Reader& reader = opened.value();
    while (reader.poll() == ring::Poll::Record) {
      all.emplace_back();
      for (const record::Slot& slot : reader.record()) {
        all.back().insert(all.back().end(), std::begin(slot.words), std::end(slot.words));
      }
      all.back()[1] = 0;  // when it came
    }
    return all;
  }
};

TEST_P(SeamWithBooks, has_the_events_of_software) {
  run(static_cast<std::uint64_t>(GetParam()), {});
  const auto ours = events(folder);
  const auto theirs = events(folder_of_software);
  EXPECT_GT(ours.size(), 100U);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    for (std::size_t w = 0; w < ours[i].size(); ++w) ASSERT_EQ(ours[i][w], theirs[i][w]) << i << " word " << w;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, SeamWithBooks, ::testing::Range(1, by_form(2, 4, 51)));

class LossySeam : public CardSeam, public ::testing::WithParamInterface<int> {};

TEST_P(LossySeam, has_each_number_once_or_in_one_gap) {
  run(static_cast<std::uint64_t>(GetParam()), {.host_loss = 15, .card_loss = 3});
  std::uint64_t lost = 0;
  std::uint32_t past = 0;  // numbers up to here are done with
  std::uint32_t open = 0;  // has messages, but not all of them
  std::uint64_t open_count = 0;
  const auto pass = [&](std::uint32_t up_to) {
    for (; past + 1 < up_to; ++past) ASSERT_EQ(sent_.at(past).messages, 0U) << "number " << past + 1 << " is missing";
  };
  for (const OneChannel::Seen& seen : one.seen()) {
    if (seen.is_event) {
      ASSERT_EQ(seen.kind, record::EventKind::Gap);
      if (open != 0) past = open - 1;  // its rest was lost
      open = 0;
      pass(static_cast<std::uint32_t>(seen.first));
      ASSERT_EQ(past + 1, seen.first) << "a gap goes back";
      past += static_cast<std::uint32_t>(seen.count);
      lost += seen.count;
      continue;
    }
    ASSERT_EQ(seen.epoch, 0U);
    if (open == 0 || seen.sequence != open) {
      ASSERT_EQ(open, 0U) << "the rest of " << open << " is missing";
      pass(seen.sequence);
      ASSERT_EQ(past + 1, seen.sequence) << "a number goes back";
      open = seen.sequence;
      open_count = 0;
    }
    if (++open_count < sent_.at(open - 1).messages) continue;
    ASSERT_EQ(open_count, sent_.at(open - 1).messages);
    past = open;
    open = 0;
  }
  EXPECT_EQ(counted(one, "numbers_lost"), lost);
  EXPECT_GT(lost, 0U);
  EXPECT_GT(returns, 5U);
  one.expect_balanced();
}
INSTANTIATE_TEST_SUITE_P(Seeds, LossySeam, ::testing::Range(1, by_form(3, 7, 501)));

}  // namespace
}  // namespace stopbit::test
