#pragma once

#include <sys/types.h>

#include <cstddef>

namespace stopbit::nic {

/// Sends a packet over a Unix socket, and a descriptor beside it unless `to_pass` is negative. Never waits.
/// @returns the bytes sent, or -1 with errno.
ssize_t send_packet(int socket, const void* data, std::size_t length, int to_pass) noexcept;

}  // namespace stopbit::nic
