// Trades of each symbol: reads the sample feed's records from a ring in shared memory.
//
//   trades RING      as given to `stopbit replay ... --ring RING`

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include "host/ring/reader.hpp"
#include "sample.hpp"

namespace ring = stopbit::ring;

/// Called for each record: write such a function for every template of interest, and no others.
struct Trades {
  struct Sum {
    std::uint64_t trades = 0;
    std::uint64_t quantity = 0;
    double value = 0;
  };

  void operator()(const sample::Trade& trade) {
    Sum& sum = by_symbol[trade.Symbol().str()];
    ++sum.trades;
    sum.quantity += trade.LastSize();
    sum.value += trade.LastPrice().to_double() * trade.LastSize();
  }

  void operator()(const stopbit::record::EventView& event) {
    if (event.kind() == stopbit::record::EventKind::Gap) {
      std::fprintf(stderr, "%llu packets are missing, from number %llu on\n",
                   static_cast<unsigned long long>(event.missing()),
                   static_cast<unsigned long long>(event.first_missing()));
      return;
    }
    if (event.kind() != stopbit::record::EventKind::DecodeError) return;  // a reset, and the like
    std::fprintf(stderr, "packet %llu could not be decoded: %s\n",
                 static_cast<unsigned long long>(event.packet_number()),
                 std::string(stopbit::code_text(event.code())).c_str());
  }

  std::map<std::string, Sum> by_symbol;
};

int fail(const std::string& message) {
  std::fprintf(stderr, "trades: %s\n", message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage: trades RING");
  auto opened = ring::Reader::open(argv[1]);
  if (!opened) return fail(opened.message());
  ring::Reader& reader = opened.value();
  const auto feed = sample::Feed::open(reader);  // refuses the ring of another feed
  if (!feed) return fail(feed.message());

  Trades trades;
  for (bool has_ended = false;;) {
    switch (reader.poll_batch()) {  // a record alone, as early as possible: poll() and record()
      case ring::Poll::Record:
        for (const auto record : reader.records()) {
          if (feed.value().read(record, trades) != stopbit::record::ReadError::None) return fail("a damaged record");
        }
        continue;
      case ring::Poll::Lost:
        std::fprintf(stderr, "%llu records lost: this program is too slow for the ring\n",
                     static_cast<unsigned long long>(reader.lost_records()));
        continue;
      case ring::Poll::Damaged: return fail("the ring is damaged");
      case ring::Poll::Nothing: break;
    }
    // The last records may have come between this poll and the writer's end: once more after it.
    if (has_ended) break;
    has_ended = reader.writer() != ring::WriterState::Running;
    if (!has_ended) std::this_thread::sleep_for(std::chrono::microseconds(100));  // or spin
  }

  for (const auto& [symbol, sum] : trades.by_symbol) {
    std::printf("%-12s %6llu trades %10llu at %.4f\n", symbol.c_str(), static_cast<unsigned long long>(sum.trades),
                static_cast<unsigned long long>(sum.quantity), sum.value / static_cast<double>(sum.quantity));
  }
  return 0;
}
