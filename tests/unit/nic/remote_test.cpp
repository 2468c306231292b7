#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::nic::remote {
namespace {

ModelOptions bad_network(std::uint64_t seed) {
  ModelOptions options;
  options.seed = seed;
  options.line.loss = {0.03, 2};
  options.line.duplicate = 0.03;
  options.line.reorder = 0.1;
  options.line.reorder_depth = 4;
  options.line.corrupt = 0.01;
  return options;
}

/// A publisher on node 0, subscribers on the others.
class Remote : public ::testing::Test {
 protected:
  void start(std::size_t nodes = 2, const ModelOptions& network = {}, PublisherOptions how = {}) {
    net.emplace(nodes, network);
    how.rings.push_back({"cme", source.get(), token});
    how.log = [this](const std::string& line) { lines.push_back(line); };
    Result<std::unique_ptr<Publisher>> opened = Publisher::open(net->node(0), how);
    ASSERT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    publisher = std::move(opened).value();
  }
  [[nodiscard]] SubscriberOptions options(const RingName& name) const {
    SubscriberOptions how;
    how.ring = "cme";
    how.name = name.get();
    how.token = token;
    return how;
  }
  Subscriber& subscribe(NodeId node, const SubscriberOptions& how) {
    Result<std::unique_ptr<Subscriber>> opened = Subscriber::open(net->node(node), how);
    if (!opened) throw std::runtime_error(opened.message());
    subscribers.push_back(std::move(opened).value());
    return *subscribers.back();
  }
  void step() {
    net->step();
    if (publisher) (void)publisher->step(net->now());
    for (const std::unique_ptr<Subscriber>& one : subscribers) {
      if (one) (void)one->step(net->now());
    }
  }
  /// Fails if it does not happen.
  void until(const std::function<bool()>& happens, const char* what) {
    for (int i = 0; i < 200'000; ++i) {
      if (happens()) return;
      step();
    }
    std::string why;
    for (const auto& one : subscribers)
      why += one ? std::string(to_text(one->state())) + ": " + one->problem() + "; " : "";
    for (const std::string& line : lines) why += "\n" + line;
    FAIL() << "never: " << what << " " << why;
  }
  void until_live(const Subscriber& one) {
    until([&] { return one.state() == SubscriberState::Live; }, "live");
  }
  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  /// Until the subscriber's ring has so many records.
  void until_records(const Subscriber& one, std::uint64_t records) {
    until([&] { return one.counters().records >= records; }, "records");
  }
  static ring::Reader reader_of(const std::string& name) {
    Result<ring::Reader> opened = ring::Reader::open(name);
    if (!opened) throw std::runtime_error(opened.message());
    return std::move(opened).value();
  }

  RingName source;
  std::string token = "secret";
  std::optional<Net> net;
  std::unique_ptr<Publisher> publisher;
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  std::vector<std::string> lines;
};

TEST_F(Remote, ring_has_the_records_of_the_local_one) {
  Feed feed(source.get());
  RingName name;
  start();
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(i, std::string(i * 5, 'x'));
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  for (std::uint32_t i = 0; i < 60; ++i) {
    feed.tick(100 + i, std::string(i % 40, 'y'));
    if (i % 3 == 0) feed.book({i, i + 1});
    step();
  }
  feed.event(record::EventKind::Gap);
  until_records(here, feed.writer->records());
  ring::Reader near = reader_of(source.get());
  ring::Reader far = reader_of(name.get());
  EXPECT_EQ(read_all(far), read_all(near));
  EXPECT_EQ(far.total_lost(), 0U);
  EXPECT_EQ(here.counters().fetched, 20U);
  EXPECT_EQ(far.layout_hash(), near.layout_hash());
  EXPECT_TRUE(std::ranges::equal(far.image(), near.image()));
  EXPECT_EQ(far.slot_count(), near.slot_count());
}

TEST_F(Remote, ring_is_the_same_over_a_bad_network) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RingName name;
    subscribers.clear();
    publisher.reset();
    Feed feed(source.get());
    start(2, bad_network(seed));
    for (std::uint32_t i = 0; i < 30; ++i) feed.tick(i, std::string(i * 5, 'x'));
    Subscriber& here = subscribe(1, options(name));
    until_live(here);
    ring::Reader near = reader_of(source.get());
    ring::Reader far = reader_of(name.get());
    std::vector<Record> sent = read_all(near);
    std::vector<Record> received = read_all(far);
    const auto read = [&](ring::Reader& from, std::vector<Record>& to) {
      std::ranges::move(read_all(from), std::back_inserter(to));
    };
    for (std::uint32_t i = 0; i < 2000; ++i) {
      feed.tick(100 + i, std::string(i % 80, 'y'));
      step();
      step();
      read(near, sent);
      read(far, received);
    }
    until_records(here, feed.writer->records());
    read(far, received);
    EXPECT_EQ(received, sent) << "seed " << seed;
    EXPECT_EQ(here.counters().lost, 0U);
  }
}

}  // namespace
}  // namespace stopbit::nic::remote
