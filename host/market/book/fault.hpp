#pragma once

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

}  // namespace stopbit::market
