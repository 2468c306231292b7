#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/market/event/event.hpp"

namespace stopbit::market {

/// Appends an event as one JSON line:
///
///   {"event":"new","channel":310,"sequence":3574402,"instrument":12,"side":"bid","level":1,"price":1411.5,
///    "quantity":20,"id":7,"time":1352419200000000000,"delay":812,"flags":["last_of_event","best_changed"]}
///
/// Keys without a value are left out; `book` only names implied ones. `id` is what the event's is: of an entry
/// with a level the number of its orders. Statistics have `statistic`; clear, stale and suspect `cause`; states
/// `state`, `code` and `scale`; stale, suspect, latest and snapshot_end `number`. Prices are exact, without zeros at
/// the end. A value that has no name is shown as its number.
///
/// With `names` the instrument is shown by its key, and quantities in whole units.
struct EventNames {
  /// As a JSON string with quotes, a cell of CSV, or for SBE as it is; empty: the row's number.
  std::string_view instrument;
  std::uint32_t quantity_decimals = 0;  ///< Of the map.
};
void append_json(const Event& event, std::string& out, const EventNames& names = {});

/// The first line of CSV, with its end.
inline constexpr std::string_view kCsvTitle =
    "channel,sequence,time,delay,instrument,kind,side,book,level,price,quantity,id,flags\n";
/// Appends an event as one row of that. Empty: none. `id` is a number; flags are names with a space between.
void append_csv(const Event& event, std::string& out, const EventNames& names = {});

/// "1411.5": exact, without zeros at the end. Empty for kNoPrice.
void append_price(std::int64_t price, std::string& out);
/// The same with any number of decimals, up to 18.
void append_fixed(std::int64_t value, std::uint32_t decimals, std::string& out);

}  // namespace stopbit::market
