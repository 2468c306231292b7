#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace stopbit::network {

/// One of the two diagrams of a drawing.
struct Diagram {
  double left = 0;
  double most_x = 1;
  double most_y = 1;
  double top = 40;
  double width = 360;
  double height = 260;

  [[nodiscard]] double x(double value) const noexcept { return left + value / most_x * width; }
  [[nodiscard]] double y(double value) const noexcept { return top + height - std::min(value / most_y, 1.0) * height; }
};

inline constexpr double kLeftDiagram = 60;
inline constexpr double kRightDiagram = 500;

/// The start of the file, with a title above both diagrams; it ends with "</svg>\n".
[[nodiscard]] std::string begin_svg(std::string_view title);
/// Titles and grid. The numbers of y have `decimals`.
void add_frame(std::string& out, const Diagram& diagram, std::string_view title, std::string_view title_x,
               int decimals);
/// A number under the axis of x.
void add_tick(std::string& out, const Diagram& diagram, double at, std::string_view label);

}  // namespace stopbit::network
