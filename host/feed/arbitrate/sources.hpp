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
    bool found = false;
    for (const std::uint32_t one : all_) found |= one == source;  // all of them cost less than branches
    return found && source != 0;
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

/// Addresses that have brought numbers that go on, but not yet enough of them to be the run's own.
class Candidates {
 public:
  /// An address is the run's own when it has brought this many numbers that go on.
  static constexpr std::uint32_t kEnough = 3;

  /// The address has brought these numbers. True if it has brought enough; it is then no longer a candidate.
  [[nodiscard]] bool add(std::uint32_t source, std::uint32_t numbers) noexcept {
    auto known = std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.source == source; });
    if (known == all_.end()) {
      known = all_.begin() + next_++ % all_.size();
      *known = {.source = source};
    }
    known->numbers += numbers;
    if (known->numbers < kEnough) return false;
    *known = {};
    return true;
  }
  void clear() noexcept { all_ = {}; }

 private:
  struct One {
    std::uint32_t source = 0;
    std::uint32_t numbers = 0;
  };
  std::array<One, 4> all_;
  std::size_t next_ = 0;
};

}  // namespace stopbit::arbitrate
