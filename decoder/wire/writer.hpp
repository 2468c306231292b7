#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "decoder/wire/stop_bit.hpp"

namespace stopbit::wire {

/// Bytes of an integer entity in its shortest form.
template <bool Signed>
[[nodiscard]] constexpr std::size_t integer_size(Int128 value) {
  std::size_t bytes = 1;
  if constexpr (Signed) {
    while (value < -64 || value > 63) {
      value >>= 7;
      ++bytes;
    }
  } else {
    while (value > 127) {
      value >>= 7;
      ++bytes;
    }
  }
  return bytes;
}

/// The nullable form of an integer: NULL is 0, so numbers that are not negative go up by one (FAST 1.1, 10.6.1).
constexpr Int128 nullable(Int128 value) {
  return value >= 0 ? value + 1 : value;
}

/// Bytes of a string's zero preamble: its nullable form needs one more (FAST 1.1, 10.6.3).
constexpr std::size_t ascii_preamble(std::string_view text, bool is_nullable) {
  return text.empty() || text.front() == '\0' ? (is_nullable ? 2 : 1) : 0;
}

/// Bytes of a string entity in its shortest form.
constexpr std::size_t ascii_size(std::string_view text, bool is_nullable) {
  return ascii_preamble(text, is_nullable) + text.size();
}

/// Writes entities one after the other, each in its shortest form, into memory of fixed size. An entity that does not
/// fit is left out and remembered: `full()`. Allocates when it is made, never later.
class Writer {
 public:
  explicit Writer(std::size_t capacity)
      : bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(capacity)), capacity_(capacity) {}

  void clear() noexcept {
    size_ = 0;
    full_ = false;
  }
  [[nodiscard]] bool full() const noexcept { return full_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.get(); }

  template <bool Signed>
  void integer(Int128 value) noexcept {
    const std::size_t count = integer_size<Signed>(value);
    if (!room(count)) return;
    std::uint8_t stop = kStop;
    for (std::size_t i = count; i-- > 0; value >>= 7) {
      bytes_[size_ + i] = static_cast<std::uint8_t>((value & kData) | stop);
      stop = 0;
    }
    size_ += count;
  }

  /// An unsigned number in exactly `bytes` bytes.
  void bits(std::uint64_t value, std::size_t bytes) noexcept {
    if (!room(bytes)) return;
    for (std::size_t i = bytes; i-- > 0; value >>= 7) bytes_[size_ + i] = static_cast<std::uint8_t>(value & kData);
    size_ += bytes;
    bytes_[size_ - 1] |= kStop;
  }

  /// NULL of every nullable type.
  void null() noexcept { integer<false>(0); }

  /// Every character must be below 0x80.
  void ascii(std::string_view text, bool is_nullable) noexcept {
    const std::size_t preamble = ascii_preamble(text, is_nullable);
    if (!room(preamble + text.size())) return;
    std::memset(bytes_.get() + size_, 0, preamble);
    size_ += preamble;
    raw(text);
    bytes_[size_ - 1] |= kStop;
  }

  void raw(std::string_view text) noexcept {
    if (text.empty() || !room(text.size())) return;
    std::memcpy(bytes_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }

  /// Leaves room for a presence map of as many bytes; all its bits are clear.
  void open_map(std::size_t bytes) noexcept {
    if (!room(bytes)) return;
    std::memset(bytes_.get() + size_, 0, bytes);
    size_ += bytes;
  }
  void set_map_bit(std::size_t map, std::size_t bit) noexcept {
    const std::size_t at = map + bit / 7;
    if (at < size_) bytes_[at] = static_cast<std::uint8_t>(bytes_[at] | 0x40U >> bit % 7);
  }
  /// Cuts the zero bytes off the map's end and moves what follows to the front. Returns how far.
  std::size_t close_map(std::size_t map, std::size_t bytes) noexcept {
    if (full_) return 0;
    std::size_t used = bytes;
    while (used > 1 && bytes_[map + used - 1] == 0) --used;
    bytes_[map + used - 1] |= kStop;
    if (used == bytes) return 0;
    std::memmove(bytes_.get() + map + used, bytes_.get() + map + bytes, size_ - map - bytes);
    size_ -= bytes - used;
    return bytes - used;
  }

 private:
  bool room(std::size_t bytes) noexcept {
    if (bytes > capacity_ - size_) full_ = true;
    return !full_;
  }

  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool full_ = false;
};

}  // namespace stopbit::wire
