#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "host/ports/out/socket/udp_sender.hpp"

namespace stopbit::egress {

/// A UdpSender that copies each payload, so that the caller's buffer is free again at once. Allocates until every slot
/// of the batch has had a payload of the longest size.
class CopyingSender {
 public:
  [[nodiscard]] static Result<CopyingSender> open(const UdpSenderOptions& options) {
    Result<UdpSender> opened = UdpSender::open(options);
    if (!opened) return opened.failure();
    return CopyingSender(std::move(opened).value(), options.batch);
  }

  void add(net::Endpoint destination, std::span<const std::byte> payload) {
    std::vector<std::byte>& copy = copies_[next_];
    next_ = (next_ + 1) % copies_.size();
    copy.assign(payload.begin(), payload.end());
    socket_.add(destination, copy);
  }
  void flush() noexcept {
    socket_.flush();
    next_ = 0;
  }
  [[nodiscard]] const UdpSender& socket() const noexcept { return socket_; }

 private:
  CopyingSender(UdpSender socket, std::size_t batch) : socket_(std::move(socket)), copies_(batch) {}

  UdpSender socket_;
  std::vector<std::vector<std::byte>> copies_;  ///< Payloads that the socket has not sent yet.
  std::size_t next_ = 0;
};

}  // namespace stopbit::egress
