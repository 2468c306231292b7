#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/market/event/event.hpp"

namespace stopbit::market {

enum class Fault : std::uint8_t {
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what) enumerator,
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
};

inline constexpr std::size_t kFaults = 0
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what) +1
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
    ;

[[nodiscard]] constexpr Cause cause_of(Fault fault) noexcept {
  switch (fault) {
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what) \
  case Fault::enumerator:                                 \
    return Cause::cause;
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
  }
  return Cause::None;
}
[[nodiscard]] constexpr std::string_view name_of(Fault fault) noexcept {
  switch (fault) {
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what) \
  case Fault::enumerator:                                 \
    return name;
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
  }
  return {};
}

/// What became of an event.
struct Applied {
  bool best_changed = false;
  Fault fault = Fault::None;
  /// Best rows, their extent, and how far the book may be trusted are as before. May be false even so.
  bool is_quiet = false;
  std::uint8_t unused = 0;

  /// The same, put together in a register: compilers store the members one by one and load them as one word, which
  /// waits until all are in the cache.
  [[nodiscard]] constexpr Applied as_word() const noexcept {
    return std::bit_cast<Applied>(std::uint32_t{best_changed} | static_cast<std::uint32_t>(fault) << 8 |
                                  std::uint32_t{is_quiet} << 16);
  }
};

}  // namespace stopbit::market
