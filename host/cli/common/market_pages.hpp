#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "host/cli/common/live_market.hpp"

namespace stopbit::tools {

/// Instruments and books of rings of market events, as JSON for the web page. What cannot be answered is
/// {"error":"..."}. The tables beside a ring stay mapped between requests, until a new image or a new writer has
/// replaced them. One thread.
class MarketPages {
 public:
  /// {"count":N,"instruments":["KEY",...]}: the first 2,000 keys of the table.
  [[nodiscard]] std::string instruments(const std::string& ring);
  /// The book of the instrument with that key or name: key, name, trading, book, sequence, last, and bids and asks from
  /// the best on, each [price, quantity], both texts; null is a row that is not known. A market order has the price
  /// "market".
  [[nodiscard]] std::string book(const std::string& ring, std::string_view instrument);

  static constexpr std::size_t kMostKept = 16;  ///< Rings whose tables stay mapped.

 private:
  /// A ToolError if there are no tables.
  [[nodiscard]] const LiveMarket& market(const std::string& ring);
  template <class Make>
  [[nodiscard]] std::string page(const std::string& ring, const Make& make);

  std::map<std::string, LiveMarket, std::less<>> kept_;
};

}  // namespace stopbit::tools
