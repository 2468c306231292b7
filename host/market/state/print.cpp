#include "host/market/state/print.hpp"

#include "decoder/record/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/instrument/table.hpp"

namespace stopbit::market::state {
namespace {

/// Members of an object that has begun.
class Members {
 public:
  explicit Members(std::string& out) noexcept : out_(out) {}

  void number(std::string_view key, std::uint64_t value) {
    begin(key);
    record::append_unsigned(out_, value);
  }
  /// Of which nothing needs an escape. Empty: left out.
  void word(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    begin(key);
    out_.append("\"").append(value).append("\"");
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    record::append_json_string(out_, value, false);
  }
  void price(std::string_view key, std::int64_t value) {
    std::string text;
    append_price(value, text);
    word(key, text);
  }
  void quantity(std::string_view key, std::int64_t value, std::uint32_t decimals) {
    std::string text;
    if (value != kNoQuantity) append_fixed(value, decimals, text);
    word(key, text);
  }
  /// How many rows of a side are known.
  void known(std::string_view key, std::uint8_t to) {
    if (to == kWhole) return word(key, "all");
    number(key, to);
  }

 private:
  void begin(std::string_view key) {
    out_.append(is_first_ ? "\"" : ",\"").append(key).append("\":");
    is_first_ = false;
  }

  std::string& out_;
  bool is_first_ = true;
};

}  // namespace

void append_json(std::uint32_t row, const Picture& picture, std::uint32_t quantity_decimals, std::string_view cause,
                 std::string& out) {
  const Top& top = picture.top;
  const DayView& day = picture.day;
  const Standing standing = cause.empty() ? top.standing : Standing::Stale;
  out += '{';
  Members members(out);
  members.number("row", row);
  members.text("instrument", key_of(picture.instrument));
  if (picture.instrument.name_bytes != 0) members.text("name", instrument_name(picture.instrument));
  members.word("trading", name_of(top.state));
  members.word("book", name_of(standing));
  if (standing != Standing::Latest) members.word("cause", cause.empty() ? name_of(top.cause) : cause);
  members.price("bid", top.bid);
  members.quantity("bid_quantity", top.bid_quantity, quantity_decimals);
  members.price("ask", top.ask);
  members.quantity("ask_quantity", top.ask_quantity, quantity_decimals);
  members.known("bids_known", top.bid_known);
  members.known("asks_known", top.ask_known);
  members.number("channel", top.channel);
  members.number("sequence", top.sequence);
  members.number("time", top.arrival_ns);
  members.price("last", day.last);
  members.quantity("last_quantity", day.last_quantity, quantity_decimals);
  if (day.last_ns != 0) members.number("last_time", day.last_ns);
  if (day.aggressor != Side::None) members.word("aggressor", name_of(day.aggressor));
  members.price("high", day.high);
  members.price("low", day.low);
  members.quantity("volume", day.volume, quantity_decimals);
  if (day.exchange_state != 0) {
    members.number("code", day.exchange_state);
    members.number("scale", day.scale);
  }
  out += '}';
}

}  // namespace stopbit::market::state
