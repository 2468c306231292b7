#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

/// Text for people, on stderr. A failing stderr (closed, full disk, pipe without a reader) changes neither the work of
/// a command nor its exit status.
namespace stopbit::tools {

/// Waits for a slow reader, but at most a second after a request to stop.
void write_stderr(std::string_view text) noexcept;

template <class... Arguments>
void print_stderr(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_stderr(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace stopbit::tools
