#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

#include "host/os/shm/segment.hpp"

namespace stopbit::os {

/// Whether a process listens at the address of a Unix socket of this type (SOCK_STREAM, ...). Never waits; a
/// full queue of clients counts as listening.
[[nodiscard]] inline bool is_answered(const sockaddr_un& address, int type) noexcept {
  const Descriptor probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe.ok() &&
         (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN);
}

}  // namespace stopbit::os
