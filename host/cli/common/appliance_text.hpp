#pragma once

#include <string>

#include "host/appliance/status.hpp"

/// The state of an appliance, in words and tables.
namespace stopbit::tools {

/// Its name, whether it runs, and for how long.
[[nodiscard]] std::string head_line(const appliance::StatusReport& status);

/// How long ago the line brought its last packet, with a ! if it is silent.
[[nodiscard]] std::string age_text(const appliance::LineStatus& line);

/// How far its lines are apart, but for one copy in a hundred; "-" without copies.
[[nodiscard]] std::string skew_of(const appliance::ChannelStatus& channel);

/// One line per channel: lines with their ages, sequence, skew, image, state. With a heading.
[[nodiscard]] std::string ready_text(const appliance::StatusReport& status);

/// Where every packet and every sequence number went; drops by place; ports, rings, threads, distinct errors.
[[nodiscard]] std::string stat_text(const appliance::StatusReport& status);

/// A window for each channel, from the skew of its lines.
[[nodiscard]] std::string skew_text(const appliance::StatusReport& status);

}  // namespace stopbit::tools
