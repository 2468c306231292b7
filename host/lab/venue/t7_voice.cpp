// T7: EMDI with snapshots on a group of their own, and MDI with snapshots between the increments. Prices by position;
// no number per instrument, but MsgSeqNum of all messages of a product, whatever they say; PacketSeqNum of the packets
// of a group. A snapshot is a message and has LastMsgSeqNumProcessed, the product's number at its time. After a
// fail-over another SenderCompID speaks, and all numbers begin anew.

#include <algorithm>
#include <array>

#include "host/lab/venue/fields.hpp"
#include "host/lab/venue/level_changes.hpp"
#include "host/lab/venue/voice.hpp"
#include "microcode/base/hex.hpp"
#include "t7_xml.hpp"

namespace stopbit::venue {
namespace {

// Places in the lists of the manual.
constexpr std::uint64_t kTrade = 2;
constexpr std::uint64_t kEmptyBook = 3;
constexpr std::uint64_t kMandatoryRefresh = 0;
constexpr std::uint64_t kOptionalRefresh = 1;
constexpr std::uint64_t kFuturesSpread = 4;
constexpr std::uint64_t kSimpleInstrument = 0;

constexpr std::array kEmdiStreams = {StreamPlan{simulate::Role::Incremental, "EMDI", "t7"},
                                     StreamPlan{simulate::Role::Snapshot, "EMDS", "t7"}};
constexpr std::array kMdiStreams = {StreamPlan{simulate::Role::Incremental, "MDI", "t7"}};

std::uint64_t t7_session(Phase phase) noexcept {
  switch (phase) {
    case Phase::Halted: return 0;
    case Phase::Open: return 1;
    case Phase::Closed: return 2;
    case Phase::PreOpen: break;
  }
  return 3;
}
/// SecurityTradingStatus: TradingHalt, Closed, Restricted, Book, Continuous, ..., PreCall
std::uint64_t t7_trading(Phase phase) noexcept {
  switch (phase) {
    case Phase::Halted: return 0;
    case Phase::Open: return 4;
    case Phase::Closed: return 1;
    case Phase::PreOpen: break;
  }
  return 15;
}

class T7Voice final : public Voice {
 public:
  T7Voice(Floor& floor, Post& post, const MarketSettings& settings)
      : Voice(floor, post, settings), is_mdi_(settings.exchange == simulate::VenueKind::T7Mdi) {}

  std::span<const StreamPlan> streams() const override {
    return is_mdi_ ? std::span<const StreamPlan>(kMdiStreams) : std::span<const StreamPlan>(kEmdiStreams);
  }
  std::string_view templates_name() const override { return "t7.xml"; }
  std::string_view templates() const override { return k_t7_xml; }
  std::string_view map() const override { return is_mdi_ ? "t7-mdi" : "t7-emdi"; }
  std::string key(const Instrument& instrument) const override {
    return std::to_string(floor_.products[instrument.product].id) + '/' + std::to_string(instrument.id);
  }
  std::size_t depth() const override { return settings_.depth; }
  std::uint64_t number(const Instrument& instrument) const override {
    return floor_.products[instrument.product].messages;
  }

  void begin_packet(std::size_t stream, std::vector<std::string>& messages) const override {
    std::string number;
    std::string time;
    append_hex(number, post_.next(stream) & 0xFFFF'FFFF, 8);
    append_hex(time, floor_.time_ns, 16);
    Fields header;
    if (!is_mdi_) header.number("PartitionID", 1);
    header.number("SenderCompID", floor_.sender).text("PacketSeqNum", number).text("SendingTime", time);
    if (!is_mdi_) header.text("PerformanceIndicator", "00000000");
    messages.push_back(header.message(is_mdi_ ? "MDPacketHeader" : "EMDPacketHeader"));
    messages.emplace_back(R"({"id":120,"fields":{}})");
  }

  void act(Instrument& instrument, const Deed& deed) override {
    instrument.has_changed = true;
    for (const Deed::Fill& fill : deed.fills) {
      entries_.push_back(Fields()
                             .number("MDUpdateAction", 0)
                             .number("MDEntryType", kTrade)
                             .number("SecurityID", instrument.id)
                             .price("MDEntryPx", fill.price)
                             .number("MDEntrySize", fill.size)
                             .number("MDEntryID", ++trades_)
                             .number("AggressorSide", deed.side == Side::Bid ? 1 : 0));
    }
    if (deed.kind == Deed::Kind::Clear) {
      apply(deed, instrument.book);
      entries_.push_back(
          Fields().number("MDUpdateAction", 0).number("MDEntryType", kEmptyBook).number("SecurityID", instrument.id));
      return;
    }
    std::vector<Level> before = instrument.book.levels(deed.side, settings_.depth);
    apply(deed, instrument.book);
    for (const LevelChange& change :
         level_changes(deed.side, std::move(before), instrument.book.levels(deed.side, settings_.depth),
                       settings_.depth, {.has_ranges = true, .has_overlay = true})) {
      Fields entry = Fields()
                         .number("MDUpdateAction", static_cast<std::uint64_t>(change.action))
                         .number("MDEntryType", static_cast<std::uint64_t>(deed.side))
                         .number("SecurityID", instrument.id);
      using Action = LevelChange::Action;
      if (change.action != Action::DeleteThru && change.action != Action::DeleteFrom) {
        entry.price("MDEntryPx", change.level.price);
      }
      if (change.action == Action::New || change.action == Action::Change || change.action == Action::Overlay) {
        entry.number("MDEntrySize", change.level.size).number("NumberOfOrders", change.level.orders);
      }
      entries_.push_back(entry.number("MDPriceLevel", change.position));
    }
  }
  void end_product(std::size_t product) override {
    if (entries_.empty()) return;
    messages_.push_back(begin_message(product).entries("MDIncGrp", entries_).message("DepthIncremental"));
    entries_.clear();
  }
  void end_update() override {
    if (!messages_.empty()) post_.post(kIncrements, messages_);
    messages_.clear();
  }

  /// The product's state, and then that of its instruments, the first of which is excepted and follows.
  void say_phase() override {
    for (std::size_t product = 0; product < floor_.products.size(); ++product) {
      messages_.push_back(begin_message(product)
                              .number("TradingSessionSubID", floor_.phase == Phase::Open ? 1 : 0)
                              .number("TradSesStatus", t7_session(floor_.phase))
                              .message("ProductStateChange"));
      const auto first = std::find_if(floor_.instruments.begin(), floor_.instruments.end(),
                                      [product](const Instrument& one) { return one.product == product; });
      std::vector<Fields> except;
      if (first != floor_.instruments.end()) {
        except.push_back(Fields()
                             .number("SecurityID", first->id)
                             .number("SecurityStatus", 0)
                             .number("SecurityTradingStatus", t7_trading(floor_.phase)));
      }
      messages_.push_back(begin_message(product)
                              .number("InstrumentScopeProductComplex", kSimpleInstrument)
                              .number("SecurityMassTradingStatus", t7_trading(floor_.phase))
                              .entries("SecMassStatGrp", except)
                              .message("MassInstrumentStateChange"));
      end_update();
    }
  }
  void say_other(Instrument& instrument) override {
    switch (++others_ % 3) {
      case 0:
        messages_.push_back(
            begin_message(instrument.product).number("SecurityID", instrument.id).message("QuoteRequest"));
        break;
      case 1:
        messages_.push_back(begin_message(instrument.product)
                                .number("SecurityID", instrument.id)
                                .number("SecurityStatus", 0)
                                .number("SecurityTradingStatus", t7_trading(floor_.phase))
                                .message("InstrumentStateChange"));
        break;
      default: {
        // The product of a new spread is not at the top of the message.
        Product& product = floor_.products[instrument.product];
        messages_.push_back(Fields()
                                .number("MsgSeqNum", ++product.messages)
                                .number("SenderCompID", floor_.sender)
                                .number("SecurityID", 900'000 + others_)
                                .number("ProductComplex", kFuturesSpread)
                                .text("SecurityDesc", "SPREAD " + std::to_string(others_))
                                .entries("MarketSegmentGrp", {Fields().number("MarketSegmentID", product.id)})
                                .message("ComplexInstrumentUpdate"));
        break;
      }
    }
    end_update();
  }

  std::size_t snapshots_at_once() const override { return 4; }
  void say_snapshots(std::span<Instrument> instruments, bool /*begins*/, bool /*ends*/) override {
    std::vector<std::string> messages;
    for (const Instrument& instrument : instruments) {
      const Product& product = floor_.products[instrument.product];
      Fields message = Fields()
                           .number("SenderCompID", floor_.sender)
                           .number("LastMsgSeqNumProcessed", product.messages)
                           .number("MarketSegmentID", product.id)
                           .number("SecurityID", instrument.id)
                           .number("SecurityStatus", 0);
      if (is_mdi_) {
        message.number("RefreshIndicator", ++pictures_ % 8 == 0 ? kMandatoryRefresh : kOptionalRefresh);
      }
      messages.push_back(message.entries("MDSshGrp", picture(instrument)).message("DepthSnapshot"));
    }
    post_.post(is_mdi_ ? kIncrements : 1, messages);
  }

  void say_alive(std::size_t stream) override {
    if (stream != kIncrements) return;
    for (const Product& product : floor_.products) {
      messages_.push_back(Fields()
                              .number("SenderCompID", floor_.sender)
                              .number("SenderSubID", product.id)
                              .number("LastMsgSeqNumProcessed", product.messages)
                              .message("Beacon"));
    }
    end_update();
  }

  bool can_reset(bool /*empties_books*/) const override { return false; }
  void reset(bool /*empties_books*/) override {}
  bool can_fail_over() const override { return true; }
  void fail_over() override {
    ++floor_.sender;
    for (Product& product : floor_.products) product.messages = 0;
    for (std::size_t stream = 0; stream < streams().size(); ++stream) post_.restart(stream);
  }

 private:
  Fields begin_message(std::size_t index) {
    Product& product = floor_.products[index];
    return Fields()
        .number("MsgSeqNum", ++product.messages)
        .number("SenderCompID", floor_.sender)
        .number("MarketSegmentID", product.id);
  }
  /// The levels; the trading state rides on the last entry.
  std::vector<Fields> picture(const Instrument& instrument) const {
    std::vector<Fields> entries;
    for (const Side side : kSides) {
      std::uint64_t position = 0;
      for (const Level& level : instrument.book.levels(side, settings_.depth)) {
        entries.push_back(Fields()
                              .number("MDEntryType", static_cast<std::uint64_t>(side))
                              .price("MDEntryPx", level.price)
                              .number("MDEntrySize", level.size)
                              .number("NumberOfOrders", level.orders)
                              .number("MDPriceLevel", ++position));
      }
    }
    if (entries.empty()) entries.push_back(Fields().number("MDEntryType", kEmptyBook));
    entries.back().number("SecurityTradingStatus", t7_trading(floor_.phase));
    return entries;
  }

  bool is_mdi_;
  std::vector<Fields> entries_;
  std::vector<std::string> messages_;
  std::uint64_t trades_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t pictures_ = 0;
};

}  // namespace

std::unique_ptr<Voice> make_t7_voice(Floor& floor, Post& post, const MarketSettings& settings) {
  return std::make_unique<T7Voice>(floor, post, settings);
}

}  // namespace stopbit::venue
