#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::multicast::test {

/// A refill service that answers the first request of each client with the same bytes, and closes the connection.
class ScriptedService {
 public:
  /// `repeats`: it sends the bytes until the client closes.
  explicit ScriptedService(std::vector<std::byte> answer, bool repeats = false)
      : answer_(std::move(answer)), repeats_(repeats) {
    sockaddr_in address = net::socket_address({0x7F00'0001, 0});
    socklen_t bytes = sizeof(address);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    address_ = {0x7F00'0001, ntohs(address.sin_port)};
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedService(const ScriptedService&) = delete;
  ScriptedService& operator=(const ScriptedService&) = delete;
  ~ScriptedService() {
    (void)::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] net::Endpoint address() const { return address_; }

 private:
  void serve() {
    for (;;) {
      const os::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.ok()) return;
      std::array<std::byte, kRequestBytes> request;
      if (::recv(client.get(), request.data(), request.size(), MSG_WAITALL) != static_cast<ssize_t>(request.size())) {
        continue;
      }
      do {
        if (::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL) < 0) break;
      } while (repeats_);
    }
  }

  std::vector<std::byte> answer_;
  bool repeats_;
  os::Descriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  net::Endpoint address_;
  std::thread thread_;
};

}  // namespace stopbit::multicast::test
