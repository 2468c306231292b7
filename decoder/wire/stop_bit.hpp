#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "microcode/base/error_code.hpp"

/// Stop-bit entities (FAST 1.1, section 10): seven data bits a byte, the top bit set in the last one.
namespace stopbit::wire {

__extension__ typedef __int128 Int128;

/// A position in a datagram. Never moves past the end.
struct Cursor {
  const std::uint8_t* begin = nullptr;
  const std::uint8_t* position = nullptr;
  const std::uint8_t* end = nullptr;

  explicit Cursor(std::span<const std::byte> bytes = {})
      : begin(reinterpret_cast<const std::uint8_t*>(bytes.data())), position(begin), end(begin + bytes.size()) {}

  [[nodiscard]] std::uint32_t offset_of(const std::uint8_t* place) const noexcept {
    return static_cast<std::uint32_t>(place - begin);
  }
  [[nodiscard]] std::uint32_t offset() const noexcept { return offset_of(position); }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end - position); }
};

/// Result of reading an entity. `Wide` integers do not fit 64 bits; the caller takes the slow path.
enum class Status : std::uint8_t { Ok, Null, Error };

inline constexpr std::uint8_t kStop = 0x80;
inline constexpr std::uint8_t kData = 0x7F;

/// Integers beyond this many bits are not distinguished: every type of FAST, with its null and delta extensions, needs
/// fewer.
inline constexpr unsigned kWideBits = 70;

/// An integer entity: up to 8 bytes in `value`, longer ones (padding included) need read_long.
struct Integer {
  Int128 value = 0;
  bool overlong = false;
};

/// Reads an entity of any length. False at the end of the datagram. Values outside +-2^kWideBits saturate.
template <bool Signed>
[[nodiscard, gnu::noinline]] bool read_long(Cursor& in, Integer& out) noexcept {
  constexpr Int128 kBound = static_cast<Int128>(1) << kWideBits;
  if (in.position == in.end) return false;
  const std::uint8_t first = *in.position;
  const bool negative = Signed && (first & 0x40) != 0;
  Int128 value = negative ? -1 : 0;
  const std::uint8_t* p = in.position;
  bool saturated = false;
  for (;;) {
    if (p == in.end) return false;
    const std::uint8_t byte = *p++;
    value = value * 128 + (byte & kData);
    if (value > kBound || value < -kBound) {
      saturated = true;
      value = negative ? -kBound : kBound;
    }
    if ((byte & kStop) != 0) break;
  }
  // Redundant: the first seven bits repeat what the next byte (its sign bit, if signed) already says.
  if (p - in.position > 1) {
    const std::uint8_t second = in.position[1];
    out.overlong =
        Signed ? (first == 0x00 && (second & 0x40) == 0) || (first == 0x7F && (second & 0x40) != 0) : first == 0x00;
  } else {
    out.overlong = false;
  }
  out.value = saturated ? (negative ? -kBound : kBound) : value;
  in.position = p;
  return true;
}

/// One- and two-byte entities without a loop; everything else through read_long. Two bytes can be overlong, and only
/// `overlong` of `out` says so.
template <bool Signed>
[[nodiscard]] inline bool read_short(Cursor& in, std::int64_t& value) noexcept {
  const std::uint8_t* p = in.position;
  if (p == in.end) return false;
  std::uint64_t bits = *p & kData;
  if constexpr (Signed) bits |= (*p & 0x40) != 0 ? ~static_cast<std::uint64_t>(kData) : 0;
  if ((*p & kStop) != 0) {
    value = static_cast<std::int64_t>(bits);
    in.position = p + 1;
    return true;
  }
  // Up to eight bytes fit 64 bits with their sign. Padding (a first byte that adds nothing) is left to read_long, which
  // knows about overlong entities.
  if (*p == 0x00 || (Signed && *p == 0x7F)) return false;
  const std::uint8_t* last = in.left() > 8 ? p + 8 : in.end;
  for (++p; p != last; ++p) {
    bits = bits << 7 | (*p & kData);
    if ((*p & kStop) != 0) {
      value = static_cast<std::int64_t>(bits);
      in.position = p + 1;
      return true;
    }
  }
  return false;
}

}  // namespace stopbit::wire
