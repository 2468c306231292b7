// What an appliance asks replay services for: quotas over restarts, clocks that step, answers that are none.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "host/appliance/refill/answer_queue.hpp"
#include "host/appliance/refill/answer_reader.hpp"
#include "host/appliance/refill/quota_file.hpp"
#include "host/appliance/refill/replay_clock.hpp"
#include "host/appliance/refill/replay_service.hpp"
#include "host/refill/dialects.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/turn.hpp"
#include "tests/lib/why.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::appliance::replay_test {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDay = 86'400 * kSecond;
constexpr std::uint64_t kNoon = 20'000 * kDay + kDay / 2;

constexpr const char* kTemplates = R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="A" id="1"><string name="MessageType" id="35"><constant value="A"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="5" id="2"><string name="MessageType" id="35"><constant value="5"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="0" id="3"><string name="MessageType" id="35"><constant value="0"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="X" id="4"><string name="MessageType" id="35"><constant value="X"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="Logon" id="5"><uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="Trade" id="6"><uInt32 name="Price" presence="optional"/><uInt64 name="MsgSeqNum"/></template>
  <template name="Text" id="7"><string name="Text"/></template>
</templates>)";

/// A message of these templates; numbers have 14 bits.
Bytes message(unsigned id, unsigned number) {
  Bytes out;
  for (const unsigned byte : {0xC0U, 0x80U | id}) out.push_back(static_cast<std::byte>(byte));
  if (id == 6) out.push_back(std::byte{0x80});
  for (const unsigned byte : {number >> 7 & 0x7FU, 0x80U | (number & 0x7FU)})
    out.push_back(static_cast<std::byte>(byte));
  return out;
}
Bytes framed(const Bytes& body) {
  Bytes out;
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(body.size() >> (8 * i)));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}
std::shared_ptr<const Program> program() {
  static const auto made = std::make_shared<const Program>(replay::testing::compile(kTemplates));
  return made;
}

std::unique_ptr<refill::Dialect> moex(std::string feed) {
  return refill::make_dialect(refill::DialectKind::Moex, {.sender = "us", .feed = std::move(feed)}).value();
}

TEST(AnswerReader, knows_what_an_answer_is_and_its_number) {
  using Kind = refill::Answer::Kind;
  AnswerReader reader(program(), {});
  EXPECT_EQ(reader.why_not(true), "");
  const auto kind = [&](const Bytes& bytes) { return reader.read(bytes).kind; };
  EXPECT_EQ(kind(message(1, 7)), Kind::LoggedOn);
  EXPECT_EQ(kind(message(5, 7)), Kind::LoggedOn) << "by its name";
  EXPECT_EQ(kind(message(2, 7)), Kind::LoggedOut);
  EXPECT_EQ(kind(message(3, 7)), Kind::Other);
  for (const unsigned id : {4U, 6U}) {
    EXPECT_EQ(kind(message(id, 700)), Kind::Message);
    EXPECT_EQ(reader.read(message(id, 700)).number, 700U) << id;
  }
  EXPECT_EQ(kind({std::byte{0xC0}, std::byte{0x87}, std::byte{0xC1}}), Kind::Unreadable)
      << "a message without a number";
  EXPECT_EQ(kind(message(9, 7)), Kind::Unreadable) << "an unknown template";
  Bytes two = message(4, 7);
  for (const std::byte byte : message(4, 8)) two.push_back(byte);
  EXPECT_EQ(kind(two), Kind::Unreadable) << "two messages";
  Bytes cut = message(4, 7);
  cut.pop_back();
  EXPECT_EQ(kind(cut), Kind::Unreadable);
  EXPECT_EQ(kind({}), Kind::Unreadable);
  EXPECT_EQ(kind(message(4, 7)), Kind::Message) << "nothing is left of what was wrong";
}

TEST(AnswerReader, says_what_a_program_lacks) {
  const auto why = [](const char* templates, bool logs_on_in_fast = true) {
    const auto text = std::string(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">)") + templates;
    auto made = std::make_shared<const Program>(replay::testing::compile(text + "</templates>"));
    return AnswerReader(made, {}).why_not(logs_on_in_fast);
  };
  const char* const without_log_on = R"(<template name="X" id="1"><uInt32 name="MsgSeqNum" id="34"/></template>)";
  EXPECT_NE(why(without_log_on).find("log-on"), std::string::npos);
  EXPECT_EQ(why(without_log_on, false), "") << "its service logs on in text";
  EXPECT_NE(why(R"(<template name="Logon" id="1"><uInt32 name="MsgSeqNum" id="34"/></template>)").find("MsgSeqNum"),
            std::string::npos);
}

TEST(AnswerQueue, keeps_messages_whole_and_in_order_until_it_is_full) {
  cases::Random random(7);
  AnswerQueue queue(4'096);
  std::deque<std::pair<std::uint64_t, Bytes>> inside;
  std::uint64_t next = 0;
  bool was_full = false;
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(2) == 0) {
      Bytes body(random.below(900), static_cast<std::byte>(next));
      const bool must_fit = queue.room() >= AnswerQueue::most_for(body.size());
      const bool fits = queue.push({.channel = 3,
                                    .epoch = 5,
                                    .number = next,
                                    .arrival_ns = next * 2,
                                    .message = std::span<const std::byte>(body)});
      EXPECT_TRUE(fits || !must_fit);
      was_full = was_full || !fits;
      if (fits) inside.emplace_back(next++, std::move(body));
    } else if (const auto front = queue.front()) {
      ASSERT_FALSE(inside.empty());
      EXPECT_EQ(front->number, inside.front().first);
      EXPECT_EQ(front->arrival_ns, 2 * front->number);
      EXPECT_EQ(front->channel, 3U);
      EXPECT_EQ(front->epoch, 5);
      EXPECT_EQ(Bytes(front->message.begin(), front->message.end()), inside.front().second);
      queue.pop();
      inside.pop_front();
    } else {
      EXPECT_TRUE(inside.empty());
    }
  }
  EXPECT_TRUE(was_full);
  const Bytes long_one(1'024);
  EXPECT_FALSE(AnswerQueue(4'096).push({.message = std::span<const std::byte>(long_one)}));
}

TEST(AnswerQueue, goes_from_one_thread_to_another) {
  constexpr std::uint64_t kMessages = 20'000;
  AnswerQueue queue(1'024);
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < kMessages;) {
      const std::array<std::byte, 3> body = {static_cast<std::byte>(n), static_cast<std::byte>(n >> 8), std::byte{1}};
      if (queue.push({.number = n, .message = std::span(body).first(1 + n % 3)})) {
        ++n;
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t n = 0; n < kMessages;) {
    const auto front = queue.front();
    if (!front) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(front->number, n);
    ASSERT_EQ(front->message.size(), 1 + n % 3);
    ASSERT_EQ(front->message[0], static_cast<std::byte>(n));
    queue.pop();
    ++n;
  }
  writer.join();
}

TEST(QuotaFile, remembers_what_was_used_by_service) {
  const testing::Scratch folder;
  const std::vector<std::string> services = {"one", "two"};
  {
    QuotaFile file;
    ASSERT_EQ(testing::why(file.open(folder.path(), services)), "");
    EXPECT_EQ(file.used(0), QuotaFile::Used());
    EXPECT_TRUE(file.store(1, {.day = 20'000, .connections = 17}));
    EXPECT_TRUE(file.store(0, {.day = 20'001, .connections = 3}));
    EXPECT_TRUE(file.store(1, {.day = 20'001, .connections = 18}));
  }
  const std::vector<std::string> others = {"three", "two"};  // in another order, and without the first
  {
    QuotaFile file;
    ASSERT_EQ(testing::why(file.open(folder.path(), others)), "");
    EXPECT_EQ(file.used(0), QuotaFile::Used());
    EXPECT_EQ(file.used(1), (QuotaFile::Used{.day = 20'001, .connections = 18}));
    EXPECT_TRUE(file.store(0, {.day = 20'001, .connections = 99}));
  }
  QuotaFile file;
  ASSERT_EQ(testing::why(file.open(folder.path(), services)), "");
  EXPECT_EQ(file.used(0), (QuotaFile::Used{.day = 20'001, .connections = 3})) << "it was not forgotten meanwhile";
  EXPECT_EQ(file.used(1).connections, 18U);
}

TEST(QuotaFile, takes_a_damaged_entry_for_any_that_it_lacks) {
  const std::vector<std::string> services = {"one", "two"};
  const auto with = [&](auto&& spoil) {
    const testing::Scratch folder;
    QuotaFile file;
    EXPECT_EQ(testing::why(file.open(folder.path(), services)), "");
    EXPECT_TRUE(file.store(0, {.day = 20'000, .connections = 1}));
    EXPECT_TRUE(file.store(1, {.day = 20'000, .connections = 2}));
    const std::string path = folder.path("replay-quota");
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    spoil(bytes, path);
    bytes.close();
    QuotaFile again;
    const std::string why = testing::why(again.open(folder.path(), services));
    if (!why.empty()) return "fails: " + why;
    return std::string(again.used(0).is_damaged ? "damaged " : "good ") +
           (again.used(1).is_damaged ? "damaged" : "good");
  };
  const auto put = [](std::fstream& file, std::streamoff at) {
    file.seekp(at);
    file.put('\x5A');
  };
  EXPECT_EQ(with([](auto&, const auto&) {}), "good good");
  for (const std::streamoff at : {33, 41, 49, 57}) {
    EXPECT_EQ(with([&](auto& file, const auto&) { put(file, at); }), "damaged good") << at;
  }
  EXPECT_EQ(with([](auto&, const auto& path) { std::filesystem::resize_file(path, 32 + 32 + 7); }), "good damaged");
  EXPECT_NE(with([&](auto& file, const auto&) { put(file, 2); }).find("stays as it is"), std::string::npos);
  EXPECT_NE(with([](auto&, const auto& path) { std::filesystem::resize_file(path, 5); }).find("stays as it is"),
            std::string::npos);
}

TEST(QuotaFile, is_no_other_file) {
  const testing::Scratch folder;
  const std::vector<std::string> services = {"one"};
  std::filesystem::create_directory(folder.path("replay-quota"));
  QuotaFile file;
  EXPECT_NE(testing::why(file.open(folder.path(), services)), "");
  std::filesystem::remove(folder.path("replay-quota"));
  std::filesystem::create_symlink(folder.write("elsewhere", ""), folder.path("replay-quota"));
  EXPECT_NE(testing::why(file.open(folder.path(), services)), "");
}

TEST(ReplayClock, does_not_follow_a_step_before_it_has_lasted) {
  Now now{.wall_ns = kNoon, .monotonic_ns = 1'000 * kSecond};
  ReplayClock clock(now);
  const auto pass = [&](std::uint64_t ns) {
    now = {.wall_ns = now.wall_ns + ns, .monotonic_ns = now.monotonic_ns + ns};
  };
  EXPECT_EQ(clock.read(now, true), kNoon);
  pass(kSecond);
  now.wall_ns += 50'000'000;  // slewed
  EXPECT_EQ(clock.read(now, false), kNoon + kSecond) << "a connection exists";
  EXPECT_EQ(clock.read(now, true), now.wall_ns);
  const std::uint64_t before = now.wall_ns;
  now.wall_ns += 2 * kDay;
  EXPECT_EQ(clock.read(now, true), before);
  pass(599 * kSecond);
  EXPECT_EQ(clock.read(now, true), before + 599 * kSecond);
  now.wall_ns -= 2 * kDay;  // it was wrong
  pass(kSecond);
  EXPECT_EQ(clock.read(now, true), now.wall_ns);
  now.wall_ns -= kDay;  // and now it is right
  EXPECT_EQ(clock.read(now, true), now.wall_ns + kDay);
  pass(600 * kSecond);
  EXPECT_EQ(clock.read(now, false), now.wall_ns + kDay);
  EXPECT_EQ(clock.read(now, true), now.wall_ns);
}

/// A connection that does nothing by itself.
struct Wire final : ReplayWire {
  void connect() override {
    ++connects;
    is_open = true;
  }
  void send(std::span<const char> bytes) override { sent.append(bytes.begin(), bytes.end()); }
  void close() override { is_open = false; }
  std::uint32_t connects = 0;
  bool is_open = false;
  std::string sent;
};

/// A service with two channels of one agent, over a file of quotas that outlives it.
class Desk {
 public:
  Desk(const testing::Scratch& folder, refill::Limits limits, std::uint64_t start = kNoon)
      : now{.wall_ns = start, .monotonic_ns = kSecond} {
    const std::vector<std::string> services = {"it"};
    EXPECT_EQ(testing::why(quota.open(folder.path(), services)), "");
    CounterSetBuilder builder;
    builder.writer();
    builder.replay(counter_set, "it");
    auto built = builder.build("");
    EXPECT_TRUE(built);
    segment.emplace(std::move(built).value());
    service.emplace(ReplayService::Options{.name = "it", .limits = limits}, quota, counter_set, wire, now);
    for (const std::uint32_t channel : {4U, 9U}) {
      service->add(moex("F" + std::to_string(channel)), channel, link, program(), {});
    }
  }
  void want(std::uint32_t channel, std::uint64_t first, std::uint64_t last, std::uint16_t epoch = 1) {
    take({.channel = channel, .epoch = epoch, .first = first, .last = last});
  }
  void take(const ReplayWant& what) { service->feed_of(link, what.channel)->take(what, now); }
  void step(std::uint64_t ns = kSecond / 10) { service->step(testing::turn(now, ns)); }
  void give(const Bytes& body) {
    const Bytes bytes = framed(body);
    ASSERT_TRUE(service->has_room(bytes.size()));
    service->bytes(bytes, now);
  }
  void log_on() {
    for (int i = 0; i < 1'000 && !wire.is_open; ++i) step();
    ASSERT_TRUE(wire.is_open);
    wire.sent.clear();
    service->connected(now);
    give(message(1, 1));
  }
  /// The numbers that the agent gets, after its channel and run.
  std::string answers() {
    std::string out;
    while (const auto front = link.answers.front()) {
      out += std::to_string(front->channel) + "/" + std::to_string(front->epoch) + ":" + std::to_string(front->number) +
             " ";
      EXPECT_EQ(Bytes(front->message.begin(), front->message.end()), message(4, static_cast<unsigned>(front->number)));
      link.answers.pop();
    }
    return out;
  }
  std::uint64_t left() const { return counter_set.quota_left.value(); }

  Now now;
  QuotaFile quota;
  ReplayCounterSet counter_set;
  std::optional<counters::Segment> segment;
  Wire wire;
  ReplayLink link;
  std::optional<ReplayService> service;
};

TEST(ReplayService, has_one_connection_at_a_time_for_all_its_channels) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 10});
  desk.want(4, 10, 11);
  desk.want(9, 20, 20);
  desk.log_on();
  EXPECT_NE(desk.wire.sent.find("1180=F4"), std::string::npos) << desk.wire.sent;
  desk.step();
  EXPECT_EQ(desk.wire.connects, 1U);
  desk.give(message(4, 10));
  desk.give(message(4, 11));
  EXPECT_FALSE(desk.wire.is_open);
  desk.log_on();
  EXPECT_NE(desk.wire.sent.find("1180=F9"), std::string::npos) << desk.wire.sent;
  desk.give(message(4, 20));
  EXPECT_EQ(desk.answers(), "4/1:10 4/1:11 9/1:20 ");
  desk.step();
  EXPECT_EQ(desk.wire.connects, 2U);
  EXPECT_EQ(desk.left(), 8U);
  EXPECT_EQ(desk.counter_set.messages.value(), 3U);
  EXPECT_EQ(desk.counter_set.wanted.value(), 0U);
}

TEST(ReplayService, a_channel_that_always_wants_leaves_the_others_their_turn) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 100, .attempts = 100});
  desk.want(4, 10, 10);
  desk.want(9, 20, 20);
  std::set<std::string> asked;
  for (int i = 0; i < 4; ++i) {
    desk.log_on();
    asked.insert(desk.wire.sent.substr(desk.wire.sent.find("1180="), 7));
    desk.service->closed(desk.now);
    desk.wire.is_open = false;
    desk.step(200 * kSecond);
  }
  EXPECT_EQ(asked.size(), 2U);
}

TEST(ReplayService, a_restart_gives_no_connection_back) {
  const testing::Scratch folder;
  std::uint32_t connects = 0;
  std::uint64_t now = kNoon;
  for (int life = 0; life < 50; ++life) {  // each dies with its first connection
    Desk desk(folder, {.connections_a_day = 7}, now += kSecond);
    desk.want(4, 10, 10);
    for (int i = 0; i < 5; ++i) desk.step();
    connects += desk.wire.connects;
  }
  EXPECT_EQ(connects, 7U);
  Desk desk(folder, {.connections_a_day = 7}, now);
  desk.want(9, 10, 10);
  desk.step();
  EXPECT_EQ(desk.counter_set.no_quota.value(), 1U);
  EXPECT_EQ(desk.left(), 0U);
  // The exchange's next day.
  desk.step(kDay);
  EXPECT_EQ(desk.left(), 7U);
  desk.want(9, 11, 11);
  desk.log_on();
  EXPECT_EQ(desk.wire.connects, 1U);
}

TEST(ReplayService, a_clock_that_was_ahead_gives_no_connection_back) {
  const testing::Scratch folder;
  for (const std::uint64_t start : {kNoon + 5 * kDay, kNoon}) {
    Desk desk(folder, {.connections_a_day = 3}, start);
    for (int i = 0; i < 5; ++i) {
      desk.want(4, 10 + static_cast<std::uint64_t>(i), 10 + static_cast<std::uint64_t>(i));
      desk.step(100 * kSecond);
      desk.service->failed(desk.now);
      desk.wire.is_open = false;
    }
    EXPECT_EQ(desk.wire.connects, start == kNoon ? 0U : 3U);
  }
}

TEST(ReplayService, a_clock_that_was_years_ahead_does_not_end_the_quota_of_the_days_after) {
  const testing::Scratch folder;
  for (const std::uint64_t start : {kNoon + 4'000 * kDay, kNoon, kNoon + kDay, kNoon + 2 * kDay}) {
    Desk desk(folder, {.connections_a_day = 3}, start);
    desk.step();
    EXPECT_EQ(desk.left(), start == kNoon ? 0U : 3U) << "what was used counts for the day on which the clock is right";
    for (std::uint64_t n = 10; n < 13; ++n) {
      desk.want(4, n, n);
      desk.step(100 * kSecond);
      desk.service->failed(desk.now);
      desk.wire.is_open = false;
    }
    EXPECT_EQ(desk.wire.connects, start == kNoon ? 0U : 3U);
  }
}

TEST(ReplayService, a_clock_that_is_set_back_over_midnight_gives_no_connection_back) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 3}, kNoon + kDay / 2 - kSecond);
  desk.step(2 * kSecond);
  desk.want(4, 10, 10);
  desk.step(kSecond);
  EXPECT_EQ(desk.left(), 2U);
  desk.take({.kind = ReplayWant::Kind::Forget, .channel = 4, .epoch = 2});
  desk.now.wall_ns -= kDay / 24;
  desk.step(kSecond);
  EXPECT_EQ(desk.left(), 2U);
  desk.step(kDay / 24);  // midnight again
  EXPECT_EQ(desk.left(), 2U);
  desk.step(kDay);
  EXPECT_EQ(desk.left(), 3U);
}

TEST(ReplayService, makes_no_connection_that_it_cannot_note) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 3});
  QuotaFile none;
  const ReplayCounterSet& counter_set = desk.counter_set;
  const std::vector<std::string> services = {"it"};
  const testing::Scratch full;
  ASSERT_EQ(testing::why(none.open(full.path(), services)), "");
  Wire wire;
  ReplayService service({.name = "it", .limits = {.connections_a_day = 3}}, none, counter_set, wire,
                        {.wall_ns = kNoon});
  ReplayLink link;
  ReplayFeed& feed = service.add(moex("F"), 0, link, program(), {});
  none = QuotaFile();  // its descriptor is gone, so that the system refuses
  feed.take({.epoch = 1, .first = 1, .last = 1}, {.wall_ns = kNoon});
  for (std::uint64_t i = 1; i < 20; ++i)
    service.step({.wall_ns = kNoon + i * 100 * kSecond, .monotonic_ns = i * 100 * kSecond});
  EXPECT_EQ(wire.connects, 0U);
  EXPECT_EQ(counter_set.not_stored.value(), 3U);
  EXPECT_EQ(counter_set.not_brought.value() + counter_set.no_quota.value(), 1U);
}

TEST(ReplayService, forgets_what_belongs_to_another_run) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 10});
  desk.want(4, 10, 12);
  desk.log_on();
  desk.give(message(4, 10));
  desk.take({.kind = ReplayWant::Kind::Forget, .channel = 4, .epoch = 2});
  EXPECT_FALSE(desk.wire.is_open) << "the connection ends, too";
  desk.step();
  desk.want(4, 11, 11, 2);
  desk.log_on();
  desk.give(message(4, 11));
  EXPECT_EQ(desk.answers(), "4/1:10 4/2:11 ");
  desk.want(4, 13, 13, 3);  // the agent's word of the run was lost
  desk.log_on();
  EXPECT_NE(desk.wire.sent.find("1182=13"), std::string::npos);
}

TEST(ReplayService, asks_for_nothing_that_a_snapshot_has_healed) {
  const testing::Scratch folder;
  Desk desk(folder, {.connections_a_day = 10, .wait_ns = 5 * kSecond});
  desk.want(4, 10, 12);
  desk.step();
  EXPECT_EQ(desk.counter_set.wanted.value(), 3U);
  desk.take({.kind = ReplayWant::Kind::Healed, .channel = 4, .epoch = 1});
  for (int i = 0; i < 100; ++i) desk.step();
  EXPECT_EQ(desk.wire.connects, 0U);
  EXPECT_EQ(desk.counter_set.wanted.value(), 0U);
  // Healed while the request is out: what comes is not wanted any more.
  desk.want(4, 20, 22);
  desk.log_on();
  desk.take({.kind = ReplayWant::Kind::Healed, .channel = 4, .epoch = 1});
  for (unsigned n = 20; n <= 22; ++n) desk.give(message(4, n));
  EXPECT_EQ(desk.answers(), "");
  EXPECT_EQ(desk.counter_set.foreign.value(), 0U);
}

TEST(ReplayService, reads_no_more_than_the_agent_has_room_for) {
  const testing::Scratch folder;
  Desk desk(folder, {.messages_a_request = 1'000'000, .connections_a_day = 10});
  desk.want(4, 1, 16'000);
  desk.log_on();
  unsigned next = 1;
  for (; next <= 16'000; ++next) {
    const Bytes bytes = framed(message(4, next));
    if (!desk.service->has_room(4'096)) break;
    desk.service->bytes(bytes, desk.now);
  }
  EXPECT_LT(next, 16'000U) << "an agent that takes nothing";
  EXPECT_FALSE(desk.answers().empty());
  for (; next <= 16'000; ++next) {
    desk.give(message(4, next));
    (void)desk.answers();
  }
  desk.step();
  EXPECT_EQ(desk.counter_set.messages.value(), 16'000U);
  EXPECT_EQ(desk.counter_set.no_room.value(), 0U);
}

/// Services and agents that do anything: an answer is delivered once, in its run, and connections stay within a day's.
TEST(ReplayService, keeps_its_promises_with_any_peer) {
  for (std::uint64_t seed = 1; seed <= by_form<std::uint64_t>(75, 300, 300); ++seed) {
    cases::Random random(seed);
    const testing::Scratch folder;
    std::uint64_t now = kNoon;
    std::uint32_t connects = 0;
    for (int life = 0; life < 3; ++life) {
      Desk desk(folder,
                {.messages_a_request = 1 + random.below(20),
                 .requests_a_connection = static_cast<std::uint32_t>(1 + random.below(3)),
                 .connections_a_day = 20,
                 .ranges = 1 + random.below(8),
                 .patience_ns = kSecond,
                 .retry_ns = kSecond / 10,
                 .strange = 5},
                now);
      std::set<std::pair<std::string, std::uint64_t>> seen;
      std::uint16_t epoch = 1;
      for (int i = 0; i < 300; ++i) {
        const std::uint32_t channel = random.below(2) == 0 ? 4 : 9;
        switch (random.below(8)) {
          case 0: {
            const std::uint64_t first = 1 + random.below(100);
            desk.want(channel, first, first + random.below(10), epoch);
            break;
          }
          case 1:
            if (random.below(10) == 0)
              desk.take({.kind = ReplayWant::Kind::Forget, .channel = channel, .epoch = ++epoch});
            break;
          case 2: desk.service->connected(desk.now); break;
          case 3:
            if (desk.wire.is_open) {
              desk.wire.is_open = false;
              random.below(2) == 0 ? desk.service->closed(desk.now) : desk.service->failed(desk.now);
            }
            break;
          default: {
            Bytes bytes =
                framed(message(static_cast<unsigned>(1 + random.below(7)), static_cast<unsigned>(random.below(120))));
            if (random.below(10) == 0) bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
            if (desk.service->has_room(bytes.size())) desk.service->bytes(bytes, desk.now);
          }
        }
        desk.step(random.below(kSecond / 2));
        while (const auto front = desk.link.answers.front()) {
          const std::string run = std::to_string(front->channel) + "/" + std::to_string(front->epoch);
          EXPECT_LE(front->epoch, epoch);
          seen.emplace(run, front->number);
          desk.link.answers.pop();
        }
      }
      connects += desk.wire.connects;
      now = desk.now.wall_ns;
    }
    ASSERT_LE(connects, 20U) << "seed " << seed;
  }
}

}  // namespace stopbit::appliance::replay_test
