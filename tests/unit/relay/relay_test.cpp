#include "host/relay/relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "host/relay/unpacker.hpp"
#include "tests/unit/relay/fake_store.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::relay::relay_test {

using ring::test::seed_of;
using ring::test::write_record;
using test::FakeStore;
using test::Server;

constexpr std::uint64_t kMs = 1'000'000;

/// What a reader of the stream gets.
struct ReadBack : record::RecordSink {
  explicit ReadBack(std::uint32_t max_record_slots) : slots(max_record_slots) {}
  Place open() noexcept override { return {slots.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t count) noexcept override {
    slots.front() = first;
    seeds.push_back(seed_of({slots.data(), count}));
  }
  std::vector<record::Slot> slots;
  std::vector<std::uint64_t> seeds;
  std::uint64_t lost = 0;
  std::uint64_t unknown = 0;
  std::uint64_t repeated = 0;
  std::uint64_t damaged = 0;
  std::vector<Ending> endings;
  std::vector<std::uint64_t> epochs;
};

ReadBack read_back(const Server& server, std::uint32_t max_record_slots) {
  ReadBack back(max_record_slots);
  Unpacker unpacker;
  for (const std::vector<std::byte>& message : server.messages) {
    const Result<Head> head = decode_message(message);
    EXPECT_TRUE(head) << (head ? "" : head.message());
    if (!head) continue;
    if (unpacker.is_of_next_ring(head.value())) {
      EXPECT_EQ(server.layouts.count(head.value().layout), 1U);
      back.lost += unpacker.begin_ring(head.value(), back, max_record_slots);
      back.epochs.push_back(head.value().epoch);
    }
    const Taken taken = unpacker.take(head.value(), std::span(message).subspan(kHeadBytes));
    back.lost += taken.lost;
    back.unknown += taken.lost_unknown ? 1 : 0;
    back.repeated += taken.is_repeated ? 1 : 0;
    back.damaged += taken.is_damaged ? 1 : 0;
    if (head.value().kind == Kind::End) back.endings.push_back(head.value().ending);
  }
  return back;
}

std::vector<std::uint64_t> up_to(std::uint64_t count, std::uint64_t from = 0) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = from; i < count; ++i) all.push_back(i);
  return all;
}

/// Everything that a ring has ever had, by a reader that is never late.
class FakeRefill final : public Refill {
 public:
  struct Kept {
    std::uint64_t number = 0;
    std::vector<record::Slot> slots;
  };
  void take_from(ring::Reader& reader) {
    while (reader.poll() == ring::Poll::Record) {
      kept.push_back({reader.record_number(), {reader.record().begin(), reader.record().end()}});
    }
  }
  Result<std::unique_ptr<FoundRecords>> find(const MissingRecords& missing) override {
    asked.push_back(missing);
    if (!why_not.empty()) return Failure{why_not};
    auto found = std::make_unique<Found>();
    for (const Kept& one : kept) {
      if (one.number >= missing.first && one.number < missing.end) found->rest.push_back(one.slots);
    }
    EXPECT_EQ(found->rest.size(), missing.count);
    found->breaks_after = breaks_after;
    return std::unique_ptr<FoundRecords>(std::move(found));
  }

  std::vector<Kept> kept;
  std::vector<MissingRecords> asked;
  std::string why_not;
  std::size_t breaks_after = ~std::size_t{0};  ///< Records.

 private:
  struct Found final : FoundRecords {
    Result<std::span<const record::Slot>> next() override {
      if (at == breaks_after) return Failure{"it is damaged"};
      if (at == rest.size()) return std::span<const record::Slot>();
      return std::span<const record::Slot>(rest[at++]);
    }
    std::vector<std::vector<record::Slot>> rest;
    std::size_t at = 0;
    std::size_t breaks_after = 0;
  };
};

class RelayTest : public ring::test::RingTest {
 protected:
  std::unique_ptr<Relay> make_relay(Store& store, bool once = false) {
    RelayOptions options;
    options.refill = refill_;
    options.stops = [this] { return stops_; };
    options.ring = name_;
    options.once = once;
    options.outstanding = 16;
    return std::make_unique<Relay>(store, options, [this](const std::string& line) { told_.push_back(line); });
  }
  /// Steps, each 20 ms later, until everything in the ring is stored.
  void level(Relay& relay) {
    for (int i = 0; i < 100'000; ++i) {
      const Relay::State state = relay.step(now_ += 20 * kMs);
      ASSERT_NE(state, Relay::State::Failed) << relay.problem().message;
      if (state == Relay::State::Done || (state == Relay::State::Idle && relay.is_level())) return;
    }
    FAIL() << "the relay does not come level";
  }
  bool has_told(const std::string& part, int times = 1) const {
    return std::count_if(told_.begin(), told_.end(),
                         [&](const std::string& line) { return line.find(part) != std::string::npos; }) >= times;
  }

  /// The stream's slots are those that `all` has had, in its order.
  void expect_words(const FakeRefill& all) const {
    std::vector<record::Slot> wanted;
    for (const FakeRefill::Kept& one : all.kept) wanted.insert(wanted.end(), one.slots.begin(), one.slots.end());
    std::size_t at = 0;
    for (const std::vector<std::byte>& message : server_.messages) {
      const Head head = decode_message(message).value();
      ASSERT_NE(head.kind, Kind::Lost);
      ASSERT_LE(at + head.slots(), wanted.size());
      ASSERT_EQ(std::memcmp(message.data() + kHeadBytes, wanted.data() + at, head.slots() * sizeof(record::Slot)), 0);
      at += head.slots();
    }
    EXPECT_EQ(at, wanted.size());
  }

  Server server_;
  Refill* refill_ = nullptr;
  bool stops_ = false;
  std::uint64_t now_ = kMs;
  std::vector<std::string> told_;
};

TEST_F(RelayTest, stores_each_record_once_and_the_end_of_the_ring) {
  auto writer = std::make_unique<ring::Writer>(make_writer(1024));
  for (std::uint64_t i = 0; i < 100; ++i) write_record(*writer, static_cast<std::uint32_t>(1 + i % 4), i);
  FakeStore store(server_);
  const auto relay = make_relay(store, true);
  level(*relay);
  for (std::uint64_t i = 100; i < 150; ++i) write_record(*writer, 1, i);
  writer->finish();
  writer.reset();
  while (relay->step(now_ += kMs) != Relay::State::Done) ASSERT_LT(now_, 10'000 * kMs);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds, up_to(150));
  EXPECT_EQ(back.lost + back.repeated + back.damaged + back.unknown, 0U);
  EXPECT_EQ(back.endings, std::vector{Ending::Finished});
  EXPECT_EQ(relay->counts().records, 150U);
  EXPECT_TRUE(store.asked_for_last());
}

TEST_F(RelayTest, sends_the_slots_as_they_are_in_the_ring_and_up_to_64_in_a_message) {
  ring::Writer writer = make_writer(1024);
  for (std::uint64_t i = 0; i < 100; ++i) write_record(writer, 3, i);
  FakeStore store(server_);
  const auto relay = make_relay(store);
  level(*relay);
  ring::Reader reader = make_reader();
  std::size_t longest = 0;
  for (const std::vector<std::byte>& message : server_.messages) {
    const Head head = decode_message(message).value();
    longest = std::max(longest, head.slots());
    for (std::size_t at = kHeadBytes; at < message.size();) {
      ASSERT_EQ(reader.poll(), ring::Poll::Record);
      ASSERT_EQ(std::memcmp(message.data() + at, reader.record().data(), reader.record().size_bytes()), 0);
      at += reader.record().size_bytes();
    }
  }
  EXPECT_EQ(reader.poll(), ring::Poll::Nothing);
  EXPECT_EQ(longest, 63U);
}

TEST_F(RelayTest, cuts_records_longer_than_a_message_and_goes_on_in_the_middle_of_one) {
  constexpr std::uint32_t kLong = 300;
  ring::Writer writer = make_writer(4096, kLong);
  for (std::uint64_t i = 0; i < 8; ++i) write_record(writer, i % 2 == 0 ? kLong : 2, i);
  {
    FakeStore store(server_);
    const auto relay = make_relay(store);
    level(*relay);
  }
  // As if the server had lost its newest messages: cut after each one, a new relay goes on there.
  const std::vector<std::vector<std::byte>> all = server_.messages;
  for (std::size_t keep = 1; keep < all.size(); ++keep) {
    server_.messages.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep));
    server_.last_id = id_of(decode_message(server_.messages.back()).value());
    FakeStore store(server_);
    const auto relay = make_relay(store);
    level(*relay);
    const ReadBack back = read_back(server_, kLong);
    ASSERT_EQ(back.seeds, up_to(8)) << keep;
    ASSERT_EQ(back.lost + back.repeated + back.damaged, 0U) << keep;
  }
}

TEST_F(RelayTest, puts_channels_apart) {
  ring::Writer writer = make_writer(1024);
  for (std::uint64_t i = 0; i < 10; ++i) write_record(writer, 1, i * 1'000'000);  // word 2 follows from the seed
  FakeStore store(server_);
  const auto relay = make_relay(store);
  level(*relay);
  for (const std::vector<std::byte>& message : server_.messages) {
    const Head head = decode_message(message).value();
    for (std::size_t i = 0; i < head.slots(); ++i) {
      record::Slot slot;
      std::memcpy(&slot, message.data() + kHeadBytes + i * sizeof(slot), sizeof(slot));
      EXPECT_EQ(record::HeaderView(slot).channel(), head.channel);
      EXPECT_EQ(topic_of(head), std::to_string(head.channel));
    }
  }
}

TEST_F(RelayTest, counts_in_the_stream_what_the_ring_no_longer_had) {
  ring::Writer writer = make_writer(64);
  write_record(writer, 1, 0);
  FakeStore store(server_);
  {
    const auto relay = make_relay(store);
    level(*relay);
  }
  for (std::uint64_t i = 1; i < 1000; ++i) write_record(writer, 1, i);
  const auto relay = make_relay(store);
  level(*relay);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds.size() + back.lost, 1000U);
  EXPECT_GT(back.lost, 900U);
  EXPECT_EQ(back.lost, relay->counts().lost);
  EXPECT_EQ(back.seeds.back(), 999U);
  EXPECT_TRUE(has_told("records lost, from record 2 on"));
}

TEST_F(RelayTest, takes_what_the_ring_no_longer_has_from_the_refill) {
  FakeRefill all;
  refill_ = &all;
  ring::Writer writer = make_writer(64);
  ring::Reader watcher = make_reader();
  std::uint64_t seed = 0;
  const auto write_some = [&](int count) {
    for (int i = 0; i < count; ++i, ++seed) {
      write_record(writer, static_cast<std::uint32_t>(1 + seed % 4), seed);
      all.take_from(watcher);
    }
  };
  write_some(1);
  FakeStore store(server_);
  level(*make_relay(store));
  // Overrun while no relay ran, and while one runs.
  write_some(1'000);
  const auto relay = make_relay(store);
  level(*relay);
  EXPECT_EQ(all.asked.size(), 1U);
  write_some(1'000);
  level(*relay);
  EXPECT_EQ(all.asked.size(), 2U);
  EXPECT_EQ(all.asked.back().first, all.kept[1'001].number);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds, up_to(2'001));
  EXPECT_EQ(back.lost + back.repeated + back.damaged, 0U);
  expect_words(all);
  EXPECT_EQ(relay->counts().lost, 0U);
  EXPECT_EQ(relay->counts().refilled, all.asked[0].count + all.asked[1].count);
  EXPECT_TRUE(has_told("looking for them in the recording", 2));
  EXPECT_TRUE(has_told("are from the recording", 2));
}

TEST_F(RelayTest, refills_from_the_middle_of_a_record) {
  constexpr std::uint32_t kLong = 300;
  FakeRefill all;
  refill_ = &all;
  ring::Writer writer = make_writer(4096, kLong);
  ring::Reader watcher = make_reader();
  for (std::uint64_t i = 0; i < 8; ++i) write_record(writer, i % 2 == 0 ? kLong : 2, i);
  all.take_from(watcher);
  {
    FakeStore store(server_);
    level(*make_relay(store));
  }
  for (std::uint64_t i = 8; i < 200; ++i) {
    write_record(writer, i % 2 == 0 ? kLong : 2, i);
    all.take_from(watcher);
  }
  const std::vector<std::vector<std::byte>> begun = server_.messages;
  for (std::size_t keep = 1; keep < begun.size(); ++keep) {
    server_.messages.assign(begun.begin(), begun.begin() + static_cast<std::ptrdiff_t>(keep));
    server_.last_id = id_of(decode_message(server_.messages.back()).value());
    FakeStore store(server_);
    level(*make_relay(store));
    const ReadBack back = read_back(server_, kLong);
    ASSERT_EQ(back.seeds, up_to(200)) << keep;
    expect_words(all);
  }
}

TEST_F(RelayTest, says_which_slots_are_lost_if_the_refill_does_not_have_them) {
  FakeRefill all;
  refill_ = &all;
  ring::Writer writer = make_writer(64);
  ring::Reader watcher = make_reader();
  write_record(writer, 1, 0);
  FakeStore store(server_);
  level(*make_relay(store));
  for (std::uint64_t i = 1; i < 1'000; ++i) {
    write_record(writer, 1, i);
    all.take_from(watcher);
  }
  all.why_not = "the disk was full";
  // A relay that is to end leaves it to the next one.
  stops_ = true;
  const auto ended = make_relay(store);
  for (int i = 0; i < 10; ++i) (void)ended->step(now_ += 20 * kMs);
  EXPECT_EQ(read_back(server_, 4).lost, 0U);
  stops_ = false;
  level(*make_relay(store));
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds.size() + back.lost, 1'000U);
  EXPECT_EQ(back.lost, all.asked.back().count);
  EXPECT_TRUE(has_told("the recording does not have them: the disk was full"));
  EXPECT_TRUE(has_told("slots " + std::to_string(all.asked.back().first) + " to " +
                       std::to_string(all.asked.back().end - 1) + ": the ring no longer has them"));
  // What cannot be read after all is lost from there on.
  all.why_not.clear();
  all.breaks_after = 100;
  for (std::uint64_t i = 1'000; i < 2'000; ++i) {
    write_record(writer, 1, i);
    all.take_from(watcher);
  }
  level(*make_relay(store));
  const ReadBack more = read_back(server_, 4);
  EXPECT_EQ(more.seeds.size() + more.lost, 2'000U);
  EXPECT_EQ(more.lost, back.lost + all.asked.back().count - 100);
  EXPECT_EQ(more.seeds.back(), 1'999U);
}

TEST_F(RelayTest, says_that_a_ring_was_replaced_while_no_relay_ran) {
  FakeStore store(server_);
  {
    ring::Writer writer = make_writer(64);
    write_record(writer, 1, 0);
    const auto relay = make_relay(store);
    level(*relay);
    write_record(writer, 1, 1);
  }
  ring::Writer writer = make_writer(64);
  write_record(writer, 1, 2);
  const auto relay = make_relay(store);
  level(*relay);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(back.unknown, 1U);
  EXPECT_EQ(relay->counts().unknown_losses, 1U);
  EXPECT_EQ(back.epochs.size(), 2U);
}

TEST_F(RelayTest, follows_the_next_ring_of_the_name_after_the_end_of_one) {
  FakeStore store(server_);
  const auto relay = make_relay(store);
  for (std::uint64_t ring = 0; ring < 3; ++ring) {
    ring::Writer writer = make_writer(64);
    for (std::uint64_t i = 0; i < 10; ++i) write_record(writer, 1, ring * 10 + i);
    for (int i = 0; i < 1000 && relay->counts().records < (ring + 1) * 10; ++i) (void)relay->step(now_ += 200 * kMs);
  }
  for (int i = 0; i < 1000 && !has_told("has ended with record 10;", 3); ++i) (void)relay->step(now_ += 200 * kMs);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds, up_to(30));
  EXPECT_EQ(back.lost + back.unknown, 0U);
  EXPECT_EQ(back.endings.size(), 3U);
}

TEST_F(RelayTest, is_bounded_and_loses_nothing_while_the_store_is_away_and_the_ring_has_room) {
  ring::Writer writer = make_writer(4096);
  FakeStore store(server_);
  const auto relay = make_relay(store);
  write_record(writer, 1, 0);
  level(*relay);
  store.is_away = true;
  for (std::uint64_t i = 1; i < 3000; ++i) write_record(writer, 1, i);
  for (int i = 0; i < 100; ++i) (void)relay->step(now_ += 100 * kMs);
  EXPECT_FALSE(relay->has_session());
  EXPECT_TRUE(has_told("trying again"));
  EXPECT_EQ(server_.messages.size(), 2U);
  store.is_away = false;
  level(*relay);
  const ReadBack back = read_back(server_, 4);
  EXPECT_EQ(back.seeds, up_to(3000));
  EXPECT_EQ(back.lost + back.repeated, 0U);
}

TEST_F(RelayTest, ends_a_session_without_answers) {
  ring::Writer writer = make_writer(1024);
  write_record(writer, 1, 0);
  FakeStore store(server_);
  const auto relay = make_relay(store);
  store.is_silent = true;
  for (int i = 0; i < 100; ++i) (void)relay->step(now_ += 100 * kMs);
  EXPECT_TRUE(has_told("confirmed nothing for 5000 ms"));
  store.is_silent = false;
  level(*relay);
  EXPECT_EQ(read_back(server_, 4).seeds, up_to(1));
}

TEST_F(RelayTest, waits_for_room_in_a_full_stream) {
  ring::Writer writer = make_writer(1024);
  write_record(writer, 1, 0);
  FakeStore store(server_);
  server_.is_full = true;
  const auto relay = make_relay(store);
  for (int i = 0; i < 100; ++i) ASSERT_NE(relay->step(now_ += 100 * kMs), Relay::State::Failed);
  EXPECT_TRUE(server_.messages.empty());
  server_.is_full = false;
  level(*relay);
  EXPECT_EQ(read_back(server_, 4).seeds, up_to(1));
}

TEST_F(RelayTest, refuses_a_stream_with_records_of_a_later_ring) {
  ring::Writer writer = make_writer(1024);
  write_record(writer, 1, 0);
  FakeStore store(server_);
  level(*make_relay(store));
  Head head = decode_message(server_.messages.back()).value();
  ++head.epoch;
  encode_head(head, server_.messages.back());
  const auto relay = make_relay(store);
  while (relay->step(now_ += kMs) != Relay::State::Failed) {
  }
  EXPECT_EQ(relay->problem().kind, StoreFailure::Kind::Refused);
  EXPECT_NE(relay->problem().message.find("another relay"), std::string::npos);
}

TEST_F(RelayTest, refuses_a_stream_that_is_ahead_of_the_ring_or_has_another_layout) {
  ring::Writer writer = make_writer(1024);
  write_record(writer, 1, 0);
  FakeStore store(server_);
  level(*make_relay(store));
  const std::vector<std::byte> last = server_.messages.back();
  for (const bool is_ahead : {true, false}) {
    Head head = decode_message(last).value();
    if (is_ahead) {
      head.first += 100;
      head.end += 100;
      head.records += 100;
    } else {
      head.layout ^= 1;
    }
    server_.messages.back() = last;
    encode_head(head, server_.messages.back());
    const auto relay = make_relay(store);
    while (relay->step(now_ += kMs) != Relay::State::Failed) {
    }
    EXPECT_NE(relay->problem().message.find("use another stream"), std::string::npos);
  }
}

TEST_F(RelayTest, refuses_market_events) {
  ring::Writer writer = make_writer(1024);
  const record::RecordSink::Place place = writer.open();
  record::Slot first{};
  first.words[0] = record::kMarketEventIndex | std::uint64_t{1} << 16 | std::uint64_t{place.stamp()} << 32;
  first.words[record::kTagWord] = ring::first_slot_tags(place.phase());
  writer.commit(first, 1);
  FakeStore store(server_);
  const auto relay = make_relay(store);
  while (relay->step(now_ += kMs) != Relay::State::Failed) {
  }
  EXPECT_NE(relay->problem().message.find("market events"), std::string::npos);
}

TEST_F(RelayTest, the_writer_of_a_lossless_ring_keeps_what_is_not_stored) {
  ring::WriterOptions options{.slot_count = 64, .lossless = ring::Patience{}};
  bool may_wait = true;
  options.lossless->keep_waiting = [&] { return may_wait; };
  Result<ring::Writer> made = ring::Writer::create(name_, ring::test::small_program(), options);
  ASSERT_TRUE(made) << made.message();
  ring::Writer& writer = made.value();
  FakeStore store(server_);
  store.is_silent = true;
  const auto relay = make_relay(store);
  // The seat is granted by the writer's beat, which a thread gives while the relay waits for it.
  std::atomic<bool> is_seated = false;
  std::thread beats([&] {
    while (!is_seated) writer.beat(1);
  });
  (void)relay->step(now_ += kMs);
  is_seated = true;
  beats.join();
  ASSERT_EQ(writer.seated(), 1U);
  for (std::uint64_t i = 0; i < 40; ++i) {
    write_record(writer, 1, i);
    (void)relay->step(now_ += kMs);
  }
  // Read, but not stored: a further lap would write over it, so the writer waits until it may not.
  may_wait = false;
  for (std::uint64_t i = 40; i < 100; ++i) write_record(writer, 1, i);
  EXPECT_EQ(writer.seated(), 0U);
}

/// Everything at once: answers and sessions fail, messages of old sessions come late, the relay is killed.
TEST_F(RelayTest, stores_each_record_once_whatever_fails) {
  const char* given = std::getenv("STOPBIT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  constexpr std::uint32_t kLong = 200;
  for (std::uint64_t run = 0; run < 60; ++run) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", run " + std::to_string(run));
    std::mt19937_64 random(seed * 1000 + run);
    server_ = {};
    ring::Writer writer = make_writer(1U << 17, kLong);
    auto store = std::make_unique<FakeStore>(server_, &random);
    auto relay = make_relay(*store);
    std::uint64_t written = 0;
    for (int i = 0; i < 1500; ++i) {
      if (random() % 4 == 0) {
        for (std::uint64_t n = random() % 40; n > 0; --n) {
          write_record(writer, random() % 32 == 0 ? kLong : static_cast<std::uint32_t>(1 + random() % 4), written++);
        }
      }
      if (random() % 50 == 0) {
        relay.reset();
        store = std::make_unique<FakeStore>(server_, &random);
        relay = make_relay(*store);
      }
      ASSERT_NE(relay->step(now_ += 50 * kMs), Relay::State::Failed) << relay->problem().message;
    }
    level(*relay);
    const ReadBack back = read_back(server_, kLong);
    std::uint64_t same = 0;
    while (same < back.seeds.size() && back.seeds[same] == same) ++same;
    ASSERT_EQ(same, written) << "of " << back.seeds.size() << ", lost " << back.lost << ", repeated " << back.repeated;
    ASSERT_EQ(back.seeds.size(), written);
    ASSERT_EQ(back.lost + back.repeated + back.damaged + back.unknown, 0U);
  }
}

}  // namespace stopbit::relay::relay_test
