#include "host/ports/out/socket/udp_sender.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/feed/packet/socket_address.hpp"

namespace stopbit::egress {
namespace {

constexpr int kSendBuffer = 4 << 20;

}  // namespace

struct UdpSender::Batch {
  explicit Batch(std::size_t size) : addresses(size), vectors(size), messages(size) {
    for (std::size_t i = 0; i < size; ++i) {
      msghdr& header = messages[i].msg_hdr;
      header.msg_name = &addresses[i];
      header.msg_namelen = sizeof(sockaddr_in);
      header.msg_iov = &vectors[i];
      header.msg_iovlen = 1;
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    if (descriptor >= 0) ::close(descriptor);
  }

  int descriptor = -1;
  std::vector<sockaddr_in> addresses;
  std::vector<iovec> vectors;
  std::vector<mmsghdr> messages;
  std::size_t filled = 0;
  std::function<void(std::size_t)> on_refusal;
};

Result<UdpSender> UdpSender::open(const UdpSenderOptions& options) {
  const auto failure = [&](const std::string& what) {
    return Failure{"sending" + (options.interface.empty() ? "" : " through " + options.interface) + " from " +
                   net::to_text(options.source) + ": " + what + ": " + std::strerror(errno)};
  };
  if (options.batch < 1 || options.batch > 1024) return Failure{"a batch has 1 to 1024 datagrams"};
  auto batch = std::make_unique<Batch>(options.batch);
  batch->on_refusal = options.on_refusal;
  const int descriptor = batch->descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return failure("socket");
  const auto set = [descriptor](int level, int option, const auto& value) {
    return ::setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
  };
  if (!set(SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer)) (void)set(SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  if (!set(SOL_SOCKET, SO_REUSEADDR, 1)) return failure("SO_REUSEADDR");
  if (!set(IPPROTO_IP, IP_MULTICAST_TTL, static_cast<int>(options.ttl))) return failure("ttl");
  if (!set(IPPROTO_IP, IP_MULTICAST_LOOP, static_cast<int>(options.loop))) return failure("loop");
  if (!options.interface.empty()) {
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(::if_nametoindex(options.interface.c_str()));
    if (request.imr_ifindex == 0 || !set(IPPROTO_IP, IP_MULTICAST_IF, request)) return failure("interface");
  }
  const sockaddr_in source = net::socket_address(options.source);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&source), sizeof(source)) != 0) return failure("bind");
  return UdpSender(std::move(batch));
}

UdpSender::UdpSender(std::unique_ptr<Batch> batch) : batch_(std::move(batch)) {}
UdpSender::UdpSender(UdpSender&&) noexcept = default;
UdpSender::~UdpSender() = default;

void UdpSender::add(net::Endpoint destination, std::span<const std::byte> payload) noexcept {
  const std::size_t at = batch_->filled++;
  batch_->addresses[at] = net::socket_address(destination);
  batch_->vectors[at] = {const_cast<std::byte*>(payload.data()), payload.size()};  // sending does not write
  if (batch_->filled == batch_->messages.size()) flush();
}

std::size_t UdpSender::waiting() const noexcept {
  return batch_->filled;
}

void UdpSender::flush() noexcept {
  std::size_t done = 0;
  while (done < batch_->filled) {
    const int sent =
        ::sendmmsg(batch_->descriptor, &batch_->messages[done], static_cast<unsigned>(batch_->filled - done), 0);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      datagrams_ += static_cast<std::uint64_t>(sent);
    } else if (errno == EAGAIN || errno == ENOBUFS) {
      pollfd room{.fd = batch_->descriptor, .events = POLLOUT, .revents = 0};
      (void)::poll(&room, 1, 1);
    } else if (errno != EINTR) {
      last_error_ = errno;
      ++refused_;
      if (batch_->on_refusal) batch_->on_refusal(done);
      ++done;
    }
  }
  batch_->filled = 0;
}

}  // namespace stopbit::egress
