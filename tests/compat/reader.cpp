// Reads a segment as a program of this release does, and prints what is in it. Kept as a binary of each release.
//
// usage: reader ring NAME | counters NAME | near SOCKET RING RECORDS
// Exit 0: all was read. 1: refused, with the reason on stderr. 2: usage.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/json.hpp"
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
  if (kind == "near" && argc == 5) return stopbit::read_near(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  std::fputs("usage: reader ring NAME | counters NAME | near SOCKET RING RECORDS\n", stderr);
  return 2;
}
