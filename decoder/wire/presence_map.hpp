#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "decoder/wire/stop_bit.hpp"

namespace stopbit::wire {

/// The presence map of a segment, of any length; bits past its end read 0. Points into the datagram.
class PresenceMap {
 public:
  /// False if the datagram ends inside the map; then nothing has changed.
  [[nodiscard]] bool load(Cursor& in) noexcept {
    const std::uint8_t* p = in.position;
    do {
      if (p == in.end) return false;
    } while ((*p++ & kStop) == 0);
    begin_ = in.position;
    next_ = in.position;
    end_ = p;
    overlong_ = p - in.position > 1 && (p[-1] & kData) == 0;
    in.position = p;
    bits_ = 0;
    left_ = 0;
    return true;
  }

  /// For code that takes bits by itself: it works on the word at `bits_offset`, whose top bit is the next one. Up to 63
  /// bits may be taken so; `take` continues after them.
  void expose() noexcept {
    if (left_ == 0) refill();
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  void set_bits(std::uint64_t bits) noexcept { bits_ = bits; }
  /// Instead of load(), by such code: the map has these bits, the first one on top, followed by zeros.
  void load_bits(std::uint64_t bits) noexcept {
    bits_ = bits;
    left_ = 64;
    next_ = end_;
  }
  /// The same from code that takes more than 63 bits: the word's bits that are left, the next one on top, and a one.
  void set_window(std::uint64_t window) noexcept {
    left_ = kWordBits - static_cast<unsigned>(std::countr_zero(window));
    bits_ = window & (window - 1);
  }
  static constexpr std::size_t bits_offset() noexcept { return offsetof(PresenceMap, bits_); }
  /// How many bits the word has; more does no harm, as zeros follow.
  static constexpr std::size_t left_offset() noexcept { return offsetof(PresenceMap, left_); }
  /// The bytes that follow the word.
  static constexpr std::size_t next_offset() noexcept { return offsetof(PresenceMap, next_); }
  static constexpr std::size_t end_offset() noexcept { return offsetof(PresenceMap, end_); }

  [[nodiscard]] bool take() noexcept {
    if (left_ == 0) refill();
    const bool bit = (bits_ >> 63) != 0;
    bits_ <<= 1;
    --left_;
    return bit;
  }

  /// Whether all bits that are not taken yet are in `bits`, the next one on top; those of maps of at most nine bytes
  /// are.
  [[nodiscard]] bool rest(std::uint64_t& bits) noexcept {
    if (left_ == 0) refill();
    bits = bits_;
    return next_ == end_;
  }

  /// Counts bits as taken: at most 63, after `rest`.
  void skip(unsigned bits) noexcept {
    bits_ <<= bits;
    left_ = left_ > bits ? left_ - bits : 0;
  }

  /// Its first byte.
  [[nodiscard]] const std::uint8_t* begin() const noexcept { return begin_; }

  /// More than seven bits, the last seven of them zero (R7).
  [[nodiscard]] bool overlong() const noexcept { return overlong_; }

  /// Whether a bit is set that was never taken (R8).
  [[nodiscard]] bool has_unused_bits() const noexcept {
    if (bits_ != 0) return true;
    for (const std::uint8_t* p = next_; p != end_; ++p) {
      if ((*p & kData) != 0) return true;
    }
    return false;
  }

 private:
  static constexpr unsigned kBytesPerWord = 9;
  static constexpr unsigned kWordBits = 7 * kBytesPerWord;

  void refill() noexcept {
    bits_ = 0;
    left_ = 0;
    for (unsigned i = 0; i < kBytesPerWord && next_ != end_; ++i, left_ += 7) bits_ = bits_ << 7 | (*next_++ & kData);
    if (left_ == 0) {
      left_ = 64;  // past the end: zeros, again and again
    } else {
      bits_ <<= 64 - left_;
    }
  }

  std::uint64_t bits_ = 0;  ///< Bits not yet taken, the next one on top.
  unsigned left_ = 0;
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* next_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool overlong_ = false;
};

}  // namespace stopbit::wire
