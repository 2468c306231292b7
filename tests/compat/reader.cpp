// Reads a segment as a program of this release does, and prints what is in it. Kept as a binary of each release.
//
// usage: reader ring NAME | counters NAME | events NAME | instruments NAME | states NAME | near SOCKET RING RECORDS
// Exit 0: all was read. 1: refused, with the reason on stderr. 2: usage.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/json.hpp"
#include "host/market/event/print.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/state/reader.hpp"
#include "host/monitor/counters/reader.hpp"
#include "host/nic/node/client.hpp"
#include "host/os/clock.hpp"
#include "host/remote/subscriber.hpp"
#include "host/ring/reader.hpp"
#include "microcode/image/image.hpp"

namespace stopbit {
namespace {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;

int refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

/// Prints all records that are in the ring.
int print_records(ring::Reader& ring) {
  const Result<Program> program = image::read(ring.image());
  if (!program) return refuse(program.message());
  const Result<record::Schema> schema = record::Schema::make(program.value());
  if (!schema) return refuse(schema.message());
  record::JsonPrinter printer(schema.value());
  std::string out;
  for (ring::Poll poll = ring.poll(); poll != ring::Poll::Nothing; poll = ring.poll()) {
    if (poll != ring::Poll::Record) return refuse("the ring is damaged, or has lost records");
    if (printer.print(ring.record(), out) != record::ReadError::None) return refuse("a record cannot be printed");
  }
  std::printf("%s%llu records\n", out.c_str(), static_cast<unsigned long long>(ring.delivered()));
  return 0;
}

int read_ring(const char* name) {
  Result<ring::Reader> ring = ring::Reader::open(name);
  return ring ? print_records(ring.value()) : refuse(ring.message());
}

int read_counters(const char* name) {
  const Result<counters::Reader> opened = counters::Reader::open(name);
  if (!opened) return refuse(opened.message());
  const counters::Reader& reader = opened.value();
  for (const counters::Metric& metric : reader.metrics()) {
    std::printf("%s:", metric.name.family.c_str());
    for (const auto& [key, value] : metric.name.labels) std::printf(" %s=%s", key.c_str(), value.c_str());
    if (metric.kind == counters::Kind::Text) {
      std::printf(" '%s'\n", reader.text(metric).c_str());
    } else if (metric.kind == counters::Kind::Histogram) {
      std::printf(" %llu values\n", static_cast<unsigned long long>(reader.distribution(metric).count));
    } else if (metric.kind != counters::Kind::Errors) {
      std::printf(" %llu\n", static_cast<unsigned long long>(reader.value(metric)));
    }
  }
  return 0;
}

/// Prints the market events of a ring, and what they say to those who look into their words.
int read_events(const char* name) {
  Result<ring::Reader> opened = ring::Reader::open(name);
  if (!opened) return refuse(opened.message());
  ring::Reader& ring = opened.value();
  std::string out;
  std::uint64_t events = 0;
  for (ring::Poll poll = ring.poll(); poll != ring::Poll::Nothing; poll = ring.poll()) {
    if (poll != ring::Poll::Record) return refuse("the ring is damaged, or has lost records");
    if (!market::is_event(ring.record()[0])) return refuse("a record is no market event");
    const market::Event event = market::Event::from(ring.record()[0]);
    market::append_json(event, out, {.instrument = {}, .quantity_decimals = 2});
    market::append_csv(event, out);
    ++events;
  }
  std::printf("%s%llu events\n", out.c_str(), static_cast<unsigned long long>(events));
  return 0;
}

void print_text(const char* name, std::string_view text) {
  std::printf(" %s='%.*s'", name, static_cast<int>(text.size()), text.data());
}
template <class Number>
void print_number(const char* name, Number number) {
  std::printf(" %s=%lld", name, static_cast<long long>(number));
}

int read_instruments(const char* name) {
  const Result<market::InstrumentView> opened = market::InstrumentView::open(name);
  if (!opened) return refuse(opened.message());
  const market::InstrumentView& view = opened.value();
  print_text("map", view.map_name());
  print_number("generation", view.generation());
  print_number("decimals", view.quantity_decimals());
  print_number("refused", view.refused());
  for (std::uint32_t number = 1; number <= view.count(); ++number) {
    market::InstrumentRow row;
    if (!view.read(number, row)) return refuse("a row is unfinished");
    std::printf("\n%u:", number);
    print_text("key", market::key_of(row));
    print_text("name", market::instrument_name(row));
    print_text("product", market::product_of(row));
    print_number("flags", row.flags);
    print_number("channel", row.channel);
    print_number("tick", row.tick);
    print_number("depth", row.depth[0]);
    print_number("implied", row.depth[1]);
    print_number("book", row.book_kind[0]);
    print_number("state", row.state);
    print_number("code", row.state_code);
    print_number("scale", row.state_scale);
    print_number("session", row.session);
    print_number("first", row.first_number);
    print_number("first_ns", row.first_ns);
    print_number("definition_ns", row.definition_ns);
    print_number("definition_sequence", row.definition_sequence);
    print_number("definition_channel", row.definition_channel);
    print_number("complex", row.complex);
    print_number("found", view.find(market::key_of(row)));
    print_number("named", view.find_name(market::instrument_name(row)));
  }
  std::printf("\n%u instruments\n", view.count());
  return 0;
}

void print_levels(const char* side, std::span<const market::Row> rows) {
  for (const market::Row& row : rows) {
    std::printf(" %s:", side);
    print_number("price", row.price);
    print_number("quantity", row.quantity);
    print_number("orders", row.orders);
    print_number("known", row.is_known);
  }
}

int read_states(const char* name) {
  const Result<market::state::Reader> opened = market::state::Reader::open(name);
  if (!opened) return refuse(opened.message());
  const market::state::Reader& reader = opened.value();
  print_number("generation", reader.generation());
  print_number("levels", reader.levels());
  print_number("writer", static_cast<int>(reader.writer()));
  for (std::uint32_t row = 1; row <= reader.rows(); ++row) {
    market::state::Top top;
    market::state::DayView day;
    if (reader.read(row, top, day) != market::state::Read::Ok) return refuse("a row is unfinished");
    std::printf("\n%u:", row);
    print_number("sequence", top.sequence);
    print_number("channel", top.channel);
    print_number("arrival_ns", top.arrival_ns);
    print_number("bid", top.bid);
    print_number("bid_quantity", top.bid_quantity);
    print_number("ask", top.ask);
    print_number("ask_quantity", top.ask_quantity);
    print_text("state", market::name_of(top.state));
    print_text("standing", market::name_of(top.standing));
    print_text("cause", market::name_of(top.cause));
    print_number("bids_known", top.bid_known);
    print_number("asks_known", top.ask_known);
    print_number("last", day.last);
    print_number("last_quantity", day.last_quantity);
    print_number("last_ns", day.last_ns);
    print_text("aggressor", market::name_of(day.aggressor));
    print_number("high", day.high);
    print_number("low", day.low);
    print_number("volume", day.volume);
    print_number("code", day.exchange_state);
    print_number("scale", day.scale);
    std::array<market::Row, market::state::kMaxLevels> bids;
    std::array<market::Row, market::state::kMaxLevels> asks;
    market::state::Reader::Counts counts;
    if (reader.read_levels(row, bids, asks, counts) != market::state::Read::Ok) return refuse("levels are unfinished");
    print_levels("bid", std::span(bids).first(counts.bids));
    print_levels("ask", std::span(asks).first(counts.asks));
  }
  std::printf("\n%u states\n", reader.rows());
  return 0;
}

/// A port at the broker, and a ring that its publisher writes for it.
int read_near(const char* socket, const char* feed, std::uint64_t records) {
  auto client = nic::Client::open(socket);
  if (!client) return refuse(client.message());
  const auto port = client.value()->subscribe(feed);
  if (!port) return refuse(port.message());
  remote::SubscriberOptions how;
  how.publisher = port.value().node;
  how.publisher_port = port.value().vpid;
  how.ring = feed;
  how.name = std::string(feed) + "-near-" + std::to_string(::getpid());
  how.ask_ns = 1'000'000;
  auto opened = remote::Subscriber::open(*client.value(), how);
  if (!opened) return refuse(opened.message());
  remote::Subscriber& subscriber = *opened.value();
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; subscriber.counters().records < records;) {
    (void)subscriber.step(os::monotonic_clock_ns());
    if (subscriber.state() == remote::SubscriberState::Refused) return refuse(subscriber.problem());
    if (os::monotonic_clock_ns() > end) return refuse("no records have come: " + subscriber.problem());
  }
  if (!subscriber.is_near()) return refuse("the records were sent, and not written here");
  return read_ring(how.name.c_str());
}

}  // namespace
}  // namespace stopbit

int main(int argc, char** argv) {
  const std::string_view kind = argc > 2 ? argv[1] : "";
  if (kind == "ring" && argc == 3) return stopbit::read_ring(argv[2]);
  if (kind == "counters" && argc == 3) return stopbit::read_counters(argv[2]);
  if (kind == "events" && argc == 3) return stopbit::read_events(argv[2]);
  if (kind == "instruments" && argc == 3) return stopbit::read_instruments(argv[2]);
  if (kind == "states" && argc == 3) return stopbit::read_states(argv[2]);
  if (kind == "near" && argc == 5) return stopbit::read_near(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  std::fputs("usage: reader ring|counters|events|instruments|states NAME | near SOCKET RING RECORDS\n", stderr);
  return 2;
}
