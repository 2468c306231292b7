#include "host/nic/transport/udp/datagram.hpp"

#include <cstring>

namespace stopbit::nic {

UdpRead read_datagram(std::span<std::byte> datagram) noexcept {
  UdpRead read;
  if (datagram.size() <= sizeof(UdpHead)) return read;
  std::memcpy(&read.head, datagram.data(), sizeof(read.head));
  if (read.head.magic != kUdpMagic) return read;
  if (read.head.version != kUdpVersion) {
    read.fault = UdpFault::Version;
    return read;
  }
  const bool is_sealed = read.head.flags == kUdpSealed;
  if (read.head.session == 0 || (read.head.flags != 0 && !is_sealed)) return read;
  if (is_sealed != (read.head.epoch != 0) || is_sealed != (read.head.sequence != 0)) return read;
  if (is_sealed && datagram.size() <= kUdpExtraBytes) return read;
  read.body = datagram.subspan(sizeof(UdpHead));
  read.fault = UdpFault::None;
  return read;
}

}  // namespace stopbit::nic
