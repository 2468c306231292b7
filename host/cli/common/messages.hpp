#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

/// Text for people, on stderr. A stderr that cannot be written (closed, a full disk, a pipe that nobody reads any more)
/// changes neither what a command does nor its exit status.
namespace stopbit::tools {

/// Waits for a reader that takes its time, but at most a second after the process was asked to stop.
void write_stderr(std::string_view text) noexcept;

template <class... Arguments>
void print_stderr(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_stderr(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace stopbit::tools
