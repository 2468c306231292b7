#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stopbit::nic {

/// The sequence numbers that have come under one key (RFC 6479): a ring of bits, of which one word is always being
/// cleared, so that a jump forward clears whole words.
class ReplayWindow {
 public:
  /// A number lower than the highest one by less than this can still be new.
  static constexpr std::uint64_t kNumbers = 1984;

  /// Has not come yet, and is not too old to know.
  [[nodiscard]] bool is_new(std::uint64_t number) const noexcept {
    if (number == 0 || (number <= highest_ && highest_ - number >= kNumbers)) return false;
    return number > highest_ || (words_[word_of(number)] & bit_of(number)) == 0;
  }
  /// A new number has come, and its datagram is authentic.
  void accept(std::uint64_t number) noexcept {
    if (number > highest_) {
      const std::uint64_t words = std::min<std::uint64_t>(number / kBits - highest_ / kBits, kWords);
      for (std::uint64_t i = 1; i <= words; ++i) words_[(highest_ / kBits + i) % kWords] = 0;
      highest_ = number;
    }
    words_[word_of(number)] |= bit_of(number);
  }

 private:
  static constexpr std::uint64_t kBits = 64;
  static constexpr std::uint64_t kWords = 32;
  static_assert(kNumbers + kBits == kBits * kWords);
  [[nodiscard]] static std::size_t word_of(std::uint64_t number) noexcept { return number / kBits % kWords; }
  [[nodiscard]] static std::uint64_t bit_of(std::uint64_t number) noexcept {
    return std::uint64_t{1} << number % kBits;
  }

  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace stopbit::nic
