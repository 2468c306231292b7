#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stopbit::market {

/// Rows in the order in which they came, each at most once: the first has waited longest. Adding, removing and looking
/// cost the same for any number of rows. One thread; allocates when it is made only.
class WaitingRows {
 public:
  /// Rows 1 to `rows`.
  explicit WaitingRows(std::uint32_t rows) : places_(std::make_unique<Place[]>(std::size_t{rows} + 1)) {}

  void add(std::uint32_t row, std::uint64_t now_ns) noexcept {
    Place& place = places_[row];
    if (place.is_in) return;
    place = {.since_ns = now_ns, .before = places_[0].before, .after = 0, .is_in = true};
    places_[place.before].after = row;
    places_[0].before = row;
  }
  void remove(std::uint32_t row) noexcept {
    Place& place = places_[row];
    if (!place.is_in) return;
    places_[place.before].after = place.after;
    places_[place.after].before = place.before;
    place = {};
  }
  /// How long the first one has waited; 0: there is none.
  [[nodiscard]] std::uint64_t longest_ns(std::uint64_t now_ns) const noexcept {
    const std::uint32_t first = places_[0].after;
    return first != 0 && now_ns > places_[first].since_ns ? now_ns - places_[first].since_ns : 0;
  }

 private:
  struct Place {
    std::uint64_t since_ns = 0;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    bool is_in = false;
  };
  std::unique_ptr<Place[]> places_;  ///< By row. Place 0 is before the first row and after the last.
};

}  // namespace stopbit::market
