// Writes segments with contents that never change, for readers of other releases.
//
// usage: writer FOLDER     makes FOLDER/ring and FOLDER/books.counters
//        writer --broker   publishes a ring `cme` until its input ends; first prints socket and ring

#include <cstdio>
#include <string>
#include <string_view>

#include "host/monitor/counters/writer.hpp"
#include "tests/unit/nic/house.hpp"

namespace stopbit {
namespace {

void write_records(remote::Feed& feed) {
  for (std::uint32_t i = 0; i < 5; ++i) feed.tick(1000 + i, i % 2 == 0 ? "ESZ6" : std::string(20, 'x'));
  feed.book({7, 8, 9});
  feed.event(record::EventKind::Gap);
  feed.tick(0xFFFF'FFFF, "");
}

int write_segments(const std::string& folder) {
  remote::Feed feed(folder + "/ring", remote::market(), 64);
  write_records(feed);
  feed.writer->finish();
  counters::Schema schema;
  const auto packets = schema.add(counters::Kind::Counter, "packets", {{"line", "A"}, {"channel", "310"}}, "Packets.");
  const auto depth = schema.add(counters::Kind::Gauge, "depth", {}, "Depth of the queue.");
  const auto state = schema.add(counters::Kind::Text, "state", {}, "State.");
  const auto delay = schema.add(counters::Kind::Histogram, "delay", {}, "Delay.", counters::Unit::Nanoseconds);
  const auto made = counters::Segment::create(folder + "/books", schema);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.message().c_str());
    return 1;
  }
  const counters::Segment& segment = made.value();
  segment.counter(packets).add(123'456'789'012);
  segment.counter(depth).set(17);
  segment.text(state).set("live");
  for (std::uint64_t i = 1; i <= 100; ++i) segment.histogram(delay).add(i * i);
  segment.finish();
  return 0;
}

int be_broker() {
  remote::House house;
  write_records(house.cme_feed);
  std::printf("%s %s\n", remote::House::socket().c_str(), "cme");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace
}  // namespace stopbit

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: writer FOLDER | --broker\n", stderr);
    return 2;
  }
  return std::string_view(argv[1]) == "--broker" ? stopbit::be_broker() : stopbit::write_segments(argv[1]);
}
