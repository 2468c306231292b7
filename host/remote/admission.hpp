#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/nic/transport/address.hpp"

namespace stopbit::remote {

/// How many requests each customer (HostAddress::customer) may make. Of fixed size: if more have asked lately than
/// there are places, the one that has not asked for longest is forgotten. One thread.
class RequestRates {
 public:
  /// Allows bursts of `per_second`, and `per_second` in each second after; 0: no limit.
  explicit RequestRates(std::uint32_t per_second) noexcept : per_second_(per_second) {}

  /// Whether this one may make a request now. `now_ns` must not go back.
  [[nodiscard]] bool take(const nic::HostAddress& address, std::uint64_t now_ns) noexcept;

 private:
  static constexpr std::size_t kPlaces = 256;
  struct Customer {
    nic::HostAddress address;
    std::uint64_t credit_ns = 0;
    std::uint64_t last_ns = 0;
    bool is_used = false;
  };

  std::uint32_t per_second_;
  std::array<Customer, kPlaces> customers_{};
};

/// Of bytes in each second, so that a tenth of a second's may go at once. One thread.
class ByteRate {
 public:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 34U;

  /// Up to kMost; 0: no limit.
  explicit ByteRate(std::uint64_t per_second) noexcept : per_second_(per_second) {}

  [[nodiscard]] bool has_room(std::uint64_t now_ns) noexcept;
  /// `bytes` were sent; what exceeds the room is made up for later.
  void take(std::size_t bytes) noexcept {
    if (per_second_ != 0) credit_ -= static_cast<std::int64_t>(bytes) * kPerByte;
  }

 private:
  static constexpr std::int64_t kPerByte = 1'000'000'000;

  std::uint64_t per_second_;
  std::int64_t credit_ = 0;  ///< In bytes / kPerByte, so that nothing is rounded.
  std::uint64_t last_ns_ = 0;
};

}  // namespace stopbit::remote
