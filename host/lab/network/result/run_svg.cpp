#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "host/lab/network/result/diagram.hpp"
#include "host/lab/network/result/report.hpp"

namespace stopbit::network {
namespace {

/// A bar for each bucket. Buckets are equally wide, so the axis is logarithmic: eight of them double the latency.
void add_histogram(std::string& out, const counters::Distribution& latency) {
  const auto& buckets = latency.buckets;
  std::size_t first = 0;
  while (first + 1 < buckets.size() && buckets[first] == 0) ++first;
  std::size_t end = buckets.size();
  while (end > first + 1 && buckets[end - 1] == 0) --end;
  const std::uint64_t most = *std::max_element(buckets.begin(), buckets.end());
  const double percent = latency.count == 0 ? 0 : 100.0 / static_cast<double>(latency.count);
  const std::size_t count = end - first;
  const Diagram diagram{.left = kLeftDiagram,
                        .most_x = static_cast<double>(count),
                        .most_y = std::max(percent * static_cast<double>(most), 1e-9)};
  add_frame(out, diagram, "packets in %, by latency", "cycles", 1);
  const std::size_t step = std::max<std::size_t>(1, (count + 5) / 6);
  for (std::size_t i = 0; i < count; i += step) {
    add_tick(out, diagram, static_cast<double>(i), std::to_string(counters::bucket_begin(first + i)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = diagram.x(static_cast<double>(i));
    const double y = diagram.y(percent * static_cast<double>(buckets[first + i]));
    out += fmt::format("<rect class=\"h\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", x, y,
                       diagram.x(static_cast<double>(i) + 0.9) - x, diagram.top + diagram.height - y);
  }
}

void add_loads(std::string& out, const LinkLoads& loads) {
  const auto count = loads.all.size();
  const Diagram diagram{.left = kRightDiagram, .most_x = static_cast<double>(std::max<std::size_t>(1, count))};
  add_frame(out, diagram, "load of each link, highest first", "links", 1);
  for (int i = 0; i <= 5; ++i) {
    const std::size_t link = count * static_cast<std::size_t>(i) / 5;
    add_tick(out, diagram, static_cast<double>(link), std::to_string(link));
  }
  out += "<polyline class=\"a\" points=\"";
  const std::size_t step = std::max<std::size_t>(1, count / 360);  // a point for each pixel is enough
  for (std::size_t i = 0; i < count; i += step) {
    out += fmt::format("{:.1f},{:.1f} ", diagram.x(static_cast<double>(i)), diagram.y(loads.all[i].first));
  }
  out += "\"/>\n";
}

}  // namespace

std::string run_svg(const Plan& plan, const Network& network, const RunResult& result) {
  std::string title = topology_text(plan, network);
  if (result.load > 0) title += fmt::format(", load {:.4f}", result.load);
  std::string out = begin_svg(title);
  add_histogram(out, result.counts.latency);
  add_loads(out, loads_of(network, result));
  return out + "</svg>\n";
}

}  // namespace stopbit::network
