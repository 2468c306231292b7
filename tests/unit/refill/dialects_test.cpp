#include "host/refill/dialects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/replay_service.hpp"

namespace stopbit::refill::dialects_test {

std::string readable(std::string text) {
  std::replace(text.begin(), text.end(), '\1', '|');
  return text;
}

/// The fields of a message, without BeginString, BodyLength and CheckSum.
template <class Write>
std::string fields_of(const char* begin_string, Write&& write) {
  char to[512];
  const std::string text = readable(std::string(to, write(std::span<char>(to))));
  EXPECT_EQ(text.rfind("8=" + std::string(begin_string) + "|9=", 0), 0U) << text;
  const std::size_t begin = text.find("35=");
  const std::size_t end = text.rfind("10=");
  return begin < end ? text.substr(begin, end - begin) : text;
}

std::unique_ptr<Dialect> dialect(DialectKind kind) {
  return make_dialect(kind, {.sender = "us", .target = "", .user = "u", .password = "p", .feed = "OLR"}).value();
}

constexpr Sending kFirst{.serial = 1, .wall_ns = 1'554'366'960'123'000'000};
constexpr Sending kSecond{.serial = 2, .wall_ns = 1'554'366'960'123'000'000};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

TEST(Moex, names_feed_and_range) {
  const auto moex = dialect(DialectKind::Moex);
  EXPECT_EQ(fields_of("FIXT.1.1", [&](auto to) { return moex->log_on(to, kFirst); }),
            "35=A|49=us|56=MOEX|34=1|52=20190404-08:36:00.123|98=0|108=0|1137=9|553=u|554=p|");
  EXPECT_EQ(fields_of("FIXT.1.1",
                      [&](auto to) {
                        return moex->request(to, {.serial = 2}, {1'000, 2'999});
                      }),
            "35=V|49=us|56=MOEX|34=2|52=19700101-00:00:00.000|1180=OLR|1182=1000|1183=2999|");
  EXPECT_EQ(fields_of("FIXT.1.1", [&](auto to) { return moex->log_out(to, {.serial = 3}); }),
            "35=5|49=us|56=MOEX|34=3|52=19700101-00:00:00.000|");
  EXPECT_EQ(moex->heartbeat_ns(), 0U);
  const auto length = bytes_of({"\x02\x01\0\x80", 4});
  EXPECT_FALSE(moex->frame(std::span(length).first(3)));
  EXPECT_EQ(moex->frame(length), 4U + 0x8000'0102U);
  EXPECT_EQ(moex->frame(bytes_of({"\0\0\0\0", 4})), 0U);
}

TEST(Cme, asks_in_text_and_reads_length_preamble_and_message) {
  const auto cme = dialect(DialectKind::Cme);
  EXPECT_EQ(fields_of("FIXT.1.1", [&](auto to) { return cme->log_on(to, kFirst); }),
            "35=A|49=us|56=CME|34=1|52=20190404-08:36:00.123|98=0|108=2|1137=9|553=u|554=p|");
  EXPECT_EQ(fields_of("FIXT.1.1",
                      [&](auto to) {
                        return cme->request(to, kSecond, {5, 7});
                      }),
            "35=V|49=us|56=CME|34=2|52=20190404-08:36:00.123|1180=OLR|262=2|1182=5|1183=7|");
  EXPECT_EQ(cme->heartbeat_ns(), 2'000'000'000U);
  const auto frame =
      bytes_of({"\0\0\0\x07\0\0\x01\x02\x09"
                "XY",
                11});
  ASSERT_EQ(cme->frame(frame), 11U);
  Place place;
  const auto reply = cme->read(frame, place);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->kind, Reply::Kind::Fast);
  EXPECT_EQ(reply->number, 0x102U);
  EXPECT_EQ(std::vector(reply->bytes.begin(), reply->bytes.end()), bytes_of("XY"));
  EXPECT_FALSE(cme->read(frame, place)) << "one message a frame";
  Place other;
  EXPECT_EQ(cme->read(bytes_of({"\0\0\0\x05\0\0\x01\x02\x09", 9}), other)->kind, Reply::Kind::Unreadable)
      << "a preamble alone";
}

TEST(B3, asks_for_application_messages) {
  EXPECT_FALSE(make_dialect(DialectKind::B3, {.sender = "us", .feed = "7"}).ok()) << "it has no usual target";
  const auto b3 = make_dialect(DialectKind::B3, {.sender = "us", .target = "them", .feed = "7"}).value();
  EXPECT_EQ(fields_of("FIX.4.4", [&](auto to) { return b3->log_on(to, kFirst); }),
            "35=A|49=us|56=them|34=1|52=20190404-08:36:00.123|98=0|108=30|141=Y|");
  EXPECT_EQ(
      fields_of("FIX.4.4",
                [&](auto to) {
                  return b3->request(to, kSecond, {5, 7});
                }),
      "35=BW|49=us|56=them|34=2|52=20190404-08:36:00.123|1346=1554366960123-2|1347=0|1351=1|1355=7|1182=5|1183=7|");
  EXPECT_EQ(fields_of("FIX.4.4", [&](auto to) { return b3->heartbeat(to, kSecond, "who"); }),
            "35=0|49=us|56=them|34=2|52=20190404-08:36:00.123|112=who|");
}

/// What a message says, in words: kinds, numbers and bodies.
std::string said(const Dialect& dialect, const std::vector<std::byte>& frame) {
  EXPECT_EQ(dialect.frame(frame), frame.size());
  for (std::size_t size = 0; size < frame.size() && size < 18; ++size) {
    EXPECT_NE(dialect.frame(std::span(frame).first(size)), 0U) << "it may become one";
  }
  const char* const names[] = {"fast",     "message",  "on",      "out",   "probe",
                               "accepted", "complete", "refused", "other", "bad"};
  std::string out;
  Place place;
  while (const auto reply = dialect.read(frame, place)) {
    out += names[static_cast<std::size_t>(reply->kind)];
    if (reply->number) out += " " + std::to_string(*reply->number);
    if (reply->request != 0) out += " #" + std::to_string(reply->request);
    if (!reply->bytes.empty())
      out += " '" + std::string(reinterpret_cast<const char*>(reply->bytes.data()), reply->bytes.size()) + "'";
    out += ";";
  }
  return out;
}

TEST(B3, reads_what_the_service_says) {
  using Voice = testing::ServiceVoice;
  const auto b3 = make_dialect(DialectKind::B3, {.sender = "us", .target = "them", .feed = "7"}).value();
  const auto saying = [&](const std::string& begin, const std::string& raw = "", const std::string& end = "") {
    return said(*b3, Voice::text(begin, raw, end));
  };
  EXPECT_EQ(saying("A|34=1|98=0|108=30|"), "on;");
  EXPECT_EQ(saying("5|34=9|58=bye|"), "out;");
  EXPECT_EQ(saying("0|34=2|"), "other;");
  EXPECT_EQ(saying("1|34=2|112=x|"), "probe 'x';");
  EXPECT_EQ(saying("3|34=2|45=7|"), "refused #7;");
  EXPECT_EQ(saying("BX|1346=1554366960123-2|1348=0|1351=1|1355=7|"), "accepted #2;");
  EXPECT_EQ(saying("BX|1346=1554366960123-2|1348=2|"), "refused #2;");
  EXPECT_EQ(saying("BX|1346=strange|1348=2|"), "refused;");
  EXPECT_EQ(saying("BY|1346=1-3|1426=3|"), "complete #3;");
  EXPECT_EQ(saying("BY|1346=1-3|1426=2|"), "other #3;");
  EXPECT_EQ(saying("BY|1346=1-3|"), "refused #3;");
  EXPECT_EQ(saying("|"), "bad;");
  // Bytes that look like the end of a field, or of the message, are data.
  const std::string raw =
      "A\1"
      "10=000\1"
      "B";
  EXPECT_EQ(saying("URDR|1346=1-2|95=10|96=", raw, "|10054=2|1181=5|1350=5|10055=0|95=9|1181=6|10055=9|95=1|"),
            "message 5 '" + raw.substr(0, 9) + "';message 6 'B';");
  EXPECT_EQ(saying("URDR|10054=1|1181=5|10055=3|95=2|95=5|96=", "abcde", "|"), "message 5 'de';")
      << "the group before its data";
  // Entries that lie about where they are.
  for (const char* const entry : {"1181=5|10055=0|95=6|", "1181=5|10055=5|95=1|", "1181=5|10055=0|95=0|",
                                  "1181=5|10055=0|", "1181=5|95=1|", "1181=x|10055=0|95=1|", "1181=|10055=0|95=1|",
                                  "1181=5|10055=18446744073709551615|95=2|", "1181=5|10055=-1|95=1|"}) {
    EXPECT_EQ(saying("URDR|95=5|96=", "abcde", "|10054=1|" + std::string(entry)).substr(0, 3), "bad") << entry;
  }
  EXPECT_EQ(saying("URDR|95=5|96=", "abcde", "|10054=2|1181=5|10055=0|95=3|1181=6|10055=2|95=3|"),
            "message 5 'abc';bad;")
      << "messages that overlap";
  EXPECT_EQ(saying("URDR|95=50|96=", "abcde", "|10054=1|1181=5|10055=0|95=1|"), "bad;")
      << "data longer than the message";
  EXPECT_EQ(saying("URDR|10054=1|1181=5|10055=0|95=1|"), "bad;") << "no data";
  EXPECT_EQ(saying("URDR|95=5|96=", "abcde", "|"), "bad;") << "no group";
}

TEST(Dialects, have_no_value_that_ends_a_field) {
  for (const std::string& bad :
       {std::string(), std::string("a\1b"), std::string("a\nb"), std::string(65, 'a'), std::string("\xC3\xA4")}) {
    EXPECT_FALSE(make_dialect(DialectKind::Moex, {.sender = bad, .feed = "OLR"}).ok()) << bad;
    EXPECT_FALSE(make_dialect(DialectKind::Moex, {.sender = "us", .feed = bad}).ok()) << bad;
    if (!bad.empty()) {
      EXPECT_FALSE(make_dialect(DialectKind::Moex, {.sender = "us", .password = bad, .feed = "OLR"}).ok()) << bad;
    }
  }
}

}  // namespace stopbit::refill::dialects_test
