#pragma once

namespace stopbit::tools {

/// From now on SIGINT and SIGTERM only ask to stop; a second one ends the program at once.
void catch_stop_signals();
[[nodiscard]] bool stop_requested() noexcept;

}  // namespace stopbit::tools
