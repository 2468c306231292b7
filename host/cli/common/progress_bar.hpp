#pragma once

#include <cstddef>

#include "host/replay/replay.hpp"

namespace stopbit::tools {

/// One line on stderr that is drawn again and again: how far, how fast, how long still. Draws nothing unless stderr is
/// a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(bool wanted);
  void draw(const replay::Progress& progress);

 private:
  void erase();

  bool active_;
  std::size_t shown_ = 0;  ///< Columns of the line on the terminal.
};

/// Text of the line, without the bar being drawn.
[[nodiscard]] std::string progress_text(const replay::Progress& progress);

}  // namespace stopbit::tools
