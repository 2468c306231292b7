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
  /// Keys without a character.
  enum Key : int { kEscape = 27, kUp = 256, kDown, kPageUp, kPageDown, kHome, kEnd, kUnknown, kEndOfInput };
  /// At the moment; the last row stays free.
  [[nodiscard]] static Size size();
  /// Replaces what is shown.
  void show(std::string_view text);
  /// Whether the terminal shows colours and is to show them (NO_COLOR), and whether it shows Unicode.
  [[nodiscard]] static bool has_colours();
  [[nodiscard]] static bool has_unicode();
  /// Waits up to `wait_ms` for a key: its character or a Key; 0 if none came or the terminal has another size.
  [[nodiscard]] int key(int wait_ms);
  /// Whether it is one that ends a command.
  [[nodiscard]] static constexpr bool quits(int key) noexcept { return key == 'q' || key == 'Q' || key == kEndOfInput; }
  /// Back to the terminal's own screen. Throws if something could not be written.
  void close();

 private:
  termios before_{};
  bool has_keys_ = false;
  bool is_open_ = false;
  std::string typed_;  ///< And not taken yet.
  Output out_;
};

}  // namespace stopbit::tools
