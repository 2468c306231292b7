#pragma once

#include <cstddef>
#include <cstdint>

namespace stopbit::market {

/// What a translator has counted: the rows of counts.def.
struct MarketCounts {
#define STOPBIT_MARKET_COUNT(member, name, what) std::uint64_t member = 0;
#include "host/market/stage/counts.def"
#undef STOPBIT_MARKET_COUNT
};
inline constexpr std::size_t kMarketCounts = sizeof(MarketCounts) / sizeof(std::uint64_t);

}  // namespace stopbit::market
