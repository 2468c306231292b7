#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stopbit::arbitrate {

/// Addresses that the packets of one run come from: of its lines, and of those that took over. The latest few.
class Sources {
 public:
  static constexpr std::size_t kMost = 6;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool has(std::uint32_t source) const noexcept {
    return std::find(all_.begin(), all_.begin() + count_, source) != all_.begin() + count_;
  }
  [[nodiscard]] bool meets(const Sources& other) const noexcept {
    return std::any_of(other.all_.begin(), other.all_.begin() + other.count_,
                       [&](std::uint32_t source) { return has(source); });
  }
  /// What is known of both contradicts it: each has addresses, and they have none in common.
  [[nodiscard]] bool excludes(const Sources& other) const noexcept {
    return !empty() && !other.empty() && !meets(other);
  }
  /// 0, an unknown address, is left out. Beyond kMost the oldest gives way.
  void add(std::uint32_t source) noexcept {
    if (source == 0 || has(source)) return;
    if (count_ < kMost) ++count_;
    std::copy_backward(all_.begin(), all_.begin() + count_ - 1, all_.begin() + count_);
    all_.front() = source;
  }
  void add(const Sources& other) noexcept {
    for (std::size_t i = other.count_; i > 0; --i) add(other.all_[i - 1]);
  }

 private:
  std::array<std::uint32_t, kMost> all_{};
  std::uint32_t count_ = 0;
};

}  // namespace stopbit::arbitrate
