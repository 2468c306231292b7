#include "host/cli/common/descriptor_wait.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "host/cli/common/signals.hpp"

namespace stopbit::tools {
namespace {

constexpr int kLookMs = 100;
constexpr int kLooksAfterStop = 10;

}  // namespace

bool wait_to_write(int file) noexcept {
  pollfd waiting{file, POLLOUT, 0};
  for (int looks = 0; looks < kLooksAfterStop;) {
    const int ready = ::poll(&waiting, 1, kLookMs);
    // An error that poll does not show, write reports.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (stop_requested() && ready == 0) ++looks;
  }
  return false;
}

ssize_t write_some(int file, std::string_view text) noexcept {
  // A pipe that can be written has room for this much.
  struct stat status {};
  const bool is_file = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t count =
      ::write(file, text.data(), is_file ? text.size() : std::min<std::size_t>(text.size(), PIPE_BUF));
  return count < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : count;
}

}  // namespace stopbit::tools
