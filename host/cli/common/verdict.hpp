#pragma once

#include <span>
#include <string>

#include "host/replay/summary.hpp"

namespace stopbit::tools {

/// The last line of a summary: whether all went well, and else what to try. `arguments` are those that name captures
/// and program on a command line, for the advice.
[[nodiscard]] std::string verdict_text(std::span<const replay::Summary> summaries, const std::string& captures,
                                       const std::string& program);

}  // namespace stopbit::tools
