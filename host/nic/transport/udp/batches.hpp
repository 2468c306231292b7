#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/nic/transport/udp/endpoint.hpp"
#include "host/nic/transport/udp/udp_options.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// A UDP socket with datagrams that wait to be sent, and that have come: many per system call. No call waits, and none
/// allocates after `open`.
class UdpBatches {
 public:
  static constexpr std::size_t kDatagrams = 64;

  explicit UdpBatches(UdpCounters& counters) : counters_(counters) {}

  /// `socket`: bound. `datagram_bytes`: the longest one.
  [[nodiscard]] Status open(os::Descriptor socket, bool is_ipv4, std::size_t datagram_bytes, std::size_t socket_bytes);

  /// Room for a datagram; empty: there is none now, though `flush` was tried.
  [[nodiscard]] std::span<std::byte> place();
  /// The datagram that was written there waits for `flush`.
  void push(std::size_t bytes, const UdpSocketAddress& to);
  /// Gives the kernel what it takes now.
  void flush();

  struct Arrived {
    const sockaddr_storage* source = nullptr;
    socklen_t source_bytes = 0;
    std::span<std::byte> datagram;
  };
  /// The next datagram of those that `fill` has fetched; until the next `fill`.
  [[nodiscard]] bool pop(Arrived& arrived);
  [[nodiscard]] bool is_empty() const noexcept { return read_ == arrived_; }
  /// Fetches what has come, at most kDatagrams; only if it is empty.
  void fill();
  /// Asks the kernel how many it has dropped.
  void count_drops() noexcept;
  /// The longest packet of a path, as a router or the own interface has reported it last; 0: none. Not authenticated.
  [[nodiscard]] std::uint32_t reported_mtu() const noexcept { return reported_mtu_; }
  [[nodiscard]] bool has_segmentation() const noexcept { return has_segmentation_; }

 private:
  struct Waiting {
    std::size_t bytes = 0;
    UdpSocketAddress to;
  };
  /// Makes messages of what waits. With segmentation, datagrams of one length to one node are one message.
  [[nodiscard]] std::size_t gather();
  void take_errors();
  /// `errno` of a send that took nothing. False: try again later.
  [[nodiscard]] bool is_settled(int error);

  UdpCounters& counters_;
  os::Descriptor socket_;
  bool has_segmentation_ = false;
  std::size_t datagram_bytes_ = 0;

  std::vector<std::byte> outgoing_;
  std::vector<Waiting> waiting_;
  std::size_t first_ = 0;  ///< Of waiting_ that has not been sent.
  std::size_t count_ = 0;
  std::vector<iovec> out_parts_;
  std::vector<mmsghdr> out_messages_;
  std::vector<std::size_t> out_datagrams_;  ///< Of each message.
  struct alignas(cmsghdr) Control {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes{};
  };
  std::vector<Control> out_control_;

  std::vector<std::byte> incoming_;
  std::vector<sockaddr_storage> sources_;
  std::vector<iovec> in_parts_;
  std::vector<mmsghdr> in_messages_;
  std::size_t read_ = 0;
  std::size_t arrived_ = 0;
  std::uint32_t reported_mtu_ = 0;
};

}  // namespace stopbit::nic
