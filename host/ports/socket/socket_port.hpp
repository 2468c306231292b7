#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/ports/port.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ingest {

/// The best arrival times requested. If not available, the next kind is used, with a note; each datagram has the
/// quality of its time.
enum class ArrivalTimes : std::uint8_t {
  Hardware,  ///< The card's clock, which must be synchronised to UTC (ptp4l, phc2sys).
  Kernel,    ///< When the kernel took the frame from the card.
  Poll,      ///< When the datagram was fetched: the least work.
};

struct SocketPortOptions {
  std::string interface = {};              ///< "eth1". Empty: the kernel's choice for each group.
  std::size_t batch = 64;                  ///< Datagrams per receive call, 1 to 1024.
  std::size_t max_payload_bytes = 9'216;   ///< A longer one counts as cut. 64 to 65,507.
  std::size_t receive_buffer = 16U << 20;  ///< Bytes per socket, at most 1 GiB.
  std::uint32_t busy_poll_us = 50;         ///< How long a receive call may poll the card's queue; 0 = not.
  ArrivalTimes times = ArrivalTimes::Hardware;
  /// Opens the socket of a group in place of the port, as open_group_socket does; empty: the port does.
  std::function<Result<int>(const Membership& membership, std::vector<std::string>& notes)> open_socket = {};
};

/// Receives through UDP sockets of the kernel: one per group and port, joined from given sources (IGMPv3) or from any.
/// Several programs can listen to the same group.
///
/// poll makes one system call per socket with recvmmsg, and beyond four sockets one more to find out which of them have
/// something. Buffers are allocated here: batch * max_payload_bytes. Datagrams of groups that only other sockets have
/// joined are not received (IP_MULTICAST_ALL is off). counters().dropped_by_kernel counts overflows of the sockets'
/// buffers, not drops in the card or its queue (see `ethtool -S`).
///
/// Needs no privilege, but with CAP_NET_ADMIN a receive buffer can exceed net.core.rmem_max, busy polling can be
/// enabled, and the card can stamp packets; without it, notes() lists what is missing.
[[nodiscard]] Result<std::unique_ptr<Port>> open_socket_port(const SocketPortOptions& options);

/// The socket that such a port would have for this group, bound, joined and with its options: for a process that does
/// not receive itself. The caller owns it. Adds unavailable features to `notes`.
[[nodiscard]] Result<int> open_group_socket(const SocketPortOptions& options, const Membership& membership,
                                            std::vector<std::string>& notes);

}  // namespace stopbit::ingest
