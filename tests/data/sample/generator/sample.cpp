#include "tests/data/sample/generator/sample.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "tests/data/sample/generator/fast_writer.hpp"
#include "tests/data/sample/generator/market.hpp"

namespace stopbit::sample {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kStartNs = 1'799'053'200'000'000'000;  // 2027-01-04 09:00:00 UTC, a Monday
constexpr std::uint32_t kTradeDate = 20270104;
constexpr std::uint32_t kUpdates = 10'400;  // datagrams of the continuous phase

constexpr std::uint32_t kHalted = 2;
constexpr std::uint32_t kOpen = 17;
constexpr std::uint32_t kClosed = 18;

/// A datagram of the feed, as published.
struct Published {
  std::uint64_t time_ns = 0;
  std::string payload;
  std::string json_lines;
  std::vector<std::string> templates;
};

/// Writes the messages of the feed.
class Publisher {
 public:
  explicit Publisher(Random& random) : random_(random), market_(open_market(random)) {}

  std::vector<Published> day() {
    datagram([&] { channel_reset(); });
    for (const Instrument& instrument : market_) datagram([&] { definition(instrument); });
    for (const Instrument& instrument : market_) datagram([&] { status(instrument, kOpen, std::nullopt); });
    for (const Instrument& instrument : market_) datagram([&] { snapshot(instrument); });
    for (std::uint32_t i = 0; i < kUpdates; ++i) {
      pass_time(random_.percent(70) ? random_.below(2 * kMillisecond) : random_.below(30 * kMillisecond));
      update(i);
    }
    for (const Instrument& instrument : market_) datagram([&] { status(instrument, kClosed, "end of day"); });
    return std::move(published_);
  }

 private:
  void pass_time(std::uint64_t ns) { now_ += ns; }

  /// One datagram: sequence number and sub-channel, then what `write` writes. The dictionary begins anew.
  template <class Write>
  void datagram(const Write& write) {
    pass_time(20'000 + random_.below(200'000));
    ++sequence_;
    fast_.reset();
    Published& datagram = published_.emplace_back();
    datagram.time_ns = now_;
    for (int shift = 24; shift >= 0; shift -= 8) datagram.payload += static_cast<char>(sequence_ >> shift & 0xFF);
    datagram.payload += '\x01';
    write();
  }

  /// The fields every message begins with.
  void begin(std::uint32_t id, std::string_view name, std::string_view type, bool resets = false) {
    name_ = name;
    fast_.begin_message(id, name, resets);
    fast_.constant("MsgType", type);
    fast_.copied("MsgSeqNum", sequence_);
    fast_.plain("SendingTime", now_);
  }

  void end() {
    Published& datagram = published_.back();
    datagram.payload += fast_.end_message();
    datagram.json_lines += fast_.json() + "\n";
    datagram.templates.push_back(name_);
  }

  /// What happens in the market next.
  void update(std::uint32_t number) {
    if (number % 400 == 399) return datagram([&] { heartbeat(); });
    if (number % 60 == 30) return datagram([&] { snapshot(market_[number / 60 % market_.size()]); });
    // Few instruments are busy, most are not.
    Instrument& instrument = market_[std::min(random_.below(market_.size()), random_.below(market_.size()))];
    if (number % 2'500 == 1'200) return datagram([&] { status(instrument, kHalted, "volatility interruption"); });
    if (number % 2'500 == 1'230) return datagram([&] { status(instrument, kOpen, std::nullopt); });
    if (random_.percent(15)) {
      const Execution execution = trade(instrument, random_);
      return datagram([&] {
        trade_report(instrument, execution);
        changes({{&instrument, execution.change}});
      });
    }
    std::vector<std::pair<const Instrument*, BookChange>> list;
    Instrument* at = &instrument;
    for (std::uint64_t count = 1 + random_.falling(7); count > 0; --count) {
      if (random_.percent(15)) at = &market_[random_.below(market_.size())];
      list.emplace_back(at, change_book(*at, random_));
    }
    datagram([&] { changes(list); });
  }

  void channel_reset() {
    begin(1, "ChannelReset", "4", true);
    fast_.plain("TradeDate", kTradeDate);
    end();
  }

  void heartbeat() {
    begin(2, "Heartbeat", "0");
    end();
  }

  void definition(const Instrument& instrument) {
    begin(10, "InstrumentDefinition", "d");
    fast_.plain("TotalInstruments", market_.size());
    fast_.plain("Symbol", instrument.symbol);
    fast_.plain("SecurityID", instrument.id);
    fast_.plain_unicode("Description", instrument.description);
    fast_.with_default("Currency", instrument.currency, "EUR");
    fast_.plain("TickSize", instrument.price(instrument.tick));
    fast_.with_default("LotSize", instrument.lot, 1);
    fast_.plain_optional("MaturityDate", instrument.maturity);
    fast_.begin_group("PriceLimits", instrument.limited);
    if (instrument.limited) {
      const auto [low, high] = std::minmax({instrument.opening * 9 / 10, instrument.opening * 11 / 10});
      fast_.delta("LowLimitPrice", instrument.price(low));
      fast_.delta("HighLimitPrice", instrument.price(high));
      fast_.with_default_optional(
          "LimitType", instrument.maturity ? std::optional<std::string_view>("dynamic") : "static", "static");
      fast_.end_group();
    }
    std::optional<std::uint32_t> legs;
    if (!instrument.legs.empty()) legs = static_cast<std::uint32_t>(instrument.legs.size());
    fast_.begin_optional_sequence("Legs", legs);
    for (const Leg& leg : instrument.legs) {
      fast_.begin_element();
      fast_.tail("LegSymbol", leg.symbol);
      fast_.copied_signed("LegRatio", leg.ratio, 1);
      fast_.end_element();
    }
    if (legs) fast_.end_sequence();
    end();
  }

  void status(const Instrument& instrument, std::uint32_t value, std::optional<std::string_view> reason) {
    begin(11, "InstrumentStatus", "f");
    fast_.plain("Symbol", instrument.symbol);
    fast_.with_default("TradingStatus", value, kOpen);
    fast_.plain_optional("Reason", reason);
    end();
  }

  void snapshot(const Instrument& instrument) {
    begin(20, "BookSnapshot", "W");
    fast_.plain("LastMsgSeqNumProcessed", sequence_ - 1);
    fast_.plain("Symbol", instrument.symbol);
    fast_.plain("RptSeq", instrument.rpt_seq);
    fast_.begin_sequence("Sides", 2);
    for (const Side side : {Side::Bid, Side::Offer}) {
      const auto& levels = instrument.sides[static_cast<int>(side)];
      fast_.begin_element();
      fast_.copied("Side", side_text(side));
      fast_.begin_sequence("Levels", static_cast<std::uint32_t>(levels.size()));
      for (const Level& level : levels) {
        fast_.begin_element();
        fast_.split_decimal("Price", instrument.price(level.price), -2);
        fast_.delta("Size", level.size);
        fast_.delta("Orders", level.orders);
        fast_.end_element();
      }
      fast_.end_sequence();
      fast_.end_element();
    }
    fast_.end_sequence();
    end();
  }

  void changes(const std::vector<std::pair<const Instrument*, BookChange>>& list) {
    begin(21, "BookUpdate", "X");
    fast_.begin_sequence("Entries", static_cast<std::uint32_t>(list.size()));
    for (const auto& [instrument, change] : list) {
      const bool deleted = change.action == Action::Delete;
      fast_.begin_element();
      fast_.copied("UpdateAction", static_cast<std::uint64_t>(change.action), 1);
      fast_.copied("Side", side_text(change.side), "B");
      fast_.copied("Symbol", instrument->symbol);
      fast_.incremented("RptSeq", change.rpt_seq);
      fast_.with_default_optional("Level", change.level, 1);
      fast_.split_decimal("Price", instrument->price(change.after.price), -2);
      fast_.delta_optional("Size", deleted ? std::nullopt : std::optional<std::uint64_t>(change.after.size));
      fast_.with_default_optional("Orders", deleted ? std::nullopt : std::optional<std::uint64_t>(change.after.orders),
                                  1);
      fast_.end_element();
    }
    fast_.end_sequence();
    end();
  }

  void trade_report(const Instrument& instrument, const Execution& execution) {
    begin(22, "Trade", "AE");
    fast_.copied("Symbol", instrument.symbol);
    fast_.plain("TradeID", 7'000'000'000'000 + ++trades_);
    fast_.split_decimal("LastPrice", instrument.price(execution.price), -2);
    fast_.plain("LastSize", execution.size);
    const bool auction = random_.percent(3);
    fast_.with_default_optional("AggressorSide", auction ? std::nullopt : std::optional(side_text(execution.aggressor)),
                                "B");
    fast_.plain_optional(
        "NetChange", execution.net_change == 0 ? std::nullopt : std::optional(instrument.price(execution.net_change)));
    end();
  }

  static std::string_view side_text(Side side) { return side == Side::Bid ? "B" : "S"; }

  Random& random_;
  std::vector<Instrument> market_;
  FastWriter fast_;
  std::string name_;
  std::uint64_t now_ = kStartNs;
  std::uint32_t sequence_ = 0;
  std::uint64_t trades_ = 0;
  std::vector<Published> published_;
};

// -------------------------------------------------------------------------------------------------- lines and capture

/// A frame of the capture.
struct Frame {
  std::uint64_t time_ns = 0;
  std::string bytes;
  const Published* datagram = nullptr;  ///< Null: other traffic.
  int line = 0;
};

template <class T>
std::string big_endian(T value) {
  std::string text;
  for (std::size_t i = sizeof(T); i > 0; --i)
    text += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * (i - 1) & 0xFF);
  return text;
}
std::string be16(std::uint64_t value) {
  return big_endian(static_cast<std::uint16_t>(value));
}
std::string be32(std::uint64_t value) {
  return big_endian(static_cast<std::uint32_t>(value));
}
std::string le16(std::uint64_t value) {
  return {static_cast<char>(value & 0xFF), static_cast<char>(value >> 8 & 0xFF)};
}
std::string le32(std::uint64_t value) {
  return le16(value) + le16(value >> 16);
}

struct Line {
  std::uint32_t source;  ///< IPv4 addresses.
  std::uint32_t group;
  std::uint16_t port;
  bool tagged;  ///< VLAN.
};
constexpr Line kLines[2] = {{0xC000020A, 0xEF140101, 20001, false}, {0xC000020B, 0xEF140201, 20002, true}};

constexpr std::size_t kMinFrame = 60;  ///< Shorter Ethernet frames are padded.

std::string padded(std::string frame) {
  if (frame.size() < kMinFrame) frame.resize(kMinFrame, '\0');
  return frame;
}

std::string ethernet_frame(const Line& line, const std::string& payload, std::uint16_t identification) {
  const std::string udp = be16(31000) + be16(line.port) + be16(8 + payload.size()) + be16(0) + payload;
  std::string ip = be16(0x4500) + be16(20 + udp.size()) + be16(identification) + be16(0x4000) + be16(0x1011) + be16(0) +
                   be32(line.source) + be32(line.group);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < ip.size(); i += 2) {
    sum += static_cast<std::uint32_t>(static_cast<unsigned char>(ip[i]) << 8 | static_cast<unsigned char>(ip[i + 1]));
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  ip.replace(10, 2, be16(~sum));
  const std::string destination = be16(0x0100) + be32(0x5E000000 | (line.group & 0x7FFFFF));
  const std::string source = be16(0x0200) + be32(line.source);
  return padded(destination + source + (line.tagged ? be16(0x8100) + be16(0x0064) : "") + be16(0x0800) + ip + udp);
}

/// Someone on the network asks for an address.
std::string arp_frame(std::uint32_t asker) {
  return padded(std::string(6, '\xFF') + be16(0x0200) + be32(asker) + be16(0x0806) + be16(1) + be16(0x0800) +
                be16(0x0604) + be16(1) + be16(0x0200) + be32(asker) + be32(asker) + std::string(6, '\0') +
                be32(0xC0000201));
}

/// Sends what was published on a line, with the accidents of a network.
void send(int number, const std::vector<Published>& published, const std::vector<bool>& lost_on_both, Random& random,
          std::vector<Frame>& frames, LineCounts& counts) {
  const Line& line = kLines[number];
  const std::uint64_t flight_ns = number == 0 ? 4'000 : 31'000;
  // The receiver of line B joins a little later: it misses the first packets.
  const std::size_t joined = number == 0 ? 0 : 8;
  for (std::size_t i = 0; i < published.size(); ++i) {
    const bool lost = i < joined || lost_on_both[i] || random.below(500) == 0;
    const bool late = random.below(400) == 0;
    const bool twice = random.below(700) == 0;
    const std::uint64_t jitter_ns = random.below(6'000);
    if (lost) {
      ++counts.lost;
      continue;
    }
    Frame frame;
    frame.datagram = &published[i];
    frame.line = number;
    frame.time_ns = published[i].time_ns + flight_ns + jitter_ns;
    // Late enough to arrive after its successor, or the one after.
    if (late && i + 2 < published.size()) frame.time_ns = published[i + 1 + i % 2].time_ns + flight_ns + 9'000;
    frame.bytes = ethernet_frame(line, published[i].payload, static_cast<std::uint16_t>(i + 1));
    if (twice) {
      frames.push_back(frame);
      frame.time_ns += 2'000 + jitter_ns;
      ++counts.duplicated;
    }
    frames.push_back(std::move(frame));
  }
}

void count_late(const std::vector<Frame>& frames, LineCounts (&counts)[2]) {
  const Published* latest[2] = {};
  for (const Frame& frame : frames) {
    if (frame.datagram == nullptr) continue;
    ++counts[frame.line].sent;
    if (frame.datagram < latest[frame.line]) ++counts[frame.line].late;
    latest[frame.line] = std::max(latest[frame.line], frame.datagram);
  }
}

}  // namespace

Sample make_sample(std::uint64_t seed) {
  Random random(seed);
  const std::vector<Published> published = Publisher(random).day();

  Sample sample;
  sample.sequences = published.size();
  std::vector<bool> lost_on_both(published.size());
  for (const std::size_t first : {2'111U, 5'555U, 8'080U}) {
    for (std::size_t i = 0; i < 1 + first % 4; ++i) lost_on_both[first + i] = true;
  }
  sample.lost_on_both = static_cast<std::uint64_t>(std::count(lost_on_both.begin(), lost_on_both.end(), true));

  std::vector<Frame> frames;
  for (const int line : {0, 1}) send(line, published, lost_on_both, random, frames, sample.lines[line]);
  for (std::uint64_t i = 0; i < 9; ++i) {
    const std::uint64_t span = published.back().time_ns - published.front().time_ns;
    frames.push_back({published.front().time_ns + span * (i + 1) / 10,
                      arp_frame(0xC0000220 + static_cast<std::uint32_t>(i % 3)), nullptr, 0});
    ++sample.other_packets;
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.time_ns < b.time_ns; });
  count_late(frames, sample.lines);

  sample.pcap = le32(0xA1B23C4D) + le16(2) + le16(4) + le32(0) + le32(0) + le32(65535) + le32(1);
  for (const Frame& frame : frames) {
    sample.pcap += le32(frame.time_ns / 1'000'000'000) + le32(frame.time_ns % 1'000'000'000) +
                   le32(frame.bytes.size()) + le32(frame.bytes.size()) + frame.bytes;
    if (frame.datagram == nullptr) continue;
    sample.json_lines += frame.datagram->json_lines;
    for (const std::string& name : frame.datagram->templates) ++sample.messages[name];
  }
  sample.packets = frames.size();
  return sample;
}

}  // namespace stopbit::sample
