#include <fmt/format.h>

#include "host/lab/network/result/diagram.hpp"
#include "host/lab/network/result/report.hpp"

namespace stopbit::network {
namespace {

void add_axes(std::string& out, const Diagram& diagram, std::string_view title, int decimals) {
  add_frame(out, diagram, title, "offered load", decimals);
  for (int i = 0; i <= 5; ++i) add_tick(out, diagram, i / 5.0, fmt::format("{:.1f}", i / 5.0));
}

template <class Value>
void add_line(std::string& out, const Diagram& diagram, const std::vector<RunResult>& results, std::string_view style,
              Value value) {
  out += fmt::format("<polyline class=\"{}\" points=\"", style);
  for (const RunResult& result : results) {
    out += fmt::format("{:.1f},{:.1f} ", diagram.x(result.load), diagram.y(value(result)));
  }
  out += "\"/>\n";
}

}  // namespace

std::string saturation_svg(const Plan& plan, const Network& network, const std::vector<RunResult>& results) {
  const auto mean = [](const RunResult& result) {
    const counters::Distribution& latency = result.counts.latency;
    return latency.count == 0 ? 0 : static_cast<double>(latency.sum) / static_cast<double>(latency.count);
  };
  // Ten times the latency of the lowest load shows where it turns up; beyond saturation it has no limit.
  const double lowest = results.empty() ? 1 : std::max(1.0, mean(results.front()));
  const Diagram latency{.left = kLeftDiagram, .most_y = 10 * lowest};
  const Diagram accepted{.left = kRightDiagram};
  std::string out =
      begin_svg(fmt::format("{}, packets of {} bytes", topology_text(plan, network), plan.traffic.pattern.payload));
  add_axes(out, latency, "latency in cycles: mean (blue), 99 % (red)", 0);
  add_line(out, latency, results, "a", mean);
  add_line(out, latency, results, "b",
           [](const RunResult& result) { return static_cast<double>(result.counts.latency.quantile(0.99)); });
  add_axes(out, accepted, "accepted load", 1);
  add_line(out, accepted, results, "i", [](const RunResult& result) { return result.load; });
  add_line(out, accepted, results, "a", [](const RunResult& result) { return result.accepted; });
  return out + "</svg>\n";
}

}  // namespace stopbit::network
