#include "host/appliance/appliance.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <set>

#include "host/appliance/idle.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/ports/socket/source.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance_test {

using appliance::AgentEvent;
using test::OneChannel;
using test::tick;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Gives a port of sockets another interface.
void set_interface(appliance::Settings& settings, std::size_t port, const std::string& interface) {
  dynamic_cast<ingest::SocketSource&>(*settings.ports[port].source).interface = interface;
}

std::vector<AgentEvent> notices(OneChannel& one) {
  std::vector<AgentEvent> all;
  for (AgentEvent notice; one.made->next_event(notice);) all.push_back(notice);
  return all;
}

TEST(Agent, gives_nothing_up_at_the_end_of_which_a_copy_lies_in_a_port) {
  OneChannel one;
  constexpr std::uint32_t kNumbers = 200;  // more than a batch
  for (std::uint32_t n = 1; n <= kNumbers; ++n) one.give(0, tick(n, n));
  one.give(1, tick(1, 1));
  one.give(1, tick(kNumbers, kNumbers));
  one.now += 1'000;
  (void)one.agent().do_work();  // line B has been read, and the first of line A, when the end comes
  one.agent().drain();
  one.made->stop();
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), kNumbers);
  for (std::uint32_t n = 1; n <= kNumbers; ++n) {
    EXPECT_FALSE(seen[n - 1].is_event);
    EXPECT_EQ(seen[n - 1].value, n);
  }
  one.expect_balanced();
}

TEST(Agent, lets_its_thread_block_until_a_port_calls) {
  OneChannel one;
  (void)one.agent().do_work();
  const auto waker = one.agent().wakes_by();
  ASSERT_TRUE(waker);
  EXPECT_FALSE(appliance::wait_for(*waker, std::chrono::milliseconds(0)));
  one.port("right").call();
  EXPECT_TRUE(appliance::wait_for(*waker, std::chrono::milliseconds(0)));
}

/// Its end is at a time, and no packet may come that would wake the thread.
TEST(Agent, does_not_block_while_a_window_is_open) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  one.give(0, tick(1, 1));
  one.give(0, tick(3, 3));
  one.work();
  EXPECT_FALSE(one.agent().wakes_by());
  one.now += 2'000'000;
  one.work();
  EXPECT_EQ(one.seen().size(), 3U);  // 1, the gap, 3
  EXPECT_TRUE(one.agent().wakes_by());
}

TEST(Agent, does_not_block_if_one_of_its_ports_cannot_call) {
  OneChannel one("", "", [](appliance::Settings& settings) {
    settings.ports[1].source = std::make_shared<test::CaptureSource>();
  });
  (void)one.agent().do_work();
  EXPECT_FALSE(one.agent().wakes_by());
}

/// An error that a socket never gets rid of would keep a core busy.
TEST(Agent, polls_for_a_while_when_a_port_has_called_in_vain) {
  OneChannel one;
  const auto turns_until_it_blocks = [&] {
    std::size_t turns = 0;
    for (; !one.agent().wakes_by() && turns < 1'000; ++turns) (void)one.agent().do_work();
    return turns;
  };
  one.agent().rested(one.now, true);
  EXPECT_EQ(turns_until_it_blocks(), 256U);
  EXPECT_EQ(turns_until_it_blocks(), 0U);
  one.agent().rested(one.now, true);
  one.give(0, tick(1, 1));
  EXPECT_EQ(one.agent().do_work(), 1U);  // it was not in vain
  one.now += 1'000'000'000;
  one.work();  // nothing of it waits any longer
  EXPECT_EQ(turns_until_it_blocks(), 0U);
}

TEST(Agent, takes_no_rest_for_a_stall) {
  OneChannel one;
  (void)one.agent().do_work();
  one.now += 20'000'000;
  one.agent().rested(one.now, false);
  (void)one.agent().do_work();
  EXPECT_EQ(one.counts().value("agent_stalls"), 0U);
  one.now += 30'000'000;
  one.agent().rested(one.now - 10'000'000, false);  // it was to be woken ten milliseconds ago
  (void)one.agent().do_work();
  EXPECT_EQ(one.counts().value("agent_stalls"), 1U);
}

TEST(Appliance, joins_the_groups_of_the_lines) {
  OneChannel one;
  ASSERT_EQ(one.port("left").joined.size(), 1U);
  ASSERT_EQ(one.port("right").joined.size(), 1U);
  EXPECT_EQ(one.port("left").joined[0].group, test::kGroupA);
  EXPECT_EQ(one.port("right").joined[0].group, test::kGroupB);
}

TEST(Appliance, delivers_each_packet_once_and_in_order) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  one.give(0, tick(10, 110));
  one.give(1, tick(10, 110));
  one.give(0, tick(12, 112));
  one.give(1, tick(11, 111));
  one.work();
  one.now += 2'000'000;
  one.work();
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(seen[i].is_event);
    EXPECT_EQ(seen[i].sequence, 10 + i);
    EXPECT_EQ(seen[i].value, 110 + i);
    EXPECT_EQ(seen[i].channel, 7U);
  }
  one.made->stop();
  one.expect_balanced();
  EXPECT_EQ(one.counts().value("packets_duplicate"), 1U);
  EXPECT_EQ(one.counts().value("messages", {{"template", "Tick"}}), 3U);
  EXPECT_EQ(one.counts().value("channel_state"), static_cast<std::uint64_t>(appliance::ChannelState::Live));
}

TEST(Appliance, puts_a_gap_into_the_ring_in_its_place_and_tells_what_each_line_had) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  for (const std::uint32_t n : {1U, 2U, 5U}) one.give(0, tick(n, n));
  one.give(1, tick(1, 1));
  one.work();
  one.now += 1'500'000;
  one.work();
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_TRUE(seen[2].is_event);
  EXPECT_EQ(seen[2].kind, record::EventKind::Gap);
  EXPECT_EQ(seen[2].first, 3U);
  EXPECT_EQ(seen[2].count, 2U);
  EXPECT_EQ(seen[2].channel, 7U);
  EXPECT_EQ(seen[3].sequence, 5U);
  one.now += 700'000;
  one.give(1, tick(3, 3));  // 700 us after it was given up
  one.work();
  const auto told = notices(one);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].kind, AgentEvent::Kind::Run);
  EXPECT_EQ(told[1].kind, AgentEvent::Kind::Gap);
  EXPECT_EQ(told[1].first, 3U);
  EXPECT_EQ(told[1].count, 2U);
  EXPECT_TRUE(told[1].lines[0].passed);
  EXPECT_FALSE(told[1].lines[1].passed);
  EXPECT_FALSE(told[1].dropped_here);
  EXPECT_EQ(told[2].kind, AgentEvent::Kind::Late);
  EXPECT_EQ(told[2].first, 3U);
  EXPECT_EQ(told[2].count, 1U);
  EXPECT_EQ(told[2].stall_ns, 700'000U);
  one.made->stop();
  one.expect_balanced();
  EXPECT_EQ(one.counts().value("packets_late"), 1U);
  EXPECT_EQ(one.counts().value("numbers_lost"), 2U);
}

/// What shows a leap waits for the silence of the run: the thread may stop long after it came.
TEST(Appliance, says_that_its_thread_stopped_while_a_leap_waited) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  one.give(0, tick(1, 1));
  one.give(0, tick(2, 2));
  one.work();
  one.give(0, tick(100'000, 1));
  one.give(0, tick(100'001, 2));
  for (int turn = 0; turn < 4; ++turn) {
    one.now += 900'000;
    one.work();
  }
  one.now += 70'000'000'000;
  one.work();
  const auto told = notices(one);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().kind, AgentEvent::Kind::Gap);
  EXPECT_EQ(told.back().count, 99'997U);
  EXPECT_EQ(told.back().stall_ns, 70'000'000'000U);
}

TEST(Appliance, says_that_the_machine_itself_dropped_packets) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  one.give(0, tick(1, 1));
  one.port("left").counters().dropped_by_kernel.set(3);
  one.work();
  one.now += 2'000'000;
  one.give(0, tick(3, 3));
  one.work();
  one.now += 2'000'000;
  one.work();
  const auto told = notices(one);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].kind, AgentEvent::Kind::Gap);
  EXPECT_TRUE(told[1].dropped_here);
  EXPECT_EQ(one.counts().value("port_dropped_by_kernel", {{"port", "left"}}), 3U);
}

TEST(Appliance, blames_the_machine_for_what_is_missing_behind_a_drop_and_for_nothing_else) {
  OneChannel one("mode = \"fast\"\n");
  one.give(0, tick(1, 1));
  one.work();
  // The drop is known with the datagram that follows it, and that is when the gap is reported.
  one.port("left").counters().dropped_by_kernel.set(1);
  one.give(0, tick(3, 3));
  one.work();
  one.now += 100'000'000;
  one.give(0, tick(5, 5));  // so soon after it that the drop explains this, too
  one.work();
  one.now += 2'000'000'000;
  one.give(0, tick(7, 7));
  one.work();
  std::vector<int> dropped_here;
  for (const AgentEvent& notice : notices(one)) {
    if (notice.kind == AgentEvent::Kind::Gap) dropped_here.push_back(notice.dropped_here ? 1 : 0);
  }
  EXPECT_THAT(dropped_here, ::testing::ElementsAre(1, 1, 0));
}

TEST(Appliance, counts_foreign_datagrams_and_never_decodes_them) {
  OneChannel one;
  one.port("left").items.push_back({tick(1, 1), {0xE000'0003, 1000}, one.now, 1});
  one.port("left").items.push_back({tick(1, 1), {0xE000'0001, 1001}, one.now, 1});
  one.work();
  one.made->stop();
  EXPECT_EQ(one.counts().value("port_foreign", {{"port", "left"}}), 2U);
  EXPECT_TRUE(one.seen().empty());
  one.expect_balanced();
}

TEST(Appliance, tells_of_a_malformed_datagram_and_goes_on_with_the_copy_of_the_other_line) {
  OneChannel one("mode = \"fast\"\n");
  one.give(0, tick(1, 1));
  one.give(0, {});
  one.give(1, tick(2, 2));
  one.work();
  one.made->stop();
  EXPECT_EQ(one.counts().value("packets_malformed"), 1U);
  EXPECT_EQ(one.counts().value("decode_errors"), 0U);
  EXPECT_EQ(one.counts().value("gaps"), 0U);
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].value, 1U);
  EXPECT_TRUE(seen[1].is_event);
  EXPECT_EQ(seen[1].kind, record::EventKind::DecodeError);
  EXPECT_EQ(seen[2].value, 2U);
  appliance::ErrorSample sample;
  ASSERT_TRUE(one.made->next_error_sample(sample));
  EXPECT_EQ(sample.code, ErrorCode::X9);
  EXPECT_EQ(sample.size, 0U);
  one.expect_balanced();
}

TEST(Appliance, marks_a_channel_stale_that_does_not_decode_and_goes_on) {
  OneChannel one("mode = \"fast\"\n", "stale_after = 2\n");
  std::uint32_t n = 0;
  const auto good = [&] {
    ++n;
    one.give(0, tick(n, n));
  };
  const auto bad = [&] {
    auto bytes = tick(++n, 1);
    bytes[6] = std::byte{0x85};  // there is no template 5
    one.give(0, bytes);
  };
  good();
  bad();
  good();
  bad();
  bad();
  bad();
  good();
  good();
  one.work();
  std::vector<std::string> kinds;
  for (const auto& item : one.seen()) {
    kinds.push_back(!item.is_event                                ? "tick"
                    : item.kind == record::EventKind::DecodeError ? "error"
                    : item.kind == record::EventKind::Stale       ? "stale"
                    : item.kind == record::EventKind::Recovered   ? "recovered"
                                                                  : "other");
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"tick", "error", "tick", "error", "error", "stale", "error", "tick",
                                             "tick", "recovered"}));
  one.made->stop();
  EXPECT_EQ(one.counts().value("unknown_template"), 4U);
  EXPECT_EQ(one.counts().value("stale_events"), 1U);
  const auto reader = one.counts();
  const auto errors = reader.errors(*reader.find("errors"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, ErrorCode::D9);
  EXPECT_EQ(errors[0].count, 4U);
  EXPECT_EQ(errors[0].sequence, 2U);
  EXPECT_EQ(errors[0].template_id, 5U);
  EXPECT_EQ(errors[0].channel, 7U);
}

constexpr std::uint64_t kMs = 1'000'000;

std::vector<AgentEvent::Kind> kinds_of_notices(OneChannel& one) {
  std::vector<AgentEvent::Kind> kinds;
  for (const AgentEvent& notice : notices(one)) kinds.push_back(notice.kind);
  return kinds;
}

TEST(Appliance, tells_that_packets_come_and_nothing_is_delivered) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n");
  one.give(0, tick(1, 1));
  one.work();
  for (int i = 0; i < 4; ++i) {
    one.give(0, std::vector<std::byte>(2));  // shorter than its header
    one.work();
    one.now += 1'000 * kMs;  // counters are published now and then
  }
  EXPECT_THAT(kinds_of_notices(one), Contains(AgentEvent::Kind::Blind).Times(1));
  one.give(0, tick(2, 2));
  one.work();
  EXPECT_THAT(kinds_of_notices(one), Contains(AgentEvent::Kind::Recovered).Times(1));
  EXPECT_EQ(one.counts().value("stale_events"), 1U);
}

/// A window of a millisecond may last for seconds of the clock then.
TEST(Appliance, does_not_take_a_slow_capture_for_a_channel_that_delivers_nothing) {
  OneChannel one("window = { packets = 8, time = \"1ms\" }\n", "", [](appliance::Settings& settings) {
    for (appliance::PortSettings& port : settings.ports) port.source = std::make_shared<test::CaptureSource>();
  });
  for (const char* const port : {"left", "right"}) one.port(port).is_capture = true;
  const std::uint64_t begin = one.now;
  const auto give = [&](std::uint32_t n, std::uint64_t at_ns) {
    one.port("left").items.push_back({tick(n, n), test::kGroupA, begin + at_ns, 1});
    one.port("right").items.push_back({tick(n, n), test::kGroupB, begin + at_ns, 1});
    one.work();
    one.now += 1'000 * kMs;
  };
  give(1, 0);
  give(2, 3 * kMs);
  EXPECT_EQ(one.seen().size(), 2U);
  for (std::uint32_t n = 4; n < 9; ++n) give(n, 3 * kMs + n * kMs / 10);  // 3 may still come
  EXPECT_EQ(one.seen().size(), 0U);
  EXPECT_THAT(kinds_of_notices(one), Not(Contains(AgentEvent::Kind::Blind)));
  give(9, 6 * kMs);
  EXPECT_EQ(one.seen().size(), 7U);  // the gap, 4 to 9
  EXPECT_EQ(one.counts().value("stale_events"), 0U);
  one.expect_balanced();
}

TEST(Appliance, tells_a_sequence_reset) {
  OneChannel one("mode = \"fast\"\n");
  for (std::uint32_t n = 1'000; n < 1'200; ++n) one.give(0, tick(n, n));
  one.give(0, tick(1, 1));
  one.give(0, tick(2, 2));
  one.work();
  ASSERT_EQ(one.seen().size(), 200U) << "the run before may go on";
  one.now += 1'000'000'000;
  one.work();
  const auto seen = one.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].kind, record::EventKind::Reset);
  EXPECT_EQ(seen[1].epoch, 1U);
  EXPECT_EQ(seen[1].sequence, 1U);
}

/// What arrives in order is what went in, but for what both lines lost; and that is what the gaps say, exactly.
TEST(Appliance, accounts_for_every_packet_of_two_impaired_lines) {
  OneChannel one("window = { packets = 256, time = \"5ms\" }\n", "[rings]\nslots = 262144\n");
  impair::Options options;
  options.seed = 42;
  options.line[0] = {.loss = {.rate = 0.05, .mean_burst = 3}, .duplicate = 0.01, .reorder = 0.02, .reorder_depth = 8};
  options.line[1] = {.loss = {.rate = 0.05}, .delay_ns = 200'000};
  options.both = {.rate = 0.001, .mean_burst = 2};
  constexpr std::uint32_t kPackets = 50'000;
  impair::Impairer impairer(options);
  std::set<std::uint32_t> arrived;
  const auto give_until = [&](std::uint64_t until) {
    while (const impair::Copy* copy = impairer.pop(until)) {
      one.now = std::max(one.now, copy->time_ns);
      arrived.insert(static_cast<std::uint32_t>(copy->packet));
      one.give(copy->line, copy->bytes);
      one.work();
    }
  };
  for (std::uint32_t n = 0; n < kPackets; ++n) {
    impairer.push(tick(n + 1, n * 3), 1'000'000'000 + n * std::uint64_t{10'000});
    give_until(1'000'000'000 + n * std::uint64_t{10'000});
  }
  impairer.flush(one.now);
  give_until(impair::kNever);
  one.now += 10'000'000;
  one.work();
  one.made->stop();

  std::set<std::uint32_t> delivered;
  std::set<std::uint32_t> missing;
  std::uint32_t next = 0;
  for (const auto& item : one.seen()) {
    if (item.is_event) {
      ASSERT_EQ(item.kind, record::EventKind::Gap);
      EXPECT_EQ(item.first, next);
      for (std::uint64_t i = 0; i < item.count; ++i) missing.insert(static_cast<std::uint32_t>(item.first + i - 1));
      next = static_cast<std::uint32_t>(item.first + item.count);
      continue;
    }
    if (next != 0) {
      EXPECT_EQ(item.sequence, next);
    }
    EXPECT_EQ(item.value, (item.sequence - 1) * std::uint64_t{3});
    delivered.insert(item.sequence - 1);
    next = item.sequence + 1;
  }
  EXPECT_EQ(delivered, arrived);
  std::set<std::uint32_t> lost;
  for (std::uint32_t n = *arrived.begin(); n < *arrived.rbegin(); ++n) {
    if (!arrived.contains(n)) lost.insert(n);
  }
  EXPECT_GT(lost.size(), 50U);
  EXPECT_EQ(missing, lost);
  one.expect_balanced();
  EXPECT_EQ(one.counts().value("numbers_lost"), lost.size());
  EXPECT_EQ(one.counts().value("channel_messages"), delivered.size());
  EXPECT_GT(one.counts().value("line_saved", {{"line", "A"}}), 1'000U);
  EXPECT_GT(one.counts().distribution(*one.counts().find("line_skew", {{"line", "B"}})).count, 40'000U);
}

TEST(Appliance, starts_a_new_image_between_two_datagrams) {
  OneChannel one("mode = \"fast\"\n");
  one.give(0, tick(1, 1));
  one.work();
  one.folder.write(
      "ticks.xml",
      "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\"><template name=\"Tock\" id=\"1\">"
      "<uInt32 name=\"Number\"/><uInt32 name=\"More\" presence=\"optional\"><default value=\"9\"/></uInt32>"
      "</template></templates>");
  Diagnostics diagnostics;
  const auto answer = one.made->reload("ticks", diagnostics);
  ASSERT_TRUE(answer) << answer.message() << diagnostics.format();
  EXPECT_THAT(one.made->reload("ticks", diagnostics).message(), HasSubstr("an earlier image change"));
  // The ring has its name already, and nothing in it yet.
  auto second = ring::Reader::open(one.folder.path("ring"));
  ASSERT_TRUE(second) << second.message();
  one.give(0, tick(2, 2));
  one.work();
  one.give(0, tick(3, 3));
  one.work();
  one.made->retire();
  const auto before = one.seen();
  ASSERT_EQ(before.size(), 3U);
  EXPECT_EQ(before[1].sequence, 2U);
  EXPECT_EQ(before[2].kind, record::EventKind::LayoutChanged);
  EXPECT_EQ(one.reader->writer(), ring::WriterState::Finished);
  EXPECT_TRUE(one.reader->replaced());
  EXPECT_NE(second.value().layout_hash(), one.reader->layout_hash()) << "so that a view of the old one refuses it";
  one.reader.emplace(std::move(second).value());
  const auto after = one.seen();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].sequence, 3U);
  EXPECT_EQ(after[0].generation, 1U);
  EXPECT_EQ(one.counts().value("image_generation"), 1U);
  EXPECT_EQ(one.counts().value("messages", {{"template", ""}}), 1U);
  const auto told = notices(one);
  EXPECT_EQ(told.back().kind, AgentEvent::Kind::Image);
  EXPECT_EQ(told.back().first, 1U);
}

TEST(Appliance, starts_a_new_image_in_more_rings_than_a_turn_of_its_agent_takes) {
  std::string channels;
  const testing::Scratch rings;
  constexpr int kMore = 99;
  for (int i = 0; i < kMore; ++i) {
    channels += "[[channel]]\nnumber = " + std::to_string(100 + i) + "\nname = \"c" + std::to_string(i) +
                "\"\nframing = \"cme\"\nring = \"" + rings.path("ring" + std::to_string(i)) +
                "\"\na = { group = \"224.0.1." + std::to_string(i) + "\", port = 1000 }\n";
  }
  OneChannel one(channels);
  ASSERT_TRUE(one.made);
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    Diagnostics diagnostics;
    const auto answer = one.made->reload("ticks", diagnostics);
    ASSERT_TRUE(answer) << answer.message() << diagnostics.format();
    one.work();
    EXPECT_EQ(one.counts().sum("image_generation"), generation * (kMore + 1));
  }
}

TEST(Appliance, changes_an_image_in_all_rings_of_an_agent_or_in_none) {
  const testing::Scratch rings;
  OneChannel one("[[channel]]\nnumber = 8\nname = \"eight\"\nframing = \"cme\"\nring = \"" + rings.path("other") +
                 "\"\na = { group = \"224.0.0.3\", port = 1000 }\n");
  ASSERT_TRUE(one.made);
  const auto before = one.made->program_of("seven");
  os::SpscQueue<appliance::Exchange>& loads = one.agent().loads();
  while (loads.room() > 1) ASSERT_TRUE(loads.push({}));
  one.folder.write("ticks.xml", "<templates><template name=\"Tock\" id=\"1\"/></templates>");
  Diagnostics diagnostics;
  EXPECT_THAT(one.made->reload("ticks", diagnostics).message(), HasSubstr("too many image changes are waiting"));
  EXPECT_EQ(one.made->program_of("seven"), before);
  appliance::Exchange none;
  while (loads.pop(none)) EXPECT_EQ(none.output, nullptr) << "a ring has the new image, and the other one has not";
  const auto answer = one.made->reload("ticks", diagnostics);
  ASSERT_TRUE(answer) << answer.message() << diagnostics.format();
  one.work();
  EXPECT_EQ(one.counts().sum("image_generation"), 2U);
  // More rings than the channels that one feed may have.
  EXPECT_GE(appliance::Agent::room_for_loads(2 * feed::kMaxChannels), 2 * feed::kMaxChannels);
}

TEST(Appliance, refuses_a_bad_image_and_runs_on) {
  OneChannel one("mode = \"fast\"\n");
  one.folder.write("ticks.xml", "<templates><template name=\"Tick\" id=\"1\"><uInt32/></template></templates>");
  Diagnostics diagnostics;
  EXPECT_THAT(one.made->reload("ticks", diagnostics).message(),
              HasSubstr("rejected; the previous image remains in use"));
  EXPECT_THAT(diagnostics.format(), HasSubstr("ticks.xml:1:"));
  EXPECT_THAT(one.made->reload("tocks", diagnostics).message(), HasSubstr("unknown image 'tocks'"));
  one.give(0, tick(1, 1));
  one.work();
  EXPECT_EQ(one.seen().size(), 1U);
  EXPECT_EQ(one.counts().value("image_generation"), 0U);
}

TEST(Appliance, leaves_counters_behind_only_if_it_was_started) {
  OneChannel one("mode = \"fast\"\n");
  appliance::Settings settings = one.made->settings();
  settings.name = one.folder.path("counters");
  settings.state_folder = one.folder.path("state-2");
  settings.feeds[0].description.channels[0].ring = one.folder.path("ring-2");
  const auto fake = [](const appliance::PortSettings&, std::vector<std::string>&) {
    return Result<std::unique_ptr<ingest::Port>>(std::make_unique<test::FakePort>(test::kOneMoment));
  };
  const auto none = [](const appliance::PortSettings&, std::vector<std::string>&) {
    return Result<std::unique_ptr<ingest::Port>>(Failure{"there is no port"});
  };
  const std::string counters = settings.name + ".counters";
  Diagnostics diagnostics;
  EXPECT_THAT(appliance::Appliance::make(settings, {.open_port = none}, diagnostics).message(),
              HasSubstr("there is no port"));
  EXPECT_FALSE(std::filesystem::exists(counters));

  {
    const auto made = appliance::Appliance::make(settings, {.open_port = fake}, diagnostics);
    ASSERT_TRUE(made) << made.message();
    EXPECT_TRUE(std::filesystem::exists(counters));
  }
  EXPECT_FALSE(std::filesystem::exists(counters)) << "it was never started";

  {
    appliance::Settings nowhere = settings;
    nowhere.agents[0].core = CPU_SETSIZE;
    const auto made = appliance::Appliance::make(nowhere, {.open_port = fake}, diagnostics);
    ASSERT_TRUE(made) << made.message();
    EXPECT_FALSE(made.value()->start());
  }
  EXPECT_FALSE(std::filesystem::exists(counters)) << "its start has failed";

  {
    const auto made = appliance::Appliance::make(settings, {.open_port = fake}, diagnostics);
    ASSERT_TRUE(made) << made.message();
    ASSERT_TRUE(made.value()->start());
  }
  EXPECT_TRUE(std::filesystem::exists(counters));
}

class ApplianceIdle : public ::testing::TestWithParam<appliance::Idle> {};

TEST_P(ApplianceIdle, runs_on_threads_of_its_own_to_the_end_of_its_ports) {
  OneChannel one("mode = \"fast\"\n", "", [](appliance::Settings& settings) {
    settings.agents[0].idle = GetParam();
    settings.agents[0].core = static_cast<std::uint32_t>(::sched_getcpu());  // a core that we may use
  });
  for (std::uint32_t n = 1; n <= 1'000; ++n) {
    one.give(0, tick(n, n));
    one.give(1, tick(n, n));
  }
  one.port("right").ends = true;
  ASSERT_TRUE(one.made->start());
  while (one.reader->published() < 1'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(one.made->ended()) << "there is nothing to do, and it is not the end";
  one.port("left").ends = true;
  while (!one.made->ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  one.made->stop();
  EXPECT_EQ(one.seen().size(), 1'000U);
  one.expect_balanced();
  EXPECT_EQ(one.reader->writer(), ring::WriterState::Finished);
}

INSTANTIATE_TEST_SUITE_P(Each, ApplianceIdle,
                         ::testing::Values(appliance::Idle::Spin, appliance::Idle::Yield, appliance::Idle::Sleep,
                                           appliance::Idle::Backoff));

/// Core 0 on node 0, core 1 on a node that no machine has; a card on each.
void make_two_nodes(const testing::Scratch& folder) {
  folder.write("sys/devices/system/node/online", "0,1000\n");
  folder.write("sys/devices/system/node/node0/cpulist", "0\n");
  folder.write("sys/devices/system/node/node1000/cpulist", "1\n");
  folder.write("sys/class/net/near/device/numa_node", "0\n");
  folder.write("sys/class/net/far/device/numa_node", "1000\n");
}

TEST(Appliance, takes_memory_from_the_node_of_its_core_and_says_which_port_is_elsewhere) {
  const testing::Scratch machine;
  make_two_nodes(machine);
  OneChannel one(
      "mode = \"fast\"\n", "",
      [](appliance::Settings& settings) {
        settings.agents[0].core = 0;
        set_interface(settings, 0, "near");
        set_interface(settings, 1, "far");
      },
      appliance::Topology(machine.folder().string()));
  EXPECT_THAT(one.made->notes(),
              ElementsAre("agent 'md' has its memory on NUMA node 0, and port 'right' is attached to node 1000: "
                          "its packets cross between the nodes",
                          "feed 'test': 2 of 2 groups have no 'source': any host can send to them"));
  one.give(0, tick(1, 1));
  one.work();
  EXPECT_EQ(one.seen().size(), 1U);
}

TEST(Appliance, says_that_the_memory_of_a_node_cannot_be_had_and_runs_without) {
  const testing::Scratch machine;
  make_two_nodes(machine);
  OneChannel one(
      "mode = \"fast\"\n", "", [](appliance::Settings& settings) { set_interface(settings, 0, "far"); },
      appliance::Topology(machine.folder().string()));
  EXPECT_THAT(one.made->notes(), Contains(HasSubstr("agent 'md' cannot have its memory on NUMA node 1000: ")));
  EXPECT_THAT(one.made->notes(), Contains(HasSubstr("is on NUMA node 0, not on node 1000 of its agent")));
  one.give(0, tick(1, 1));
  one.work();
  EXPECT_EQ(one.seen().size(), 1U);
}

}  // namespace stopbit::appliance_test
