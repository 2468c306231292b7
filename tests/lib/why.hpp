#pragma once

#include <string>

#include "microcode/base/result.hpp"

namespace stopbit::testing {

/// Why a call failed; empty: it did not. A failed EXPECT_EQ(why(call), "") shows the reason.
template <class T, class Why>
[[nodiscard]] std::string why(const Result<T, Why>& result) {
  return result ? std::string() : result.message();
}

}  // namespace stopbit::testing
