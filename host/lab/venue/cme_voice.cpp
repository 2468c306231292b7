// CME's MDP before 2015: prices by position, to a depth that definitions say; RptSeq counts every entry of an
// instrument, trades and statistics among them. Of an event trades come first. The loop of snapshots has those that
// had an entry. An empty-book entry without an instrument empties all books and begins RptSeq anew; then each
// instrument has one of its own, and its levels. The numbers of messages begin anew with a new week, without a word.

#include <algorithm>
#include <array>

#include "host/lab/simulate/stamp.hpp"
#include "host/lab/venue/fields.hpp"
#include "host/lab/venue/level_changes.hpp"
#include "host/lab/venue/voice.hpp"
#include "venue_cme_xml.hpp"

namespace stopbit::venue {
namespace {

constexpr std::string_view kSecurityGroup = "ES";
constexpr std::array kCmeStreams = {StreamPlan{simulate::Role::Incremental, "INC", "cme"},
                                    StreamPlan{simulate::Role::Carousel, "SNAP", "cme"},
                                    StreamPlan{simulate::Role::Carousel, "DEF", "cme"}};
constexpr std::size_t kInstrumentReplay = 2;

std::uint64_t security_status(Phase phase) noexcept {
  switch (phase) {
    case Phase::Open: return 17;
    case Phase::Halted: return 2;
    case Phase::PreOpen: return 21;
    case Phase::Closed: break;
  }
  return 18;
}

class CmeVoice final : public Voice {
 public:
  using Voice::Voice;

  std::span<const StreamPlan> streams() const override { return kCmeStreams; }
  std::string_view templates_name() const override { return "cme.xml"; }
  std::string_view templates() const override { return k_venue_cme_xml; }
  std::string_view map() const override { return "cme-mdp2"; }
  std::size_t depth() const override { return settings_.depth; }

  void act(Instrument& instrument, const Deed& deed) override {
    for (const Deed::Fill& fill : deed.fills) {
      entry(instrument, 0, "2")
          .price("MDEntryPx", fill.price)
          .number("MDEntrySize", fill.size)
          .text("TradeID", std::to_string(++trades_))
          .number("AggressorSide", deed.side == Side::Bid ? 2 : 1);
      instrument.volume += fill.size;
    }
    if (!deed.fills.empty()) entry(instrument, 0, "B").number("MDEntrySize", instrument.volume);
    if (deed.kind == Deed::Kind::Clear) {
      apply(deed, instrument.book);
      (void)entry(instrument, 0, "J");
      return;
    }
    std::vector<Level> before = instrument.book.levels(deed.side, settings_.depth);
    apply(deed, instrument.book);
    for (const LevelChange& change : level_changes(
             deed.side, std::move(before), instrument.book.levels(deed.side, settings_.depth), settings_.depth, {})) {
      level(instrument, change.action, deed.side, change.position, change.level);
    }
  }
  void end_update() override {
    if (entries_.empty()) return;
    send(kIncrements, "MDIncRefresh_310", begin_message(kIncrements).entries("MDEntries", entries_));
    entries_.clear();
  }

  void say_phase() override {
    send(kIncrements, "MDSecurityStatus_313",
         begin_message(kIncrements)
             .text("Symbol", kSecurityGroup)
             .number("SecurityTradingStatus", security_status(floor_.phase)));
  }
  void say_other(Instrument& instrument) override {
    if (++others_ % 2 == 0) {
      return send(kIncrements, "MDQuoteRequest_314",
                  begin_message(kIncrements).entries("RelatedSym", {Fields().number("SecurityID", instrument.id)}));
    }
    send(kIncrements, "MDSecurityStatus_313",
         begin_message(kIncrements)
             .number("SecurityID", instrument.id)
             .number("SecurityTradingStatus", security_status(floor_.phase)));
  }

  void say_snapshots(std::span<Instrument> instruments, bool begins, bool /*ends*/) override {
    if (begins) post_.restart(kSnapshots);
    const Instrument& instrument = instruments.front();
    if (instrument.report == 0) return;
    std::vector<Fields> entries;
    for (const Side side : kSides) {
      std::uint64_t position = 0;
      for (const Level& row : instrument.book.levels(side, settings_.depth)) {
        entries.push_back(Fields()
                              .number("MDPriceLevel", ++position)
                              .text("MDEntryType", side == Side::Bid ? "0" : "1")
                              .price("MDEntryPx", row.price)
                              .number("MDEntrySize", row.size)
                              .number("NumberOfOrders", row.orders));
      }
    }
    const auto is_active = [](const Instrument& one) { return one.report != 0; };
    send(kSnapshots, "MDSnapshotFullRefresh_311",
         begin_message(kSnapshots)
             .number("LastMsgSeqNumProcessed", post_.next(kIncrements) - 1)
             .number("TotNumReports", static_cast<std::uint64_t>(std::count_if(floor_.instruments.begin(),
                                                                               floor_.instruments.end(), is_active)))
             .number("RptSeq", instrument.report)
             .number("SecurityID", instrument.id)
             .number("MDSecurityTradingStatus", security_status(floor_.phase))
             .entries("MDEntries", entries));
  }
  void say_definition(const Instrument& instrument, bool begins) override {
    if (begins) post_.restart(kInstrumentReplay);
    send(kInstrumentReplay, "MDSecurityDefinition_312",
         begin_message(kInstrumentReplay)
             .number("TotNumReports", floor_.instruments.size())
             .text("SecurityGroup", kSecurityGroup)
             .text("SecurityDesc", instrument.symbol)
             .number("SecurityID", instrument.id)
             .price("MinPriceIncrement", 1)
             .entries("MDFeedTypes", {Fields().text("MDFeedType", "GBX").number("MarketDepth", settings_.depth)}));
  }
  void say_alive(std::size_t stream) override {
    if (stream == kIncrements) send(stream, "MDHeartbeat_315", begin_message(stream));
  }

  bool can_reset(bool /*empties_books*/) const override { return true; }
  void reset(bool empties_books) override {
    if (empties_books) return empty_all();
    for (std::size_t stream = 0; stream < kCmeStreams.size(); ++stream) post_.restart(stream);
    for (Instrument& instrument : floor_.instruments) {
      instrument.book.clear();
      instrument.report = 0;
      instrument.has_changed = true;
    }
  }
  std::uint64_t pause_ns() const override { return 3'000'000'000; }

 private:
  Fields begin_message(std::size_t stream) const {
    return Fields().number("MsgSeqNum", post_.next(stream)).number("SendingTime", simulate::stamp_ms(floor_.time_ns));
  }
  Fields& entry(Instrument& instrument, std::uint64_t action, std::string_view type) {
    instrument.has_changed = true;
    entries_.push_back(Fields()
                           .number("MDUpdateAction", action)
                           .text("MDEntryType", type)
                           .number("SecurityID", instrument.id)
                           .number("RptSeq", ++instrument.report));
    return entries_.back();
  }
  void level(Instrument& instrument, LevelChange::Action action, Side side, std::uint64_t position, const Level& row) {
    entry(instrument, static_cast<std::uint64_t>(action), side == Side::Bid ? "0" : "1")
        .number("MDPriceLevel", position)
        .price("MDEntryPx", row.price)
        .number("MDEntrySize", row.size)
        .number("NumberOfOrders", row.orders);
  }
  /// All books are empty; then each comes again.
  void empty_all() {
    const std::vector<TrueBook> books = take_books();
    entries_.push_back(Fields().number("MDUpdateAction", 0).text("MDEntryType", "J"));
    end_update();
    for (std::size_t i = 0; i < books.size(); ++i) {
      Instrument& instrument = floor_.instruments[i];
      if (books[i].is_empty()) continue;
      (void)entry(instrument, 0, "J");
      instrument.book = books[i];
      for (const Side side : kSides) {
        std::uint64_t position = 0;
        for (const Level& row : books[i].levels(side, settings_.depth)) {
          level(instrument, LevelChange::Action::New, side, ++position, row);
        }
      }
      end_update();
    }
  }

  std::vector<Fields> entries_;
  std::uint64_t trades_ = 0;
  std::uint64_t others_ = 0;
};

}  // namespace

std::unique_ptr<Voice> make_cme_voice(Floor& floor, Post& post, const MarketSettings& settings) {
  return std::make_unique<CmeVoice>(floor, post, settings);
}

}  // namespace stopbit::venue
