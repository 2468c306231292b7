#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/refill/ranges.hpp"

namespace stopbit::refill {

/// Where an answer is in the bytes of a connection.
struct Frame {
  std::uint32_t header_bytes = 0;
  std::uint64_t body_bytes = 0;
};

/// How an exchange's replay service is spoken to. No state: what a message needs is given.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// The messages that the client sends, written to `to`; the size, 0: it does not fit. `serial`: of the message in its
  /// connection, from 1.
  [[nodiscard]] virtual std::size_t log_on(std::span<char> to, std::uint64_t serial,
                                           std::uint64_t wall_ns) const noexcept = 0;
  [[nodiscard]] virtual std::size_t request(std::span<char> to, std::uint64_t serial, std::uint64_t wall_ns,
                                            Range range) const noexcept = 0;
  [[nodiscard]] virtual std::size_t log_out(std::span<char> to, std::uint64_t serial,
                                            std::uint64_t wall_ns) const noexcept = 0;
  /// The answer at the beginning of the bytes; nothing: they do not show yet how long it is.
  [[nodiscard]] virtual std::optional<Frame> frame(std::span<const std::byte> bytes) const noexcept = 0;
};

}  // namespace stopbit::refill
