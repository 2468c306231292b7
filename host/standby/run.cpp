#include "host/standby/run.hpp"

#include <algorithm>

namespace stopbit::standby {

void Missing::add(std::uint32_t first, std::uint32_t from, std::uint32_t last) noexcept {
  // No message is in two ranges.
  if (contains(first)) {
    if (first == last) return;
    ++first;
    from = 0;
  }
  put({.first = first, .from = from, .last = last});
}

void Missing::put(const Range& range) noexcept {
  if (count_ == kRoom) remove(0);
  ranges_[count_++] = range;
}

bool Missing::contains(std::uint32_t number) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](const Range& range) { return range.has(number); });
}

void Missing::remove(std::size_t i) noexcept {
  std::copy(ranges_.begin() + static_cast<std::ptrdiff_t>(i) + 1, ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
            ranges_.begin() + static_cast<std::ptrdiff_t>(i));
  --count_;
}

bool Missing::take(const Place& place, bool is_last) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const Range range = ranges_[i];
    if (!range.has(place)) continue;
    remove(i);
    const bool is_first = place.number == range.first && place.message == range.from;
    if (!is_first) {
      const bool is_whole = place.message == 0;
      put({.first = range.first,
           .from = range.from,
           .last = is_whole ? place.number - 1 : place.number,
           .end = is_whole ? kAll : place.message});
    }
    const bool is_end = place.number == range.last;
    if (!is_last && !(is_end && place.message + 1 == range.end)) {
      put({.first = place.number, .from = place.message + 1, .last = range.last, .end = range.end});
    } else if (!is_end) {
      put({.first = place.number + 1, .from = 0, .last = range.last, .end = range.end});
    }
    return true;
  }
  return false;
}

void History::add(std::uint32_t number, std::uint64_t hash, std::uint64_t arrival_ns) noexcept {
  const Entry entry{.exists = true, .number = number, .hash = hash, .arrival_ns = arrival_ns};
  recent_[number % kRecent] = entry;
  Entry& sparse = sparse_[number / kStep % kSparse];
  if (!sparse.exists || sparse.number / kStep != number / kStep) sparse = entry;
}

const History::Entry* History::find(std::uint32_t number) const noexcept {
  const Entry& recent = recent_[number % kRecent];
  if (recent.exists && recent.number == number) return &recent;
  const Entry& sparse = sparse_[number / kStep % kSparse];
  return sparse.exists && sparse.number == number ? &sparse : nullptr;
}

void Run::begin(std::uint64_t new_id, std::uint64_t first_arrival_ns, std::uint64_t now_ns) noexcept {
  id = new_id;
  has_high = has_reset = is_whole = has_error = false;
  high = {};
  began_ns = arrival_ns = first_arrival_ns;
  moved_ns = now_ns;
  missing.clear();
  history.clear();
}

}  // namespace stopbit::standby
