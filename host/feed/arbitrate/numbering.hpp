#pragma once

#include <cstdint>

namespace stopbit::arbitrate {

constexpr bool before(std::uint64_t left, std::uint64_t right) noexcept {
  return static_cast<std::int64_t>(left - right) < 0;
}
constexpr std::uint64_t lower(std::uint64_t left, std::uint64_t right) noexcept {
  return before(left, right) ? left : right;
}
constexpr std::uint64_t magnitude(std::int64_t value) noexcept {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}
/// How long after `then` it is; 0 if it is before.
constexpr std::uint64_t since(std::uint64_t now, std::uint64_t then) noexcept {
  return now > then ? now - then : 0;
}
constexpr std::uint64_t apart(std::uint64_t left, std::uint64_t right) noexcept {
  return left > right ? left - right : right - left;
}

/// Numbers have 64 bits and never wrap in practice; their low bits are those on the wire, which do.
class Numbering {
 public:
  explicit Numbering(std::uint8_t bits) noexcept
      : mask_(bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {}

  [[nodiscard]] std::uint64_t wire(std::uint64_t number) const noexcept { return number & mask_; }
  /// How far `wire` is ahead of the number, the shorter way round.
  [[nodiscard]] std::int64_t distance(std::uint64_t wire, std::uint64_t number) const noexcept {
    const std::uint64_t difference = (wire - number) & mask_;
    const std::uint64_t sign = mask_ ^ mask_ >> 1;
    return static_cast<std::int64_t>((difference & sign) != 0 ? difference | ~mask_ : difference);
  }

 private:
  std::uint64_t mask_;
};

}  // namespace stopbit::arbitrate
