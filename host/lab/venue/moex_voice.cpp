// MOEX ASTS, the order list: OLR, OLS, IDF. A feed of orders by identifier; RptSeq counts the entries of an instrument,
// (Symbol, TradingSessionID). Snapshots go round in a carousel whose numbers begin at 1 each time; a large one is in
// fragments from RouteFirst to LastFragment, and an instrument without entries today has one with RptSeq 0.

#include <algorithm>
#include <array>

#include "host/lab/simulate/stamp.hpp"
#include "host/lab/venue/fields.hpp"
#include "host/lab/venue/voice.hpp"
#include "moex_fx_xml.hpp"

namespace stopbit::venue {
namespace {

constexpr std::string_view kSession = "CETS";
constexpr std::size_t kMostEntries = 64;  ///< Of a message.
constexpr std::size_t kDefinitions = 2;
constexpr std::array kStreams = {StreamPlan{simulate::Role::Incremental, "OLR", "moex"},
                                 StreamPlan{simulate::Role::Carousel, "OLS", "moex"},
                                 StreamPlan{simulate::Role::Carousel, "IDF", "moex"}};

std::string_view entry_type(Side side) noexcept {
  return side == Side::Bid ? "0" : "1";
}
/// TradSesStatus
std::uint64_t session_status(Phase phase) noexcept {
  switch (phase) {
    case Phase::Open: return 2;
    case Phase::Halted: return 1;
    case Phase::PreOpen:
    case Phase::Closed: break;
  }
  return 3;
}
/// SecurityTradingStatus
std::uint64_t trading_status(Phase phase) noexcept {
  switch (phase) {
    case Phase::Open: return 17;
    case Phase::Halted: return 2;
    case Phase::PreOpen: return 118;
    case Phase::Closed: break;
  }
  return 18;
}

class MoexVoice final : public Voice {
 public:
  using Voice::Voice;

  std::span<const StreamPlan> streams() const override { return kStreams; }
  std::string_view templates_name() const override { return "moex_fx.xml"; }
  std::string_view templates() const override { return k_moex_fx_xml; }
  std::string_view map() const override { return "moex-asts-orders"; }

  std::string key(const Instrument& instrument) const override {
    return instrument.symbol + '/' + std::string(kSession);
  }

  void act(Instrument& instrument, const Deed& deed) override {
    if (entries_.size() + kMostDeleted > kMostEntries) end_update();
    const TrueBook before = instrument.book;
    apply(deed, instrument.book);
    const std::vector<Order>& orders = before.orders(deed.side);
    switch (deed.kind) {
      case Deed::Kind::Add: add(instrument, 0, deed.side, deed.order); break;
      case Deed::Kind::Resize: add(instrument, 1, deed.side, deed.order); break;
      case Deed::Kind::Move:
        remove(instrument, deed.side, orders[deed.place]);
        add(instrument, 0, deed.side, deed.order);
        break;
      case Deed::Kind::Remove:
        for (std::size_t i = 0; i < deed.count; ++i) remove(instrument, deed.side, orders[deed.place + i]);
        break;
      case Deed::Kind::Trade:
        for (const Deed::Fill& fill : deed.fills) {
          const Order left = {.id = fill.id, .price = fill.price, .size = fill.rest};
          fill.rest == 0 ? remove(instrument, deed.side, left) : add(instrument, 1, deed.side, left);
        }
        break;
      case Deed::Kind::Clear: entry(instrument, Fields().number("MDUpdateAction", 0).text("MDEntryType", "J")); break;
    }
  }

  void end_update() override {
    if (entries_.empty()) return;
    send(kIncrements, "X-OLR-CURR", begin_message(kIncrements).entries("GroupMDEntries", entries_));
    entries_.clear();
  }

  void say_phase() override {
    send(kIncrements, "h",
         begin_message(kIncrements)
             .number("TradSesStatus", session_status(floor_.phase))
             .text("TradingSessionID", kSession));
    for (const Instrument& instrument : floor_.instruments) say_status(instrument);
  }
  void say_other(Instrument& instrument) override { say_status(instrument); }

  void say_snapshots(std::span<Instrument> instruments, bool begins, bool /*ends*/) override {
    if (begins) post_.restart(kSnapshots);
    const Instrument& instrument = instruments.front();
    std::vector<Fields> entries;
    for (const Side side : kSides) {
      for (const Order& order : instrument.book.orders(side)) {
        entries.push_back(Fields()
                              .text("MDEntryType", entry_type(side))
                              .text("MDEntryID", std::to_string(order.id))
                              .price("MDEntryPx", order.price)
                              .number("MDEntrySize", order.size));
      }
    }
    if (entries.empty() && instrument.report != 0) entries.push_back(Fields().text("MDEntryType", "J"));
    const std::size_t fragments =
        std::max<std::size_t>(1, (entries.size() + settings_.fragment - 1) / settings_.fragment);
    for (std::size_t i = 0; i < fragments; ++i) {
      const std::size_t begin = i * settings_.fragment;
      const std::size_t end = std::min<std::size_t>(entries.size(), begin + settings_.fragment);
      Fields message = begin_message(kSnapshots);
      message.number("LastMsgSeqNumProcessed", instrument.report == 0 ? 0 : post_.next(kIncrements) - 1)
          .number("RptSeq", instrument.report)
          .number("TradSesStatus", session_status(floor_.phase))
          .text("TradingSessionID", kSession)
          .text("Symbol", instrument.symbol)
          .number("MDSecurityTradingStatus", trading_status(floor_.phase));
      if (i == 0) message.number("RouteFirst", 1);
      if (i + 1 == fragments) message.number("LastFragment", 1);
      message.entries("GroupMDEntries", {entries.begin() + static_cast<std::ptrdiff_t>(begin),
                                         entries.begin() + static_cast<std::ptrdiff_t>(end)});
      send(kSnapshots, "W-OLS-CURR", message);
    }
  }

  void say_definition(const Instrument& instrument, bool begins) override {
    if (begins) post_.restart(kDefinitions);
    const Fields board =
        Fields().text("TradingSessionID", kSession).number("SecurityTradingStatus", trading_status(floor_.phase));
    send(kDefinitions, "d",
         begin_message(kDefinitions)
             .number("TotNumReports", floor_.instruments.size())
             .text("Symbol", instrument.symbol)
             .price("MinPriceIncrement", 1)
             .entries("MarketSegmentGrp", {Fields().number("RoundLot", 1).entries("TradingSessionRulesGrp", {board})}));
  }

  void say_alive(std::size_t stream) override {
    if (stream == kIncrements) send(stream, "0", begin_message(stream));
  }

  bool can_reset(bool empties_books) const override { return !empties_books; }
  /// A new day: the numbers of all feeds and of all instruments begin anew without a word, and the books are empty.
  void reset(bool /*empties_books*/) override {
    for (std::size_t stream = 0; stream < kStreams.size(); ++stream) post_.restart(stream);
    (void)take_books();
  }
  /// A night, as short as can be: longer than feeds are waited for.
  std::uint64_t pause_ns() const override { return 3'000'000'000; }

 private:
  Fields begin_message(std::size_t stream) const {
    return Fields().number("MsgSeqNum", post_.next(stream)).number("SendingTime", simulate::stamp_us(floor_.time_ns));
  }
  void say_status(const Instrument& instrument) {
    send(kIncrements, "f",
         begin_message(kIncrements)
             .text("Symbol", instrument.symbol)
             .text("TradingSessionID", kSession)
             .number("SecurityTradingStatus", trading_status(floor_.phase)));
  }
  void entry(Instrument& instrument, Fields fields) {
    instrument.has_changed = true;
    entries_.push_back(fields.text("Symbol", instrument.symbol)
                           .number("RptSeq", ++instrument.report)
                           .text("TradingSessionID", kSession));
  }
  void add(Instrument& instrument, std::uint64_t action, Side side, const Order& order) {
    entry(instrument, Fields()
                          .number("MDUpdateAction", action)
                          .text("MDEntryType", entry_type(side))
                          .text("MDEntryID", std::to_string(order.id))
                          .price("MDEntryPx", order.price)
                          .number("MDEntrySize", order.size));
  }
  /// Without a size.
  void remove(Instrument& instrument, Side side, const Order& order) {
    entry(instrument, Fields()
                          .number("MDUpdateAction", 2)
                          .text("MDEntryType", entry_type(side))
                          .text("MDEntryID", std::to_string(order.id))
                          .price("MDEntryPx", order.price));
  }

  std::vector<Fields> entries_;
};

}  // namespace

std::unique_ptr<Voice> make_moex_voice(Floor& floor, Post& post, const MarketSettings& settings) {
  return std::make_unique<MoexVoice>(floor, post, settings);
}

}  // namespace stopbit::venue
