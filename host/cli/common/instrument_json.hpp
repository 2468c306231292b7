#pragma once

#include <cstdint>
#include <string>

#include "host/market/instrument/layout.hpp"

namespace stopbit::tools {

/// Appends a row of the table of instruments as a JSON object, without the end of a line.
void append_instrument_json(std::string& out, std::uint32_t number, const market::InstrumentRow& row);

}  // namespace stopbit::tools
