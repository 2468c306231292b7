#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "host/cli/common/files.hpp"

namespace stopbit::tools {

/// The other screen of the terminal, without cursor, until this ends; keys come one at a time and are not shown. A
/// ToolError of kExitUsage if stdout is not a terminal.
class Screen {
 public:
  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  /// At the moment; the last row stays free.
  [[nodiscard]] static Size size();
  /// Replaces what is shown.
  void show(std::string_view text);
  /// Waits up to `wait_ms` for a key; 0 if none came, 'q' also at the end of the input.
  [[nodiscard]] char key(int wait_ms) const;
  /// Back to the terminal's own screen. Throws if something could not be written.
  void close();

 private:
  termios before_{};
  bool has_keys_ = false;
  bool is_open_ = false;
  Output out_;
};

}  // namespace stopbit::tools
