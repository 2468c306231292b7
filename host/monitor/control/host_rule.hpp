#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stopbit::control {

/// Decides which HTTP requests are addressed to this server.
///
/// A page of a stranger in a browser on this machine can reach our address: its own name may resolve to it (DNS
/// rebinding), and then the browser takes our answers for that page's. Such a request names the stranger's host.
class HostRule {
 public:
  /// Answers to `localhost`, addresses of loopback, `address` and the hosts of the list, names or addresses without a
  /// port. `is_open`: to any host, for clients prove who they are otherwise; a list closes it all the same.
  HostRule(std::uint32_t address, std::vector<std::string> allowed, bool is_open);

  /// Host of a request: "name", "name:port", "1.2.3.4:port", "[::1]:port".
  [[nodiscard]] bool answers(std::string_view authority) const;
  /// Origin of a request, "scheme://name:port": only of a page that comes from the host that the request names, or
  /// from a host of the list.
  [[nodiscard]] bool accepts(std::string_view origin, std::string_view authority) const;

 private:
  std::string address_;
  std::vector<std::string> allowed_;
  bool is_open_;
};

/// The host of an authority, in lower case and without a dot at its end; empty if that makes no sense.
[[nodiscard]] std::string host_of(std::string_view authority);

}  // namespace stopbit::control
