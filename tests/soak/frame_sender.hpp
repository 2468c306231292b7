#pragma once

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/ports/out/frame.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::testing {

/// Puts whole Ethernet frames on an interface, past routes and queues: cheap enough for one core to fill a cable that
/// another core empties. One thread; allocates when it is opened.
class FrameSender {
 public:
  [[nodiscard]] static Result<FrameSender> open(const char* interface, net::Endpoint source, std::size_t batch) {
    FrameSender sender(source, batch);
    sender.descriptor_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    const int past_queues = 1;
    const sockaddr_ll address{.sll_family = AF_PACKET,
                              .sll_protocol = 0,
                              .sll_ifindex = static_cast<int>(::if_nametoindex(interface)),
                              .sll_hatype = 0,
                              .sll_pkttype = 0,
                              .sll_halen = 0,
                              .sll_addr = {}};
    if (sender.descriptor_ < 0 ||
        ::setsockopt(sender.descriptor_, SOL_PACKET, PACKET_QDISC_BYPASS, &past_queues, sizeof(past_queues)) != 0 ||
        ::bind(sender.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      return Failure{"sending frames through " + std::string(interface) + ": " + std::strerror(errno)};
    return sender;
  }

  FrameSender(FrameSender&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        builder_(std::move(other.builder_)),
        source_(other.source_),
        frames_(std::move(other.frames_)),
        vectors_(std::move(other.vectors_)),
        messages_(std::move(other.messages_)) {}
  FrameSender& operator=(FrameSender&&) = delete;
  ~FrameSender() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Appends a datagram to the others; sends them all if that fills the batch.
  void add(net::Endpoint destination, std::span<const std::byte> payload) {
    builder_.set(source_, destination);
    const std::span<const std::byte> frame = builder_.build(payload);
    frames_[filled_].assign(frame.begin(), frame.end());
    vectors_[filled_] = {frames_[filled_].data(), frames_[filled_].size()};
    messages_[filled_].msg_hdr.msg_iov = &vectors_[filled_];
    messages_[filled_].msg_hdr.msg_iovlen = 1;
    if (++filled_ == messages_.size()) flush();
  }

  void flush() {
    for (std::size_t done = 0; done < filled_;) {
      const int sent = ::sendmmsg(descriptor_, &messages_[done], static_cast<unsigned>(filled_ - done), 0);
      if (sent > 0) {
        done += static_cast<std::size_t>(sent);
      } else if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS) {
        ++refused_;
        ++done;
      }
    }
    filled_ = 0;
  }

  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

 private:
  FrameSender(net::Endpoint source, std::size_t batch)
      : builder_(source, source), source_(source), frames_(batch), vectors_(batch), messages_(batch) {}

  int descriptor_ = -1;
  egress::FrameBuilder builder_;
  net::Endpoint source_;
  std::vector<std::vector<std::byte>> frames_;
  std::vector<iovec> vectors_;
  std::vector<mmsghdr> messages_;
  std::size_t filled_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace stopbit::testing
