#include "host/refill/ranges.hpp"

#include <algorithm>

namespace stopbit::refill {

bool Ranges::add(Range range) noexcept {
  if (range.last < range.first) return true;
  // Those from `begin` to `end` touch it, as last + 1 of one is first of the next.
  const auto begin = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& one) {
    return one.last >= range.first || range.first - one.last == 1;
  });
  const auto end = std::find_if(begin, ranges_.end(),
                                [&](const Range& one) { return one.first > range.last && one.first - range.last > 1; });
  if (begin == end) {
    if (ranges_.size() == room_) return false;
    ranges_.insert(begin, range);
    return true;
  }
  begin->first = std::min(begin->first, range.first);
  begin->last = std::max((end - 1)->last, range.last);
  ranges_.erase(begin + 1, end);
  return true;
}

bool Ranges::remove(Range range) noexcept {
  if (range.last < range.first) return true;
  for (std::size_t i = 0; i < ranges_.size();) {
    Range& one = ranges_[i];
    if (one.last < range.first || one.first > range.last) {
      ++i;
      continue;
    }
    const bool has_before = one.first < range.first;
    const bool has_after = one.last > range.last;
    if (has_before && has_after) {
      if (ranges_.size() == room_) return false;
      const Range after{range.last + 1, one.last};
      one.last = range.first - 1;
      ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(i) + 1, after);
      return true;
    }
    if (has_before) {
      one.last = range.first - 1;
      ++i;
    } else if (has_after) {
      one.first = range.last + 1;
      return true;
    } else {
      ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return true;
}

bool Ranges::can_remove(std::uint64_t number) const noexcept {
  const auto splits = [&](const Range& one) { return one.first < number && number < one.last; };
  return ranges_.size() < room_ || std::none_of(ranges_.begin(), ranges_.end(), splits);
}

bool Ranges::contains(std::uint64_t number) const noexcept {
  const auto one = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& at) { return at.last >= number; });
  return one != ranges_.end() && one->first <= number;
}

}  // namespace stopbit::refill
