#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/os/shm/segment.hpp"

namespace stopbit::tools {

/// Tells the service manager that started the process how it does (sd_notify(3)): datagrams to the socket that
/// NOTIFY_SOCKET names. Without that, and where the socket cannot be reached, nothing is sent.
class Service {
 public:
  /// Opens the socket, so before the process is confined. Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of
  /// the environment: they are not for processes that this one starts.
  [[nodiscard]] static Service from_environment();

  void ready();
  void stopping();
  /// A sentence for people. Sent if it differs from the last one.
  void status(std::string text);
  /// From the loop that must not hang, often: every quarter of the watchdog's time it says that the process is alive.
  void alive();

 private:
  Service() = default;
  void send(std::string_view text) const noexcept;

  os::Descriptor socket_;
  std::optional<std::chrono::microseconds> watchdog_;
  std::chrono::steady_clock::time_point next_alive_;
  std::string status_;
};

}  // namespace stopbit::tools
