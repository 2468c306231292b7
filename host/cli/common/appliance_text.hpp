#pragma once

#include <string>

#include "host/appliance/status.hpp"

/// The state of an appliance, in words and tables.
namespace stopbit::tools {

/// One line per channel: lines with their ages, sequence, skew, image, state. With a heading.
[[nodiscard]] std::string ready_text(const appliance::StatusReport& status);

/// Where every packet and every sequence number went; drops by place; ports, rings, threads, distinct errors.
[[nodiscard]] std::string stat_text(const appliance::StatusReport& status);

/// A window for each channel, from the skew of its lines.
[[nodiscard]] std::string skew_text(const appliance::StatusReport& status);

/// A screen of at most the given columns and rows. Rates are computed from `before`, which may be the same status.
[[nodiscard]] std::string screen_text(const appliance::StatusReport& status, const appliance::StatusReport& before,
                                      std::size_t columns, std::size_t rows);

}  // namespace stopbit::tools
