#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/feed/packet/membership.hpp"

/// IGMP, version 3 (RFC 3376) and version 2 (RFC 2236), for ports whose interface the kernel does not serve: a port
/// that joins a group has to report it to the network.
namespace stopbit::ingest {

using net::Membership;
using MacAddress = std::array<std::uint8_t, 6>;

/// Content of a report about its groups.
enum class GroupReport : std::uint8_t {
  Current,  ///< The answer to a query, and what is repeated now and then.
  Join,     ///< Once, and repeated in case it is lost.
  Leave,
};

/// Ethernet frames that report the multicast groups among `memberships` to 224.0.0.22, as few as 1500 bytes each
/// allow. `mac` and `address` are ours; an address of 0 is legal (RFC 3376, 4.2.13). Several sources of a group are one
/// record; a membership without a source takes the group from all.
[[nodiscard]] std::vector<std::vector<std::byte>> igmp_reports(GroupReport what,
                                                               std::span<const Membership> memberships,
                                                               const MacAddress& mac, std::uint32_t address);

/// The same in version 2, for one group: a report (Current and Join are the same), or that we leave it.
[[nodiscard]] std::vector<std::byte> igmp_v2_report(GroupReport what, std::uint32_t group, const MacAddress& mac,
                                                    std::uint32_t address);

/// Whether an Ethernet frame is a query of any IGMP version that wants an answer. Any bytes; reads nothing outside.
[[nodiscard]] bool is_igmp_query(std::span<const std::byte> frame) noexcept;

/// The Ethernet address to which frames for a multicast group go (RFC 1112).
[[nodiscard]] MacAddress multicast_mac(std::uint32_t group) noexcept;

}  // namespace stopbit::ingest
