#pragma once

#include <string>
#include <string_view>

/// Instruments and books of a ring of market events, as JSON for the web page. Each call maps the tables beside the
/// ring anew, so it sees those of the image that is loaded now. What cannot be answered is {"error":"..."}.
namespace stopbit::tools {

/// {"count":N,"instruments":["KEY",...]}: the first 2,000 keys of the table.
[[nodiscard]] std::string instruments_json(const std::string& ring);

/// The book of the instrument with that key or name: key, name, trading, book, sequence, last, and bids and asks from
/// the best on, each [price, quantity], both texts; null is a row that is not known. A market order has the price
/// "market".
[[nodiscard]] std::string book_json(const std::string& ring, std::string_view instrument);

}  // namespace stopbit::tools
