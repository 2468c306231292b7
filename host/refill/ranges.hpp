#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::refill {

/// Numbers of messages, first and last among them.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const Range&) const = default;
};

/// Ranges that do not touch, in order. Allocates when it is made only.
class Ranges {
 public:
  explicit Ranges(std::size_t room) : room_(room) { ranges_.reserve(room + 1); }

  /// Merges the range with those that it touches. False: there is no room for another one, and nothing has changed.
  [[nodiscard]] bool add(Range range) noexcept;
  /// Takes numbers out. False: that needs room for another range, there is none, and nothing has changed.
  [[nodiscard]] bool remove(Range range) noexcept;
  /// Whether there is room to take out this one.
  [[nodiscard]] bool can_remove(std::uint64_t number) const noexcept;
  void clear() noexcept { ranges_.clear(); }

  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return ranges_.size(); }
  [[nodiscard]] const Range& front() const noexcept { return ranges_.front(); }
  [[nodiscard]] bool contains(std::uint64_t number) const noexcept;
  [[nodiscard]] const std::vector<Range>& all() const noexcept { return ranges_; }

 private:
  std::size_t room_;
  std::vector<Range> ranges_;
};

}  // namespace stopbit::refill
