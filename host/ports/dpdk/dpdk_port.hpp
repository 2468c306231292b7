#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/ports/port.hpp"
#include "microcode/base/result.hpp"

/// Ports of DPDK. Built if libdpdk is found (then STOPBIT_DPDK is defined for targets that link stopbit_ingest_dpdk).
namespace stopbit::ingest {

/// Set-up of a process before its first port. Once per process.
struct DpdkOptions {
  /// Huge pages must have been reserved (`stopbit check-host`). Without them it works at half the speed or less.
  bool huge_pages = true;
  std::uint32_t memory_mb = 256;  ///< For all buffers of all ports; 64 to 65,536.
};

/// Starts DPDK in this process: memory, drivers. No card is touched before a port of it is opened. Starts a few
/// housekeeping threads and leaves the caller's affinity as it was. A second call fails.
[[nodiscard]] Status start_dpdk(const DpdkOptions& options);

struct DpdkPortOptions {
  /// A card by its PCI address, "0000:03:00.0", bound to vfio-pci or of a kind that stays with its kernel driver
  /// (mlx5); or a virtual device with its arguments: "net_af_packet0,iface=eth1,framecnt=32768",
  /// "net_pcap0,rx_pcap=day.pcap".
  std::string device = {};
  std::uint16_t queues = 1;               ///< Receive queues, each a port of its own for a thread of its own; 1 to 16.
  std::uint16_t descriptors = 2'048;      ///< Per queue, as near as the card can; 32 to 32,768.
  std::uint16_t burst = 32;               ///< Frames taken at a time, at most; 1 to 512.
  std::uint32_t buffers = 0;              ///< Frames that fit the memory of the port; 0 = what queues and bursts need.
  std::uint16_t max_frame_bytes = 2'048;  ///< A longer one counts as cut. 256 to 16,384.
  std::uint32_t address = 0;              ///< Ours, for IGMP.
};

/// Opens a device: one port per receive queue, in order. start_dpdk comes first.
///
/// Datagrams are handed out where the card wrote them; they are given back at the next poll. Frames of groups that were
/// not joined are included if the card passes them. The kernel does not know the interface, so the port itself sends
/// IGMPv3: at a join, every minute, on a router's query, and a leave at the end.
///
/// Several queues: join() of a queue's port makes a flow rule that brings the group there. If the card has none, RSS
/// spreads groups by a hash of the addresses (notes() says so), and what comes to another queue is handed over, without
/// a copy; then all queues must be polled. A group has one queue: joining it at another one fails.
///
/// Arrival times: those of the driver if it gives ns of UTC (counted as Kernel for af_packet, else Hardware), else the
/// time of the poll. counters().dropped_by_nic is what the card missed or had no buffer for, as far as the driver
/// reports it (af_packet does not), brought up to date ten times a second; the first queue's port has it for all
/// queues. What found no room on its way to another queue counts there as well.
///
/// The first poll of a thread registers it with DPDK; later ones neither allocate nor make system calls (virtual
/// devices of the kernel apart). At most 64 characters of a device's name are kept by DPDK.
[[nodiscard]] Result<std::vector<std::unique_ptr<Port>>> open_dpdk_ports(const DpdkPortOptions& options);

}  // namespace stopbit::ingest
