#include "host/lab/network/result/diagram.hpp"

#include <fmt/format.h>

#include <iterator>

namespace stopbit::network {

std::string begin_svg(std::string_view title) {
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"890\" height=\"360\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<style>.g{stroke:#ddd;fill:none}.a{stroke:#0057b8;stroke-width:2;fill:none}.b{stroke:#c44;stroke-width:2;fill:"
      "none}.h{fill:#0057b8}"
      ".i{stroke:#999;stroke-dasharray:4;fill:none}.t{font-weight:bold}</style>\n"
      "<rect width=\"890\" height=\"360\" fill=\"#fff\"/>\n";
  fmt::format_to(std::back_inserter(out), "<text x=\"445\" y=\"12\" text-anchor=\"middle\">{}</text>\n", title);
  return out;
}

void add_frame(std::string& out, const Diagram& diagram, std::string_view title, std::string_view title_x,
               int decimals) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"28\" class=\"t\">{}</text>\n", diagram.left, title);
  for (int i = 0; i <= 5; ++i) {
    const double part = i / 5.0;
    const double y = diagram.y(part * diagram.most_y);
    fmt::format_to(to, "<path class=\"g\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", diagram.left, y,
                   diagram.left + diagram.width);
    fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.{}f}</text>\n", diagram.left - 6, y + 4,
                   part * diagram.most_y, decimals);
  }
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                 diagram.left + diagram.width / 2, diagram.top + diagram.height + 36, title_x);
}

void add_tick(std::string& out, const Diagram& diagram, double at, std::string_view label) {
  const auto to = std::back_inserter(out);
  const double x = diagram.x(at);
  fmt::format_to(to, "<path class=\"g\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x, diagram.top, diagram.top + diagram.height);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x,
                 diagram.top + diagram.height + 18, label);
}

}  // namespace stopbit::network
