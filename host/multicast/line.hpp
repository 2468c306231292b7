#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "host/multicast/options.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::multicast {

/// A multicast group that packets go to.
class Line {
 public:
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  virtual ~Line() = default;

  enum class Outcome : std::uint8_t {
    Sent,     ///< The kernel has taken it.
    Full,     ///< No room in the socket buffer now.
    Refused,  ///< The kernel refuses it: no route, too long, interface down. error() says why.
  };
  [[nodiscard]] virtual Outcome send(std::span<const std::byte> packet) noexcept = 0;
  /// errno of the last refusal; 0: none.
  [[nodiscard]] virtual int error() const noexcept = 0;
};

/// A socket of the kernel, which never waits. The failure names group and interface.
[[nodiscard]] Result<std::unique_ptr<Line>> open_line(const LineOptions& options);

}  // namespace stopbit::multicast
