#include "host/ports/step/step_port.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace stopbit::ingest::step_port_test {

constexpr net::Endpoint kFirst{0x0A01'0203, 9'129};
constexpr net::Endpoint kSecond{0x0A01'0204, 9'129};

struct Trial {
  Trial() {
    port = make_step_port({.session = {.sender = "us"},
                           .limits = {},
                           .clock = [this] { return now; },
                           .open_session = [this](net::Endpoint server, const fix::StepOptions& options,
                                                  const fix::StepLimits&) -> Result<std::shared_ptr<StepLink>> {
                             EXPECT_EQ(options.sender, "us");
                             if (server.port == 1) return Failure{"no"};
                             return links[server.address] = std::make_shared<StepLink>();
                           }});
    EXPECT_TRUE(port->join({.group = kFirst, .source = {}}));
    EXPECT_TRUE(port->join({.group = kSecond, .source = {}}));
  }
  void bring(net::Endpoint from, const std::string& text, std::uint64_t t_ns) {
    EXPECT_TRUE(links[from.address]->packets.push({.t_ns = t_ns, .arrival_ns = 1'000 + t_ns},
                                                  std::as_bytes(std::span(text.data(), text.size()))));
  }
  /// What a poll hands out, as "abc@5 def@7".
  std::string poll(std::size_t most = 16) {
    std::array<Arrival, 16> batch;
    std::string text;
    const std::size_t count = port->poll(std::span(batch).first(most));
    for (std::size_t i = 0; i < count; ++i) {
      const Arrival& one = batch[i];
      EXPECT_EQ(one.source, one.destination);
      EXPECT_LE(one.t_ns, now);
      text += (text.empty() ? "" : " ") +
              std::string(reinterpret_cast<const char*>(one.payload.data()), one.payload.size()) + "@" +
              std::to_string(one.t_ns);
    }
    return text;
  }

  std::uint64_t now = 10;
  std::map<std::uint32_t, std::shared_ptr<StepLink>> links;
  std::unique_ptr<Port> port;
};

/// A thread that blocks is woken by the next packet, and by none before.
TEST(StepPort, wakes_a_thread_that_has_found_nothing_for_a_while) {
  Trial trial;
  const os::Descriptor all(::epoll_create1(EPOLL_CLOEXEC));  // as an agent with several ports has it
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(all.get(), EPOLL_CTL_ADD, trial.port->wakes_by().value_or(-1), &event), 0);
  const auto is_woken = [&] { return ::epoll_wait(all.get(), &event, 1, 0) == 1; };
  const auto rest = [&] {
    for (int i = 0; i < 4'000; ++i) EXPECT_EQ(trial.poll(), "");
  };
  for (int i = 0; i < 3; ++i) {
    trial.bring(kFirst, "busy", 1);
    trial.links[kFirst.address]->ring();
    EXPECT_EQ(is_woken(), i != 0) << "for a thread that is awake nothing is done, neither to call it nor to end a call";
    EXPECT_NE(trial.poll(), "");
    rest();
    EXPECT_FALSE(is_woken()) << "it blocks";
    for (const net::Endpoint from : {kSecond, kFirst}) {
      trial.bring(from, "abc", 2);
      trial.links[from.address]->ring();
      EXPECT_TRUE(is_woken());
    }
    EXPECT_NE(trial.poll(), "");
    rest();
    EXPECT_FALSE(is_woken()) << "it blocks again";
    trial.bring(kSecond, "abc", 3);
    trial.links[kSecond.address]->ring();
    EXPECT_TRUE(is_woken());
    EXPECT_NE(trial.poll(), "");
  }
}

TEST(StepPort, says_that_other_servers_take_a_restart) {
  Trial trial;
  std::vector<std::string> notes;
  const auto change = trial.port->prepare_groups({}, {}, notes);
  ASSERT_FALSE(change);
  EXPECT_EQ(change.message(), "step: to add or remove a server takes a restart");
}

TEST(StepPort, hands_out_what_its_sessions_bring) {
  Trial trial;
  EXPECT_EQ(trial.poll(), "");
  EXPECT_EQ(trial.port->complete_until(), 10U);
  trial.now = 20;
  trial.bring(kFirst, "abc", 12);
  trial.bring(kFirst, "de", 13);
  trial.bring(kSecond, "f", 14);
  const std::string all = trial.poll();
  EXPECT_TRUE(all == "abc@12 de@13 f@14" || all == "f@14 abc@12 de@13") << all;
  EXPECT_EQ(trial.port->complete_until(), 20U);
  EXPECT_EQ(trial.port->counters().frames.value(), 3U);
  EXPECT_EQ(trial.port->counters().verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].value(), 3U);
  trial.links[kFirst.address]->ends = 2;
  trial.links[kSecond.address]->ends = 1;
  (void)trial.poll();
  EXPECT_EQ(trial.port->counters().failures.value(), 3U);
}

TEST(StepPort, says_until_when_everything_was_handed_out) {
  Trial trial;
  trial.now = 100;
  EXPECT_EQ(trial.poll(), "");
  trial.bring(kFirst, "late", 90);  // read before that poll, and queued after it
  trial.bring(kFirst, "next", 150);
  trial.now = 200;
  EXPECT_EQ(trial.poll(1), "late@100") << "not earlier than what was said to be complete";
  EXPECT_EQ(trial.port->complete_until(), 150U) << "the one that waits";
  EXPECT_EQ(trial.poll(), "next@150");
  EXPECT_EQ(trial.port->complete_until(), 200U);
}

TEST(StepPort, leaves_no_session_behind_when_another_has_much) {
  Trial trial;
  for (int i = 0; i < 1'000; ++i) trial.bring(kFirst, "x", 10);
  trial.bring(kSecond, "rare", 10);
  EXPECT_NE((trial.poll() + " " + trial.poll()).find("rare"), std::string::npos);
}

/// What was handed out stays as it is until the next poll, however much comes meanwhile.
TEST(StepPort, keeps_what_it_has_handed_out) {
  Trial trial;
  auto& packets = trial.links[kFirst.address]->packets;
  const std::string text(60'000, 'a');
  const std::string other(60'000, 'b');
  trial.bring(kFirst, text, 10);
  std::array<Arrival, 4> batch;
  ASSERT_EQ(trial.port->poll(batch), 1U);
  std::size_t more = 0;
  while (packets.push({}, std::as_bytes(std::span(other.data(), other.size())))) ++more;
  EXPECT_GT(more, 50U);
  const std::string kept(reinterpret_cast<const char*>(batch[0].payload.data()), batch[0].payload.size());
  EXPECT_EQ(kept, text);
  while (trial.port->poll(batch) != 0) {
  }
  EXPECT_EQ(trial.port->counters().frames.value(), more + 1);
  EXPECT_TRUE(packets.push({}, std::as_bytes(std::span(other.data(), other.size()))));
}

TEST(StepPort, says_why_a_session_cannot_begin_and_keeps_its_servers) {
  Trial trial;
  const Status failed = trial.port->join({.group = {0x0A01'0205, 1}, .source = {}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.message(), "step 10.1.2.5:1: no");
  std::vector<std::string> notes;
  EXPECT_FALSE(trial.port->prepare_groups({}, {}, notes).ok());
}

}  // namespace stopbit::ingest::step_port_test
