#include "host/fix/step_session.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/lib/step_server.hpp"

namespace stopbit::fix::step_session_test {

using Voice = testing::StepVoice;
constexpr std::uint64_t kSecond = 1'000'000'000;

struct Trial {
  explicit Trial(StepOptions options = {}, const StepLimits& limits = {})
      : session(std::move(options), limits, server) {
    server.most_data = limits.data_bytes;
    server.most_message = limits.data_bytes + 4'096;
  }
  ~Trial() { EXPECT_EQ(server.wrong, ""); }

  void pass(std::uint64_t ns) {
    now.monotonic_ns += ns;
    now.wall_ns += ns;
    session.tick(now);
  }
  void connect() {
    session.tick(now);
    ASSERT_TRUE(server.is_connecting);
    server.is_connecting = false;
    server.is_open = true;
    session.connected(now);
  }
  void log_on() {
    connect();
    give(Voice::log_on());
    ASSERT_TRUE(session.is_logged_on());
  }
  void give(const std::string& bytes) { EXPECT_EQ(server.give(session, bytes, now), ""); }
  void close() {
    server.is_open = server.is_in = false;
    session.closed(now);
  }
  [[nodiscard]] std::uint64_t ends(StepEnd why) const { return session.counts().ends[static_cast<std::size_t>(why)]; }
  /// All that came, as "1:abc 2:def".
  [[nodiscard]] std::string packets() const {
    std::string text;
    for (const auto& [number, data] : server.packets) {
      text += (text.empty() ? "" : " ") + std::to_string(number) + ":" + data;
    }
    return text;
  }

  testing::StepServer server;
  StepSession session;
  Now now{.wall_ns = 1'513'150'519 * kSecond, .monotonic_ns = 5 * kSecond};  // 2017-12-13 07:35:19 UTC
};

TEST(StepSession, logs_on_as_the_exchange_does_and_hands_on_each_raw_data) {
  Trial trial({.password = "secret", .version = "1.02"});
  trial.connect();
  std::string text = trial.server.sent.at(0);
  std::replace(text.begin(), text.end(), '\1', '|');
  EXPECT_EQ(text.substr(0, text.rfind("10=")),
            "8=STEP.1.0.0|9=77|35=A|49=VSS|56=VDE|34=0|52=20171213-15:35:19|98=0|108=0|554=secret|1137=1.02|");
  trial.give(Voice::log_on());
  trial.give(Voice::data("abc") + Voice::message("UA1202|34=0|10072=-1|58=happy.|") +
             Voice::data(std::string("d\0018=e", 5), "UA5801"));
  EXPECT_EQ(trial.packets(), std::string("1:abc 2:d\0018=e"));
  EXPECT_EQ(trial.session.counts().others, 1U);
  trial.session.stop(trial.now);
  EXPECT_EQ(trial.server.field("35"), "5");
  EXPECT_FALSE(trial.server.is_open);
}

/// With its sum, as comments of public programs have it.
TEST(StepSession, logs_on_with_the_bytes_of_the_public_example) {
  Trial trial;
  trial.now.wall_ns = 1288157876 * kSecond;
  trial.connect();
  EXPECT_EQ(trial.server.sent.at(0), Voice::ended("8=STEP.1.0.0|9=56|35=A|49=VSS|56=VDE|34=0|52=20101027-13:37:56|"
                                                  "98=0|108=0|10=140|"));
}

TEST(StepSession, hands_on_what_fixt_messages_in_raw_data_carry) {
  Trial trial;
  trial.log_on();
  trial.give(Voice::nested({"one", "two"}));
  trial.give(Voice::data(Voice::message("h|34=2|336=T00|", "", "", "FIXT.1.1"), "UA5302"));
  EXPECT_EQ(trial.packets(), "1:one 2:two");
  EXPECT_EQ(trial.session.counts().others, 1U) << "a message without data";
  for (const std::string& bad : {std::string("8=FIXT.1.1\1"), "8=FIXT.1.1\0019=5\1" + std::string(12, 'x'),
                                 Voice::message("W|95=3|96=", "abc", "|", "FIXT.1.1") + "x"}) {
    Trial other;
    other.log_on();
    other.give(Voice::data(bad));
    EXPECT_EQ(other.ends(StepEnd::Malformed), 1U) << bad;
  }
}

TEST(StepSession, names_the_template_of_a_first_message_that_does_not) {
  Trial trial({.templates = {{"UA3202", 3'202}, {"W", 7}, {"UA5801", 0xFFFF'FFFF}}});
  trial.log_on();
  trial.give(Voice::data("\xA0zz"));                          // a map of a byte
  trial.give(Voice::data(std::string("\x01\x00\x81zz", 5)));  // of three
  trial.give(Voice::data("\xC0\x81zz"));                      // it names it
  trial.give(Voice::data("\xA0zz", "UA3113"));                // of another type
  trial.give(Voice::nested({"\xA0zz"}));                      // of the inner type
  trial.give(Voice::data("\x80", "UA5801"));                  // the longest identifier
  trial.give(Voice::data(std::string(17, '\1')));             // no map
  trial.give(Voice::data(std::string(15, '\1') + "\x81"));    // the longest map
  std::vector<std::string> found;
  for (const auto& packet : trial.server.packets) found.push_back(packet.second);
  EXPECT_EQ(found, (std::vector<std::string>{"\xE0\x19\x82zz", std::string("\x41\x00\x81\x19\x82zz", 7), "\xC0\x81zz",
                                             "\xA0zz", "\xE0\x87zz", "\xC0\x0F\x7F\x7F\x7F\xFF", std::string(17, '\1'),
                                             "A" + std::string(14, '\1') + "\x81\x19\x82"}));
}

TEST(StepSession, reads_a_stream_that_is_torn_at_every_byte) {
  const std::string raw =
      "A\1"
      "10=000\1"
      "8=STEP.1.0.0\0019=3\1";
  const std::string stream = Voice::log_on() + Voice::data(raw) + Voice::message("0|34=0|") + Voice::nested({"x"});
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Trial trial;
    trial.connect();
    trial.give(stream.substr(0, cut));
    trial.give(stream.substr(cut));
    EXPECT_EQ(trial.packets(), "1:" + raw + " 2:x") << cut;
  }
  Trial trial;
  trial.connect();
  for (const char byte : stream) trial.give(std::string(1, byte));
  EXPECT_EQ(trial.packets(), "1:" + raw + " 2:x");
}

TEST(StepSession, ends_a_connection_whose_bytes_contradict_themselves) {
  std::string wrong_sum = Voice::data("abc");
  wrong_sum[wrong_sum.size() - 2] = wrong_sum[wrong_sum.size() - 2] == '0' ? '1' : '0';
  for (const std::string& bad : {wrong_sum,
                                 Voice::message("UA3202|95=4|96=", "abc", "|"),             // 96 is shorter
                                 Voice::message("UA3202|95=2|96=", "abc", "|"),             // and longer
                                 Voice::message("UA3202|95=-3|96=", "abc", "|"),            //
                                 Voice::message("UA3202|95=|96=", "abc", "|"),              //
                                 Voice::message("UA3202|95=999999999999|96=", "abc", "|"),  // more than there is
                                 Voice::message("UA3202|95=18446744073709551619|96=", "abc", "|"),  // wraps to 3
                                 Voice::message("UA3202|96=", "abc", "|"),               // one without the other
                                 Voice::message("UA3202|95=3|"),                         //
                                 Voice::message("UA3202|95=3|34=0|96=", "abc", "|"),     // not side by side
                                 Voice::message("UA3202|95=1|96=", "a", "|95=1|96=b|"),  // two
                                 Voice::message("UA3202|95=10|96=", "abc", "|"),         // reaches into the check sum
                                 Voice::message("UA3202|95=9|96=", "abc", ""),           //
                                 Voice::message("UA3202|x|"),                            // no field
                                 Voice::message("|"),                                    // no type
                                 Voice::ended("8=STEP.1.0.0|9=9999999|"),                // too long
                                 Voice::ended("8=STEP.1.0.0|9=-1|"),
                                 Voice::ended("8=FIX.4.4|9=5|"),
                                 std::string("HTTP/1.1 400 Bad Request"),
                                 Voice::data(std::string(65, 'x'))}) {
    Trial trial({}, {.data_bytes = 64});
    trial.log_on();
    trial.give(Voice::data("good"));
    (void)trial.server.give(trial.session, bad + Voice::data("lost"), trial.now);
    EXPECT_EQ(trial.packets(), "1:good") << bad;
    EXPECT_EQ(trial.ends(StepEnd::Malformed), 1U) << bad;
    EXPECT_FALSE(trial.server.is_open) << bad;
  }
}

TEST(StepSession, bears_a_few_messages_of_no_use) {
  for (const std::string& odd : {Voice::data(""), Voice::log_on(), Voice::message("3|45=1|"), Voice::message("j|"),
                                 Voice::message("2|7=1|16=0|"), Voice::message("4|36=9|"), Voice::message("1|"),
                                 Voice::message("1|112=" + std::string(65, 'x') + "|")}) {
    Trial trial({}, {.strange = 3});
    trial.log_on();
    for (int i = 0; i < 3; ++i) trial.give(odd);
    EXPECT_TRUE(trial.session.is_logged_on()) << odd;
    trial.give(odd);
    EXPECT_EQ(trial.ends(StepEnd::Flooded), 1U) << odd;
    EXPECT_EQ(trial.server.sent.size(), 1U) << "no answer: " << odd;
  }
  Trial trial({}, {.strange = 3});
  trial.connect();
  for (int i = 0; i < 4; ++i) trial.give(Voice::data("early"));
  EXPECT_EQ(trial.ends(StepEnd::Flooded), 1U) << "before the log-on";
  EXPECT_EQ(trial.packets(), "");
}

TEST(StepSession, bears_messages_of_no_use_for_ever_between_others) {
  for (const std::string& good : {Voice::data("x"), Voice::message("0|34=0|"), Voice::message("UA1202|34=0|"),
                                  Voice::nested({"x"}), Voice::data(Voice::message("h|34=2|", "", "", "FIXT.1.1"))}) {
    Trial trial({}, {.strange = 3});
    trial.log_on();
    for (int i = 0; i < 100; ++i) {
      for (int j = 0; j < 3; ++j) trial.give(Voice::message("3|45=1|"));
      trial.give(good);
    }
    EXPECT_TRUE(trial.session.is_logged_on()) << good;
    EXPECT_EQ(trial.session.counts().strange, 300U);
    for (int j = 0; j < 4; ++j) trial.give(Voice::message("3|45=1|"));
    EXPECT_EQ(trial.ends(StepEnd::Flooded), 1U) << good;
  }
}

TEST(StepSession, says_when_time_matters) {
  Trial trial({.heartbeat_s = 10}, {.patience_ns = 5 * kSecond, .retry_ns = kSecond});
  const std::uint64_t begin = trial.now.monotonic_ns;
  EXPECT_LE(trial.session.next_tick_ns(), begin) << "it connects at the first tick";
  trial.connect();
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 5 * kSecond + 1);
  trial.give(Voice::log_on());
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 10 * kSecond) << "a heartbeat";
  trial.pass(10 * kSecond);
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 12 * kSecond + 1) << "the server has said nothing";
  trial.pass(2 * kSecond + 1);
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 22 * kSecond + 1) << "a heartbeat";
  trial.pass(10 * kSecond);
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 24 * kSecond + 1) << "an answer to the question";
  trial.close();
  EXPECT_EQ(trial.session.next_tick_ns(), begin + 24 * kSecond + 1) << "another connection, after twice the pause";
  trial.session.stop(trial.now);
  EXPECT_EQ(trial.session.next_tick_ns(), StepSession::kNever);
  Trial quiet;
  quiet.log_on();
  EXPECT_EQ(quiet.session.next_tick_ns(), StepSession::kNever) << "without heartbeats";
}

TEST(StepSession, survives_floods_of_heartbeats_and_gives_up_a_server_that_takes_no_answers) {
  Trial trial;
  trial.log_on();
  std::string flood;
  for (int i = 0; i < 10'000; ++i) flood += Voice::message("0|34=0|");
  trial.give(flood + Voice::data("after"));
  EXPECT_EQ(trial.packets(), "1:after");
  trial.give(Voice::message("1|112=who|"));
  EXPECT_EQ(trial.server.field("35"), "0");
  EXPECT_EQ(trial.server.field("112"), "who");
  trial.server.is_deaf = true;
  trial.give(Voice::message("1|112=who|"));
  EXPECT_EQ(trial.ends(StepEnd::Stuffed), 1U);
}

TEST(StepSession, sends_heartbeats_and_asks_a_silent_server_before_it_ends) {
  Trial trial({.heartbeat_s = 10});
  trial.connect();
  EXPECT_EQ(trial.server.field("108"), "10");
  trial.give(Voice::log_on());
  trial.pass(10 * kSecond);
  EXPECT_EQ(trial.server.field("35"), "0");
  trial.pass(3 * kSecond);
  EXPECT_EQ(trial.server.field("35"), "1") << "12 s without a word";
  const std::string id = trial.server.field("112");
  EXPECT_NE(id, "");
  trial.give(Voice::message("0|112=" + id + "|"));
  trial.pass(13 * kSecond);
  EXPECT_EQ(trial.server.field("35"), "1");
  trial.pass(12 * kSecond);
  EXPECT_EQ(trial.ends(StepEnd::Silent), 1U);
  EXPECT_FALSE(trial.server.is_open);
  Trial quiet;
  quiet.log_on();
  quiet.pass(86'400 * kSecond);
  EXPECT_TRUE(quiet.session.is_logged_on()) << "without heartbeats a server may be silent";
  EXPECT_EQ(quiet.server.sent.size(), 1U);
}

TEST(StepSession, connects_again_later_each_time_while_nothing_comes) {
  Trial trial({}, {.retry_ns = kSecond, .longest_retry_ns = 5 * kSecond});
  const auto wait = [&] {
    std::uint64_t seconds = 0;
    for (; !trial.server.is_connecting && seconds < 100; ++seconds) trial.pass(kSecond);
    return seconds;
  };
  trial.session.tick(trial.now);
  trial.server.is_connecting = false;
  trial.session.failed(trial.now);
  EXPECT_EQ(wait(), 2U);
  trial.server.is_connecting = false;
  trial.session.failed(trial.now);
  EXPECT_EQ(wait(), 4U);
  trial.connect();
  trial.give(Voice::message("5|58=not now|"));
  EXPECT_EQ(trial.ends(StepEnd::Refused), 1U);
  EXPECT_EQ(wait(), 5U) << "the longest";
  trial.connect();
  trial.close();
  EXPECT_EQ(trial.ends(StepEnd::Refused), 2U);
  EXPECT_EQ(wait(), 5U);
  trial.connect();
  trial.pass(11 * kSecond);
  EXPECT_EQ(trial.ends(StepEnd::Silent), 1U) << "no answer to the log-on";
  EXPECT_EQ(wait(), 5U);
  trial.log_on();
  trial.give(Voice::data("a"));
  trial.close();
  EXPECT_EQ(trial.ends(StepEnd::Closed), 1U);
  EXPECT_EQ(wait(), 1U) << "it has brought data";
}

TEST(StepSession, leaves_a_number_out_where_something_may_be_missing) {
  Trial trial;
  trial.log_on();
  trial.give(Voice::data("a") + Voice::data("b"));
  trial.give(Voice::message("5|58=bye|"));
  EXPECT_EQ(trial.server.field("35"), "5") << "it is answered";
  EXPECT_EQ(trial.ends(StepEnd::LoggedOut), 1U);
  for (int i = 0; i < 2; ++i) {  // a session without data is the same hole
    trial.pass(64 * kSecond);
    trial.log_on();
    trial.close();
  }
  trial.pass(64 * kSecond);
  trial.log_on();
  trial.give(Voice::data("c") + Voice::data("d"));
  EXPECT_EQ(trial.packets(), "1:a 2:b 4:c 5:d");
}

TEST(StepSession, waits_for_room_and_loses_nothing) {
  Trial trial({.heartbeat_s = 10});
  trial.log_on();
  trial.server.is_full = true;
  const std::string left = trial.server.give(trial.session, Voice::data("a") + Voice::data("b"), trial.now);
  EXPECT_TRUE(trial.session.is_blocked());
  EXPECT_EQ(left, "");
  trial.pass(60 * kSecond);
  EXPECT_TRUE(trial.session.is_blocked()) << "a server that has to wait is not silent";
  EXPECT_EQ(trial.packets(), "");
  trial.server.is_full = false;
  trial.pass(0);
  EXPECT_FALSE(trial.session.is_blocked());
  EXPECT_EQ(trial.packets(), "1:a 2:b");
}

/// What another connection has brought fills the queue: the answer to the log-on is no packet and needs none of it.
TEST(StepSession, logs_on_while_nothing_has_room) {
  Trial trial;
  trial.server.is_full = true;
  trial.connect();
  trial.give(Voice::log_on());
  EXPECT_TRUE(trial.session.is_logged_on());
  trial.give(Voice::data("a"));
  trial.pass(60 * kSecond);
  trial.server.is_full = false;
  trial.pass(0);
  EXPECT_EQ(trial.packets(), "1:a");
  EXPECT_EQ(trial.ends(StepEnd::Silent), 0U);
}

/// The process was stopped for a minute: what the server said meanwhile waits to be read.
TEST(StepSession, asks_a_server_before_it_ends_even_if_time_leaps) {
  Trial trial({.heartbeat_s = 10});
  trial.log_on();
  trial.pass(60 * kSecond);
  EXPECT_TRUE(trial.session.is_logged_on());
  EXPECT_EQ(trial.server.field("35"), "1");
  trial.give(Voice::data("a"));
  trial.pass(9 * kSecond);
  EXPECT_TRUE(trial.session.is_logged_on());
  EXPECT_EQ(trial.packets(), "1:a");
  trial.pass(60 * kSecond);
  trial.pass(13 * kSecond);
  EXPECT_EQ(trial.ends(StepEnd::Silent), 1U) << "it was asked and has not answered";
}

TEST(StepSession, keeps_its_promises_whatever_a_server_does) {
  const std::uint64_t seeds = std::getenv("STOPBIT_LONG") != nullptr ? 20'000 : 400;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    cases::Random random(seed);
    ASSERT_EQ(testing::play_step(random, 400), "") << "seed " << seed;
  }
}

}  // namespace stopbit::fix::step_session_test
