#include "host/refill/client.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/lib/form.hpp"
#include "tests/lib/replay_service.hpp"
#include "tests/lib/turn.hpp"

namespace stopbit::refill::client_test {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDay = 86'400 * kSecond;
constexpr std::uint64_t kNoon = 19'700 * kDay + kDay / 2;

struct Session {
  explicit Session(Limits limits, DialectKind kind = DialectKind::Moex)
      : dialect(make_dialect(kind, {.sender = "us", .target = "them", .feed = "OLR"}).value()),
        voice(kind),
        client(*dialect, limits, service) {}

  void want(std::uint64_t first, std::uint64_t last) { service.want(client, {first, last}, now); }
  /// Time passes until it connects, and the service lets it in.
  void log_on() {
    for (int i = 0; i < 1'000 && !service.is_connecting; ++i) client.tick(testing::turn(now, kSecond / 10));
    ASSERT_TRUE(service.is_connecting);
    service.is_connecting = false;
    service.is_open = true;
    client.connected(now);
    EXPECT_EQ(service.field("35"), "A");
    give(voice.framed("A"));
  }
  void give(const std::vector<std::byte>& bytes) { client.bytes(bytes, now); }
  void give(std::uint64_t number) { give(voice.numbered(number)); }
  void give_all(Range range) {
    for (std::uint64_t n = range.first; n <= range.last; ++n) give(n);
  }
  ~Session() {
    service.check_account(client);
    EXPECT_EQ(service.wrong, "");
  }

  std::unique_ptr<Dialect> dialect;
  testing::ServiceVoice voice;
  testing::ReplayService service;
  Client client;
  Now now{.wall_ns = kNoon, .monotonic_ns = kSecond};
};

TEST(ReplayClient, asks_for_what_is_missing_in_requests_that_are_allowed) {
  Session session({.messages_a_request = 100, .requests_a_connection = 2, .connections_a_day = 5});
  session.want(10, 19);
  session.want(21, 30);
  session.want(20, 20);    // joins them
  session.want(100, 349);  // more than a request
  session.log_on();
  EXPECT_EQ(session.service.asked(), (Range{10, 30}));
  session.give_all({10, 30});
  EXPECT_EQ(session.service.asked(), (Range{100, 199}));
  session.give_all({100, 199});
  EXPECT_EQ(session.service.field("35"), "5") << "no third request";
  EXPECT_FALSE(session.service.is_open);
  session.log_on();
  EXPECT_EQ(session.service.asked(), (Range{200, 299}));
  session.give_all({200, 299});
  EXPECT_EQ(session.service.asked(), (Range{300, 349}));
  session.give_all({300, 349});
  EXPECT_TRUE(session.client.wanted().empty());
  EXPECT_EQ(session.client.counts().messages, 271U);
  EXPECT_EQ(session.client.counts().requests, 4U);
  EXPECT_EQ(session.client.connections_left(), 3U);
  for (int i = 0; i < 100; ++i) session.client.tick(testing::turn(session.now, kSecond));
  EXPECT_EQ(session.service.connects, 2U) << "nothing is wanted";
}

TEST(ReplayClient, does_not_ask_for_what_has_come_by_another_way) {
  Session session({.connections_a_day = 5});
  session.want(10, 19);
  session.log_on();
  session.client.have({15, 16});
  session.service.wanted.erase(15);
  session.service.wanted.erase(16);
  session.give_all({10, 19});
  EXPECT_EQ(session.client.counts().messages, 8U);
  EXPECT_EQ(session.client.counts().foreign, 0U);
}

TEST(ReplayClient, takes_no_answers_of_other_ranges) {
  Session session({.connections_a_day = 5, .strange = 20});
  session.want(10, 19);
  session.log_on();
  for (const std::uint64_t n : {9U, 20U, 10U, 10U, 12U, 11U})
    session.give(n);  // 11 comes too late, and is asked for again
  EXPECT_EQ(session.client.counts().foreign, 4U);
  EXPECT_EQ(session.client.counts().messages, 2U);
  session.give_all({13, 19});
  EXPECT_FALSE(session.service.is_open);
  session.log_on();
  EXPECT_EQ(session.service.asked(), (Range{11, 11}));
  session.give(11);
  EXPECT_TRUE(session.client.wanted().empty());
}

TEST(ReplayClient, ends_a_connection_that_floods) {
  for (const char* const body : {"0", "?", "A", "M"}) {
    Session session({.connections_a_day = 5, .strange = 10});
    session.want(10, 19);
    session.log_on();
    for (int i = 0; i < 10; ++i) session.give(testing::ReplayService::framed(body));
    EXPECT_TRUE(session.service.is_open) << body;
    session.give(testing::ReplayService::framed(body));
    EXPECT_FALSE(session.service.is_open) << body;
    EXPECT_EQ(session.client.counts().flooded, 1U);
  }
}

TEST(ReplayClient, ends_a_connection_whose_answers_have_no_length_or_too_much) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{65}, std::size_t{0xFFFF'FFFF}}) {
    Session session({.connections_a_day = 5, .answer_bytes = 64});
    session.want(10, 19);
    session.log_on();
    std::vector<std::byte> length;
    for (unsigned i = 0; i < 4; ++i) length.push_back(static_cast<std::byte>(size >> (8 * i)));
    session.give(length);
    EXPECT_FALSE(session.service.is_open) << size;
    EXPECT_EQ(session.client.counts().malformed, 1U);
  }
}

TEST(ReplayClient, gives_up_what_the_service_does_not_bring_and_goes_on_with_the_rest) {
  Session session({.messages_a_request = 5, .connections_a_day = 50, .attempts = 3});
  session.want(10, 19);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(session.service.lost.empty());
    session.log_on();
    session.client.tick(testing::turn(session.now, 6 * kSecond));  // stalls
  }
  EXPECT_EQ(session.client.counts().stalled, 3U);
  EXPECT_EQ(session.service.lost, (std::set<std::uint64_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(session.service.gave_up[GivenUp::Attempts], 1);
  session.log_on();
  session.give_all({15, 19});
  EXPECT_TRUE(session.client.wanted().empty());
}

TEST(ReplayClient, gives_nothing_up_while_each_connection_brings_something) {
  Session session({.connections_a_day = 50, .attempts = 2});
  session.want(10, 19);
  for (std::uint64_t n = 10; n <= 18; ++n) {
    session.log_on();
    EXPECT_EQ(session.service.asked(), (Range{n, 19}));
    session.give(n);
    // Half an answer is none, and nothing of it is left for the next connection.
    const auto half = testing::ReplayService::numbered(n + 1);
    session.give({half.begin(), half.begin() + 7});
    session.service.is_open = false;
    session.client.closed(session.now);
  }
  EXPECT_EQ(session.client.counts().broken, 9U);
  EXPECT_TRUE(session.service.lost.empty());
  session.log_on();
  session.give(19);
  EXPECT_TRUE(session.client.wanted().empty());
}

TEST(ReplayClient, drips_do_not_keep_a_connection_open) {
  Session session({.connections_a_day = 5, .patience_ns = 5 * kSecond});
  session.want(10, 19);
  session.log_on();
  const auto answer = testing::ReplayService::numbered(10);
  for (std::size_t i = 0; i + 1 < answer.size(); ++i) {
    session.client.bytes(std::span(answer).subspan(i, 1), testing::turn(session.now, kSecond));
    session.client.tick(session.now);
  }
  EXPECT_FALSE(session.service.is_open);
}

TEST(ReplayClient, uses_no_more_connections_than_a_day_has) {
  Session session({.connections_a_day = 4, .day_begins_s = 3 * 3'600, .attempts = 100});
  session.client.set_used(2, session.now);
  session.want(10, 19);
  for (int i = 0; i < 10'000 && session.service.lost.empty(); ++i) {
    session.client.tick(testing::turn(session.now, kSecond / 10));
    if (session.service.is_connecting) session.client.failed(session.now);
    session.service.is_connecting = false;
  }
  EXPECT_EQ(session.service.connects, 2U);
  EXPECT_EQ(session.service.lost.size(), 10U);
  session.want(20, 21);
  EXPECT_EQ(session.service.gave_up[GivenUp::Quota], 2) << "reported at once";
  session.now.wall_ns = kNoon + kDay / 2 + 3'600 * kSecond;  // past midnight, but the exchange's day begins at 3
  session.want(30, 31);
  EXPECT_EQ(session.service.gave_up[GivenUp::Quota], 3);
  testing::turn(session.now, 3 * 3'600 * kSecond);
  session.want(40, 41);
  session.log_on();
  session.give_all({40, 41});
  EXPECT_EQ(session.client.connections_left(), 3U);
  session.now.wall_ns -= 2 * kDay;
  session.client.tick(session.now);
  EXPECT_EQ(session.client.connections_left(), 3U) << "a clock that is set back";
  session.client.tick(testing::turn(session.now, kDay));
  EXPECT_EQ(session.client.connections_left(), 4U) << "the day after";
}

TEST(ReplayClient, says_when_too_much_is_wanted) {
  Session session({.connections_a_day = 4, .ranges = 2});
  session.want(10, 11);
  session.want(20, 21);
  session.want(30, 31);
  EXPECT_EQ(session.service.lost, (std::set<std::uint64_t>{30, 31}));
  EXPECT_EQ(session.service.gave_up[GivenUp::Room], 1);
}

TEST(ReplayClient, wants_nothing_of_numbers_that_begin_anew) {
  Session session({.connections_a_day = 4});
  session.want(10, 19);
  session.log_on();
  session.give(10);
  session.client.forget();
  session.service.wanted = session.service.delivered;
  EXPECT_FALSE(session.service.is_open);
  session.give(11);
  EXPECT_EQ(session.client.counts().messages, 1U);
}

TEST(ReplayClient, speaks_each_dialect) {
  for (const DialectKind kind : {DialectKind::Moex, DialectKind::Cme, DialectKind::B3}) {
    Session session({.messages_a_request = 100, .requests_a_connection = 2, .connections_a_day = 5}, kind);
    session.want(10, 19);
    session.want(30, 39);
    session.log_on();
    EXPECT_EQ(session.service.asked(), (Range{10, 19})) << row_of(kind).name;
    session.give_all({10, 19});
    EXPECT_EQ(session.service.asked(), (Range{30, 39}));
    session.give_all({30, 39});
    EXPECT_TRUE(session.client.wanted().empty());
    EXPECT_EQ(session.service.field("35"), "5");
    EXPECT_EQ(session.client.counts().foreign + session.client.counts().unreadable, 0U);
  }
}

TEST(ReplayClient, takes_no_message_whose_frame_names_another_number) {
  Session session({.connections_a_day = 5}, DialectKind::Cme);
  session.want(10, 19);
  session.log_on();
  session.give(session.voice.framed(testing::ServiceVoice::body_of(10), 11));
  EXPECT_EQ(session.client.counts().unreadable, 1U);
  session.give(session.voice.framed(testing::ServiceVoice::body_of(10), 10));
  EXPECT_EQ(session.client.counts().messages, 1U);
}

TEST(ReplayClient, ends_a_connection_that_is_refused) {
  // The request of a connection is its second message.
  for (const char* const refusal : {"BX|1346=1-2|1348=1|", "BY|1346=1-2|1426=1|", "3|45=2|", "j|45=2|", "Y|"}) {
    Session session({.connections_a_day = 9, .attempts = 2}, DialectKind::B3);
    session.want(10, 19);
    for (int i = 0; i < 2; ++i) {
      session.log_on();
      EXPECT_EQ(session.service.field("35"), "BW");
      session.give(testing::ServiceVoice::text(refusal));
      EXPECT_FALSE(session.service.is_open) << refusal;
      EXPECT_EQ(session.service.field("35"), "5") << "it logs out";
    }
    EXPECT_EQ(session.client.counts().refused, 2U) << refusal;
    EXPECT_EQ(session.service.gave_up[GivenUp::Attempts], 1);
  }
  Session session({.connections_a_day = 9}, DialectKind::Moex);
  session.want(10, 19);
  session.log_on();
  session.give(testing::ReplayService::framed("Y"));
  EXPECT_EQ(session.client.counts().refused, 1U);
}

TEST(ReplayClient, a_refused_log_on_ends_the_connection) {
  Session session({.connections_a_day = 9}, DialectKind::B3);
  session.want(10, 19);
  for (int i = 0; i < 1'000 && !session.service.is_connecting; ++i)
    session.client.tick(testing::turn(session.now, kSecond / 10));
  session.service.is_connecting = false;
  session.service.is_open = true;
  session.client.connected(session.now);
  session.give(testing::ServiceVoice::text("BY|1346=1-2|1426=3|"));
  EXPECT_TRUE(session.service.is_open) << "no request, no end of its answer";
  session.give(testing::ServiceVoice::text("3|45=1|"));
  EXPECT_FALSE(session.service.is_open);
  EXPECT_EQ(session.client.counts().refused, 1U);
  EXPECT_EQ(session.client.counts().requests, 0U);
}

TEST(ReplayClient, notices_of_requests_are_ordinary_and_a_flood_of_them_is_not) {
  Session session({.messages_a_request = 1, .requests_a_connection = 300, .connections_a_day = 5, .strange = 3},
                  DialectKind::B3);
  session.want(100, 299);
  session.log_on();
  for (std::uint64_t n = 100; n < 200; ++n) {
    const std::string id = "1346=7-" + std::to_string(n - 98) + "|";
    session.give(testing::ServiceVoice::text("BX|" + id + "1348=0|"));
    session.give(n);
    session.give(testing::ServiceVoice::text("BY|" + id + "1426=3|"));  // the next request has been sent already
    ASSERT_TRUE(session.service.is_open) << n;
  }
  EXPECT_EQ(session.client.counts().messages, 100U);
  for (int i = 0; i < 20; ++i) session.give(testing::ServiceVoice::text("BX|1346=7-3|1348=0|"));
  EXPECT_FALSE(session.service.is_open);
  EXPECT_EQ(session.client.counts().flooded, 1U);
}

TEST(ReplayClient, asks_again_for_what_an_answer_that_is_complete_lacks) {
  Session session({.connections_a_day = 5, .attempts = 5}, DialectKind::B3);
  session.want(10, 19);
  session.log_on();
  session.give(testing::ServiceVoice::report({10, 11, 12, 14}));
  session.give(testing::ServiceVoice::text("BY|1346=1-2|1426=3|"));
  EXPECT_EQ(session.client.counts().messages, 4U);
  EXPECT_FALSE(session.service.is_open);
  session.log_on();
  EXPECT_EQ(session.service.asked(), (Range{13, 13}));
}

TEST(ReplayClient, answers_probes_and_beats_while_it_waits) {
  Session session({.connections_a_day = 5, .patience_ns = 100 * kSecond}, DialectKind::B3);
  session.want(10, 19);
  session.log_on();
  session.give(testing::ServiceVoice::text("1|112=are you there|"));
  EXPECT_EQ(session.service.field("35"), "0");
  EXPECT_EQ(session.service.field("112"), "are you there");
  EXPECT_EQ(session.service.field("34"), "3");
  const std::size_t sent = session.service.sent.size();
  session.client.tick(testing::turn(session.now, 29 * kSecond));
  EXPECT_EQ(session.service.sent.size(), sent);
  session.client.tick(testing::turn(session.now, kSecond));
  ASSERT_EQ(session.service.sent.size(), sent + 1);
  EXPECT_EQ(session.service.field("35"), "0");
  EXPECT_EQ(session.service.field("112"), "");
  session.client.tick(testing::turn(session.now, kSecond));
  EXPECT_EQ(session.service.sent.size(), sent + 1);
}

TEST(ReplayClient, waits_by_a_clock_that_is_not_set_back) {
  const Limits limits{.connections_a_day = 9, .patience_ns = 5 * kSecond, .retry_ns = kSecond};
  for (const bool is_back : {true, false}) {
    const auto set = [is_back](Now& now) { now.wall_ns += is_back ? -kDay : kDay; };
    Session session(limits);
    session.client.tick(session.now);
    session.want(10, 19);
    session.log_on();
    set(session.now);
    session.client.tick(session.now);
    EXPECT_TRUE(session.service.is_open);
    session.client.tick(testing::turn(session.now, 5 * kSecond + 1));
    EXPECT_EQ(session.client.counts().stalled, 1U);
    set(session.now);
    session.client.tick(testing::turn(session.now, 2 * kSecond - 1));
    EXPECT_FALSE(session.service.is_connecting) << "twice the time, as nothing was brought";
    session.client.tick(testing::turn(session.now, 1));
    EXPECT_TRUE(session.service.is_connecting);
  }
}

TEST(ReplayClient, what_finds_no_room_is_wanted_still) {
  Session session({.requests_a_connection = 2, .connections_a_day = 5}, DialectKind::B3);
  session.want(10, 12);
  session.log_on();
  session.service.is_full = true;
  session.give(11);
  session.service.is_full = false;
  session.give_all({10, 12});
  EXPECT_EQ(session.service.delivered, (std::set<std::uint64_t>{10, 11, 12}));
}

TEST(ReplayClient, reads_no_text_that_is_damaged_or_endless) {
  for (const std::string& text : {std::string("9=5\1"), std::string("8=FIX.4.2\1"),
                                  std::string("8=FIX.4.4\1"
                                              "9=\1"),
                                  std::string("8=FIX.4.4\1"
                                              "9=1x"),
                                  std::string("8=FIX.4.4\1"
                                              "9=1234567890\1"),
                                  std::string("8=FIX.4.4\1"
                                              "9=300000\1")}) {
    Session session({.connections_a_day = 5, .answer_bytes = 64}, DialectKind::B3);
    session.want(10, 19);
    session.log_on();
    session.give(testing::ServiceVoice::bytes_of(text));
    EXPECT_EQ(session.client.counts().malformed, 1U) << text;
    EXPECT_FALSE(session.service.is_open);
  }
  Session session({.connections_a_day = 5}, DialectKind::B3);
  session.want(10, 19);
  session.log_on();
  auto damaged = session.voice.numbered(10);
  damaged[30] ^= std::byte{1};
  session.give(damaged);
  EXPECT_EQ(session.client.counts().unreadable, 1U) << "a wrong sum";
  EXPECT_TRUE(session.service.is_open);
}

TEST(ReplayClient, loses_no_number_to_any_service) {
  const std::uint64_t count = by_form<std::uint64_t>(250, 1'000, 20'000);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    cases::Random random(seed);
    ASSERT_EQ(testing::play_replays(random, 300), "") << "seed " << seed;
  }
}

}  // namespace stopbit::refill::client_test
