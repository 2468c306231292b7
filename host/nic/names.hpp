#pragma once

#include <cstddef>
#include <cstdint>

#include "host/nic/error.hpp"  // first, because GCC says that one of its names hides one of these

/// The units of a user-level network interface, and what they call things. README.md is the page of the design.
namespace stopbit::nic {

using NodeId = std::uint16_t;      ///< A host.
using Vpid = std::uint16_t;        ///< A virtual port of a node: an endpoint, and an owner of memory.
using Pdid = std::uint16_t;        ///< Protection domain: only ports of equal domain exchange messages.
using Nla = std::uint64_t;         ///< Network logical address: what a process calls registered memory.
using Capability = std::uint64_t;  ///< The key of a window, drawn at random when it is opened.

/// Ports that a node may have. A node with fewer serves those of the others all the same.
inline constexpr std::size_t kVpids = 1024;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kLineBytes = 64;

/// A bounded piece of a port's registered memory, as seen by the ports that may access it.
struct WindowName {
  std::uint16_t id = 0;
  Capability capability = 0;
};

/// What a page, or a window, may be used for.
enum class Access : std::uint8_t { Read = 1, Write = 2, ReadWrite = 3 };
[[nodiscard]] constexpr bool allows(Access granted, Access wanted) noexcept {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

}  // namespace stopbit::nic
