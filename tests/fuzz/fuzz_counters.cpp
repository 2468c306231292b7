// Any bytes as a segment of counters: refused, or every value of it read.

#include <cstring>
#include <vector>

#include "host/monitor/counters/reader.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  std::vector<std::uint64_t> memory(size / 8 + 1);  // no larger, so that the sanitizer sees every step outside
  std::memcpy(memory.data(), data, size);
  const auto reader = counters::Reader::over(std::as_bytes(std::span(memory)).first(size));
  if (!reader) {
    fuzz::require(!reader.message().empty(), "a refused segment has a reason");
    return 0;
  }
  for (const counters::Metric& metric : reader.value().metrics()) {
    fuzz::require(!metric.name.family.empty(), "a metric has a name");
    (void)reader.value().value(metric);
    fuzz::require(reader.value().text(metric).size() <= counters::kTextBytes, "a text is bounded");
    const counters::Distribution distribution = reader.value().distribution(metric);
    fuzz::require(distribution.quantile(0.5) <= distribution.quantile(1), "quantiles rise");
    fuzz::require(reader.value().errors(metric).size() <= metric.size, "errors have places");
    (void)reader.value().errors_beyond(metric);
  }
  (void)reader.value().writer();
  (void)reader.value().heartbeat_ns();
  return 0;
}
