#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/line.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::multicast::test {

/// Keeps what is sent.
struct KeepingLine final : Line {
  Outcome send(std::span<const std::byte> packet) noexcept override {
    sent.emplace_back(packet.begin(), packet.end());
    return Outcome::Sent;
  }
  [[nodiscard]] int error() const noexcept override { return 0; }
  std::vector<std::vector<std::byte>> sent;
};

/// A TCP socket that listens at a free port of this host.
class Listener {
 public:
  Listener() {
    sockaddr_in address = net::socket_address({0x7F00'0001, 0});
    socklen_t bytes = sizeof(address);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    address_ = {0x7F00'0001, ntohs(address.sin_port)};
  }
  [[nodiscard]] net::Endpoint address() const { return address_; }
  /// Waits. None after close().
  [[nodiscard]] os::Descriptor accept() const {
    return os::Descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  void close() const { (void)::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  os::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  net::Endpoint address_;
};

/// A refill service that answers the first request of each client with the same bytes, and closes the connection.
class ScriptedService {
 public:
  /// `repeats`: it sends the bytes until the client closes.
  explicit ScriptedService(std::vector<std::byte> answer, bool repeats = false)
      : answer_(std::move(answer)), repeats_(repeats) {
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedService(const ScriptedService&) = delete;
  ScriptedService& operator=(const ScriptedService&) = delete;
  ~ScriptedService() {
    listener_.close();
    thread_.join();
  }
  [[nodiscard]] net::Endpoint address() const { return listener_.address(); }

 private:
  void serve() {
    for (;;) {
      const os::Descriptor client = listener_.accept();
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
  Listener listener_;
  std::thread thread_;
};

}  // namespace stopbit::multicast::test
