#include "host/cli/common/messages.hpp"

#include <unistd.h>

#include "host/cli/common/descriptor_wait.hpp"

namespace stopbit::tools {

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    if (!wait_to_write(STDERR_FILENO)) return;
    const ssize_t count = write_some(STDERR_FILENO, text);
    if (count < 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace stopbit::tools
