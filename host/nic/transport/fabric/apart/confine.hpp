#pragma once

#include <string>

namespace stopbit::nic {

/// Leaves a server, whose endpoint is open, what libfabric needs to talk over it: sockets over IP and memory, no
/// files, no programs, no capabilities, no signals to others. "" or what could not be done; a kernel without Landlock
/// is no reason.
[[nodiscard]] std::string confine_server();

}  // namespace stopbit::nic
