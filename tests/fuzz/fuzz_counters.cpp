// Any bytes as a segment of counters: refused, or every value of it read. Then its number of entries changes, as when
// rows are added.

#include <cstring>
#include <vector>

#include "host/monitor/counters/reader.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  std::vector<std::uint64_t> memory(size / 8 + 1);  // no larger, so that the sanitizer sees every step outside
  std::memcpy(memory.data(), data, size);
  auto reader = counters::Reader::over(std::as_bytes(std::span(memory)).first(size));
  if (!reader) {
    fuzz::require(!reader.message().empty(), "a refused segment has a reason");
    return 0;
  }
  const std::size_t before = reader.value().metrics().size();
  const std::uint32_t entries = static_cast<std::uint32_t>(before) + (data[0] % 2 == 0 ? 1U : 0x4000'0000U * data[0]);
  std::memcpy(reinterpret_cast<std::byte*>(memory.data()) + offsetof(counters::Header, entries), &entries,
              sizeof(entries));
  const Status refreshed = reader.value().refresh();
  fuzz::require(refreshed.ok() || reader.value().metrics().size() == before, "a refused row changes nothing");
  for (const counters::Metric& metric : reader.value().metrics()) {
    fuzz::require(!metric.name.family.empty(), "a metric has a name");
    (void)reader.value().value(metric);
    // A byte that no terminal should get is written as \xNN.
    fuzz::require(reader.value().text(metric).size() <= 4 * counters::kTextBytes, "a text is bounded");
    const counters::Distribution distribution = reader.value().distribution(metric);
    fuzz::require(distribution.quantile(0.5) <= distribution.quantile(1), "quantiles rise");
    fuzz::require(reader.value().errors(metric).size() <= metric.size, "errors have places");
    (void)reader.value().errors_beyond(metric);
  }
  (void)reader.value().writer();
  (void)reader.value().heartbeat_ns();
  return 0;
}
