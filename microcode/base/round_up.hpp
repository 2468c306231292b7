#pragma once

namespace stopbit {

/// The smallest multiple of `step` that is not below `value`.
template <class Unsigned>
constexpr Unsigned round_up(Unsigned value, Unsigned step) noexcept {
  return (value + step - 1) / step * step;
}

}  // namespace stopbit
