// Subscribers that come, go, sleep and filter as they like, against a naive reference: the list of all records.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::remote::remote_random_test {

constexpr std::uint64_t kSlots = 2048;
constexpr nic::NodeId kNodes = 4;

/// The published records, by sequence number.
struct Published {
  Record words;
  std::uint32_t security = 0;
  std::uint16_t channel = 0;
};

struct Wish {
  std::optional<std::uint32_t> security;
  std::optional<std::uint16_t> channel;
  [[nodiscard]] bool fits(const Published& record) const {
    return (!security || record.security == *security) && (!channel || record.channel == *channel);
  }
  [[nodiscard]] Filter filter() const {
    Filter filter;
    if (!security && !channel) return filter;
    filter.field = security ? "SecurityID" : "";
    filter.patterns = {{{channel.value_or(0), kTick, security.value_or(0)},
                        {channel ? ~0U : 0U, ~0U, security ? ~std::uint64_t{0} : 0U}}};
    return filter;
  }
};

/// A subscriber, a reader of its ring, and what the reader must get.
class Watched {
 public:
  Watched(Net& net, nic::NodeId node, const Wish& wish, SubscriberOptions how,
          const std::map<std::uint32_t, Published>& all)
      : wish_(wish), all_(all) {
    how.name = name_.get();
    how.filter = wish.filter();
    Result<std::unique_ptr<Subscriber>> opened = Subscriber::open(net.node(node), how);
    if (!opened) throw std::runtime_error(opened.message());
    subscriber_ = std::move(opened).value();
  }
  void step(std::uint64_t now) {
    if (sleeps_until_ <= now) (void)subscriber_->step(now);
    if (!reader_ && subscriber_->has_ring()) reader_.emplace(ring::Reader::open(name_.get()).value());
    while (reader_) {
      const ring::Poll poll = reader_->poll();
      ASSERT_NE(poll, ring::Poll::Damaged);
      ASSERT_NE(poll, ring::Poll::Lost) << "the reader here is fast enough";
      if (poll != ring::Poll::Record) return;
      take(reader_->record());
    }
  }
  void sleep_until(std::uint64_t until) { sleeps_until_ = until; }
  [[nodiscard]] bool is_at_end() const { return last_ != 0 && count_between(last_, all_.rbegin()->first + 1) == 0; }
  [[nodiscard]] bool is_near() const { return subscriber_->is_near(); }
  [[nodiscard]] bool is_live() const { return subscriber_->state() == SubscriberState::Live; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] SubscriberCounters counters() const { return subscriber_->counters(); }
  [[nodiscard]] const std::string& problem() const { return subscriber_->problem(); }

 private:
  void take(std::span<const record::Slot> record) {
    const record::HeaderView head(record.front());
    if (head.is_event()) {
      ASSERT_EQ(record::EventView(record.front()).kind(), record::EventKind::Lost);
      lost_ += record::EventView(record.front()).missing();
      has_loss_ = true;
      return;
    }
    const std::uint32_t sequence = head.sequence();
    const auto found = all_.find(sequence);
    ASSERT_NE(found, all_.end());
    EXPECT_EQ(without_numbers(record), found->second.words);
    EXPECT_TRUE(wish_.fits(found->second)) << sequence;
    if (last_ != 0) {
      ASSERT_GT(sequence, last_) << "no record twice, none before another";
      const std::uint64_t missing = count_between(last_, sequence);
      if (!has_loss_) {
        EXPECT_EQ(missing, 0U) << "between " << last_ << " and " << sequence;
      } else {
        EXPECT_LE(missing, lost_);
        // Without a filter the number is exact.
        if (!wish_.security && !wish_.channel) {
          EXPECT_EQ(sequence - last_ - 1, lost_);
        }
      }
    }
    last_ = sequence;
    lost_ = 0;
    has_loss_ = false;
    ++taken_;
  }
  /// Records that fit, after `from` and before `to`.
  [[nodiscard]] std::uint64_t count_between(std::uint32_t from, std::uint32_t to) const {
    std::uint64_t count = 0;
    for (auto at = all_.upper_bound(from); at != all_.end() && at->first < to; ++at) count += wish_.fits(at->second);
    return count;
  }

  RingName name_;
  Wish wish_;
  const std::map<std::uint32_t, Published>& all_;
  std::unique_ptr<Subscriber> subscriber_;
  std::optional<ring::Reader> reader_;
  std::uint64_t sleeps_until_ = 0;
  std::uint32_t last_ = 0;
  std::uint64_t lost_ = 0;
  bool has_loss_ = false;
  std::uint64_t taken_ = 0;
};

void run(std::uint64_t seed, bool is_near) {
  std::mt19937_64 random(seed);
  nic::ModelOptions network;
  network.seed = seed;
  network.is_one_host = is_near;
  if (seed % 2 == 0) {
    network.line.loss = {0.02, 2};
    network.line.duplicate = 0.02;
    network.line.reorder = 0.1;
    network.line.reorder_depth = 4;
  }
  RingName source;
  Net net(kNodes, network);
  PublisherOptions how;
  how.rings = {{"ring", source.get(), ""}};
  const std::unique_ptr<Publisher> publisher = std::move(Publisher::open(net.node(0), how)).value();
  Feed feed(source.get(), market(), kSlots);
  ring::Reader local = ring::Reader::open(source.get()).value();
  std::map<std::uint32_t, Published> all;
  std::vector<std::unique_ptr<Watched>> watched;
  const auto publish = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      Published record;
      record.security = static_cast<std::uint32_t>(random() % 8);
      record.channel = static_cast<std::uint16_t>(random() % 3);
      feed.tick(record.security, std::string(random() % 90, 'r'), record.channel);
      ASSERT_EQ(local.poll(), ring::Poll::Record);
      record.words = without_numbers(local.record());
      all[record::HeaderView(local.record().front()).sequence()] = std::move(record);
    }
  };
  std::uint64_t lost = 0;
  std::uint64_t taken = 0;
  std::uint64_t fetched = 0;
  const auto forget = [&](std::size_t which) {
    lost += watched[which]->counters().lost;
    taken += watched[which]->taken();
    fetched += watched[which]->counters().fetched;
    watched.erase(watched.begin() + static_cast<std::ptrdiff_t>(which));
  };
  std::array<std::uint64_t, kNodes> cut_until{};
  const auto mend = [&](bool all_of_them) {
    for (nic::NodeId id = 1; id < kNodes; ++id) {
      if (cut_until[id] == 0 || (!all_of_them && cut_until[id] > net.now())) continue;
      net.network().mend(id);
      cut_until[id] = 0;
    }
  };
  for (int i = 0; i < 6000 && !::testing::Test::HasFailure(); ++i) {
    net.step(20'000);
    (void)publisher->step(net.now());
    for (const auto& one : watched) one->step(net.now());
    const std::uint64_t dice = random() % 1000;
    if (dice < 300) {
      publish(random() % 6);
    } else if (dice < 303) {
      publish(random() % 2000);  // no subscriber can keep up with this
    } else if (dice < 311 && watched.size() < 5) {
      Wish wish;
      if (random() % 3 == 0) wish.security = static_cast<std::uint32_t>(random() % 8);
      if (random() % 3 == 0) wish.channel = static_cast<std::uint16_t>(random() % 3);
      SubscriberOptions options;
      options.ring = "ring";
      options.ask_ns = 2'000'000;
      options.wants_history = random() % 4 != 0;
      options.landing_messages = nic::ChannelLayout::kMinSlots;
      const auto node = static_cast<nic::NodeId>(1 + random() % (kNodes - 1));
      watched.push_back(std::make_unique<Watched>(net, node, wish, options, all));
    } else if (dice < 313 && !watched.empty()) {
      forget(random() % watched.size());
    } else if (dice < 325 && !watched.empty()) {
      watched[random() % watched.size()]->sleep_until(net.now() + random() % 10'000'000);
    } else if (dice == 999) {
      // Sometimes longer than a node may say nothing.
      const auto id = static_cast<nic::NodeId>(1 + random() % (kNodes - 1));
      net.network().cut(id);
      cut_until[id] = net.now() + random() % 100'000'000;
    }
    mend(false);
  }
  mend(true);
  publish(20);
  for (int i = 0; i < 50'000 && !::testing::Test::HasFailure(); ++i) {
    if (i % 100 == 0) publish(1);
    net.step(20'000);
    (void)publisher->step(net.now());
    bool is_over = i > 3000;
    for (const auto& one : watched) {
      one->sleep_until(0);
      one->step(net.now());
      is_over = is_over && one->is_live() && one->is_at_end();
    }
    if (is_over) break;
  }
  for (const auto& one : watched) {
    EXPECT_TRUE(one->is_at_end()) << one->problem();
    EXPECT_EQ(one->is_near(), is_near);
  }
  while (!watched.empty()) forget(watched.size() - 1);
  EXPECT_GT(taken, 1000U);
  EXPECT_GT(fetched, 0U);
  ::testing::Test::RecordProperty("lost", static_cast<int>(lost));
}

void run_all(bool is_near) {
  const char* const asked = std::getenv("STOPBIT_REMOTE_RUNS");
  const std::uint64_t runs = asked == nullptr ? 12 : std::strtoull(asked, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= runs && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed, is_near);
  }
}

TEST(RemoteRandom, every_far_subscriber_gets_what_it_wants_or_is_told_what_it_missed) {
  run_all(false);
}

TEST(RemoteRandom, every_near_subscriber_gets_what_it_wants_or_is_told_what_it_missed) {
  run_all(true);
}

}  // namespace stopbit::remote::remote_random_test
