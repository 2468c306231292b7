#pragma once

#include <string>

namespace stopbit::nic {

/// Leaves a server, whose endpoint is open, what libfabric needs to talk over it: sockets and memory, no files, no
/// programs, no capabilities. "" or what could not be done; a kernel without Landlock is no reason.
[[nodiscard]] std::string confine_server();

}  // namespace stopbit::nic
