#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stopbit::market {

/// Lost messages of a channel of which a replay is wanted. Numbers as SyncChannel continues them.
struct Asked {
  std::uint16_t channel = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Those that the owner has not taken yet. One thread; allocates nothing.
class AskedFor {
 public:
  static constexpr std::size_t kRoom = 256;

  void add(const Asked& asked) noexcept {
    if (count_ != 0) {
      Asked& newest = all_[(begin_ + count_ - 1) % kRoom];
      if (newest.channel == asked.channel && newest.last + 1 == asked.first) {
        newest.last = asked.last;
        return;
      }
    }
    if (count_ == kRoom) {
      ++lost_;
      return;
    }
    all_[(begin_ + count_++) % kRoom] = asked;
  }
  /// Takes the oldest one. False: there is none.
  [[nodiscard]] bool next(Asked& asked) noexcept {
    if (count_ == 0) return false;
    asked = all_[begin_];
    begin_ = (begin_ + 1) % kRoom;
    --count_;
    return true;
  }
  /// Ranges that found no room: they stay missing.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  /// The numbers of a channel begin anew.
  void forget(std::uint16_t channel) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Asked& one = all_[(begin_ + i) % kRoom];
      if (one.channel != channel) all_[(begin_ + kept++) % kRoom] = one;
    }
    count_ = kept;
  }

 private:
  std::array<Asked, kRoom> all_{};
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace stopbit::market
