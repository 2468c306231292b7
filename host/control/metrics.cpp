#include "host/control/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

namespace stopbit::control {
namespace {

using counters::Kind;
using counters::Metric;
using counters::Reader;
using counters::Unit;

double scale_of(Unit unit) {
  return unit == Unit::Nanoseconds || unit == Unit::Time ? 1e-9 : 1;
}

std::string_view suffix_of(Unit unit) {
  switch (unit) {
    case Unit::Number:
    case Unit::Bytes: return "";
    case Unit::Nanoseconds:
    case Unit::Time: return "_seconds";
  }
  return "";
}

prometheus::MetricType type_of(Kind kind) {
  switch (kind) {
    case Kind::Counter: return prometheus::MetricType::Counter;
    case Kind::Histogram: return prometheus::MetricType::Histogram;
    default: return prometheus::MetricType::Gauge;
  }
}

void fill(const Reader& reader, const Metric& from, prometheus::ClientMetric& to) {
  const double scale = scale_of(from.unit);
  switch (from.kind) {
    case Kind::Counter: to.counter.value = scale * static_cast<double>(reader.value(from)); break;
    case Kind::Gauge: to.gauge.value = scale * static_cast<double>(reader.value(from)); break;
    case Kind::Text:
      to.label.push_back({"value", reader.text(from)});
      to.gauge.value = 1;
      break;
    case Kind::Errors: {
      std::uint64_t all = reader.errors_beyond(from);
      for (const counters::SeenError& error : reader.errors(from)) all += error.count;
      to.gauge.value = static_cast<double>(all);
      break;
    }
    case Kind::Histogram: {
      const counters::Distribution seen = reader.distribution(from);
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < counters::kBuckets; ++i) {
        if (seen.buckets[i] == 0) continue;
        below += seen.buckets[i];
        to.histogram.bucket.push_back({below, scale * static_cast<double>(counters::bucket_last(i))});
      }
      to.histogram.sample_count = below;  // the buckets may be newer than the count
      to.histogram.sample_sum = scale * static_cast<double>(seen.sum);
      break;
    }
  }
}

}  // namespace

std::string metrics_text(const Reader& reader, std::span<const Extra> extras) {
  std::vector<prometheus::MetricFamily> families;
  std::map<std::string, std::size_t> known;
  const auto add = [&](std::string name, const std::string& help, Kind kind) -> prometheus::ClientMetric& {
    const auto [found, is_new] = known.try_emplace(name, families.size());
    if (is_new) families.push_back({std::move(name), help, type_of(kind), {}});
    return families[found->second].metric.emplace_back();
  };
  for (const Metric& metric : reader.metrics()) {
    prometheus::ClientMetric& client =
        add("stopbit_" + metric.name.family + std::string(suffix_of(metric.unit)), metric.help, metric.kind);
    for (const auto& [key, value] : metric.name.labels) client.label.push_back({key, value});
    fill(reader, metric, client);
  }
  add("stopbit_heartbeat_seconds", "When the appliance last said that it is well", Kind::Gauge).gauge.value =
      1e-9 * static_cast<double>(reader.heartbeat_ns());
  for (const Extra& extra : extras) {
    prometheus::ClientMetric& client = add("stopbit_" + extra.family, extra.help, extra.kind);
    for (const auto& [key, value] : extra.labels) client.label.push_back({key, value});
    (extra.kind == Kind::Counter ? client.counter.value : client.gauge.value) = extra.value;
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace stopbit::control
