#pragma once

#include <cstdint>

namespace stopbit::feed {

/// Whether a channel's datagrams decode.
enum class Quality : std::uint8_t { Unknown, Good, Stale };

/// Judges a channel by its datagrams, one after another: after `stale_after` in a row that do not decode it is stale;
/// the same number in a row that decode ends that. 0: never stale.
class DecodeHealth {
 public:
  explicit DecodeHealth(std::uint32_t stale_after) noexcept : stale_after_(stale_after) {}

  /// A datagram did not decode. @returns whether the channel is stale from now on.
  bool bad() noexcept {
    if (stale_after_ == 0) return false;
    good_in_a_row_ = 0;
    if (quality_ == Quality::Stale || ++bad_in_a_row_ < stale_after_) return false;
    quality_ = Quality::Stale;
    return true;
  }
  /// A datagram has decoded. @returns whether the channel is stale no more.
  bool good() noexcept {
    bad_in_a_row_ = 0;
    if (quality_ == Quality::Good) return false;
    const bool was_stale = quality_ == Quality::Stale;
    if (was_stale && ++good_in_a_row_ < stale_after_) return false;
    quality_ = Quality::Good;
    return was_stale;
  }
  /// Another program decodes from here on: nothing is known of how well.
  void forget() noexcept { bad_in_a_row_ = 0; }

  [[nodiscard]] Quality quality() const noexcept { return quality_; }
  [[nodiscard]] std::uint32_t bad_in_a_row() const noexcept { return bad_in_a_row_; }

 private:
  std::uint32_t stale_after_;
  std::uint32_t bad_in_a_row_ = 0;
  std::uint32_t good_in_a_row_ = 0;
  Quality quality_ = Quality::Unknown;
};

}  // namespace stopbit::feed
