#pragma once

namespace stopbit::tools {

/// From now on SIGINT and SIGTERM only ask to stop; a second one ends the program at once. System calls that wait
/// return early.
void catch_stop_signals();
[[nodiscard]] bool stop_requested() noexcept;
/// Exit status of a command that a signal has stopped before its work was done: 128 and the signal's number.
[[nodiscard]] int interrupted_status() noexcept;

/// From now on SIGHUP does not end the program.
void catch_hangups();
/// Whether one has come since the last call.
[[nodiscard]] bool take_hangup() noexcept;

}  // namespace stopbit::tools
