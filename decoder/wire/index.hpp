#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "decoder/wire/index_kernels.hpp"
#include "microcode/base/limits.hpp"

namespace stopbit::wire {

/// A private copy of a datagram and the places of its stop bits, made in one pass. The length of an entity, and with it
/// where the next one begins, is then known without a look at its bytes.
///
/// Nothing outside the datagram is read, so the receiver needs no padding; and as the copy is private, its bytes and
/// its index agree whatever happens to the original. The index knows bytes, not fields: inside a byte vector the bits
/// mean nothing, and a reader skips them as it skips the vector.
///
/// Allocates when it is made, never later. One thread.
class Index {
 public:
  /// For datagrams of up to `max_bytes`; by the kernel of chosen_index_kernel(), the portable one if that has failed.
  explicit Index(std::size_t max_bytes = limits::kMaxDatagramBytes);
  Index(std::size_t max_bytes, const IndexKernel& kernel);

  /// Takes a datagram, or the first `max_bytes` of a longer one; replaces the previous one.
  void build(std::span<const std::byte> datagram) noexcept {
    size_ = std::min(datagram.size(), max_bytes_);
    build_(reinterpret_cast<const std::uint8_t*>(datagram.data()), size_, blocks_[1].data(), stops_.get());
  }

  /// The bytes, aligned to 64; kIndexBlock zeros are readable before and after them.
  [[nodiscard]] const std::uint8_t* data() const noexcept { return blocks_[1].data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Bit i of word k: byte 64k + i is inside the datagram and has the stop bit. A word of zeros follows the last one.
  [[nodiscard]] const std::uint64_t* stops() const noexcept { return stops_.get(); }

  /// The stop bits of at least kNearBytes at a position, bit 0 that of its own byte; `position` <= size(). The bytes of
  /// an entity that begins there are one more than the zeros at its end; no bit set: it is longer, or cut off.
  [[nodiscard]] std::uint64_t stops_from(std::size_t position) const noexcept {
    static_assert(std::endian::native == std::endian::little, "byte k has the stop bits of bytes 8k and after");
    std::uint64_t bits;
    std::memcpy(&bits, reinterpret_cast<const unsigned char*>(stops_.get()) + position / 8, sizeof(bits));
    return bits >> position % 8;
  }
  static constexpr std::size_t kNearBytes = 57;

 private:
  struct alignas(kIndexBlock) Block : std::array<std::uint8_t, kIndexBlock> {};

  IndexFunction build_;
  std::size_t max_bytes_;
  std::size_t size_ = 0;
  std::unique_ptr<Block[]> blocks_;
  std::unique_ptr<std::uint64_t[]> stops_;
};

}  // namespace stopbit::wire
