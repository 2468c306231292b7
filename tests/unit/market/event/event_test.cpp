#include "host/market/event/event.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "decoder/record/frame.hpp"
#include "host/market/event/fixed.hpp"
#include "host/market/event/print.hpp"
#include "host/market/event/sbe.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::market::event_test {

/// Reads a message as its schema says, field by field.
class MessageReader {
 public:
  explicit MessageReader(const std::string& message) : message_(message) {}

  template <class T>
  T take() {
    T value{};
    EXPECT_LE(at_ + sizeof(value), message_.size());
    std::memcpy(&value, message_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  [[nodiscard]] std::string rest() const { return message_.substr(at_); }

 private:
  const std::string& message_;
  std::size_t at_ = 0;
};

void expect_message(const std::string& message, const Content& content, const Event& event) {
  MessageReader reader(message);
  EXPECT_EQ(reader.take<std::uint16_t>(), message.size() - 8);  // blockLength
  EXPECT_EQ(reader.take<std::uint16_t>(), 1U);                  // templateId
  EXPECT_EQ(reader.take<std::uint16_t>(), kSbeSchemaId);
  EXPECT_EQ(reader.take<std::uint16_t>(), kEventSchemaVersion);
  EXPECT_EQ(reader.take<std::uint64_t>(), content.arrival_ns);
  EXPECT_EQ(reader.take<std::int64_t>(), content.delay_ns);
  EXPECT_EQ(reader.take<std::int64_t>(), content.price);
  EXPECT_EQ(reader.take<std::int64_t>(), content.quantity);
  EXPECT_EQ(reader.take<std::uint64_t>(), content.id);
  EXPECT_EQ(reader.take<std::uint32_t>(), content.instrument);
  EXPECT_EQ(reader.take<std::uint32_t>(), content.sequence);
  EXPECT_EQ(reader.take<std::uint16_t>(), content.channel);
  EXPECT_EQ(reader.take<std::uint16_t>(), content.level);
  EXPECT_EQ(reader.take<std::uint8_t>(), static_cast<std::uint8_t>(content.kind));
  EXPECT_EQ(reader.take<std::uint8_t>(), static_cast<std::uint8_t>(content.side));
  EXPECT_EQ(reader.take<std::uint8_t>(), static_cast<std::uint8_t>(content.book));
  EXPECT_EQ(reader.take<std::uint8_t>(), event.flags());
  EXPECT_EQ(reader.take<std::uint8_t>(), 3U);  // quantity_decimals
  EXPECT_EQ(reader.rest(), "key" + std::string(29, '\0'));
}

TEST(Event, keeps_every_field_at_its_limits) {
  cases::Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    Content content;
    content.arrival_ns = random.bits();
    content.sequence = static_cast<std::uint32_t>(random.bits());
    content.channel = static_cast<std::uint16_t>(random.bits());
    content.flags = static_cast<std::uint8_t>(random.bits() & 0x7F);
    content.instrument = static_cast<std::uint32_t>(random.bits()) & kMaxInstrument;
    const auto shortened = [&] {
      switch (random.below(4)) {
        case 0: return kNoQuantity;
        case 1: return kMaxQuantity;
        default: return static_cast<std::int64_t>(random.bits()) >> (64 - kShortBits);
      }
    };
    content.delay_ns = shortened();
    content.kind = static_cast<Kind>(random.below(32));
    content.side = static_cast<Side>(random.below(4));
    content.book = static_cast<BookOf>(random.below(2));
    content.level = static_cast<std::uint16_t>(random.bits());
    content.price = random.chance(10) ? kNoPrice : static_cast<std::int64_t>(random.bits());
    content.quantity = shortened();
    content.id = random.bits();
    const Event event = Event::of(content);
    const Content back = event.content();
    EXPECT_EQ(back.arrival_ns, content.arrival_ns);
    EXPECT_EQ(back.sequence, content.sequence);
    EXPECT_EQ(back.channel, content.channel);
    EXPECT_EQ(back.flags, content.flags);
    EXPECT_EQ(back.instrument, content.instrument);
    EXPECT_EQ(back.delay_ns, content.delay_ns);
    EXPECT_EQ(back.kind, content.kind);
    EXPECT_EQ(back.side, content.side);
    EXPECT_EQ(back.book, content.book);
    EXPECT_EQ(back.level, content.level);
    EXPECT_EQ(back.price, content.price);
    EXPECT_EQ(back.quantity, content.quantity);
    EXPECT_EQ(back.id, content.id);
    const record::Slot slot = event.slot(static_cast<std::uint32_t>(random.bits()), random.chance(50));
    EXPECT_EQ(record::check_frame(std::span(&slot, 1)), record::ReadError::None);
    EXPECT_TRUE(is_event(slot));
    std::string text;
    append_json(event, text);
    append_csv(event, text);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    std::string message;
    append_sbe(event, message, {.instrument = "key", .quantity_decimals = 3});
    expect_message(message, content, event);
  }
}

TEST(Event, says_so_where_a_quantity_does_not_fit) {
  for (const std::int64_t beyond : {kMaxQuantity + 1, kNoQuantity - 1, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}) {
    const Event event = Event::of({.kind = Kind::New, .quantity = beyond});
    EXPECT_EQ(event.quantity(), kNoQuantity);
    EXPECT_TRUE(event.has(kFlagWide));
  }
  EXPECT_EQ(Event::of({.delay_ns = kMaxQuantity + 1}).delay_ns(), kNoDelay);
  EXPECT_FALSE(Event::of({.kind = Kind::New, .quantity = kMaxQuantity}).has(kFlagWide));
}

TEST(Event, has_the_time_of_the_exchange) {
  EXPECT_EQ(Event::of({.arrival_ns = 1'000, .delay_ns = 200}).exchange_ns(), 800U);
  EXPECT_EQ(Event::of({.arrival_ns = 1'000, .delay_ns = -200}).exchange_ns(), 1'200U);
  EXPECT_EQ(Event::of({.arrival_ns = 1'000}).exchange_ns(), 1'000U);
}

TEST(Event, has_no_cause_or_state_that_there_is_not) {
  EXPECT_EQ(Event::of({.kind = Kind::Clear, .id = 200}).cause(), Cause::None);
  EXPECT_EQ(Event::of({.kind = Kind::Clear, .id = 0x104}).cause(), Cause::None);
  EXPECT_EQ(Event::of({.kind = Kind::Clear, .id = 4}).cause(), Cause::Gap);
  EXPECT_EQ(Event::of({.kind = Kind::Stale, .level = 6}).cause(), Cause::Room);
  EXPECT_EQ(Event::of({.kind = Kind::State, .id = 99}).state().state, TradingState::Unknown);
}

TEST(Frame, of_a_market_event_is_checked) {
  record::Slot slot = Event::of({.kind = Kind::Trade}).slot(7, true);
  slot.words[record::kTagWord] ^= std::uint64_t{1} << 40;  // the tag of word 5
  EXPECT_EQ(record::check_frame(std::span(&slot, 1)), record::ReadError::WrongTag);
  record::Slot two[2] = {Event::of({.kind = Kind::Trade}).slot(7, true), {}};
  two[0].words[0] = (two[0].words[0] & ~std::uint64_t{0xFFFF0000}) | 2U << 16;
  EXPECT_EQ(record::check_frame(two), record::ReadError::Truncated);
}

TEST(Print, shows_prices_exactly) {
  const auto text = [](std::int64_t price) {
    std::string out;
    append_price(price, out);
    return out;
  };
  EXPECT_EQ(text(1'411'500'000'000), "1411.5");
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(-1), "-0.000000001");
  EXPECT_EQ(text(10), "0.00000001");
  EXPECT_EQ(text(-37'630'000'000), "-37.63");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::max()), "9223372036.854775807");
  EXPECT_EQ(text(kNoPrice), "");
}

TEST(Print, shows_events_as_lines) {
  const Event entry = Event::of({.arrival_ns = 1'352'419'200'000'000'000,
                                 .sequence = 3'574'402,
                                 .channel = 310,
                                 .flags = kFlagLastOfEvent | kFlagBestChanged,
                                 .instrument = 12,
                                 .delay_ns = 812,
                                 .kind = Kind::New,
                                 .side = Side::Bid,
                                 .level = 1,
                                 .price = 1'411'500'000'000,
                                 .quantity = 20,
                                 .id = 7});
  std::string out;
  append_json(entry, out);
  append_json(Event::of({.instrument = 3, .kind = Kind::Stale, .level = 7, .id = 91}), out);
  append_json(Event::of({.instrument = 3, .kind = Kind::State, .id = StateCode{TradingState::Open, 17, 1}.packed()}),
              out);
  append_json(Event::of({.instrument = 3, .kind = Kind::Statistic, .level = 5, .price = -1'000'000'000}), out);
  append_json(Event::of({.kind = static_cast<Kind>(30)}), out);
  EXPECT_EQ(
      out,
      "{\"event\":\"new\",\"channel\":310,\"sequence\":3574402,\"instrument\":12,\"side\":\"bid\",\"level\":1,"
      "\"price\":1411.5,\"quantity\":20,\"id\":7,\"time\":1352419200000000000,\"delay\":812,"
      "\"flags\":[\"last_of_event\",\"best_changed\"]}\n"
      "{\"event\":\"stale\",\"channel\":0,\"sequence\":0,\"instrument\":3,\"cause\":\"contradiction\",\"number\":91,"
      "\"time\":0}\n"
      "{\"event\":\"state\",\"channel\":0,\"sequence\":0,\"instrument\":3,\"state\":\"open\",\"code\":17,\"scale\":1,"
      "\"time\":0}\n"
      "{\"event\":\"statistic\",\"channel\":0,\"sequence\":0,\"instrument\":3,\"statistic\":\"settlement\","
      "\"price\":-1,\"time\":0}\n"
      "{\"event\":\"30\",\"channel\":0,\"sequence\":0,\"instrument\":0,\"time\":0}\n");
  out.clear();
  append_csv(entry, out);
  EXPECT_EQ(out, "310,3574402,1352419200000000000,812,12,new,bid,direct,1,1411.5,20,7,last_of_event best_changed\n");
}

TEST(Fixed, never_rounds) {
  EXPECT_EQ(fixed(141'150, -2, -9), 1'411'500'000'000);
  EXPECT_EQ(fixed(1'078, 1, -9), 10'780'000'000'000);
  EXPECT_EQ(fixed(0, -63, -9), 0);
  EXPECT_EQ(fixed(1, -10, -9), std::nullopt);
  EXPECT_EQ(fixed(10, -10, -9), 1);
  EXPECT_EQ(fixed(-7, 0, 0), -7);
  EXPECT_EQ(fixed(9'223'372'037, 0, -9), std::nullopt);
  EXPECT_EQ(fixed(9'223'372'036, 0, -9), 9'223'372'036'000'000'000);
  EXPECT_EQ(fixed(1, 63, -9), std::nullopt);
  EXPECT_EQ(fixed(std::numeric_limits<std::int64_t>::min(), 0, 0), std::nullopt) << "it means none";
  EXPECT_EQ(fixed(1, std::numeric_limits<std::int64_t>::max(), -9), std::nullopt);
  EXPECT_EQ(fixed(1, std::numeric_limits<std::int64_t>::min(), -9), std::nullopt);
}

/// The names and values of a list, as event.md has them.
std::set<std::string> rows_of(const std::string& page, const std::string& heading) {
  std::set<std::string> rows;
  std::istringstream in(page.substr(page.find("## " + heading)));
  std::string line;
  std::getline(in, line);
  for (const std::regex row("\\| (\\d+) \\| `([a-z_]+)` \\|.*"); std::getline(in, line) && !line.starts_with("## ");) {
    std::smatch match;
    if (std::regex_match(line, match, row)) rows.insert(match[1].str() + " " + match[2].str());
  }
  return rows;
}

TEST(Page, lists_what_there_is) {
  const std::string page = stopbit::testing::file_text(STOPBIT_SOURCE_FOLDER "/host/market/event/event.md");
  std::set<std::string> kinds;
#define STOPBIT_EVENT_KIND(enumerator, value, name, what) kinds.insert(std::to_string(value) + " " + name);
#include "host/market/event/kinds.def"
#undef STOPBIT_EVENT_KIND
  EXPECT_EQ(rows_of(page, "Kinds"), kinds);
  std::set<std::string> statistics;
#define STOPBIT_STATISTIC(enumerator, value, name, what) statistics.insert(std::to_string(value) + " " + name);
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
  EXPECT_EQ(rows_of(page, "Statistics"), statistics);
  std::set<std::string> causes;
#define STOPBIT_EVENT_CAUSE(enumerator, value, name, what) causes.insert(std::to_string(value) + " " + name);
#include "host/market/event/causes.def"
#undef STOPBIT_EVENT_CAUSE
  EXPECT_EQ(rows_of(page, "Causes"), causes);
  std::set<std::string> states;
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) states.insert(std::to_string(value) + " " + name);
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
  EXPECT_EQ(rows_of(page, "States"), states);
}

}  // namespace stopbit::market::event_test
