#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/lab/network/result/report.hpp"

namespace stopbit::network {
namespace {

/// One of the two diagrams: x is the offered load from 0 to 1.
struct Diagram {
  double left = 0;
  double top = 40;
  double width = 360;
  double height = 260;
  double most = 1;  ///< Of y.

  [[nodiscard]] double x(double load) const noexcept { return left + load * width; }
  [[nodiscard]] double y(double value) const noexcept { return top + height - std::min(value / most, 1.0) * height; }
};

void add_axes(std::string& out, const Diagram& diagram, std::string_view title, int decimals) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"28\" class=\"t\">{}</text>\n", diagram.left, title);
  for (int i = 0; i <= 5; ++i) {
    const double part = i / 5.0;
    const double x = diagram.x(part);
    const double y = diagram.y(part * diagram.most);
    fmt::format_to(to, "<path class=\"g\" d=\"M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}H{:.1f}\"/>\n", x, diagram.top,
                   diagram.top + diagram.height, diagram.left, y, diagram.left + diagram.width);
    fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.1f}</text>\n", x,
                   diagram.top + diagram.height + 18, part);
    fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.{}f}</text>\n", diagram.left - 6, y + 4,
                   part * diagram.most, decimals);
  }
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">offered load</text>\n",
                 diagram.left + diagram.width / 2, diagram.top + diagram.height + 36);
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
  const Diagram latency{.left = 60, .most = 10 * lowest};
  const Diagram accepted{.left = 500};
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"890\" height=\"360\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<style>.g{stroke:#ddd;fill:none}.a{stroke:#0057b8;stroke-width:2;fill:none}.b{stroke:#c44;stroke-width:2;fill:"
      "none}"
      ".i{stroke:#999;stroke-dasharray:4;fill:none}.t{font-weight:bold}</style>\n"
      "<rect width=\"890\" height=\"360\" fill=\"#fff\"/>\n";
  out += fmt::format("<text x=\"445\" y=\"12\" text-anchor=\"middle\">{}, packets of {} bytes</text>\n",
                     topology_text(plan, network), plan.traffic.pattern.payload);
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
