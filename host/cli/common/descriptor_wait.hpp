#pragma once

#include <sys/types.h>

#include <string_view>

namespace stopbit::tools {

/// Waits until the file is writable; a write may still accept no bytes. False if the process should stop and the file
/// has accepted nothing for a second.
[[nodiscard]] bool wait_to_write(int file) noexcept;

/// Writes a part of the text, small enough not to wait in the kernel for the reader of a pipe, where no signal handler
/// could end the wait. @returns how many bytes were taken, 0 if none just now; -1, with errno, if writing fails.
[[nodiscard]] ssize_t write_some(int file, std::string_view text) noexcept;

}  // namespace stopbit::tools
