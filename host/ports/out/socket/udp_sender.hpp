#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::egress {

struct UdpSenderOptions {
  std::string interface = {};  ///< That multicast leaves through: "eth1". Empty: the kernel's choice.
  net::Endpoint source = {};   ///< An address of this machine and a port; 0 in either = the kernel's choice.
  std::uint8_t ttl = 1;        ///< Routers that multicast may pass, plus one. 1 = it stays on its network.
  bool loop = false;           ///< Programs on this machine that listen to the group get it, too.
  std::size_t batch = 64;      ///< Datagrams per send call, 1 to 1024.
  /// Gets the place in its batch of each datagram that the kernel refuses.
  std::function<void(std::size_t place)> on_refusal = {};
};

/// Sends UDP datagrams, many with one system call. One thread. Allocates when it is opened.
class UdpSender {
 public:
  /// The failure names the interface or address.
  [[nodiscard]] static Result<UdpSender> open(const UdpSenderOptions& options);

  UdpSender(UdpSender&&) noexcept;
  UdpSender& operator=(UdpSender&&) = delete;
  ~UdpSender();

  /// Appends a datagram to the batch, and sends the batch if it is full. `payload` must remain valid until then.
  void add(net::Endpoint destination, std::span<const std::byte> payload) noexcept;
  /// Sends what is left. Waits while the kernel has no room for it.
  void flush() noexcept;

  /// Datagrams that wait for the batch to be full.
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] std::uint64_t datagrams() const noexcept { return datagrams_; }  ///< That the kernel has taken.
  /// That it refused (no route, too long, interface down); they are lost.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  [[nodiscard]] int last_error() const noexcept { return last_error_; }  ///< errno of the last refusal, or 0.

 private:
  struct Batch;
  explicit UdpSender(std::unique_ptr<Batch> batch);

  std::unique_ptr<Batch> batch_;
  std::uint64_t datagrams_ = 0;
  std::uint64_t refused_ = 0;
  int last_error_ = 0;
};

}  // namespace stopbit::egress
