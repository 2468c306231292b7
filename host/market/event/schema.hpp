#pragma once

#include <string>

namespace stopbit::market {

/// JSON schema (2020-12) of the lines about markets: events, books and instruments. doc/market-lines.md describes them.
[[nodiscard]] std::string market_schema();

}  // namespace stopbit::market
