#pragma once

#include <vector>

#include "decoder/record/typed_view.hpp"
#include "microcode/program.hpp"

namespace stopbit::cases {

/// The tables that a generated view of a verified program checks records by, made when a test runs.
class ViewShape {
 public:
  explicit ViewShape(const Program& program);

  [[nodiscard]] view::Shape shape() const noexcept { return {nodes_, blocks_, templates_}; }

 private:
  std::vector<view::Node> nodes_;
  std::vector<view::Block> blocks_;
  std::vector<view::Template> templates_;
};

}  // namespace stopbit::cases
