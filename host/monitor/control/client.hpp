#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::control {

/// Sends a command, a line without its end, to the control socket of a running appliance, and returns the answer
/// without its last end of line; one that begins with "error: " is the appliance's refusal. Waits up to `timeout_ns`.
/// The answer is not trusted; one of more than kMaxAnswerBytes is a failure.
[[nodiscard]] Result<std::string> ask(const std::string& socket, std::string_view command, std::uint64_t timeout_ns);
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

}  // namespace stopbit::control
