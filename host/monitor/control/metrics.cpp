#include "host/monitor/control/metrics.hpp"

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

/// The last parts of a name: its unit, then `total` of a counter, as the rules of Prometheus want.
std::string suffix_of(const std::string& family, Unit unit, Kind kind) {
  std::string suffix;
  if (scale_of(unit) != 1) suffix = "_seconds";
  if (unit == Unit::Bytes && !family.ends_with("bytes")) suffix = "_bytes";
  return kind == Kind::Counter ? suffix + "_total" : suffix;
}

/// Name of a metric in the previous release: without `_bytes` and `_total`.
std::string old_suffix_of(Unit unit) {
  return scale_of(unit) != 1 ? "_seconds" : "";
}

prometheus::MetricType type_of(Kind kind) {
  switch (kind) {
    case Kind::Counter: return prometheus::MetricType::Counter;
    case Kind::Histogram: return prometheus::MetricType::Histogram;
    default: return prometheus::MetricType::Gauge;
  }
}

/// The families of the answer, in the order in which they are first seen.
class Families {
 public:
  prometheus::ClientMetric& add(const std::string& name, const std::string& help, prometheus::MetricType type) {
    const auto [found, is_new] = known_.try_emplace(name, families_.size());
    if (is_new) families_.push_back({name, help, type, {}});
    return families_[found->second].metric.emplace_back();
  }
  /// The same value under the name of the release before, if that was another one. Untyped: promtool accepts a counter
  /// only with `_total`.
  void add_old(const std::string& old_name, const std::string& name, double value,
               const std::vector<prometheus::ClientMetric::Label>& labels) {
    if (old_name == name) return;
    prometheus::ClientMetric& old = add(old_name, "Deprecated, to be removed in the next release: use " + name + ".",
                                        prometheus::MetricType::Untyped);
    old.label = labels;
    old.untyped.value = value;
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, std::size_t> known_;
};

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

std::string metrics_text(const Reader& reader, std::span<const Extra> extras,
                         const std::function<bool(const Metric&)>& is_shown) {
  Families families;
  for (const Metric& metric : reader.metrics()) {
    if (is_shown && !is_shown(metric)) continue;
    const std::string family = "stopbit_" + metric.name.family;
    const std::string name = family + suffix_of(family, metric.unit, metric.kind);
    prometheus::ClientMetric& client = families.add(name, metric.help, type_of(metric.kind));
    for (const auto& [key, value] : metric.name.labels) client.label.push_back({key, value});
    fill(reader, metric, client);
    if (metric.kind != Kind::Counter && metric.kind != Kind::Gauge) continue;
    const double value = metric.kind == Kind::Counter ? client.counter.value : client.gauge.value;
    families.add_old(family + old_suffix_of(metric.unit), name, value, std::vector(client.label));
  }
  families
      .add("stopbit_heartbeat_seconds", "Time of the latest heartbeat of the appliance.", prometheus::MetricType::Gauge)
      .gauge.value = 1e-9 * static_cast<double>(reader.heartbeat_ns());
  for (const Extra& extra : extras) {
    const std::string family = "stopbit_" + extra.family;
    const std::string name = family + suffix_of(family, Unit::Number, extra.kind);
    prometheus::ClientMetric& client = families.add(name, extra.help, type_of(extra.kind));
    for (const auto& [key, value] : extra.labels) client.label.push_back({key, value});
    (extra.kind == Kind::Counter ? client.counter.value : client.gauge.value) = extra.value;
    families.add_old(family, name, extra.value, std::vector(client.label));
  }
  return families.text();
}

}  // namespace stopbit::control
