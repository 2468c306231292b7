#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stopbit::market {

/// Which instruments are in step: their next entry is applied without a further look. One word for each, so that
/// entries in order of 65,536 instruments touch half a megabyte. The word stores a conclusion: a change of anything
/// that it was drawn from must end it. One thread.
class InStep {
 public:
  explicit InStep(std::uint32_t instruments)
      : words_(std::make_unique<std::uint64_t[]>(std::size_t{instruments} + 1)), instruments_(instruments) {}

  /// `what` is the number that has to come next, or whose numbers the instrument follows. Large ones are not kept.
  void begin(std::uint32_t row, std::uint64_t what) noexcept { words_[row] = what < kEnd ? epoch_ | what : 0; }
  void end(std::uint32_t row) noexcept { words_[row] = 0; }
  /// None is in step any more; what() remains. Once in 2^24 times it does not: forget(row, what) is called for each.
  template <class Forget>
  void end_all(const Forget& forget) noexcept {
    epoch_ += kEnd;
    if (epoch_ != 0) return;
    epoch_ = kEnd;
    for (std::uint32_t row = 0; row <= instruments_; ++row) {
      if (words_[row] != 0) forget(row, what(row));
      words_[row] = 0;
    }
  }
  /// Nothing remains.
  void clear() noexcept {
    for (std::uint32_t row = 0; row <= instruments_; ++row) words_[row] = 0;
  }

  [[nodiscard]] bool is(std::uint32_t row, std::uint64_t what) const noexcept {
    return what < kEnd && words_[row] == (epoch_ | what);
  }
  /// Whether this is the number that has to come next. Then the one after it has to.
  [[nodiscard]] bool take(std::uint32_t row, std::uint64_t number) noexcept {
    if (number >= kEnd - 1 || words_[row] != (epoch_ | number)) return false;
    ++words_[row];
    return true;
  }
  /// What it began with, or take() has made of it; 0: end() came.
  [[nodiscard]] std::uint64_t what(std::uint32_t row) const noexcept { return words_[row] & (kEnd - 1); }

 private:
  /// A word has an epoch above, and what is below this.
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 40U;

  std::unique_ptr<std::uint64_t[]> words_;  ///< 0: not in step, as no epoch is 0.
  std::uint32_t instruments_;
  std::uint64_t epoch_ = kEnd;
};

}  // namespace stopbit::market
