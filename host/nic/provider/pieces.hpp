#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stopbit::nic::provider {

/// A buffer of the program in up to kMax pieces.
class Pieces {
 public:
  static constexpr std::size_t kMax = 4;

  Pieces() = default;
  /// At most kMax.
  explicit Pieces(std::span<const iovec> pieces) noexcept : count_(pieces.size()) {
    std::copy(pieces.begin(), pieces.end(), pieces_.begin());
    for (const iovec& piece : pieces) bytes_ += piece.iov_len;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] void* first() const noexcept { return count_ == 0 ? nullptr : pieces_[0].iov_base; }

  /// Copies `into.size()` bytes from `offset` on, which must be inside.
  void read(std::size_t offset, std::span<std::byte> into) const noexcept {
    walk(offset, into.size(),
         [&](std::byte* at, std::size_t done, std::size_t length) { std::memcpy(into.data() + done, at, length); });
  }
  /// Copies bytes to `offset`, as far as there is room.
  void write(std::size_t offset, std::span<const std::byte> from) const noexcept {
    walk(offset, std::min(from.size(), bytes_ - std::min(bytes_, offset)),
         [&](std::byte* at, std::size_t done, std::size_t length) { std::memcpy(at, from.data() + done, length); });
  }
  /// The pieces of the first `length` bytes.
  [[nodiscard]] std::size_t first_bytes(std::size_t length, std::array<iovec, kMax>& into) const noexcept {
    std::size_t count = 0;
    for (; count < count_ && length != 0; ++count) {
      into[count] = {pieces_[count].iov_base, std::min(length, pieces_[count].iov_len)};
      length -= into[count].iov_len;
    }
    return count;
  }

 private:
  template <class Copy>
  void walk(std::size_t offset, std::size_t length, const Copy& copy) const noexcept {
    std::size_t done = 0;
    for (std::size_t i = 0; i < count_ && done < length; ++i) {
      if (offset >= pieces_[i].iov_len) {
        offset -= pieces_[i].iov_len;
        continue;
      }
      const std::size_t part = std::min(pieces_[i].iov_len - offset, length - done);
      copy(static_cast<std::byte*>(pieces_[i].iov_base) + offset, done, part);
      done += part;
      offset = 0;
    }
  }

  std::array<iovec, kMax> pieces_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace stopbit::nic::provider
