#include "host/nic/transport/udp/batches.hpp"

#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/os/error_text.hpp"

namespace stopbit::nic {
namespace {

constexpr std::size_t kMessageBytes = 65'000;  ///< Of all segments of a message; the kernel takes 65535 with headers.
constexpr std::size_t kErrorsPerFill = 16;

Status set(int socket, int level, int name, int value, const char* what) {
  if (::setsockopt(socket, level, name, &value, sizeof(value)) == 0) return Done{};
  return Failure{std::string("cannot set ") + what + ": " + os::error_text()};
}

}  // namespace

Status UdpBatches::open(os::Descriptor socket, bool is_ipv4, std::size_t datagram_bytes, std::size_t socket_bytes) {
  socket_ = std::move(socket);
  const int fd = socket_.get();
  // Never fragments. What routers say of the path is reported, not believed: it is not authenticated.
  Status good = is_ipv4 ? set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, "IP_MTU_DISCOVER")
                        : set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, "IPV6_MTU_DISCOVER");
  if (good) {
    good = is_ipv4 ? set(fd, IPPROTO_IP, IP_RECVERR, 1, "IP_RECVERR")
                   : set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1, "IPV6_RECVERR");
  }
  if (!good) return good;
  // The kernel gives less if its limits say so, and more frames are dropped in bursts.
  const int wanted = static_cast<int>(std::min<std::size_t>(socket_bytes, std::size_t{1} << 30U));
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
  const int none = 0;
  has_segmentation_ = ::setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof(none)) == 0;

  datagram_bytes_ = datagram_bytes;
  outgoing_.resize(kDatagrams * datagram_bytes);
  waiting_.resize(kDatagrams);
  out_parts_.resize(kDatagrams);
  out_messages_.resize(kDatagrams);
  out_datagrams_.resize(kDatagrams);
  out_control_.resize(kDatagrams);
  // One byte more shows that a datagram is too long.
  incoming_.resize(kDatagrams * (datagram_bytes + 1));
  sources_.resize(kDatagrams);
  in_parts_.resize(kDatagrams);
  in_messages_.resize(kDatagrams);
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    in_parts_[i] = {incoming_.data() + i * (datagram_bytes + 1), datagram_bytes + 1};
    msghdr& head = in_messages_[i].msg_hdr;
    head = {};
    head.msg_name = &sources_[i];
    head.msg_namelen = sizeof(sockaddr_storage);
    head.msg_iov = &in_parts_[i];
    head.msg_iovlen = 1;
  }
  return Done{};
}

std::span<std::byte> UdpBatches::place() {
  if (count_ == kDatagrams) flush();
  if (count_ == kDatagrams) return {};
  return std::span(outgoing_).subspan(count_ * datagram_bytes_, datagram_bytes_);
}

void UdpBatches::push(std::size_t bytes, const UdpSocketAddress& to) {
  waiting_[count_].bytes = bytes;
  waiting_[count_].to = to;
  ++count_;
}

std::size_t UdpBatches::gather() {
  std::size_t messages = 0;
  for (std::size_t i = first_; i < count_; ++messages) {
    Waiting& first = waiting_[i];
    const std::size_t begin = i;
    std::size_t bytes = 0;
    do {
      out_parts_[i] = {outgoing_.data() + i * datagram_bytes_, waiting_[i].bytes};
      bytes += waiting_[i].bytes;
      ++i;
      // All segments but the last one have one length.
    } while (has_segmentation_ && i < count_ && waiting_[i - 1].bytes == first.bytes &&
             waiting_[i].bytes <= first.bytes && bytes + waiting_[i].bytes <= kMessageBytes &&
             waiting_[i].to.bytes == first.to.bytes &&
             std::memcmp(&waiting_[i].to.storage, &first.to.storage, first.to.bytes) == 0);
    msghdr& head = out_messages_[messages].msg_hdr;
    head = {};
    head.msg_name = &first.to.storage;
    head.msg_namelen = first.to.bytes;
    head.msg_iov = &out_parts_[begin];
    head.msg_iovlen = i - begin;
    out_datagrams_[messages] = i - begin;
    if (i - begin == 1) continue;
    Control& control = out_control_[messages];
    head.msg_control = control.bytes.data();
    head.msg_controllen = control.bytes.size();
    cmsghdr* const segments = CMSG_FIRSTHDR(&head);
    segments->cmsg_level = IPPROTO_UDP;
    segments->cmsg_type = UDP_SEGMENT;
    segments->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment_bytes = static_cast<std::uint16_t>(first.bytes);
    std::memcpy(CMSG_DATA(segments), &segment_bytes, sizeof(segment_bytes));
  }
  return messages;
}

bool UdpBatches::is_settled(int error) {
  if (error == EAGAIN || error == ENOBUFS || error == EINTR || error == ENOMEM) return false;
  const std::size_t lost = out_datagrams_.front();
  if (lost > 1 && (error == EIO || error == EINVAL || error == EOPNOTSUPP)) {  // an interface that cannot do it
    has_segmentation_ = false;
    return true;
  }
  ++(error == EMSGSIZE ? counters_.too_long : counters_.broken);
  take_errors();  // the kernel keeps a copy of what was too long, in the room for datagrams that come
  ++first_;       // the links send it again
  return true;
}

void UdpBatches::flush() {
  // An error that was reported for an earlier datagram (ICMP) ends a call, once, and takes no datagram.
  bool is_repeated = false;
  while (first_ < count_) {
    const std::size_t messages = gather();
    const int sent =
        ::sendmmsg(socket_.get(), out_messages_.data(), static_cast<unsigned>(messages), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      for (int i = 0; i < sent; ++i) {
        const std::size_t datagrams = out_datagrams_[static_cast<std::size_t>(i)];
        first_ += datagrams;
        counters_.sent += datagrams;
      }
      is_repeated = false;
    } else if (!is_repeated && errno != EAGAIN) {
      is_repeated = true;
      take_errors();
    } else if (!is_settled(errno)) {
      break;
    } else {
      is_repeated = false;
    }
  }
  if (first_ < count_) return;
  first_ = count_ = 0;
}

bool UdpBatches::pop(Arrived& arrived) {
  if (is_empty()) return false;
  const std::size_t i = read_++;
  arrived.source = &sources_[i];
  arrived.source_bytes = in_messages_[i].msg_hdr.msg_namelen;
  arrived.datagram = std::span(incoming_).subspan(i * (datagram_bytes_ + 1), in_messages_[i].msg_len);
  return true;
}

void UdpBatches::fill() {
  for (std::size_t i = 0; i < arrived_; ++i) {
    in_messages_[i].msg_hdr.msg_namelen = sizeof(sockaddr_storage);
  }
  read_ = arrived_ = 0;
  const int got = ::recvmmsg(socket_.get(), in_messages_.data(), kDatagrams, MSG_DONTWAIT, nullptr);
  if (got > 0) {
    arrived_ = static_cast<std::size_t>(got);
  } else if (errno != EAGAIN && errno != EINTR) {
    take_errors();
  }
}

void UdpBatches::take_errors() {
  for (std::size_t i = 0; i < kErrorsPerFill; ++i) {
    alignas(cmsghdr) std::array<std::byte, 512> control;
    std::byte nothing{};
    iovec part{&nothing, 1};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    if (::recvmsg(socket_.get(), &head, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* each = CMSG_FIRSTHDR(&head); each != nullptr; each = CMSG_NXTHDR(&head, each)) {
      const bool is_error = (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR) ||
                            (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_RECVERR);
      sock_extended_err error{};
      if (!is_error || each->cmsg_len < CMSG_LEN(sizeof(error))) continue;
      std::memcpy(&error, CMSG_DATA(each), sizeof(error));
      const bool is_too_long = error.ee_errno == EMSGSIZE;
      if (is_too_long) reported_mtu_ = error.ee_info;
      if (error.ee_origin == SO_EE_ORIGIN_LOCAL) continue;  // counted where the call failed
      ++(is_too_long ? counters_.too_long : counters_.unreachable);
    }
  }
}

void UdpBatches::count_drops() noexcept {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t bytes = sizeof(memory);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &bytes) == 0) {
    counters_.dropped = memory[SK_MEMINFO_DROPS];
  }
}

}  // namespace stopbit::nic
