#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "tests/lib/why.hpp"
#include "tests/unit/nic/remote_fixture.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::remote::remote_test {

nic::ModelOptions bad_network(std::uint64_t seed) {
  nic::ModelOptions options;
  options.seed = seed;
  options.line.loss = {0.03, 2};
  options.line.duplicate = 0.03;
  options.line.reorder = 0.1;
  options.line.reorder_depth = 4;
  options.line.corrupt = 0.01;
  return options;
}

constexpr std::uint64_t kLosslessSlots = 8192;  // more than may be under way

class Remote : public RemoteNodes {
 protected:
  void start(std::size_t nodes = 2, nic::ModelOptions network = {}, PublisherOptions how = {}) {
    network.is_one_host = is_one_host;
    net.emplace(nodes, network);
    PublishedRing ring = published;
    ring.name = "cme";
    ring.ring = source.get();
    ring.token = token;
    how.rings.push_back(ring);
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
  void until_live(const Subscriber& one) {
    RemoteNodes::until_live(one);
    EXPECT_EQ(one.is_near(), is_one_host);
  }
  /// Until the subscriber's ring has this number of records.
  void until_records(const Subscriber& one, std::uint64_t records) {
    until([&] { return one.counters().records >= records; }, "records");
  }
  static ring::Reader reader_of(const std::string& name) {
    Result<ring::Reader> opened = ring::Reader::open(name);
    if (!opened) throw std::runtime_error(opened.message());
    return std::move(opened).value();
  }

  std::string token = "secret";
  PublishedRing published;  ///< What else there is to say of it.
};

using RemoteFar = Remote;

/// Each test with subscribers on other hosts, and with those on the publisher's.
class RemoteBoth : public Remote, public ::testing::WithParamInterface<bool> {
 protected:
  RemoteBoth() { is_one_host = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Ways, RemoteBoth, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "near" : "far"; });

TEST_P(RemoteBoth, ring_has_the_records_of_the_local_one) {
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

TEST_P(RemoteBoth, ring_is_the_same_over_a_bad_network) {
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

TEST_P(RemoteBoth, readers_begin_and_end_with_the_ring) {
  RingName name;
  start();
  auto feed = std::make_unique<Feed>(source.get());
  SubscriberOptions how = options(name);
  how.follows = false;
  Subscriber& here = subscribe(1, how);
  until_live(here);
  ring::Reader reader = reader_of(name.get());
  EXPECT_EQ(reader.writer(), ring::WriterState::Running);
  for (std::uint32_t i = 0; i < 10; ++i) feed->tick(i);
  feed.reset();
  until([&] { return here.state() == SubscriberState::Ended; }, "the end");
  EXPECT_EQ(read_all(reader).size(), 10U) << "the last records come before the end";
  EXPECT_EQ(reader.writer(), ring::WriterState::Finished);
  EXPECT_TRUE(os::exists(name.get())) << "for late readers";
  if (is_one_host) subscribers.clear();  // it holds its name
  until([&] { return publisher->status().empty(); }, "the publisher forgets it");
  EXPECT_EQ(os::exists(name.get()), !is_one_host);
  EXPECT_EQ(publisher->counters().ended, 1U);
}

TEST_P(RemoteBoth, the_end_of_the_publisher_is_no_news_after_that_of_the_ring) {
  RingName name;
  start();
  auto feed = std::make_unique<Feed>(source.get());
  SubscriberOptions how = options(name);
  how.follows = false;
  Subscriber& here = subscribe(1, how);
  until_live(here);
  feed->tick(1);
  feed.reset();
  until([&] { return here.state() == SubscriberState::Ended; }, "the end");
  publisher.reset();  // says goodbye to a near subscriber, which stays until it leaves
  run(1'000);
  EXPECT_EQ(here.state(), SubscriberState::Ended);
  EXPECT_EQ(here.problem(), "the ring has ended");
}

TEST_P(RemoteBoth, a_new_layout_makes_a_new_ring_under_the_same_name) {
  RingName name;
  start();
  auto feed = std::make_unique<Feed>(source.get());
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  ring::Reader old = reader_of(name.get());
  feed->tick(1);
  feed.reset();
  feed = std::make_unique<Feed>(source.get(), market("Tock"));
  feed->tick(2);
  feed->tick(3);
  until([&] { return here.counters().sessions == 2 && here.state() == SubscriberState::Live; }, "the second ring");
  EXPECT_EQ(read_all(old).size(), 1U);
  EXPECT_EQ(old.writer(), ring::WriterState::Finished);
  EXPECT_TRUE(old.replaced());
  ring::Reader reader = reader_of(name.get());
  EXPECT_NE(reader.layout_hash(), old.layout_hash());
  EXPECT_EQ(read_all(reader).size(), 2U) << "what was published before the subscriber came back";
}

TEST_P(RemoteBoth, a_ring_that_comes_later_is_waited_for) {
  RingName name;
  start();
  Subscriber& here = subscribe(1, options(name));
  run(30'000);
  EXPECT_EQ(here.state(), SubscriberState::Asking);
  EXPECT_EQ(here.refusal(), Refusal::NotRunning);
  Feed feed(source.get());
  until_live(here);
}

TEST_P(RemoteBoth, who_has_the_wrong_token_is_answered_as_if_there_were_no_ring) {
  RingName name;
  Feed feed(source.get());
  start();
  SubscriberOptions wrong = options(name);
  wrong.token = "Secret";
  SubscriberOptions elsewhere = options(name);
  elsewhere.ring = "ice";
  Subscriber& first = subscribe(1, wrong);
  Subscriber& second = subscribe(1, elsewhere);
  until([&] { return second.state() == SubscriberState::Refused; }, "the refusal");
  EXPECT_EQ(first.state(), SubscriberState::Refused);
  EXPECT_EQ(first.refusal(), Refusal::Ring);
  EXPECT_EQ(first.problem(), second.problem());
  EXPECT_EQ(publisher->counters().refused, 2U);
  EXPECT_FALSE(os::exists(name.get()));
}

TEST_P(RemoteBoth, what_does_not_fit_is_refused_with_a_reason) {
  RingName name;
  Feed feed(source.get());
  PublisherOptions few;
  few.subscribers = 0;
  start(2, {}, few);
  EXPECT_TRUE(subscribers.empty());
  Subscriber& one_too_many = subscribe(1, options(name));
  run(100);
  EXPECT_EQ(one_too_many.state(), SubscriberState::Asking) << "there may be room later";
  EXPECT_EQ(one_too_many.refusal(), Refusal::Full);
  subscribers.clear();
  publisher.reset();
  start();
  const auto refusal = [&](const SubscriberOptions& how) {
    Subscriber& one = subscribe(1, how);
    until([&] { return one.state() == SubscriberState::Refused; }, "refused");
    return one.problem();
  };
  SubscriberOptions how = options(name);
  how.layout_hash = 1;
  EXPECT_NE(refusal(how).find("layout"), std::string::npos);
  how = options(name);
  how.is_lossless = true;
  EXPECT_NE(refusal(how).find("does not wait for readers"), std::string::npos);
  how = options(name);
  how.filter.field = "Price";
  EXPECT_NE(refusal(how).find("no template has a field 'Price'"), std::string::npos);
  how = options(name);
  how.filter.patterns.resize(1);
  EXPECT_NE(refusal(how).find("a value but no field"), std::string::npos);
  how = options(name);
  how.max_slots = kRingSlots / 2;
  EXPECT_NE(refusal(how).find("at most 128"), std::string::npos);
  EXPECT_FALSE(os::exists(name.get()));
}

TEST_P(RemoteBoth, only_records_that_a_pattern_fits_come_and_all_events) {
  RingName name;
  Feed feed(source.get());
  start();
  SubscriberOptions how = options(name);
  how.filter.field = "SecurityID";
  constexpr std::uint32_t kAny = 0;
  how.filter.patterns = {
      {{7, kTick, 5}, {~0U, ~0U, ~0ULL}},   // one instrument of a channel
      {{0, kBook, 9}, {kAny, ~0U, ~0ULL}},  // in a sequence
      {{8, 0, 0}, {~0U, kAny, 0}},          // a whole channel
      {{0, kTick, 0x40}, {kAny, ~0U, 0x40}},
  };
  const auto publish = [&] {
    feed.tick(5);                        // comes
    feed.tick(6);                        //
    feed.tick(5, "x", 9);                //
    feed.book({1, 9, 3});                // comes
    feed.book({1, 2});                   //
    feed.book({});                       //
    feed.tick(1, "y", 8);                // comes
    feed.tick(0x47, "z", 9);             // comes
    feed.event(record::EventKind::Gap);  // comes
  };
  publish();  // these are fetched,
  Subscriber& here = subscribe(1, how);
  until_live(here);
  publish();  // and these are sent
  until_records(here, 10);
  run(10);
  ring::Reader far = reader_of(name.get());
  ring::Reader near = reader_of(source.get());
  std::vector<Record> wanted;
  const std::vector<Record> all = read_all(near);
  for (const std::size_t i : {0U, 3U, 6U, 7U, 8U, 9U, 12U, 15U, 16U, 17U}) wanted.push_back(all.at(i));
  EXPECT_EQ(read_all(far), wanted);
  // Of a near ring the publisher filters all, of a far one what is fetched is filtered here.
  run(10'000);
  EXPECT_EQ(here.counters().filtered, is_one_host ? 8U : 4U);
  EXPECT_EQ(publisher->status().at(0).filtered, is_one_host ? 8U : 4U);
  EXPECT_EQ(publisher->status().at(0).records, is_one_host ? 10U : 5U);
  EXPECT_EQ(publisher->status().at(0).behind, 0U);
}

TEST_P(RemoteBoth, who_comes_late_gets_what_is_still_there) {
  RingName name;
  Feed feed(source.get());
  start();
  for (std::uint32_t i = 0; i < 5000; ++i) feed.tick(i, std::string(i % 60, 'a'));
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  ring::Reader far = reader_of(name.get());
  const std::vector<Record> fetched = read_all(far);
  EXPECT_GE(here.counters().fetched, fetched.size());
  EXPECT_GT(fetched.size(), 50U);
  ring::Reader near = reader_of(source.get());
  std::vector<Record> there = read_all(near);
  // The local reader may keep a little more, or less, away from the writer.
  EXPECT_TRUE(std::equal(fetched.rbegin(), fetched.rbegin() + 50, there.rbegin()));
  EXPECT_EQ(here.counters().lost, 0U);
  EXPECT_GE(publisher->status().at(0).fetched_bytes, is_one_host ? 0 : 51U * 64);
}

TEST_P(RemoteBoth, who_wants_no_history_begins_with_what_comes) {
  RingName name;
  Feed feed(source.get());
  start();
  feed.tick(1);
  SubscriberOptions how = options(name);
  how.wants_history = false;
  Subscriber& here = subscribe(1, how);
  until_live(here);
  feed.tick(2);
  until_records(here, 1);
  ring::Reader far = reader_of(name.get());
  EXPECT_EQ(read_all(far).size(), 1U);
}

TEST_F(RemoteFar, who_is_lapped_is_told_exactly_how_many_records_it_missed) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  for (std::uint32_t i = 0; i < 40; ++i) feed.tick(i);
  run(100);
  // It does not step, so its credits run out, while the writer goes round many times.
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    feed.tick(i, std::string(i % 70, 'b'));
    if (i % 4 == 0) step();
  }
  EXPECT_EQ(publisher->status().at(0).state, SubscriptionState::Waiting);
  EXPECT_GT(publisher->status().at(0).behind, 100U);
  subscribers.back() = std::move(asleep);
  until([&] { return publisher->status().at(0).behind == 0; }, "it has caught up");
  run(100);
  const SubscriberCounters& counters = here.counters();
  EXPECT_GT(counters.lost, 0U);
  EXPECT_EQ(counters.lost, publisher->status().at(0).lost);
  // Each record has come or was reported lost, once; the events that report it are records, too.
  const std::uint64_t events = publisher->status().at(0).records + counters.lost - feed.writer->records();
  EXPECT_GE(events, 1U);
  EXPECT_EQ(counters.records - events + counters.lost, feed.writer->records());
}

TEST_F(RemoteFar, who_loses_its_publisher_goes_on_where_it_was) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  for (std::uint32_t i = 0; i < 30; ++i) feed.tick(i);
  until_records(here, 30);
  ring::Reader far = reader_of(name.get());
  publisher.reset();  // another one takes its port's place, with the same ring
  const std::size_t before = here.counters().sessions;
  for (std::uint32_t i = 0; i < 30; ++i) feed.tick(100 + i);
  run(10);
  EXPECT_EQ(here.state(), SubscriberState::Asking) << "the publisher has said that it ends";
  EXPECT_EQ(far.writer(), ring::WriterState::Running) << "the ring stays";
  PublisherOptions how;
  how.rings.push_back({"cme", source.get(), token});
  // The port comes back when all others were used once.
  std::vector<std::unique_ptr<NodePort>> others;
  for (int i = 0; i < 64 && !publisher; ++i) {
    Result<std::unique_ptr<Publisher>> opened = Publisher::open(net->node(0), how);
    ASSERT_TRUE(opened.ok());
    if (opened.value()->vpid() == 0) publisher = std::move(opened).value();
  }
  ASSERT_TRUE(publisher);
  until([&] { return here.counters().sessions > before && here.state() == SubscriberState::Live; }, "it is back");
  feed.tick(1000);
  until_records(here, 61);
  ring::Reader near = reader_of(source.get());
  EXPECT_EQ(read_all(far), read_all(near)) << "no record twice, none missing";
  EXPECT_EQ(here.counters().fetched, 30U);
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_F(RemoteFar, who_has_another_node_goes_on_where_it_was) {
  RingName name;
  Feed feed(source.get());
  start(3);
  SubscriberOptions how = options(name);
  how.wants_history = false;
  Subscriber& here = subscribe(1, how);
  until_live(here);
  for (std::uint32_t i = 0; i < 30; ++i) feed.tick(i);
  until_records(here, 30);
  ring::Reader far = reader_of(name.get());
  net->cut(1);
  for (std::uint32_t i = 0; i < 30; ++i) feed.tick(100 + i);
  run(10);
  ASSERT_EQ(testing::why(here.move_to(net->node(2))), "");
  net->mend(1);
  net->restart(1);  // the old node is lost
  until([&] { return here.counters().sessions == 2 && here.state() == SubscriberState::Live; }, "it is back");
  feed.tick(1000);
  until_records(here, 61);
  ring::Reader near = reader_of(source.get());
  EXPECT_EQ(read_all(far), read_all(near)) << "no record twice, none missing";
  EXPECT_EQ(here.counters().fetched, 30U);
  EXPECT_EQ(here.counters().lost, 0U);
  // Records that are no longer available are reported.
  net->cut(2);
  for (std::uint32_t i = 0; i < 2 * kRingSlots; ++i) feed.tick(i);
  ASSERT_EQ(testing::why(here.move_to(net->node(1))), "");
  net->mend(2);
  until([&] { return here.counters().sessions == 3 && here.state() == SubscriberState::Live; }, "it is back again");
  EXPECT_GT(here.counters().lost, 0U);
  const std::uint64_t events = here.counters().records + here.counters().lost - feed.writer->records();
  EXPECT_EQ(events, 1U) << "each record has come, or was told to be lost";
}

TEST_P(RemoteBoth, a_lost_subscriber_is_reported_once_and_holds_up_nobody) {
  RingName first;
  RingName second;
  Feed feed(source.get());
  PublisherOptions how;
  how.silence_ns = 300'000'000;
  start(3, {}, how);
  Subscriber& here = subscribe(1, options(first));
  Subscriber& there = subscribe(2, options(second));
  until_live(here);
  until_live(there);
  net->cut(1);
  for (std::uint32_t i = 0; i < 100; ++i) {
    feed.tick(i);
    run(200);
  }
  until_records(there, 100);
  until([&] { return publisher->status().size() == 1; }, "it is forgotten");
  run(1000);
  const auto reports = std::ranges::count_if(
      lines, [](const std::string& line) { return line.find("no longer subscribed") != std::string::npos; });
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(publisher->counters().ended, 1U);
}

TEST_F(RemoteFar, a_subscriber_that_is_gone_without_a_word_is_found_by_its_window) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  // As if its process were killed: its node closes the port, and sends no farewell.
  net->node(1).close_port(0);
  until([&] { return publisher->status().empty(); }, "it is forgotten");
  const auto report = std::ranges::find_if(
      lines, [](const std::string& line) { return line.find("no longer subscribed") != std::string::npos; });
  ASSERT_NE(report, lines.end());
  EXPECT_NE(report->find("ERR_T"), std::string::npos) << *report;
}

TEST_P(RemoteBoth, who_leaves_is_forgotten_at_once) {
  RingName name;
  Feed feed(source.get());
  start();
  until_live(subscribe(1, options(name)));
  EXPECT_EQ(publisher->status().size(), 1U);
  subscribers.clear();
  run(10);
  EXPECT_TRUE(publisher->status().empty());
}

TEST_P(RemoteBoth, a_lossless_subscriber_stops_the_writer_and_loses_nothing) {
  RingName name;
  PublisherOptions how;
  start(2, bad_network(3), how);
  ring::WriterOptions lossless;
  lossless.lossless.emplace();
  std::atomic<bool> goes_on = true;  // else a failure would hang
  lossless.lossless->keep_waiting = [&] { return goes_on.load(); };
  lossless.slot_count = kLosslessSlots;
  // The writer waits in its own thread, as a replay does; the nodes go on in this one.
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
  ASSERT_TRUE(made.ok()) << made.message();
  constexpr std::uint32_t kRecords = 20'000;
  std::thread writer([&, writer = std::move(made).value()]() mutable {
    if (!writer.wait_for_readers(1)) return;
    for (std::uint32_t i = 0; i < kRecords; ++i) ring::test::write_record(writer, 1 + i % kMaxRecordSlots, i);
  });
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.follows = false;
  wanted.ask_ns = 1'000'000;
  Subscriber& here = subscribe(1, wanted);
  std::uint64_t next = 0;
  std::optional<ring::Reader> reader;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (here.state() != SubscriberState::Ended && std::chrono::steady_clock::now() < limit) {
    step();
    if (!reader && here.has_ring()) reader = reader_of(name.get());
    while (reader && reader->poll() == ring::Poll::Record) EXPECT_EQ(ring::test::seed_of(reader->record()), next++);
    if (HasFailure()) break;
  }
  goes_on = false;
  writer.join();
  while (reader && reader->poll() == ring::Poll::Record) EXPECT_EQ(ring::test::seed_of(reader->record()), next++);
  EXPECT_EQ(here.counters().records, kRecords) << here.problem();
  EXPECT_EQ(next, kRecords);
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_P(RemoteBoth, a_reader_that_is_waited_for_stops_the_writer_and_loses_nothing) {
  RingName name;
  PublisherOptions how;
  how.silence_ns = 500'000'000;
  how.stuck_ns = 60'000'000'000;
  start(2, bad_network(3), how);
  ring::WriterOptions lossless;
  lossless.lossless.emplace();
  std::atomic<bool> goes_on = true;  // else a failure would hang
  lossless.lossless->keep_waiting = [&] { return goes_on.load(); };
  lossless.slot_count = kLosslessSlots;
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
  ASSERT_TRUE(made.ok()) << made.message();
  constexpr std::uint32_t kRecords = 20'000;
  std::thread writer([&, writer = std::move(made).value()]() mutable {
    if (!writer.wait_for_readers(1)) return;
    for (std::uint32_t i = 0; i < kRecords; ++i) ring::test::write_record(writer, 1 + i % kMaxRecordSlots, i);
  });
  const auto read = std::make_shared<std::atomic<std::uint64_t>>(0);
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.follows = false;
  wanted.ask_ns = 1'000'000;
  wanted.records_read = read;
  Subscriber& here = subscribe(1, wanted);
  until(
      [&] { return publisher->status().size() == 1 && publisher->status().at(0).state == SubscriptionState::Waiting; },
      "the publisher waits");
  run(120'000);  // 1.2 s: the reader takes nothing, but is alive
  ASSERT_EQ(publisher->status().size(), 1U);
  EXPECT_EQ(publisher->status().at(0).state, SubscriptionState::Waiting);
  // Half of the ring, and what was sent beside.
  EXPECT_LE(here.counters().slots, kLosslessSlots * 3 / 4);
  EXPECT_GT(here.counters().slots, kLosslessSlots / 4);
  ring::Reader reader = reader_of(name.get());
  std::uint64_t next = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  // A slow one: a few records in each step.
  while (next < kRecords && std::chrono::steady_clock::now() < limit && !HasFailure()) {
    step();
    for (int i = 0; i < 4; ++i) {
      const ring::Poll poll = reader.poll();
      if (poll == ring::Poll::Nothing) break;
      ASSERT_EQ(poll, ring::Poll::Record) << "after " << next;
      EXPECT_EQ(ring::test::seed_of(reader.record()), next++);
      read->store(reader.next_record(), std::memory_order_release);
    }
  }
  goes_on = false;
  writer.join();
  EXPECT_EQ(next, kRecords) << here.problem();
  EXPECT_EQ(reader.total_lost(), 0U);
  EXPECT_EQ(here.counters().lost, 0U);
  EXPECT_EQ(here.counters().sessions, 1U);
}

TEST_F(Remote, only_the_reader_of_one_lossless_ring_can_be_waited_for) {
  RingName name;
  start();
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.records_read = std::make_shared<std::atomic<std::uint64_t>>(0);
  EXPECT_FALSE(Subscriber::open(net->node(1), wanted).ok()) << "it follows";
  wanted.follows = wanted.is_lossless = false;
  EXPECT_FALSE(Subscriber::open(net->node(1), wanted).ok()) << "nobody is waited for";
}

TEST_F(RemoteFar, a_lossless_subscriber_that_sleeps_is_detached_and_told) {
  RingName name;
  PublisherOptions how;
  how.stuck_ns = 100'000'000;
  start(2, {}, how);
  ring::WriterOptions lossless;
  lossless.lossless.emplace();
  lossless.slot_count = kLosslessSlots;
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
  ASSERT_TRUE(made.ok()) << made.message();
  ring::Writer& writer = made.value();
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.ask_ns = 1'000'000;
  Subscriber& here = subscribe(1, wanted);
  until(
      [&] {
        writer.beat(1);
        return here.state() == SubscriberState::Live;
      },
      "live");
  EXPECT_EQ(writer.seated(), 1U);
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  std::uint64_t written = 0;
  // As many as the ring has room for: the writer would wait then.
  for (; writer.head() < 2 * kLosslessSlots - 64; ++written) ring::test::write_record(writer, 4, written);
  run(30'000);
  EXPECT_TRUE(publisher->status().empty()) << "detached";
  subscribers.back() = std::move(asleep);
  step();
  EXPECT_EQ(here.refusal(), Refusal::Stuck);
  EXPECT_EQ(here.state(), SubscriberState::Asking);
  until(
      [&] {
        writer.beat(1);
        return here.counters().records == written;
      },
      "it comes again, and missed records are fetched");
  EXPECT_EQ(here.counters().lost, 0U);
}

/// A lossless ring, its writer stepped by the test: it never has to wait.
class RemoteLossless : public RemoteBoth {
 protected:
  ring::Writer make_writer() {
    ring::WriterOptions lossless;
    lossless.lossless.emplace();
    lossless.slot_count = kLosslessSlots;
    Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
    if (!made) throw std::runtime_error(made.message());
    return std::move(made).value();
  }
  Subscriber& subscribe_lossless(ring::Writer& writer, SubscriberOptions wanted) {
    wanted.is_lossless = true;
    wanted.ask_ns = 1'000'000;
    Subscriber& here = subscribe(1, wanted);
    until_beaten(
        writer, [&] { return here.state() == SubscriberState::Live; }, "live");
    EXPECT_EQ(here.is_near(), is_one_host);
    return here;
  }
  void until_beaten(ring::Writer& writer, const std::function<bool()>& happens, const char* what) {
    until(
        [&] {
          writer.beat(1);
          return happens();
        },
        what);
  }
  void write(ring::Writer& writer, std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) ring::test::write_record(writer, 4, written++);
  }
  /// As much as the ring has room for: the writer would wait then.
  void fill(ring::Writer& writer) {
    while (writer.head() < 2 * kLosslessSlots - 64) write(writer, 1);
  }
  /// The records of the ring here, each exactly once and in order.
  void take(ring::Reader& reader) {
    for (ring::Poll poll; (poll = reader.poll()) != ring::Poll::Nothing;) {
      ASSERT_EQ(poll, ring::Poll::Record);
      ASSERT_EQ(ring::test::seed_of(reader.record()), next++);
    }
  }
  std::uint64_t written = 0;
  std::uint64_t next = 0;
};
INSTANTIATE_TEST_SUITE_P(Ways, RemoteLossless, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "near" : "far"; });

TEST_P(RemoteLossless, goes_on_exactly_where_it_was_when_its_publisher_stood_still) {
  RingName name;
  PublisherOptions how;
  how.silence_ns = 200'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  SubscriberOptions wanted = options(name);
  wanted.silence_ns = 100'000'000;
  Subscriber& here = subscribe_lossless(writer, wanted);
  ring::Reader reader = reader_of(name.get());
  for (int round = 0; round < 3; ++round) {
    write(writer, 400);
    until_beaten(
        writer, [&] { return here.counters().records == written; }, "all is here");
    // As SIGSTOP does: neither its node nor the publisher is stepped, longer than the patience of either.
    net->cut(0);
    std::unique_ptr<Publisher> stopped = std::move(publisher);
    write(writer, 100);
    run(50'000);
    EXPECT_EQ(here.state(), SubscriberState::Asking);
    net->mend(0);
    publisher = std::move(stopped);
    until_beaten(
        writer,
        [&] {
          EXPECT_EQ(writer.seated(), 1U) << "what comes is kept for it";
          return HasFailure() || here.counters().records >= written;
        },
        "the rest is here");
    run(1'000);
    take(reader);
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(next, written);
  }
  EXPECT_EQ(here.counters().records, written);
  EXPECT_EQ(here.counters().lost, 0U);
  EXPECT_FALSE(reader.replaced());
}

TEST_P(RemoteLossless, goes_on_exactly_where_it_was_when_it_stood_still_itself) {
  RingName name;
  PublisherOptions how;
  how.silence_ns = 1'000'000'000;
  how.stuck_ns = 60'000'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  Subscriber& here = subscribe_lossless(writer, options(name));
  ring::Reader reader = reader_of(name.get());
  write(writer, 100);
  until_beaten(
      writer, [&] { return here.counters().records == written; }, "all is here");
  // Some records are under way when it stops, and the ring fills up after them.
  write(writer, 300);
  for (int i = 0; i < 3; ++i) {
    net->step();
    (void)publisher->step(net->now());
  }
  std::unique_ptr<Subscriber> stopped = std::move(subscribers.back());
  net->cut(1);
  fill(writer);
  run(20'000);  // 0.2 s: the link gives up after 0.05
  writer.beat(1);
  EXPECT_EQ(writer.seated(), 1U) << "it is waited for";
  net->mend(1);
  subscribers.back() = std::move(stopped);
  until_beaten(
      writer,
      [&] {
        take(reader);
        return HasFailure() || next == written;
      },
      "all is here");
  EXPECT_EQ(here.counters().lost, 0U);
  EXPECT_EQ(publisher->counters().detached, 0U);
}

TEST_P(RemoteLossless, is_told_what_it_lacks_when_its_publisher_ends) {
  RingName name;
  start();
  ring::Writer writer = make_writer();
  const auto read = std::make_shared<std::atomic<std::uint64_t>>(0);
  SubscriberOptions wanted = options(name);
  wanted.follows = false;
  wanted.records_read = read;
  Subscriber& here = subscribe_lossless(writer, wanted);
  fill(writer);
  run(20'000);  // without a reader: what comes here is half of a ring
  ring::Reader reader = reader_of(name.get());
  publisher.reset();
  until([&] { return here.state() == SubscriberState::Refused; }, "told");
  take(reader);
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(next, 0U);
  EXPECT_LT(next, written);
  EXPECT_EQ(here.counters().lost, written - next) << here.problem();
  EXPECT_NE(here.problem().find(std::to_string(written - next) + " records are missing"), std::string::npos)
      << here.problem();
}

TEST_P(RemoteLossless, has_not_all_before_its_reader_has) {
  RingName name;
  start();
  std::optional<ring::Writer> writer = make_writer();
  const auto read = std::make_shared<std::atomic<std::uint64_t>>(0);
  SubscriberOptions wanted = options(name);
  wanted.follows = false;
  wanted.records_read = read;
  Subscriber& here = subscribe_lossless(*writer, wanted);
  ring::Reader reader = reader_of(name.get());
  fill(*writer);
  writer.reset();
  run(60'000);
  ASSERT_EQ(publisher->status().size(), 1U) << "it is served until it has all";
  EXPECT_FALSE(publisher->status().at(0).has_all);
  until(
      [&] {
        take(reader);
        read->store(reader.next_record(), std::memory_order_release);
        return HasFailure() || next == written;
      },
      "all is here");
  until([&] { return publisher->status().empty() || publisher->status().at(0).has_all; }, "the publisher knows");
  EXPECT_EQ(here.state(), SubscriberState::Ended) << here.problem();
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_P(RemoteBoth, a_network_that_breaks_for_a_while_costs_no_record) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  ring::Reader far = reader_of(name.get());
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(i);
  until_records(here, 20);
  net->network().cut(1);
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(100 + i);
  run(10'000);  // 100 ms
  EXPECT_EQ(publisher->status().empty(), !is_one_host) << "a near ring needs no network";
  net->network().mend(1);
  until_records(here, 40);
  until_live(here);
  ring::Reader near = reader_of(source.get());
  EXPECT_EQ(read_all(far), read_all(near));
  EXPECT_EQ(here.counters().sessions, 2U);
  EXPECT_EQ(here.counters().damaged, 0U);
}

TEST_F(RemoteFar, a_publisher_that_starts_again_is_met_again) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  ring::Reader far = reader_of(name.get());
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(i);
  until_records(here, 20);
  // Its process is killed and sends no farewell.
  net->cut(0);
  publisher.reset();
  net->restart(0);
  net->mend(0);
  PublisherOptions how;
  how.rings.push_back({"cme", source.get(), token});
  publisher = std::move(Publisher::open(net->node(0), how)).value();
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(100 + i);
  until_records(here, 40);
  until_live(here);
  feed.tick(7);
  until_records(here, 41);
  ring::Reader near = reader_of(source.get());
  EXPECT_EQ(read_all(far), read_all(near));
  EXPECT_FALSE(far.replaced()) << "the ring is the same";
}

// Rings that the publisher writes.

class RemoteNear : public Remote {
 protected:
  RemoteNear() { is_one_host = true; }
};

TEST_F(RemoteNear, who_is_lapped_is_told_exactly_how_many_records_it_missed) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  ring::Reader reader = reader_of(name.get());
  for (std::uint32_t i = 0; i < 5000; ++i) feed.tick(i, std::string(i % 60, 'a'));  // no node is stepped
  until([&] { return publisher->status().at(0).behind == 0; }, "it has caught up");
  run(10'000);
  EXPECT_GT(here.counters().lost, 4000U);
  EXPECT_EQ(here.counters().lost, publisher->status().at(0).lost);
  EXPECT_EQ(here.counters().records - 1 + here.counters().lost, 5000U) << "all but the event that tells it";
  EXPECT_EQ(here.counters().records, publisher->status().at(0).records);
  EXPECT_EQ(here.counters().slots, publisher->status().at(0).slots);
  ASSERT_EQ(reader.poll(), ring::Poll::Record);
  EXPECT_EQ(record::EventView(reader.record().front()).kind(), record::EventKind::Lost);
  EXPECT_EQ(record::EventView(reader.record().front()).missing(), here.counters().lost);
}

/// A lossless ring, its subscriber on the publisher's host.
class RemoteNearLossless : public RemoteNear {
 protected:
  ring::Writer make_writer() {
    ring::WriterOptions lossless;
    lossless.lossless.emplace();
    lossless.lossless->keep_waiting = [this] { return goes_on.load(); };
    lossless.slot_count = kLosslessSlots;
    Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
    if (!made) throw std::runtime_error(made.message());
    return std::move(made).value();
  }
  Subscriber& subscribe_lossless(const RingName& name, ring::Writer& writer) {
    SubscriberOptions wanted = options(name);
    wanted.is_lossless = true;
    wanted.ask_ns = 1'000'000;
    Subscriber& here = subscribe(1, wanted);
    until(
        [&] {
          writer.beat(1);
          return here.state() == SubscriberState::Live;
        },
        "live");
    EXPECT_TRUE(here.is_near());
    EXPECT_EQ(writer.seated(), 1U);
    return here;
  }
  /// As much as the ring has room for: the writer would wait then.
  static std::uint64_t fill(ring::Writer& writer) {
    std::uint64_t written = 0;
    for (; writer.head() < 2 * kLosslessSlots - 64; ++written) ring::test::write_record(writer, 4, written);
    return written;
  }
  std::atomic<bool> goes_on = true;  // else a failure would hang
};

TEST_F(RemoteNearLossless, a_subscriber_that_sleeps_stops_the_writer_and_loses_nothing) {
  RingName name;
  start();
  ring::Writer made = make_writer();
  Subscriber& here = subscribe_lossless(name, made);
  ring::Reader reader = reader_of(name.get());
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  constexpr std::uint64_t kRecords = 20'000;  // several times what the ring has room for
  std::atomic<std::uint64_t> written = 0;
  std::thread writing([&] {
    for (; written < kRecords && goes_on; ++written) ring::test::write_record(made, 4, written);
  });
  until([&] { return publisher->status().at(0).state == SubscriptionState::Waiting; }, "the publisher waits");
  run(20'000);  // 0.2 s
  EXPECT_LE(publisher->status().at(0).slots, kLosslessSlots / 2);
  EXPECT_GT(publisher->status().at(0).slots, kLosslessSlots / 4);
  EXPECT_LT(written, kRecords);
  subscribers.back() = std::move(asleep);
  // A reader beside it.
  std::uint64_t next = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (next < kRecords && std::chrono::steady_clock::now() < limit && !HasFailure()) {
    step();
    for (ring::Poll poll; (poll = reader.poll()) != ring::Poll::Nothing;) {
      ASSERT_EQ(poll, ring::Poll::Record) << "after " << next;
      EXPECT_EQ(ring::test::seed_of(reader.record()), next++);
    }
  }
  goes_on = false;
  writing.join();
  EXPECT_EQ(next, kRecords);
  EXPECT_EQ(here.counters().lost, 0U);
  EXPECT_EQ(here.counters().sessions, 1U);
}

TEST_F(RemoteNearLossless, a_subscriber_that_sleeps_for_too_long_is_detached_and_told) {
  RingName name;
  PublisherOptions how;
  how.stuck_ns = 100'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  Subscriber& here = subscribe_lossless(name, writer);
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  run(20'000);  // 0.2 s without records: nothing has to be taken
  EXPECT_EQ(publisher->status().size(), 1U);
  const std::uint64_t written = fill(writer);
  const std::uint64_t since_ns = net->now();
  until([&] { return publisher->status().empty(); }, "detached");
  EXPECT_GE(net->now() - since_ns, how.stuck_ns);
  EXPECT_EQ(publisher->counters().detached, 1U);
  writer.beat(1);
  EXPECT_EQ(writer.seated(), 0U);
  subscribers.back() = std::move(asleep);
  until([&] { return here.refusal() == Refusal::Stuck; }, "told");
  until(
      [&] {
        writer.beat(1);
        return here.state() == SubscriberState::Live;
      },
      "welcome again");
  const std::uint64_t had = here.counters().records;
  ring::test::write_record(writer, 1, written);
  until_records(here, had + 1);
}

TEST_F(RemoteNearLossless, a_ring_that_was_cut_off_goes_on_in_the_next_one_with_nothing_twice) {
  RingName name;
  PublisherOptions how;
  how.stuck_ns = 100'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  Subscriber& here = subscribe_lossless(name, writer);
  ring::Reader first = reader_of(name.get());
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  const std::uint64_t written = fill(writer);
  until([&] { return publisher->status().empty(); }, "detached");
  subscribers.back() = std::move(asleep);
  until(
      [&] {
        writer.beat(1);
        return here.state() == SubscriberState::Live && here.counters().records >= written;
      },
      "welcome again");
  ring::Reader second = reader_of(name.get());
  std::uint64_t next = 0;
  for (ring::Reader* reader : {&first, &second}) {
    while (reader->poll() == ring::Poll::Record) EXPECT_EQ(ring::test::seed_of(reader->record()), next++);
    EXPECT_GT(next, 0U);
  }
  EXPECT_EQ(next, written);
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_F(RemoteNearLossless, a_ring_that_was_cut_off_is_not_taken_for_whole) {
  RingName name;
  PublisherOptions how;
  how.stuck_ns = 100'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.follows = false;
  wanted.ask_ns = 1'000'000;
  Subscriber& here = subscribe(1, wanted);
  until(
      [&] {
        writer.beat(1);
        return here.state() == SubscriberState::Live;
      },
      "live");
  ring::Reader reader = reader_of(name.get());
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.back());
  const std::uint64_t written = fill(writer);
  until([&] { return publisher->status().empty(); }, "detached");
  subscribers.back() = std::move(asleep);
  until([&] { return here.state() == SubscriberState::Refused; }, "told");
  EXPECT_EQ(here.counters().lost + read_all(reader).size(), written) << here.problem();
}

TEST_F(RemoteNearLossless, a_subscriber_that_lies_gets_no_more_and_keeps_nobody_waiting_for_long) {
  RingName name;
  PublisherOptions how;
  how.stuck_ns = 100'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  auto port = NodePort::open(net->node(1), 0);
  ASSERT_TRUE(port);
  Subscribe request;
  request.session = 7;
  request.ring = "cme";
  request.token = token;
  request.is_lossless = true;
  request.near = WantedRing{name.get(), true, 1U << 20U};
  std::array<std::byte, nic::kMaxMessageBytes> message;
  std::uint64_t beats = 0;
  // It answers beats that there were not, and the first one again and again: never the last.
  const auto live = [&] {
    writer.beat(1);
    step();
    while (const auto head = port.value()->receive(message)) {
      if (!read_beat(std::span(message).first(head->length))) continue;
      ++beats;
      for (const std::uint64_t number : {beats + 1'000'000, ~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
        (void)port.value()->send(0, publisher->vpid(), to_bytes(Echo{7, number}), net->now());
      }
    }
  };
  for (int i = 0; i < 10'000 && publisher->status().empty(); ++i) {
    if (i % 100 == 0) (void)port.value()->send(0, publisher->vpid(), to_bytes(request), net->now());
    live();
  }
  ASSERT_EQ(publisher->status().size(), 1U);
  for (int i = 0; i < 100 || beats == 0; ++i) live();
  (void)fill(writer);
  std::uint64_t most = 0;
  for (int i = 0; i < 100'000 && !publisher->status().empty(); ++i) {
    most = std::max(most, publisher->status()[0].slots);
    live();
  }
  EXPECT_TRUE(publisher->status().empty());
  EXPECT_EQ(publisher->counters().detached, 1U);
  EXPECT_GT(beats, 1U);
  EXPECT_LE(most, kLosslessSlots / 2);
}

TEST_F(RemoteNearLossless, a_subscriber_that_dies_keeps_nobody_waiting) {
  RingName name;
  PublisherOptions how;
  how.silence_ns = 100'000'000;
  start(2, {}, how);
  ring::Writer writer = make_writer();
  (void)subscribe_lossless(name, writer);
  const std::unique_ptr<Subscriber> dead = std::move(subscribers.back());
  net->cut(1);
  (void)fill(writer);
  until([&] { return publisher->status().empty(); }, "gone");
  EXPECT_EQ(publisher->counters().detached, 0U) << "it was not waited for until it was stuck";
  writer.beat(1);
  EXPECT_EQ(writer.seated(), 0U);
}

TEST_F(RemoteNear, has_a_ring_at_another_node_too) {
  RingName name;
  Feed feed(source.get());
  start(3);
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  feed.tick(1);
  until_records(here, 1);
  ASSERT_EQ(testing::why(here.move_to(net->node(2))), "");
  net->restart(1);
  until_live(here);
  feed.tick(2);
  ring::Reader far = reader_of(name.get());
  until_records(here, 3);
  EXPECT_EQ(read_all(far).size(), 2U);
}

TEST_F(RemoteNear, goes_on_with_the_same_ring_when_the_subscriber_has_lost_sight_of_it) {
  RingName name;
  Feed feed(source.get());
  start();
  SubscriberOptions how = options(name);
  how.silence_ns = 100'000'000;
  Subscriber& here = subscribe(1, how);
  until_live(here);
  ring::Reader reader = reader_of(name.get());
  feed.tick(1);
  net->network().cut(1);
  until([&] { return here.state() == SubscriberState::Asking; }, "silence");
  feed.tick(2);
  run(100);
  EXPECT_EQ(read_all(reader).size(), 2U) << "readers do not notice";
  net->network().mend(1);
  until_live(here);
  feed.tick(3);
  until_records(here, 3);
  EXPECT_EQ(read_all(reader).size(), 1U);
  EXPECT_FALSE(reader.replaced());
  EXPECT_EQ(publisher->counters().accepted, 1U);
}

TEST_F(RemoteNear, a_publisher_that_ends_takes_its_rings_along_and_the_next_one_makes_them_anew) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  for (std::uint32_t i = 0; i < 20; ++i) feed.tick(i);
  until_records(here, 20);
  ring::Reader reader = reader_of(name.get());
  publisher.reset();
  EXPECT_FALSE(os::exists(name.get()));
  EXPECT_EQ(read_all(reader).size(), 20U);
  EXPECT_EQ(reader.writer(), ring::WriterState::Finished);
  run(10);
  EXPECT_EQ(here.state(), SubscriberState::Asking);
  PublisherOptions how;
  how.rings.push_back({"cme", source.get(), token});
  for (int i = 0; i < 64 && !publisher; ++i) {  // until it has the port again
    Result<std::unique_ptr<Publisher>> opened = Publisher::open(net->node(0), how);
    ASSERT_TRUE(opened.ok());
    if (opened.value()->vpid() == 0) publisher = std::move(opened).value();
  }
  ASSERT_TRUE(publisher);
  until_live(here);
  ring::Reader again = reader_of(name.get());
  EXPECT_EQ(read_all(again).size(), 20U);
  subscribers.clear();
  run(10);
  EXPECT_FALSE(os::exists(name.get()));
}

TEST_F(RemoteNear, a_subscriber_takes_away_the_ring_that_a_killed_publisher_has_left) {
  RingName name;
  Feed feed(source.get());
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  const std::string path = os::path_of(name.get()).value();
  // A killed process does not take its files along: the publisher's end takes the name of nothing.
  const std::string aside = path + "-aside";
  ASSERT_EQ(::rename(path.c_str(), aside.c_str()), 0);
  publisher.reset();
  ASSERT_EQ(::rename(aside.c_str(), path.c_str()), 0);
  // Of a killed one it would say Running and have no lock.
  const std::uint32_t running = static_cast<std::uint32_t>(ring::State::Running);
  const os::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), &running, sizeof(running), offsetof(ring::Header, state)), 4);
  run(2000);
  EXPECT_EQ(here.state(), SubscriberState::Asking) << here.problem();
  subscribers.clear();
  EXPECT_FALSE(os::exists(name.get()));
}

TEST_F(RemoteNear, names_that_are_not_the_subscribers_are_not_taken) {
  const RingName mine;
  const RingName old;
  const RingName reserved;
  Feed feed(source.get());
  PublisherOptions how;
  how.reserved = {reserved.get()};
  start(2, {}, how);
  { const Feed ended(old.get()); }  // an abandoned ring, with records of its own
  const auto is_refused = [&](const std::string& name) {
    SubscriberOptions wanted = options(mine);
    wanted.name = name;
    wanted.way = SubscriberOptions::Way::Near;
    Subscriber& one = subscribe(1, wanted);
    until([&] { return one.refusal() == Refusal::Near; }, "refused");
    EXPECT_FALSE(one.has_ring());
    return one.problem();
  };
  EXPECT_NE(is_refused(source.get()).find("is a ring of this host"), std::string::npos);
  EXPECT_NE(is_refused(reserved.get()).find("is a ring of this host"), std::string::npos);
  EXPECT_NE(is_refused(old.get()).find("records of its own"), std::string::npos);
  EXPECT_NE(is_refused("./test-remote-path").find("plain name"), std::string::npos);
  EXPECT_NE(is_refused(mine.get() + ".new-1").find("plain name"), std::string::npos);
  EXPECT_EQ(reader_of(old.get()).writer(), ring::WriterState::Finished) << "it is still there";
  until_live(subscribe(1, options(mine)));
  EXPECT_NE(is_refused(mine.get()).find("live writer"), std::string::npos) << "another subscriber has it";
}

TEST_F(RemoteNear, who_gets_no_near_ring_gets_its_records_sent) {
  const RingName first;
  const RingName second;
  Feed feed(source.get());
  PublisherOptions how;
  how.near_rings = 1;
  start(2, {}, how);
  until_live(subscribe(1, options(first)));
  Subscriber& far = subscribe(1, options(second));
  until([&] { return far.state() == SubscriberState::Live; }, "live");
  EXPECT_FALSE(far.is_near());
  feed.tick(1);
  until_records(far, 1);
  const std::vector<SubscriptionStatus> status = publisher->status();
  ASSERT_EQ(status.size(), 2U);
  EXPECT_TRUE(status[0].is_near);
  EXPECT_FALSE(status[1].is_near);
}

TEST_F(RemoteNear, a_ring_that_was_left_by_a_far_subscriber_makes_room_for_a_near_one) {
  const RingName name;
  Feed feed(source.get());
  start();
  SubscriberOptions how = options(name);
  how.way = SubscriberOptions::Way::Far;
  Subscriber& far = subscribe(1, how);
  until([&] { return far.state() == SubscriberState::Live; }, "live");
  EXPECT_FALSE(far.is_near());
  subscribers.clear();
  EXPECT_TRUE(os::exists(name.get()));
  until_live(subscribe(1, options(name)));
}

// Admission: the subscribers and their limits.

nic::HostAddress host(std::uint8_t last) {
  nic::HostAddress address;
  address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last};
  return address;
}

TEST_F(Remote, only_addresses_that_are_allowed_are_served) {
  Feed feed(source.get());
  RingName one;
  RingName two;
  RingName three;
  published.allow = {nic::parse_prefix("192.0.2.0/24").value(), nic::parse_prefix("10.0.0.1").value()};
  start(4);
  net->network().set_address(1, host(1));
  net->network().set_address(2, host(2));
  Subscriber& allowed = subscribe(1, options(one));
  Subscriber& refused = subscribe(2, options(two));
  Subscriber& unknown = subscribe(3, options(three));  // of no address
  until_live(allowed);
  until([&] { return refused.state() == SubscriberState::Refused; }, "refused");
  until([&] { return unknown.state() == SubscriberState::Refused; }, "refused without an address");
  EXPECT_EQ(refused.refusal(), Refusal::Address);
  EXPECT_EQ(unknown.refusal(), Refusal::Address);
  EXPECT_EQ(publisher->counters().refused, 2U);
  EXPECT_EQ(publisher->counters().refused_by[static_cast<std::size_t>(Refusal::Address)], 2U);
  ASSERT_EQ(publisher->status().size(), 1U);
  EXPECT_EQ(publisher->status()[0].address, host(1));
  const auto is_told = [&](const char* what) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(is_told("of node 1 at 10.0.0.1 subscribed to 'cme'"));
  EXPECT_TRUE(is_told("was refused (Address): the subscriber's address is not allowed to read the ring"));
}

TEST_F(Remote, a_wrong_token_does_not_learn_that_its_address_is_none_of_those) {
  Feed feed(source.get());
  RingName name;
  published.allow = {nic::parse_prefix("10.0.0.1").value()};
  start();
  net->network().set_address(1, host(2));
  SubscriberOptions how = options(name);
  how.token = "guessed";
  Subscriber& stranger = subscribe(1, how);
  until([&] { return stranger.state() == SubscriberState::Refused; }, "refused");
  EXPECT_EQ(stranger.refusal(), Refusal::Ring);
}

TEST_F(Remote, an_address_has_so_many_subscribers_and_no_more) {
  Feed feed(source.get());
  std::array<RingName, 4> names;
  PublisherOptions how;
  how.subscribers_per_address = 2;
  start(5, {}, how);
  for (nic::NodeId node = 1; node <= 3; ++node) net->network().set_address(node, host(1));
  net->network().set_address(4, host(2));
  for (nic::NodeId node = 1; node <= 2; ++node) until_live(subscribe(node, options(names[node - 1U])));
  SubscriberOptions wanted = options(names[2]);
  wanted.ask_ns = 1'000'000;
  Subscriber& third = subscribe(3, wanted);
  until([&] { return third.refusal() == Refusal::Crowded; }, "one too many");
  EXPECT_EQ(third.state(), SubscriberState::Asking) << "it may be served later";
  until_live(subscribe(4, options(names[3])));  // another address
  EXPECT_GT(publisher->counters().refused_by[static_cast<std::size_t>(Refusal::Crowded)], 0U);
  subscribers[0].reset();  // makes room
  until_live(third);
}

TEST_F(Remote, an_address_that_asks_too_often_waits_and_others_do_not_notice) {
  Feed feed(source.get());
  RingName hasty_name;
  RingName quiet_name;
  PublisherOptions how;
  how.requests_per_second = 10;
  start(3, {}, how);
  net->network().set_address(1, host(1));
  net->network().set_address(2, host(2));
  // A port that asks for rings that are not there, without end.
  auto port = NodePort::open(net->node(1), 0);
  ASSERT_TRUE(port);
  Subscribe request;
  request.ring = "none";
  request.layout = {256, 64};
  std::array<std::byte, nic::kMaxMessageBytes> answer;
  int served = 0;
  int held_back = 0;
  const std::uint64_t begin_ns = net->now();
  for (; net->now() - begin_ns < 2'000'000'000; step()) {
    request.session = net->now();
    (void)port.value()->send(0, publisher->vpid(), to_bytes(request), net->now());
    while (const auto head = port.value()->receive(answer)) {
      const auto read = read_refuse(std::span(answer).first(head->length));
      ASSERT_TRUE(read);
      (read.value().why == Refusal::Hasty ? held_back : served) += 1;
    }
    if (subscribers.empty() && net->now() - begin_ns > 1'000'000'000) (void)subscribe(2, options(quiet_name));
  }
  EXPECT_GE(served, 25);
  EXPECT_LE(served, 31);
  EXPECT_GT(held_back, 100);
  EXPECT_EQ(subscribers[0]->state(), SubscriberState::Live);
}

TEST_F(Remote, waiting_is_for_those_whom_the_ring_lets) {
  RingName name;
  published.allows_lossless = false;
  start();
  ring::WriterOptions lossless;
  lossless.lossless.emplace();
  lossless.slot_count = kLosslessSlots;
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
  ASSERT_TRUE(made.ok()) << made.message();
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  Subscriber& one = subscribe(1, wanted);
  until([&] { return one.state() == SubscriberState::Refused; }, "refused");
  EXPECT_EQ(one.refusal(), Refusal::Waiting);
  EXPECT_EQ(made.value().seated(), 0U);
  RingName other;
  until_live(subscribe(1, options(other)));  // a subscriber that waits for nothing
}

TEST_F(Remote, a_subscriber_that_takes_nothing_is_detached_after_its_time) {
  Feed feed(source.get());
  RingName name;
  RingName awake_name;
  published.detach_after_ns = 200'000'000;
  start(3);
  SubscriberOptions wanted = options(name);
  wanted.ask_ns = 1'000'000;
  Subscriber& here = subscribe(1, wanted);
  Subscriber& awake = subscribe(2, options(awake_name));
  until_live(here);
  until_live(awake);
  run(30'000);  // 0.3 s without records: no reader has to take anything
  EXPECT_EQ(publisher->status().size(), 2U);
  std::unique_ptr<Subscriber> asleep = std::move(subscribers.front());
  const std::uint64_t asleep_since_ns = net->now();
  std::uint32_t number = 0;
  until(
      [&] {
        feed.tick(++number);
        return publisher->status().size() == 1;
      },
      "detached");
  EXPECT_GE(net->now() - asleep_since_ns, published.detach_after_ns);
  EXPECT_EQ(publisher->counters().detached, 1U);
  EXPECT_EQ(awake.state(), SubscriberState::Live);
  EXPECT_EQ(awake.counters().lost, 0U);
  subscribers.front() = std::move(asleep);
  step();
  EXPECT_EQ(here.refusal(), Refusal::Stuck);
  until_live(here);  // it is welcome again
  EXPECT_EQ(publisher->counters().accepted, 3U);
}

TEST_F(Remote, a_subscriber_gets_no_more_bytes_in_a_second_than_it_may) {
  Feed feed(source.get(), market(), 1U << 16U);
  RingName name;
  published.bytes_per_second = 1U << 20U;
  start(2);
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  run(20'000);
  const std::uint64_t begin_ns = net->now();
  const std::uint64_t slots_before = publisher->status()[0].slots;
  bool was_slowed = false;
  for (std::uint32_t i = 0; net->now() - begin_ns < 400'000'000; ++i) {
    if (i % 2 == 0) feed.tick(i);  // 64 bytes each 20 us: three times as much
    step();
    was_slowed = was_slowed || publisher->status()[0].state == SubscriptionState::Slowed;
  }
  const std::uint64_t bytes = (publisher->status()[0].slots - slots_before) * record::kSlotBytes;
  EXPECT_TRUE(was_slowed);
  EXPECT_GE(bytes, published.bytes_per_second * 2 / 10);
  EXPECT_LE(bytes, published.bytes_per_second * 55 / 100);  // the allowance of a tenth of a second is available at once
  // It catches up: nothing was lost in a ring of this size.
  until_records(here, feed.writer->records());
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_P(RemoteBoth, who_may_still_have_its_ring_does_not_notice_that_others_may_not) {
  Feed feed(source.get());
  std::array<RingName, 5> names;
  published.allow = {nic::parse_prefix("10.0.0.0/24").value()};
  PublisherOptions how;
  how.rings = {{.name = "gone", .ring = source.get(), .token = token}};
  start(6, {}, how);
  for (nic::NodeId node = 1; node <= 5; ++node) net->network().set_address(node, host(static_cast<std::uint8_t>(node)));
  SubscriberOptions of_gone = options(names[2]);
  of_gone.ring = "gone";
  Subscriber& stays = subscribe(1, options(names[0]));
  Subscriber& loses_address = subscribe(2, options(names[1]));
  Subscriber& loses_ring = subscribe(3, of_gone);
  for (const auto& one : subscribers) until_live(*one);
  feed.tick(1);
  until_records(stays, 1);

  PublishedRing kept = published;
  kept.name = "cme";
  kept.ring = source.get();
  kept.token = token;
  kept.allow = {nic::parse_prefix("10.0.0.1").value(), nic::parse_prefix("10.0.0.4").value()};
  publisher->republish({kept, {.name = "new", .ring = source.get(), .token = "another"}});
  until([&] { return loses_address.state() == SubscriberState::Refused; }, "another address");
  until([&] { return loses_ring.state() == SubscriberState::Refused; }, "no ring");
  EXPECT_EQ(loses_address.refusal(), Refusal::Address);
  EXPECT_EQ(loses_ring.refusal(), Refusal::Ring);
  EXPECT_EQ(publisher->status().size(), 1U);
  EXPECT_EQ(publisher->counters().ended, 2U);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find(
               "of node 2 at 10.0.0.2 is no longer subscribed to 'cme': the subscriber's address is not allowed") !=
           line.npos;
  }));
  // A subscriber that stays has all of it, in one session; new ones get the present limits.
  feed.tick(2);
  until_records(stays, 2);
  EXPECT_EQ(stays.counters().sessions, 1U);
  EXPECT_EQ(stays.counters().lost, 0U);
  SubscriberOptions of_new = options(names[3]);
  of_new.ring = "new";
  of_new.token = "another";
  until_live(subscribe(4, of_new));
  Subscriber& late = subscribe(5, options(names[4]));
  until([&] { return late.state() == SubscriberState::Refused; }, "as before");
  EXPECT_EQ(late.refusal(), Refusal::Address);
}

TEST_P(RemoteBoth, another_token_is_for_those_who_show_it) {
  Feed feed(source.get());
  RingName old_name;
  RingName new_name;
  start(3);
  Subscriber& knows_the_old = subscribe(1, options(old_name));
  until_live(knows_the_old);
  publisher->republish({{.name = "cme", .ring = source.get(), .token = "fresh"}});
  until([&] { return knows_the_old.state() == SubscriberState::Refused; }, "refused");
  EXPECT_EQ(knows_the_old.refusal(), Refusal::Ring);
  SubscriberOptions how = options(new_name);
  how.token = "fresh";
  until_live(subscribe(2, how));
}

TEST_P(RemoteBoth, other_limits_hold_for_those_who_are_there) {
  Feed feed(source.get(), market(), 1U << 16U);
  RingName name;
  start();
  Subscriber& here = subscribe(1, options(name));
  until_live(here);
  const auto bytes_in_400_ms = [&] {
    const std::uint64_t slots_before = publisher->status()[0].slots;
    const std::uint64_t begin_ns = net->now();
    for (std::uint32_t i = 0; net->now() - begin_ns < 400'000'000; ++i) {
      if (i % 2 == 0) feed.tick(i);  // 64 bytes each 20 us: 3.2 MB in a second
      step();
    }
    return (publisher->status()[0].slots - slots_before) * record::kSlotBytes;
  };
  EXPECT_GE(bytes_in_400_ms(), 1'000'000U);
  PublishedRing slow = {.name = "cme", .ring = source.get(), .token = token, .bytes_per_second = 1'000'000};
  publisher->republish({slow});
  EXPECT_LE(bytes_in_400_ms(), 550'000U);  // the allowance of a tenth of a second is available at once
  slow.bytes_per_second = 0;
  publisher->republish({slow});
  until_records(here, feed.writer->records());
  EXPECT_EQ(here.counters().sessions, 1U);
  EXPECT_EQ(here.counters().lost, 0U);
}

TEST_F(RemoteFar, the_time_after_which_one_is_detached_changes_while_it_takes_nothing) {
  Feed feed(source.get());
  RingName name;
  start();
  until_live(subscribe(1, options(name)));
  const std::unique_ptr<Subscriber> asleep = std::move(subscribers.front());
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    feed.tick(i);
    step();
  }
  ASSERT_EQ(publisher->status().size(), 1U) << "it has its place for ever";
  publisher->republish({{.name = "cme", .ring = source.get(), .token = token, .detach_after_ns = 200'000'000}});
  until([&] { return publisher->status().empty(); }, "detached");
  EXPECT_EQ(publisher->counters().detached, 1U);
}

TEST_P(RemoteBoth, a_writer_that_may_be_kept_waiting_no_longer_is_not) {
  RingName name;
  start();
  ring::WriterOptions lossless;
  lossless.lossless.emplace();
  lossless.slot_count = kLosslessSlots;
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), lossless);
  ASSERT_TRUE(made.ok()) << made.message();
  SubscriberOptions wanted = options(name);
  wanted.is_lossless = true;
  wanted.ask_ns = 1'000'000;
  Subscriber& one = subscribe(1, wanted);
  until(
      [&] {
        made.value().beat(net->now());
        return one.state() == SubscriberState::Live;
      },
      "live");
  EXPECT_EQ(made.value().seated(), 1U);
  publisher->republish({{.name = "cme", .ring = source.get(), .token = token, .allows_lossless = false}});
  until([&] { return one.state() == SubscriberState::Refused; }, "refused");
  EXPECT_EQ(one.refusal(), Refusal::Waiting);
  made.value().beat(net->now());
  EXPECT_EQ(made.value().seated(), 0U);
}

}  // namespace stopbit::remote::remote_test
