#pragma once

#include <string>

#include "host/market/map/map.hpp"
#include "host/market/stage/extractor.hpp"
#include "microcode/program.hpp"

namespace stopbit::market {

/// "FILE:LINE" of a place in a map.
[[nodiscard]] std::string place_text(const SourceRange& range);

/// Why a rule of the decision list fits an entry, or does not: one line for each rule up to `rule`, or for all if it is
/// -1.
[[nodiscard]] std::string explain_entry(const Map& map, const Program& program, const TemplatePlan& plan,
                                        const Values& values, int rule);

}  // namespace stopbit::market
