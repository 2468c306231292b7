#pragma once

#include <cstdint>
#include <string_view>

#include "host/relay/store.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// The stream sequence in a server's answer to a published message, {"stream":"S","seq":7}; or its error. An answer
/// that says neither is a failure.
[[nodiscard]] Result<std::uint64_t, StoreFailure> parse_answer(std::string_view text);

}  // namespace stopbit::relay
