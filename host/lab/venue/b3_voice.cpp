// B3 UMDF, a channel of orders: an order is addressed by its position, 1 for the best; RptSeq counts the entries of an
// instrument, its trades among them. All chunks of a message share its number. The loop of snapshots ends with a
// SequenceReset, and leaves out instruments without entries, whose books are empty. A SequenceReset between the
// increments begins the numbers of messages anew; an empty-book entry without an instrument empties all books, which
// are then sent again with numbers that begin anew. Range deletions are those of both generations of the system.

#include <algorithm>
#include <array>

#include "host/lab/simulate/stamp.hpp"
#include "host/lab/venue/fields.hpp"
#include "host/lab/venue/voice.hpp"
#include "venue_b3_xml.hpp"

namespace stopbit::venue {
namespace {

constexpr std::string_view kGroup = "G1";
constexpr std::array kB3Streams = {StreamPlan{simulate::Role::Incremental, "INC", "b3"},
                                   StreamPlan{simulate::Role::Carousel, "SNAP", "b3"},
                                   StreamPlan{simulate::Role::Carousel, "SEC", "b3"}};
constexpr std::size_t kSecurities = 2;

enum class Update : std::uint8_t { New = 0, Change = 1, Delete = 2, DeleteThru = 3, DeleteFrom = 4 };

std::uint64_t status_code(Phase phase) noexcept {
  switch (phase) {
    case Phase::Open: return 17;
    case Phase::Halted: return 2;
    case Phase::PreOpen: return 21;
    case Phase::Closed: break;
  }
  return 4;
}

class B3Voice final : public Voice {
 public:
  using Voice::Voice;

  std::span<const StreamPlan> streams() const override { return kB3Streams; }
  std::string_view templates_name() const override { return "b3.xml"; }
  std::string_view templates() const override { return k_venue_b3_xml; }
  std::string_view map() const override { return "b3-umdf"; }
  std::size_t max_payload() const override { return 400; }  // so that there are chunks

  void act(Instrument& instrument, const Deed& deed) override {
    const std::vector<Order> orders = instrument.book.orders(deed.side);
    apply(deed, instrument.book);
    switch (deed.kind) {
      case Deed::Kind::Add: put(instrument, Update::New, deed.side, deed.place, deed.order); break;
      case Deed::Kind::Resize: put(instrument, Update::Change, deed.side, deed.place, deed.order); break;
      case Deed::Kind::Move:
        take(instrument, Update::Delete, deed.side, deed.place, orders[deed.place]);
        put(instrument, Update::New, deed.side, deed.to, deed.order);
        break;
      case Deed::Kind::Remove:
        if (deed.count > 1 && deed.count == orders.size()) {
          entry(instrument, Update::DeleteThru, deed.side).number("MDEntryPositionNo", 1);
          break;
        }
        for (std::size_t i = 0; i < deed.count; ++i) {
          take(instrument, Update::Delete, deed.side, deed.place, orders[deed.place + i]);
        }
        break;
      case Deed::Kind::Trade: trade(instrument, deed, orders); break;
      case Deed::Kind::Clear:
        instrument.has_changed = true;
        entries_.push_back(Fields()
                               .number("MDUpdateAction", 0)
                               .text("MDEntryType", "J")
                               .number("SecurityID", instrument.id)
                               .number("RptSeq", ++instrument.report));
        break;
    }
  }
  void end_update() override {
    if (entries_.empty()) return;
    send(kIncrements, "MDIncRefresh_210", begin_message(kIncrements).entries("MDEntries", entries_));
    entries_.clear();
  }

  void say_phase() override {
    send(kIncrements, "MDSecurityStatus_213",
         begin_message(kIncrements)
             .text("SecurityGroup", kGroup)
             .number("TradingSessionSubID", status_code(floor_.phase)));
  }
  void say_other(Instrument& instrument) override {
    send(kIncrements, "MDSecurityStatus_213",
         begin_message(kIncrements)
             .number("SecurityID", instrument.id)
             .text("SecurityGroup", kGroup)
             .number("SecurityTradingStatus", status_code(floor_.phase)));
  }

  void say_snapshots(std::span<Instrument> instruments, bool begins, bool ends) override {
    if (begins) post_.restart(kSnapshots);
    const Instrument& instrument = instruments.front();
    if (instrument.report != 0) {
      const auto is_active = [](const Instrument& one) { return one.report != 0; };
      send(kSnapshots, "MDSnapshotFullRefresh_211",
           begin_message(kSnapshots)
               .number("LastMsgSeqNumProcessed", post_.next(kIncrements) - 1)
               .number("TotNumReports", static_cast<std::uint64_t>(std::count_if(floor_.instruments.begin(),
                                                                                 floor_.instruments.end(), is_active)))
               .number("SecurityID", instrument.id)
               .number("RptSeq", instrument.report)
               .entries("MDEntries", picture(instrument)));
    }
    if (ends) send(kSnapshots, "MDSequenceReset", begin_message(kSnapshots).number("NewSeqNo", 1));
  }
  void say_definition(const Instrument& instrument, bool begins) override {
    if (begins) post_.restart(kSecurities);
    send(kSecurities, "MDSecurityList_212",
         begin_message(kSecurities)
             .number("TotNoRelatedSym", floor_.instruments.size())
             .entries("RelatedSym", {Fields()
                                         .text("SecurityUpdateAction", "A")
                                         .number("SecurityID", instrument.id)
                                         .text("Symbol", instrument.symbol)
                                         .text("SecurityGroup", kGroup)
                                         .price("MinPriceIncrement", 1)}));
  }
  void say_alive(std::size_t stream) override {
    if (stream == kIncrements) send(stream, "MDHeartbeat", begin_message(stream));
  }

  bool can_reset(bool /*empties_books*/) const override { return true; }
  void reset(bool empties_books) override {
    if (empties_books) return empty_all();
    send(kIncrements, "MDSequenceReset", begin_message(kIncrements).number("NewSeqNo", 1));
    post_.restart(kIncrements);
  }

 private:
  Fields begin_message(std::size_t stream) const {
    return Fields().number("MsgSeqNum", post_.next(stream)).number("SendingTime", simulate::stamp_ms(floor_.time_ns));
  }
  Fields& entry(Instrument& instrument, Update update, Side side) {
    instrument.has_changed = true;
    entries_.push_back(Fields()
                           .number("MDUpdateAction", static_cast<std::uint64_t>(update))
                           .text("MDEntryType", side == Side::Bid ? "0" : "1")
                           .number("SecurityID", instrument.id)
                           .number("RptSeq", ++instrument.report));
    return entries_.back();
  }
  void put(Instrument& instrument, Update update, Side side, std::size_t place, const Order& order) {
    entry(instrument, update, side)
        .price("MDEntryPx", order.price)
        .number("MDEntrySize", order.size)
        .number("MDEntryPositionNo", place + 1)
        .text("OrderID", std::to_string(order.id));
  }
  void take(Instrument& instrument, Update update, Side side, std::size_t place, const Order& order) {
    entry(instrument, update, side).number("MDEntryPositionNo", place + 1).text("OrderID", std::to_string(order.id));
  }
  /// Trades come first, then what they do to the book.
  void trade(Instrument& instrument, const Deed& deed, const std::vector<Order>& orders) {
    for (const Deed::Fill& fill : deed.fills) {
      instrument.has_changed = true;
      entries_.push_back(Fields()
                             .number("MDUpdateAction", 0)
                             .text("MDEntryType", "2")
                             .number("SecurityID", instrument.id)
                             .number("RptSeq", ++instrument.report)
                             .price("MDEntryPx", fill.price)
                             .number("MDEntrySize", fill.size)
                             .text("TradeID", std::to_string(++trades_)));
    }
    const std::uint64_t rest = deed.fills.back().rest;
    const std::size_t gone = deed.fills.size() - (rest != 0 ? 1 : 0);
    if (gone >= 2) entry(instrument, Update::DeleteFrom, deed.side).number("MDEntryPositionNo", gone);
    if (gone == 1) take(instrument, Update::Delete, deed.side, 0, orders[0]);
    if (rest != 0) put(instrument, Update::Change, deed.side, 0, instrument.book.orders(deed.side).front());
  }
  std::vector<Fields> picture(const Instrument& instrument) const {
    std::vector<Fields> entries;
    for (const Side side : kSides) {
      std::uint64_t position = 0;
      for (const Order& order : instrument.book.orders(side)) {
        entries.push_back(Fields()
                              .text("MDEntryType", side == Side::Bid ? "0" : "1")
                              .price("MDEntryPx", order.price)
                              .number("MDEntrySize", order.size)
                              .number("MDEntryPositionNo", ++position)
                              .text("OrderID", std::to_string(order.id)));
      }
    }
    return entries;
  }
  /// All books are empty; then each comes again.
  void empty_all() {
    const std::vector<TrueBook> books = take_books();
    entries_.push_back(Fields().number("MDUpdateAction", 0).text("MDEntryType", "J"));
    end_update();
    for (std::size_t i = 0; i < books.size(); ++i) {
      Instrument& instrument = floor_.instruments[i];
      if (books[i].is_empty()) continue;
      act(instrument, Deed());
      instrument.book = books[i];
      for (const Side side : kSides) {
        for (std::size_t place = 0; place < books[i].orders(side).size(); ++place) {
          put(instrument, Update::New, side, place, books[i].orders(side)[place]);
          entries_.back().text("QuoteCondition", "R");
        }
      }
      end_update();
    }
  }

  std::vector<Fields> entries_;
  std::uint64_t trades_ = 0;
};

}  // namespace

std::unique_ptr<Voice> make_b3_voice(Floor& floor, Post& post, const MarketSettings& settings) {
  return std::make_unique<B3Voice>(floor, post, settings);
}

}  // namespace stopbit::venue
