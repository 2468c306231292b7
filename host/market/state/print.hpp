#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/market/instrument/layout.hpp"
#include "host/market/state/reader.hpp"

namespace stopbit::market::state {

/// What the tables say of an instrument.
struct Picture {
  InstrumentRow instrument;
  Top top;
  DayView day;
};

/// Appends it as a JSON object, without the end of a line:
///
///   {"row":12,"instrument":"SBER/TQBR","trading":"open","book":"latest","bid":"303.1","bid_quantity":"70", ...}
///
/// Prices and quantities are exact decimals; keys without a value are left out. `cause`: why the book cannot be
/// trusted, for a reason that the tables do not know; empty: as they say.
void append_json(std::uint32_t row, const Picture& picture, std::uint32_t quantity_decimals, std::string_view cause,
                 std::string& out);

}  // namespace stopbit::market::state
