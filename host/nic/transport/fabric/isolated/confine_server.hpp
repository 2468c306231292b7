#pragma once

#include <string>

#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// Leaves a server, whose endpoint is open, what libfabric needs to talk over it: sockets over IP and memory, no
/// files, no programs, no capabilities, no signals to others. Fails with what could not be done; a kernel without
/// Landlock is no reason.
[[nodiscard]] Status confine_server();

}  // namespace stopbit::nic
