#include "host/feed/arbitrate/old_runs.hpp"

#include <algorithm>

namespace stopbit::arbitrate {

bool OldRuns::join(std::uint32_t source, const Sources& sources) const noexcept {
  return std::ranges::any_of(all(),
                             [&](const OldRun& old) { return old.sources.has(source) && old.sources.meets(sources); });
}

bool OldRuns::meet(const Sources& sources) const noexcept {
  return std::ranges::any_of(all(), [&](const OldRun& old) { return old.sources.meets(sources); });
}

void OldRuns::remember(const OldRun& run) noexcept {
  auto place = runs_.begin() + count_;
  if (count_ < runs_.size()) {
    ++count_;
  } else {
    for (place = runs_.end() - 1; place != runs_.begin() && place->is_long();) --place;
    if (place->is_long()) place = runs_.end() - 1;
  }
  std::copy_backward(runs_.begin(), place, place + 1);
  runs_.front() = run;
}

void OldRuns::forget(const OldRun& run) noexcept {
  const auto place = runs_.begin() + (&run - runs_.data());
  std::copy(place + 1, runs_.begin() + count_, place);
  --count_;
}

}  // namespace stopbit::arbitrate
