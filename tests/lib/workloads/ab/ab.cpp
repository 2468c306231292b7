#include "tests/lib/workloads/ab/ab.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/feed/packet/byte_order.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/workloads/feed_writer.hpp"
#include "tests/lib/workloads/json_line.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kSeed = 20'261'123;
constexpr std::uint32_t kDatagrams = 12'000;
constexpr std::size_t kInstruments = 64;
constexpr std::uint64_t kStartNs = 1'800'000'000'000'000'000;
constexpr std::uint32_t kPreambleBytes = 5;  ///< Sequence number and sub-channel, as framing cme has them.

/// What a line does to datagrams, per ten thousand.
struct Line {
  record::SourceLine name;
  std::uint64_t lost;
  std::uint64_t duplicated;
  std::uint64_t late;
  std::uint64_t behind_ns;  ///< Greatest delay relative to the other line.
};
constexpr std::uint16_t kLineA = 0;
constexpr std::uint16_t kLineB = 1;
constexpr std::array<Line, 2> kLines = {
    {{record::SourceLine::LineA, 30, 10, 40, 0}, {record::SourceLine::LineB, 60, 10, 60, 20'000}}};
constexpr std::uint64_t kLateNs = 150'000;  ///< Enough to be overtaken.

struct Instrument {
  std::uint32_t id = 0;
  std::uint32_t reports = 0;
  std::int64_t price = 0;
  std::uint32_t volume = 0;
};

/// Order books of instruments of which a few are far busier than the others.
class Market {
 public:
  explicit Market(cases::Random& random) : random_(random) {
    for (std::size_t i = 0; i < kInstruments; ++i) {
      instruments_[i] = {static_cast<std::uint32_t>(100'000 + 37 * i), 0,
                         static_cast<std::int64_t>(1'000 + random_.below(500'000)), 0};
    }
  }

  std::string_view message(std::uint32_t sequence, std::uint64_t now_ns) {
    const std::uint64_t draw = random_.below(100);
    const bool is_trade = draw < 15;
    const bool is_update = draw < 98;
    line_.begin(is_trade ? "Trade" : is_update ? "Incremental" : "Heartbeat", is_trade ? 31 : is_update ? 30 : 32);
    line_.text("MsgType", is_trade ? "AE" : is_update ? "X" : "0");
    line_.unsigned_number("MsgSeqNum", sequence);
    line_.unsigned_number("SendingTime", now_ns);
    if (is_trade) {
      trade();
    } else if (is_update) {
      update(now_ns);
    }
    return line_.end();
  }

 private:
  Instrument& instrument() { return instruments_[random_.below(1 + random_.below(kInstruments))]; }

  void trade() {
    Instrument& of = instrument();
    const std::uint64_t size = 1 + random_.below(random_.chance(80) ? 20 : 5'000);
    of.volume += static_cast<std::uint32_t>(size);
    line_.unsigned_number("SecurityID", of.id);
    line_.unsigned_number("RptSeq", ++of.reports);
    line_.decimal("LastPrice", of.price, -2);
    line_.unsigned_number("LastSize", size);
    line_.text("Aggressor", random_.chance(45)   ? std::optional<std::string_view>("B")
                            : random_.chance(90) ? std::optional<std::string_view>("S")
                                                 : std::nullopt);
    const std::string trade_id = "T" + std::to_string(1'000'000 + random_.below(9'000'000));
    line_.text("TradeID", trade_id);
    if (random_.chance(70)) line_.unsigned_number("Volume", of.volume);
  }

  void update(std::uint64_t now_ns) {
    Instrument* of = &instrument();
    line_.begin_sequence("Entries");
    for (std::uint64_t left = 1 + (random_.chance(55) ? 0 : random_.below(6)); left > 0; --left) {
      if (random_.chance(15)) of = &instrument();
      of->price = std::max<std::int64_t>(1, of->price + static_cast<std::int64_t>(random_.below(11)) - 5);
      const std::uint64_t action = random_.chance(60) ? 1 : random_.below(3);
      line_.begin_element();
      line_.unsigned_number("Action", action);
      line_.text("Side", random_.chance(50) ? "0" : "1");
      line_.unsigned_number("SecurityID", of->id);
      line_.unsigned_number("RptSeq", ++of->reports);
      line_.unsigned_number("Level", 1 + random_.below(10));
      line_.decimal("Price", of->price, -2);
      if (action != 2) {
        line_.unsigned_number("Size", 1 + random_.below(random_.chance(70) ? 60 : 9'000));
        line_.unsigned_number("Orders", 1 + random_.below(40));
      }
      line_.unsigned_number("EntryTime", now_ns / 1'000'000 % 86'400'000);
      line_.end_element();
    }
    line_.end_sequence();
  }

  cases::Random& random_;
  JsonLine line_;
  std::array<Instrument, kInstruments> instruments_;
};

struct Arrival {
  std::uint64_t time_ns = 0;
  std::uint32_t sequence = 0;
  std::uint16_t line = 0;
};

void add_preamble(FeedWriter::Datagram& datagram, std::uint32_t sequence) {
  std::array<std::byte, kPreambleBytes> preamble{};
  net::store_be(preamble.data(), sequence);
  datagram.bytes.insert(datagram.bytes.begin(), preamble.begin(), preamble.end());
}

}  // namespace

Result<std::unique_ptr<Workload>> make_ab() {
  FeedWriter feed("ab", compile_file(STOPBIT_WORKLOADS_FOLDER "/ab/templates.xml"));
  cases::Random random(kSeed);
  Market market(random);
  std::vector<FeedWriter::Datagram> datagrams;
  std::vector<Arrival> arrivals;
  std::uint64_t now_ns = kStartNs;
  for (std::uint32_t sequence = 1; sequence <= kDatagrams; ++sequence) {
    now_ns += random.chance(70) ? random.below(4'000) : random.below(2'000'000);
    feed.add(market.message(sequence, now_ns));
    if (random.chance(10)) feed.add(market.message(sequence, now_ns));
    datagrams.push_back(feed.take());
    add_preamble(datagrams.back(), sequence);

    for (const std::uint16_t line : {kLineA, kLineB}) {
      const Line& of = kLines[line];
      const auto happens = [&](std::uint64_t per_ten_thousand) { return random.below(10'000) < per_ten_thousand; };
      if (happens(of.lost)) continue;
      const std::uint64_t time_ns = now_ns + (of.behind_ns != 0 ? random.below(of.behind_ns) : 0);
      arrivals.push_back({time_ns + (happens(of.late) ? kLateNs : 0), sequence, line});
      if (happens(of.duplicated)) arrivals.push_back({time_ns + 1'000, sequence, line});
    }
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.time_ns < b.time_ns; });
  for (const Arrival& arrival : arrivals) {
    feed.arrive(datagrams[arrival.sequence - 1], {.arrival_ns = arrival.time_ns,
                                                  .sequence = arrival.sequence,
                                                  .data_offset = kPreambleBytes,
                                                  .channel = arrival.line,
                                                  .source = kLines[arrival.line].name});
  }
  return feed.finish();
}

}  // namespace stopbit::bench
