#pragma once

#include <cstddef>
#include <cstdint>

/// A simulated network: switches, links, hosts. Time is counted in cycles of the switches.
namespace stopbit::network {

using Cycle = std::uint64_t;
using SwitchId = std::uint32_t;
using HostId = std::uint32_t;
/// A directed link: output `port` of switch `s` is s * ports + port; that of host `h` follows those of all switches.
/// An input has the same number as the output beside it.
using ChannelId = std::uint32_t;

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr std::size_t kMaxPorts = 64;  ///< Of a switch: a set of ports is a word.
inline constexpr std::size_t kMaxClasses = 4;
inline constexpr std::size_t kMaxVcs = 4;
inline constexpr std::size_t kMaxFlows = kMaxClasses * kMaxVcs;  ///< (class, virtual channel) of a link.
inline constexpr std::uint64_t kMaxMemoryBytes = std::uint64_t{8} << 30;

/// Calls `visit` with the number of each bit that is set, lowest first.
template <class Visit>
void for_each_bit(std::uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::uint32_t>(__builtin_ctzll(bits)));
}

}  // namespace stopbit::network
